//! Runs that cannot be killed, because no signal of their replica reaches a set-uid program: what happens to them and
//! to their locks. A live replica renews the lock of such a run; no other may be granted it before renewing was
//! impossible for a lease.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::job::RunId;
use crate::lease::{Memory, Pace};
use crate::replica::recovery::orphans::{Orphan, Seen};
use crate::replica::simulation::checks::safety::{Broken, Violation, named};
use crate::replica::simulation::stand_ins::node::Node;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::network::Cut;
use crate::replica::simulation::world::process::{Guard, Process};
use crate::replica::simulation::world::{Event, Happening, World};

/// As in `attempt/state`: a run that is alive this long after SIGKILL is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// Such a run takes up to so many leases.
const LEASES: u64 = 5;

/// A replica that could not renew for a while does so within this long, plus the time that one renewal waits for its
/// answer: the longest pause after a failure, and the time until a heartbeat shows a clock that was set.
const RENEWS_WITHIN: Duration = Duration::from_millis(1_500);

/// Clocks of two machines drift apart by one percent at the most: a lease may be over by so much earlier than in true time.
const DRIFT_DIVISOR: u32 = 100;

/// Something keeps a replica, or all of them, from renewing locks.
#[derive(Debug)]
pub(crate) struct Hindrance {
    seat: Option<usize>,
    until: Moment,
}

impl World {
    /// For a while, no signal reaches runs that start. That alone is no trouble: jobs follow their policies, as with
    /// any long run.
    pub(crate) fn let_none_be_killed(&mut self) -> bool {
        if self.now < self.unkillable_until || self.witness.holders().any(|run| run.is_unkillable) {
            return self.keep_from_renewing();
        }
        let during = self.dice.ms(1_000, 60_000);
        self.note(|| format!("what starts cannot be killed for {during:?}"));
        self.unkillable_until = self.now.plus(during);
        true
    }

    /// Freezes or cuts off a replica that renews the lock of an unkillable run, for about as long as that lock lasts.
    fn keep_from_renewing(&mut self) -> bool {
        let is_replica = |run: &&Process| run.is_unkillable && run.seat < self.scenario.replicas;
        let may_freeze = |seat: &usize| self.seats[*seat].is_well() && !self.has_frozen_guard(*seat);
        let holders = self.witness.holders().filter(is_replica).map(|run| (run.seat, run.lease.length));
        let holders: Vec<(usize, Duration)> = holders.filter(|(seat, _)| may_freeze(seat)).collect();
        if self.now < self.delicate || holders.is_empty() {
            return false;
        }
        let (seat, lease) = self.dice.pick(&holders);
        let during = lease / 2 + self.dice.ms(0, 15_000);
        if self.server.memory == Memory::Forgetful && self.dice.percent(50) {
            let cut = self.dice.pick(&Cut::ALL);
            self.cut_for(seat, cut, during);
        } else {
            self.freeze_for(seat, during);
        }
        true
    }

    /// Notes that this replica, or every one (`None`), cannot renew its locks for this long.
    pub(crate) fn hinder(&mut self, seat: Option<usize>, during: Duration) {
        self.hindrances.push(Hindrance { seat, until: self.now.plus(during) });
    }

    /// A run that begins now may be one that cannot be killed; such a run has a length of its own.
    pub(crate) fn may_be_unkillable(&mut self, process: &mut Process) {
        if self.now >= self.unkillable_until || !self.is_troubled() || !self.dice.percent(70) {
            return;
        }
        let lease = u64::try_from(process.lease.length.as_millis()).expect("short");
        process.is_unkillable = true;
        process.ends = self.now.plus(self.dice.ms(0, LEASES * lease));
        self.tally.count("run that cannot be killed");
        self.note(|| format!("run {} cannot be killed, and ends at {:?}", process.lease.run, process.ends));
    }

    /// Schedules the moment at which the replica finds a run still alive that was to be killed after this grace.
    pub(crate) fn expect_complaint(&mut self, run: usize, grace: Duration) {
        let process = &self.witness.runs[run];
        if process.is_unkillable {
            let (seat, life) = (process.seat, process.life);
            let what = Box::new(Happening::Stuck(process.lease.run));
            self.at(grace.saturating_add(STUCK_AFTER), Event::To { seat, life, what });
        }
    }

    /// Notes which unkillable runs have lost their lock by the store's decision on a request about the job: runs whose
    /// lock the store no longer keeps, or which now has another holder.
    pub(crate) fn see_who_lost_its_lock(
        &mut self,
        job: usize,
        before: Option<RunId>,
    ) -> Result<(), Violation> {
        let after = self.server.holder(job);
        let has_lost = |run: &Process| {
            let own = Some(run.lease.run);
            let is_let_go = before == own || after.is_some();
            run.job == job && run.is_unkillable && !run.has_lost_lock && after != own && is_let_go
        };
        if before == after {
            return Ok(());
        }
        let lost = self.witness.alive().filter(|(_, run)| has_lost(run)).map(|(at, _)| at);
        let lost: Vec<usize> = lost.collect();
        for at in lost {
            let run = &self.witness.runs[at];
            let (what, ago) = (named(&run.lease), self.now.since(run.last_good));
            let lease = run.lease.length;
            let could_renew = self.could_renew(run);
            if could_renew || ago < lease - lease / DRIFT_DIVISOR {
                let how = format!("{what}, last renewed {ago:?} before; could be renewed: {could_renew}");
                return Err(Violation::of(Broken::LockTaken, how));
            }
            let lives = run.ends.since(self.now);
            self.witness.runs[at].has_lost_lock = true;
            if self.scenario.replicas == 1 {
                // Its own replica starts no run beside it, and there is no other.
                self.trouble(lives);
            }
            self.tally.count("lock lost of what cannot be killed");
            self.note(|| format!("{what} has lost its lock, {ago:?} after its last good renewal"));
        }
        Ok(())
    }

    /// Checks that a run ended in time, unless it could not be killed and its lock not be renewed.
    pub(crate) fn ends_in_time(&self, run: usize) -> Result<(), Violation> {
        let process = &self.witness.runs[run];
        if process.is_unkillable && (process.has_lost_lock || !self.could_renew(process)) {
            return Ok(());
        }
        self.witness.ended(run, self.now)
    }

    /// Whether the replica of a run is up, and has had time to renew its lock since anything prevented that.
    fn could_renew(&self, run: &Process) -> bool {
        let place = &self.seats[run.seat];
        let time = RENEWS_WITHIN + Pace::new(run.lease.length, Duration::ZERO).renew_every();
        let has_passed = |hindrance: &Hindrance| {
            hindrance.seat.is_some_and(|seat| seat != run.seat) || hindrance.until.plus(time) < self.now
        };
        place.node.is_some() && run.is_of(run.seat, place.life) && self.hindrances.iter().all(has_passed)
    }

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
        let its = self.witness.runs.iter().find(|process| process.lease.run == run);
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
    pub(crate) fn orphan_seen(
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
