//! Requests as an honest replica would send them, for tests to change field by field.

use std::time::Duration;

use crate::job::{Fence, NodeName, OnInterrupt, Overlap, Reason, RunId, Tick};
use crate::time::UtcMillis;

use super::{Answer, Caller, Claim, Era, LiveRuns, Reply, ScheduleHash};

/// A replica that remembers nothing, and expects its request to arrive at this time.
pub(crate) fn caller(node: &str, expect: UtcMillis, era: Era) -> Caller {
    Caller {
        node: NodeName::parse(node).expect("a name"),
        expect,
        era,
        calm: Duration::ZERO,
        latest_store_time: UtcMillis(0),
        largest_lease: Duration::ZERO,
        known_mark: None,
        answered_mark: None,
        leapt_from: None,
        largest_fence: Fence(0),
    }
}

/// A claim for a tick, with a lease of half a minute and the default policies.
pub(crate) fn claim(caller: Caller, tick: Tick) -> Claim {
    Claim {
        run: RunId::new(),
        tick,
        prev: None,
        gap: None,
        gap_reason: Reason::NoReplica,
        schedule_hash: ScheduleHash::default(),
        lease: Duration::from_secs(30),
        start_deadline: Duration::from_secs(60),
        overlap: Overlap::Skip,
        on_interrupt: OnInterrupt::Skip,
        catch_up: false,
        wall: caller.expect,
        unfit: None,
        live_runs: LiveRuns::default(),
        caller,
    }
}

/// An answer at this time, about a job without a record.
pub(crate) fn reply(now: UtcMillis, answer: Answer) -> Reply {
    Reply { now, mark: None, lease: None, rerun: None, lag: Duration::ZERO, answer }
}
