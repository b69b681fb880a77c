//! What one exploration covers: the job, the replicas, the faults that may happen, and how far it goes.

use std::time::Duration;

use solocron::job::{NodeName, OnInterrupt, Overlap, RunId, Tick};
use solocron::lease::{Era, Pace, Protection, ScheduleHash};
use solocron::time::UtcMillis;

/// Time passes in steps of this length: longer than a request may be held up, so that one which arrives a step later
/// is late. Replicas listen to the store when a step begins, and everything else happens in its middle.
pub(crate) const STEP: Duration = Duration::from_secs(2);

/// The middle of a step.
pub(crate) const MIDDLE: Duration = Duration::from_secs(1);

/// Ticks come between a step's beginning and its middle: no heartbeat of their own step covers them.
const TICK: Duration = Duration::from_millis(500);

/// Where the store's clock starts.
const ORIGIN: UtcMillis = UtcMillis(1_000_000_000);

/// How many faults of each kind a history may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Faults {
    /// Requests or replies that arrive late or never, and requests that arrive twice.
    pub(crate) late: u8,
    /// Processes that die; each may be started again on its disk.
    pub(crate) crashes: u8,
    /// Processes that are stopped; each may go on at any time.
    pub(crate) freezes: u8,
    /// Replicas that cannot reach the store; each may reach it again at any time.
    pub(crate) cuts: u8,
    /// Losses of the store's memory, in the ways of the setting.
    pub(crate) losses: u8,
    /// Steps of the store's clock, by the distances of the setting.
    pub(crate) jumps: u8,
    /// Followers that are promoted while the old primary still serves somebody.
    pub(crate) splits: u8,
}

/// How the store may lose its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Loss {
    /// It is restarted, and everything is still there: a new era all the same.
    Nothing,
    /// It goes on from what it held when this step began, or the one before: a failover, or a restart with lost writes.
    Writes { since_last_step: bool },
    /// It is restarted empty.
    Everything,
    /// It is emptied by hand, and lives on.
    Flush,
    /// The job's record is deleted by hand.
    Record,
}

/// When a replica sends its last finish again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resend {
    /// On a new era, if the run has ended.
    Ended,
    /// Never.
    Never,
    /// On a new era, even if the run still goes on.
    Any,
}

/// One exploration.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// The lease that each replica asks for, in steps: one replica for each.
    pub(crate) leases: &'static [u8],
    /// By how many steps the wall clock of the first replica is ahead.
    pub(crate) ahead: u8,
    /// From one tick to the next, in steps.
    pub(crate) period: u8,
    /// How many steps are explored.
    pub(crate) horizon: u8,
    pub(crate) overlap: Overlap,
    pub(crate) on_interrupt: OnInterrupt,
    pub(crate) faults: Faults,
    pub(crate) losses: &'static [Loss],
    pub(crate) jumps: &'static [i8],
    /// What is wrong with telling ends again, where that protection is missing.
    pub(crate) wrong_resend: Resend,
    /// From one renewal to the next, in steps, and whether a holder looks in between whether the record tells of its run.
    pub(crate) renew_every: u8,
    pub(crate) looks: bool,
    /// Whether each knows its own lease only, as guests do, and who has just started.
    pub(crate) are_strangers: bool,
    /// Whether a primary that was replaced takes no writes, as with `min-replicas-to-write`.
    pub(crate) old_refuses: bool,
    /// Whether a replica gives a lock back that it is granted while a run of the job goes on under it.
    pub(crate) refuses_own: bool,
    /// Whether the store decides nothing: replicas read its record and swap it.
    pub(crate) swaps: bool,
    /// Whether a holder's deadline is earlier by the time for which its swap was under way.
    pub(crate) counts_age: bool,
    /// What must hold, if not everything.
    pub(crate) promised: &'static [&'static str],
    /// Whether calm is only what a replica has watched without a gap.
    pub(crate) watches: bool,
    /// Whether every state must get over its faults.
    pub(crate) recovers: bool,
    /// The protection that is missing.
    pub(crate) off: Option<Protection>,
}

impl Setting {
    /// Two replicas of one lease, and no faults.
    pub(crate) const PLAIN: Self = Self {
        leases: &[2, 2],
        ahead: 0,
        period: 2,
        horizon: 6,
        overlap: Overlap::Wait,
        on_interrupt: OnInterrupt::Skip,
        faults: Faults { late: 0, crashes: 0, freezes: 0, cuts: 0, losses: 0, jumps: 0, splits: 0 },
        losses: &[],
        jumps: &[],
        wrong_resend: Resend::Never,
        renew_every: 1,
        looks: true,
        are_strangers: false,
        old_refuses: true,
        refuses_own: true,
        swaps: false,
        counts_age: true,
        promised: &[],
        watches: true,
        recovers: false,
        off: None,
    };

    /// Does something without the missing protection.
    pub(crate) fn decide<T>(&self, act: impl FnOnce() -> T) -> T {
        Protection::without(self.off, act)
    }

    /// Whether a protection of the replica is there.
    pub(crate) fn has(&self, protection: Protection) -> bool {
        self.off != Some(protection)
    }

    /// When replicas tell the store of ends that it may have forgotten.
    pub(crate) fn resend(&self) -> Resend {
        if self.has(Protection::ResentFinish) { Resend::Ended } else { self.wrong_resend }
    }

    pub(crate) fn lease(&self, who: usize) -> Duration {
        STEP * u32::from(self.leases[who])
    }

    /// Replicas know each other's leases: what none of them knows no wait can cover.
    pub(crate) fn largest_lease(&self) -> Duration {
        STEP * u32::from(self.leases.iter().copied().max().unwrap_or_default())
    }

    /// The largest lease that a replica has heard of.
    pub(crate) fn known_lease(&self, who: usize) -> Duration {
        if self.are_strangers { self.lease(who) } else { self.largest_lease() }
    }

    /// How the holder of a lock paces itself.
    pub(crate) fn pace(lease: Duration) -> Pace {
        Pace::new(lease, Duration::from_secs(10))
    }

    /// The newest tick at this wall-clock time; the first one is that of step 0.
    pub(crate) fn tick_at(&self, wall: UtcMillis) -> Option<Tick> {
        let every = STEP * u32::from(self.period);
        let first = ORIGIN.plus(TICK);
        if wall < first {
            return None;
        }
        let count = wall.since(first).as_millis() / every.as_millis();
        Some(Tick(first.plus(every * u32::try_from(count).expect("a small number"))))
    }
}

/// The world's time at the beginning of a step.
pub(crate) fn time_of(step: u8) -> UtcMillis {
    ORIGIN.plus(STEP * u32::from(step))
}

/// What a clock shows that is this many steps ahead, or behind.
pub(crate) fn shifted(at: UtcMillis, steps: i8) -> UtcMillis {
    let by = STEP * u32::from(steps.unsigned_abs());
    if steps < 0 { at.minus(by) } else { at.plus(by) }
}

pub(crate) fn node(who: usize) -> NodeName {
    NodeName::parse(["a", "b", "c"][who]).expect("a good name")
}

pub(crate) fn era(number: u8) -> Era {
    Era(number.to_string())
}

pub(crate) fn run_id(number: u8) -> RunId {
    format!("00000000-0000-7000-8000-{number:012}").parse().expect("a run id")
}

pub(crate) fn sched() -> ScheduleHash {
    ScheduleHash("aa".into())
}
