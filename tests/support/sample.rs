//! Requests as an honest replica would send them, to be changed field by field by the tests.

use std::time::Duration;

use solocron::job::{Cause, Fence, NodeName, OnInterrupt, Outcome, Overlap, Reason, RunId, Tick, Verdict};
use solocron::lease::{
    Abandon, Caller, Claim, Era, Finish, Lease, LiveRuns, Manual, Open, Record, Renew, ScheduleHash,
};
use solocron::time::UtcMillis;

/// The lease of the sample job.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Its schedule: every minute.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);

/// A replica's name.
pub(crate) fn node(name: &str) -> NodeName {
    NodeName::parse(name).expect("a good name")
}

/// The hash of the sample job's schedule.
pub(crate) fn sched() -> ScheduleHash {
    ScheduleHash("00000000000000aa".into())
}

/// A replica that has watched a steady clock for an hour.
pub(crate) fn caller(now: UtcMillis, era: &Era) -> Caller {
    Caller {
        node: node("a"),
        expect: now,
        era: era.clone(),
        calm: Duration::from_secs(3600),
        latest_store_time: UtcMillis(0),
        largest_lease: LEASE,
        known_mark: None,
        answered_mark: None,
        leapt_from: None,
        largest_fence: Fence(0),
    }
}

/// Opens the sample job, which is known.
pub(crate) fn open(caller: Caller) -> Open {
    let (sched, earlier, wall) = (sched(), caller.latest_store_time, caller.expect);
    Open {
        schedule_hash: sched,
        is_known_job: true,
        latest_of_earlier_eras: earlier,
        ..Open::by_exec(caller, LEASE, wall)
    }
}

/// Claims a tick of the sample job with the default policies.
pub(crate) fn claim(caller: Caller, tick: Tick) -> Claim {
    Claim {
        run: RunId::new(),
        tick,
        prev: Some(Tick(tick.instant().minus(PERIOD))),
        gap: None,
        gap_reason: Reason::NoReplica,
        schedule_hash: sched(),
        lease: LEASE,
        start_deadline: PERIOD,
        overlap: Overlap::Skip,
        on_interrupt: OnInterrupt::Skip,
        catch_up: false,
        wall: caller.expect,
        unfit: None,
        live_runs: LiveRuns::default(),
        caller,
    }
}

/// Asks for a run here and now.
pub(crate) fn manual(caller: Caller) -> Manual {
    Manual {
        run: RunId::new(),
        tick: Tick(caller.expect),
        asked: caller.expect,
        order: None,
        lease: LEASE,
        overlap: Overlap::Skip,
        rerun_deadline: None,
        caller,
    }
}

/// The lock that a record shows, as its holder knows it.
pub(crate) fn lease(record: &Record) -> Lease {
    Lease {
        run: record.run.expect("a run"),
        fence: record.fence,
        tick: record.tick.expect("a tick"),
        length: record.lease,
        node: record.owner.clone().expect("an owner"),
        cause: record.cause.expect("a cause"),
        tries: record.tries,
        started: record.started.expect("a start"),
        schedule_hash: record.schedule_hash.clone(),
        mark: record.mark,
        prev: None,
    }
}

/// A lock that no record shows any more.
pub(crate) fn forgotten(tick: Tick, fence: i64) -> Lease {
    Lease {
        run: RunId::new(),
        fence: Fence(fence),
        tick,
        length: LEASE,
        node: node("h"),
        cause: Cause::Schedule,
        tries: 1,
        started: tick.instant(),
        schedule_hash: sched(),
        mark: tick.instant(),
        prev: None,
    }
}

/// Renews.
pub(crate) fn renew(lease: &Lease, expect: UtcMillis) -> Renew {
    Renew { lease: lease.clone(), expect, leapt: None }
}

/// Tells that a run has just ended well.
pub(crate) fn finish(lease: &Lease, era: &Era) -> Finish {
    Finish {
        lease: lease.clone(),
        era: era.clone(),
        attempt: 1,
        verdict: Verdict::plain(Outcome::Succeeded),
        ended: UtcMillis(i64::MAX),
        exit_code: Some(0),
        signal: None,
        tail: String::new(),
        leapt: None,
    }
}

/// Tells that nothing was started.
pub(crate) fn abandon(run: RunId, era: &Era) -> Abandon {
    Abandon { run, era: era.clone(), edited: false }
}
