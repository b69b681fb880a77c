//! Records that random histories hardly ever meet: ticks that were given back after a loss of memory, and what depends on them.

use std::time::Duration;

use solocron::job::{Cause, Fence, RunId, Tick};
use solocron::lease::{Answer, Era, LeaseInstant, Phase, Record, Request, ScheduleHash};
use solocron::time::UtcMillis;

use crate::pair::{Pair, Written};
use crate::support::redis_server::RedisServer;
use crate::support::sample;

const SETTLING: Duration = Duration::from_secs(5);
const MINUTE: Duration = Duration::from_secs(60);

/// A run that began ten seconds ago, at its tick.
fn running(era: &Era, now: UtcMillis) -> Record {
    let instant = now.minus(Duration::from_secs(10));
    Record {
        mark: instant,
        fence: Fence(instant.0),
        locked_until: LeaseInstant(now.plus(MINUTE).0),
        lease: sample::LEASE,
        phase: Phase::Running,
        run: Some(RunId::new()),
        tick: Some(Tick(instant)),
        tries: 1,
        cause: Some(Cause::Schedule),
        started: Some(instant),
        ended: Some(instant),
        owner: Some(sample::node("a")),
        schedule_hash: sample::sched(),
        ..Record::empty(era.clone())
    }
}

/// The store forgot something since then.
fn settles(record: &mut Record, since: UtcMillis) {
    record.settles_at = LeaseInstant(since.plus(SETTLING).0);
}

fn leaps(record: &mut Record, text: &str) {
    record.leaps = text.parse().expect("leaps");
}

/// A lost leap of that one tick.
fn lost(tick: UtcMillis) -> String {
    format!("{}-{}?", tick.0 - 1, tick.0)
}

/// A record, what it is asked, and how it has to be decided.
struct Case {
    what: &'static str,
    record: Record,
    request: Request,
    is_right: fn(&Record, &Written) -> bool,
}

fn has_lost_its_tick(before: &Record, after: &Written) -> bool {
    let tick = before.tick.expect("a tick").instant();
    let record = after.record.as_ref().expect("a record");
    record.leaps.to_string() == lost(tick) && record.tick.is_none() && after.history.is_empty()
}

fn abandons(era: &Era, now: UtcMillis) -> Vec<Case> {
    let case = |what, change: &dyn Fn(&mut Record), is_right| {
        let mut record = running(era, now);
        change(&mut record);
        let request = Request::Abandon(sample::abandon(record.run.expect("a run"), era));
        Case { what, record, request, is_right }
    };
    vec![
        case("a loss since the grant", &|record| settles(record, now), has_lost_its_tick),
        case(
            "a loss between the grant and the start",
            &|record| settles(record, record.started.expect("a start").minus(Duration::from_millis(200))),
            has_lost_its_tick,
        ),
        case(
            "a loss, and an operator stopped the run",
            &|record| {
                settles(record, now);
                record.stop_run = record.run;
            },
            has_lost_its_tick,
        ),
        case(
            "a loss, and no place for another leap",
            &|record| {
                settles(record, now);
                let from = |n: i64| now.plus(MINUTE).0 + n * 1_000;
                let all: Vec<_> = (0..32).map(|n| format!("{}-{}!", from(n), from(n) + 500)).collect();
                (record.leaps, record.mark) = (all.join(" ").parse().expect("leaps"), UtcMillis(from(32)));
            },
            |_, after| after.history.len() == 1,
        ),
        case(
            "a tick that an operator opened again",
            &|record| (record.tick, record.tries) = (Some(Tick(now.plus(MINUTE))), 2),
            |_, after| after.history.is_empty() && after.record.as_ref().is_some_and(|r| !r.is_running()),
        ),
        case(
            "a loss, and a leap around the tick",
            &|record| {
                settles(record, now);
                record.mark = now.plus(MINUTE);
                let around = format!("{}-{}", record.started.expect("a start").0 - 1, record.mark.0);
                leaps(record, &around);
            },
            |before, after| {
                after.record.as_ref().is_some_and(|r| r.tick.is_none() && r.leaps == before.leaps)
            },
        ),
    ]
}

fn others(era: &Era, now: UtcMillis) -> Vec<Case> {
    let caller = || sample::caller(now, era);
    let idle = || Record { phase: Phase::Idle, tick: None, ended: None, ..running(era, now) };
    let came = now.minus(Duration::from_secs(10));

    let mut edited = idle();
    leaps(&mut edited, &lost(came));
    let mut open = sample::open(caller());
    (open.schedule_hash, open.schedule_since) = (ScheduleHash("bb".into()), now);
    let edited = Case {
        what: "an edit after a tick was lost",
        record: edited,
        request: Request::Open(open),
        is_right: |_, after| {
            after.history.len() == 1 && after.record.as_ref().is_some_and(|r| r.leaps.iter().next().is_none())
        },
    };

    let mut ahead = idle();
    ahead.mark = now.plus(MINUTE * 2);
    let both = format!("{}-{}! {}", came.0, now.plus(MINUTE).0, lost(ahead.mark));
    leaps(&mut ahead, &both);
    let ahead = Case {
        what: "a lost tick beyond those that ran ahead",
        record: ahead,
        request: Request::Open(sample::open(caller())),
        is_right: |_, after| matches!(after.reply.answer, Answer::Opened { ahead: Some(_), .. }),
    };

    let mut again = running(era, now);
    settles(&mut again, now);
    let former = solocron::lease::Lease {
        run: RunId::new(),
        fence: Fence(again.fence.0 - 1),
        ..sample::lease(&again)
    };
    let again = Case {
        what: "the end of a run whose tick was granted again",
        record: again,
        request: Request::Finish(sample::finish(&former, era)),
        is_right: |_, after| after.history.len() == 1 && after.reply.answer == Answer::Finished,
    };

    let mut opened = running(era, now);
    settles(&mut opened, now);
    opened.mark = now.minus(MINUTE);
    let former = solocron::lease::Lease {
        run: RunId::new(),
        fence: Fence(opened.fence.0 - 1),
        ..sample::lease(&opened)
    };
    let opened = Case {
        what: "the same, and an operator opened the tick",
        record: opened,
        request: Request::Finish(sample::finish(&former, era)),
        is_right: |before, after| {
            let has_leaps = after.record.as_ref().is_some_and(|r| r.leaps != before.leaps);
            after.history.len() == 1 && !has_leaps
        },
    };

    let mut waits = idle();
    waits.settles_at = LeaseInstant(now.plus(MINUTE * 60).0);
    let waits = Case {
        what: "a time for reports that a clock ahead began",
        record: waits,
        request: Request::Claim(sample::claim(caller(), Tick(came))),
        is_right: |_, after| {
            let settles_at = after.record.as_ref().map(|record| record.settles_at.0);
            settles_at == Some(after.reply.now.plus(SETTLING).0)
        },
    };
    vec![edited, ahead, again, opened, waits]
}

#[tokio::test]
async fn the_scripts_decide_about_lost_ticks_as_the_function_does() {
    let server = RedisServer::start();
    let mut pair = Pair::meet(&server).await;
    let (era, now) = (pair.era.clone(), pair.now().await);
    for case in abandons(&era, now).into_iter().chain(others(&era, now)) {
        let Case { what, record, request, is_right } = case;
        pair.begin();
        pair.store_record(Some(&record));
        let (by_scripts, ..) = pair.by_scripts(&request).await;
        let decision = pair.by_function(Some(&record), &request, by_scripts.reply.now);
        assert_eq!(pair.written(decision), by_scripts, "{what}");
        assert!(is_right(&record, &by_scripts), "{what}: {by_scripts:#?}");
    }
}
