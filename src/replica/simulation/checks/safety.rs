//! Observes the start and end of every run, in true time, and reports at once what must never happen.

use std::collections::BTreeMap;
use std::fmt;

use crate::job::{Cause, Fence, RunId};
use crate::lease::Lease;
use crate::replica::simulation::world::clock::Moment;
use crate::replica::simulation::world::process::Process;

/// What was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// Two runs of a job at once.
    Overlap,
    /// The same, on one replica.
    OwnOverlap,
    /// A second run of a tick, other than one rerun after an interruption.
    SecondRun,
    /// A run with a fence that is not above every earlier one.
    Fence,
    /// Some process of a run was alive longer than one lease after its last good renewal was sent.
    OutOfHand,
    /// The lock of a run that cannot be killed is lost, although its replica has renewed it or could have.
    LockTaken,
    /// A run that was granted before its tick's instant by the store's clock, or begun before it by its replica's.
    Early,
    /// A tick without an entry, although nothing was forgotten.
    Untold,
    /// A tick with two entries.
    ToldTwice,
    /// A tick that did not run, without a fault near it and without a good cause.
    Missed,
    /// A tick skipped for a run that was not alive at its instant.
    Unjust,
    /// An entry of a tick whose time has not come, and which never ran.
    Foretold,
    /// More runs of a replica at once than its file allows.
    OverCapacity,
    /// A job that did not run again when faults had stopped, or a tick after that without an entry.
    Stalled,
}

#[cfg(feature = "test-switches")]
impl Broken {
    /// Everything that can be broken.
    pub(crate) const ALL: [Self; 14] = [
        Self::Overlap,
        Self::OwnOverlap,
        Self::SecondRun,
        Self::Fence,
        Self::OutOfHand,
        Self::LockTaken,
        Self::Early,
        Self::Untold,
        Self::ToldTwice,
        Self::Missed,
        Self::Unjust,
        Self::Foretold,
        Self::OverCapacity,
        Self::Stalled,
    ];
}

/// What was broken, and how.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    pub(crate) broken: Broken,
    pub(crate) how: String,
}

impl Violation {
    pub(crate) fn of(broken: Broken, how: String) -> Self {
        Self { broken, how }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.broken, self.how)
    }
}

/// A run in few words.
pub(crate) fn named(lease: &Lease) -> String {
    let Lease { tick, fence, cause, node, run, .. } = lease;
    format!("{cause} of {tick} on {node}, fence {fence}, run {run}")
}

/// Everything that ran, in order of start.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    pub(crate) runs: Vec<Process>,
}

impl Witness {
    /// A run is about to start.
    pub(crate) fn started(&self, run: &Process) -> Result<(), Violation> {
        let earlier = || self.runs.iter().filter(|earlier| earlier.job == run.job);
        let what = named(&run.lease);
        // A replica that was granted the lock which an unkillable run has lost may run beside it, but never that run's
        // own replica.
        let is_beside = |other: &&Process| {
            other.has_lost_lock && !other.is_of(run.seat, run.life) || other.outsleeps_deadline
        };
        if let Some(other) = earlier().find(|earlier| !earlier.is_over && !is_beside(earlier)) {
            let is_own = other.seat == run.seat;
            let broken = if is_own { Broken::OwnOverlap } else { Broken::Overlap };
            return Err(Violation::of(broken, format!("{what}, during {}", named(&other.lease))));
        }
        if earlier().any(|earlier| earlier.lease.run == run.lease.run) {
            // Another attempt of the same run.
            return Ok(());
        }
        let highest = earlier().map(|earlier| earlier.lease.fence).max().unwrap_or(Fence(0));
        if run.lease.fence <= highest {
            return Err(Violation::of(Broken::Fence, format!("{what}, after fence {highest}")));
        }
        if run.lease.cause == Cause::Manual {
            return Ok(());
        }
        let same =
            |earlier: &&Process| earlier.lease.tick == run.lease.tick && earlier.lease.cause != Cause::Manual;
        // Of each run, its last attempt.
        let before: BTreeMap<RunId, &Process> =
            earlier().filter(same).map(|earlier| (earlier.lease.run, earlier)).collect();
        let is_first_rerun = |first: &&Process| run.lease.cause == Cause::Rerun && first.was_cut_short();
        if before.len() > 1 || before.values().any(|first| !is_first_rerun(first)) {
            let before: Vec<String> = before.values().map(|run| named(&run.lease)).collect();
            return Err(Violation::of(Broken::SecondRun, format!("{what}, after {before:?}")));
        }
        let begins = run.lease.started;
        if run.lease.tick.instant() > begins {
            return Err(Violation::of(Broken::Early, format!("{what}, at {begins}")));
        }
        Ok(())
    }

    /// Nothing of a run is left.
    pub(crate) fn ended(&self, at: usize, now: Moment) -> Result<(), Violation> {
        let run = &self.runs[at];
        let alive_for = now.since(run.last_good);
        if alive_for > run.lease.length && !run.outsleeps_deadline {
            let what = named(&run.lease);
            let how = format!("{what}, alive {alive_for:?} after its last good renewal was sent");
            return Err(Violation::of(Broken::OutOfHand, how));
        }
        Ok(())
    }

    /// Returns the runs in progress whose locks are theirs as far as any process knows.
    pub(crate) fn holders(&self) -> impl Iterator<Item = &Process> {
        self.alive().map(|(_, run)| run).filter(|run| !run.has_lost_lock)
    }

    /// Returns the runs in progress.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (usize, &Process)> {
        self.runs.iter().enumerate().filter(|(_, run)| !run.is_over)
    }
}
