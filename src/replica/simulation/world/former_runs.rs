//! Runs that former processes of a replica left behind, and what is seen of them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::RunId;
use crate::replica::recovery::orphans::{Orphan, Seen};
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::stand_ins::node::Node;
use crate::replica::simulation::world::{Event, Happening, World};

use super::process::Guard;

impl World {
    /// Returns the runs that earlier processes of a replica left behind, by their notes and signs.
    pub(crate) fn former_runs(&self, seat: usize, node: &Node) -> Vec<Orphan> {
        let of_run = |job: usize, run: RunId| {
            let note = node.disk.get(&job).filter(|note| note.lease().run == run).cloned();
            (run, Orphan { job: node.jobs[job].name.clone(), run, note, sign: None })
        };
        let signed = self.witness.alive().filter(|(_, run)| run.seat == seat);
        let signed = signed.map(|(_, run)| of_run(run.job, run.lease.run));
        let is_running = |note: &&LeaseNote| matches!(note, LeaseNote::Running { .. });
        let noted = node.disk.iter().filter(|(_, note)| is_running(note));
        let noted = noted.map(|(job, note)| of_run(*job, note.lease().run));
        signed.chain(noted).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// `sweep_orphans::make_sure`: a run that a reboot ended shows no sign, and keeps its lease, as does one without a
    /// guard. One that is alive is waited for, but no longer than its guard may take to end it.
    pub(crate) fn look_for_orphan(&mut self, seat: usize, orphan: Box<Orphan>, is_first: bool) {
        let booted = self.scenario.clocks[self.scenario.clock_of(seat)].booted();
        let (life, run, limit) = (self.seats[seat].life, orphan.run, orphan.kill_limit());
        let its = self.witness.runs.iter().rfind(|process| process.lease.run == run);
        // Without a guard that saw the end, it is unknown whether the run is alive.
        let was_guarded = its.is_some_and(|process| process.guard != Guard::Dead);
        if let Some(alive) = its.filter(|process| !process.is_over && was_guarded) {
            if alive.is_unkillable {
                self.tally.count("run of a former life that cannot be killed");
                self.trouble(limit);
            }
            self.seats[seat].orphans.push((orphan, is_first));
            return self.at(limit, Event::GiveUpOrphan { seat, life, run });
        }
        let was_here = its.is_some_and(|process| process.started >= booted);
        let seen = if was_here && was_guarded { Seen::Dead } else { Seen::Unseen };
        let what = Box::new(Happening::OrphanSeen(orphan, seen, is_first));
        self.at(Duration::ZERO, Event::To { seat, life, what });
    }

    /// A run of a former process is over, or was looked for long enough: its replica learns that, if it waits for it.
    pub(crate) fn end_look_for_orphan(
        &mut self,
        seat: usize,
        life: u32,
        run: RunId,
        seen: Seen,
    ) -> Result<(), Violation> {
        let place = &mut self.seats[seat];
        if place.life != life {
            return Ok(());
        }
        let Some(at) = place.orphans.iter().position(|(orphan, _)| orphan.run == run) else { return Ok(()) };
        let (orphan, is_first) = place.orphans.remove(at);
        self.happen_to(seat, life, Happening::OrphanSeen(orphan, seen, is_first))
    }
}
