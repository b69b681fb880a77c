//! A guest: a command under a job's lock, with a short lease of its own and no memory: the counterpart of
//! `exec/session.rs`, `acquire.rs` and `store_watch.rs`.

use std::rc::Rc;
use std::time::Duration;

use crate::job::RunId;
use crate::lease::{Open, Record, ScheduleHash};
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Ask, Wish};
use crate::replica::simulation::world::scenario::Scenario;
use crate::replica::simulation::world::{Event, Mend, World};
use crate::replica::tick::next_ticks::NextTicks;
use crate::store::Peer;
use crate::store::clock::Known;
use crate::time::{BootInstant, UtcMillis};

use super::errand::{Chore, Errand};
use super::node::Node;

/// A held lock is claimed again after this, as in `acquire.rs`.
const PAUSE: Duration = Duration::from_millis(200);

/// The task of a guest.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(super) job: usize,
    /// It waits for the lock until then.
    until: BootInstant,
    has_asked: bool,
}

impl World {
    /// Sends a guest within some seconds, for the lock of this job or of any.
    pub(crate) fn invite(&mut self, job: Option<usize>) -> bool {
        let job = job.unwrap_or_else(|| self.dice.below(self.scenario.count()));
        let soon = self.dice.ms(0, 6_000);
        if self.seats[self.scenario.replicas].node.is_some() {
            return false;
        }
        self.at(soon, Event::Mend(Mend::Guest(job)));
        true
    }

    /// Starts a guest, unless there is one already.
    pub(crate) fn begin_visit(&mut self, job: usize) -> Result<(), Violation> {
        let seat = self.scenario.replicas;
        if self.seats[seat].node.is_some() || self.now < self.told_by {
            return Ok(());
        }
        let (reads, patience) = (self.reads(seat), self.dice.ms(8_000, 40_000));
        let mut node = Node::visiting(&self.scenario, job, patience, reads);
        self.note(|| format!("a guest comes for j{job}, and waits for up to {patience:?}"));
        node.wake(reads);
        (self.seats[seat].node, self.seats[seat].heard) = (Some(node), None);
        self.perform(seat)
    }

    /// Removes a guest whose command is over, or that has waited in vain.
    pub(crate) fn see_off(&mut self, seat: usize) {
        if self.seats[seat].node.as_ref().is_some_and(Node::has_left) {
            self.end_life(seat);
            self.seats[seat].disk.clear();
        }
    }
}

impl Node {
    /// Returns a guest that starts now.
    fn visiting(scenario: &Scenario, job: usize, patience: Duration, reads: Reads) -> Self {
        let (seat, disk) = (scenario.replicas, std::collections::BTreeMap::new());
        let mut node = Self::start(&scenario.names[seat], Rc::clone(&scenario.jobs[seat]), disk, reads);
        node.next_ticks = NextTicks::default();
        let until = reads.boot.plus(patience);
        node.visit = Some(Visit { job, until, has_asked: false });
        node
    }

    /// Whether it is a guest whose time is over, with nothing left to do.
    fn has_left(&self) -> bool {
        let is_waiting = |visit: &Visit| self.reads.boot < visit.until && !visit.has_asked;
        let has_asked = self.errands.values().any(|errand| {
            matches!(errand, Errand::Wish { .. } | Errand::Abandon { .. } | Errand::Finish { .. })
        });
        self.visit.as_ref().is_some_and(|visit| !is_waiting(visit))
            && self.keeps.is_empty()
            && self.chores.is_empty()
            && !has_asked
    }

    /// Whether the replica is a guest for another job.
    pub(super) fn is_elsewhere(&self, job: usize) -> bool {
        self.visit.as_ref().is_some_and(|visit| visit.job != job)
    }

    /// Returns what requests about a job state of it: a guest remembers nothing, as in `ExecSession::caller`.
    pub(super) fn known(&self, job: usize) -> Known {
        match self.visit {
            Some(_) => Known { largest_lease: self.jobs[job].lease, mark: None, answered: None },
            None => self.contests[job].known(),
        }
    }

    /// `ExecSession::learn`: a guest leaves it to replicas which ticks a job has.
    pub(super) fn as_guest(&self, open: Open) -> Open {
        match self.visit {
            Some(_) => Open {
                schedule_hash: ScheduleHash::default(),
                schedule_since: UtcMillis(0),
                is_known_job: false,
                dropped: None,
                ..open
            },
            None => open,
        }
    }

    /// `ExecSession::ask`: now, if this is a guest whose record is open, and that still waits.
    pub(super) fn ask_as_guest(&mut self) {
        let boot = self.reads.boot;
        let Some(visit) = &mut self.visit else { return };
        let job = visit.job;
        if visit.has_asked || !self.keeps.is_empty() {
            return;
        }
        if boot >= visit.until {
            return;
        }
        visit.has_asked = !self.contests[job].is_unopened();
        if visit.has_asked {
            self.wish(job, Wish::Exec);
        } else {
            self.chores.push((boot.plus(PAUSE), Chore::Ask));
        }
    }

    /// Has a guest claim again, as the lock was not granted.
    pub(super) fn wish_in_vain(&mut self, is_new_era: bool) {
        let Some(visit) = &mut self.visit else { return };
        visit.has_asked = false;
        if is_new_era {
            self.contests[visit.job].close();
            self.resync = true;
        }
        self.chores.push((self.reads.boot.plus(PAUSE), Chore::Ask));
    }

    /// `Driver::look_at_locks`, and `StoreWatch::is_forgotten`: reads the records of its runs, which should still show
    /// them.
    pub(super) fn look_at_records(&mut self) {
        let looks: Vec<_> = self.keeps.iter().map(|keep| (keep.job, keep.lease.run)).collect();
        for (job, run) in looks {
            self.send(Ask::Look(job), Errand::Look { run });
        }
    }

    /// `Driver::hear_of_runs`.
    pub(super) fn hear_of_runs(&mut self, peers: &[Peer]) {
        for run in peers.iter().flat_map(|peer| &peer.beat.running) {
            if let Some(job) = self.jobs.iter().position(|job| job.name == run.job) {
                self.contests[job].saw(Some(Duration::from_millis(run.lease_ms)));
                self.contests[job].is_known = true;
            }
        }
    }

    /// If the record shows another run, or none in progress, a renewal corrects it, or learns that the lock is lost.
    pub(super) fn looked(&mut self, run: RunId, record: Option<&Record>) {
        let (boot, is_guest) = (self.reads.boot, self.visit.is_some());
        let is_known =
            record.is_some_and(|record| record.run == Some(run) && (is_guest || record.is_running()));
        if !is_known {
            self.keeps.iter_mut().filter(|keep| keep.lease.run == run).for_each(|keep| keep.hurry(boot));
        }
    }
}
