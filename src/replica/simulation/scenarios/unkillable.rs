//! Runs that cannot be killed, because no signal of their replica reaches a set-uid program: what happens to them and
//! to their locks. A live replica renews the lock of such a run; no other may be granted it before renewing was
//! impossible for a lease.

use std::time::Duration;

use crate::lease::Memory;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::network::Cut;
use crate::replica::simulation::world::process::Process;
use crate::replica::simulation::world::{Event, Happening, World};

/// As in `attempt/state`: a run that is alive this long after SIGKILL is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// Such a run takes up to so many leases.
const LEASES: u64 = 5;

/// Something keeps a replica, or all of them, from renewing locks.
#[derive(Debug)]
pub(crate) struct Hindrance {
    /// One of them; `None`: all.
    pub(crate) seat: Option<usize>,
    pub(crate) until: Moment,
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
}
