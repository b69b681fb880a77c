//! Runs that are going: a second grant of their job, a proof that they are alive, orders to stop, manual runs.

use crate::lease::{Phase, Renew, Reply, testing};
use crate::run::StopReason;
use crate::store::Hint;

use super::*;

fn with(keys: &str) -> Bench {
    let keys = format!("{AT_TEN}\n{keys}");
    let mut bench = Bench::of(&[("j", keys.as_str())], None);
    bench.pass(6_000);
    assert_eq!(bench.started(), ["j"]);
    bench
}

/// Puts an order for a manual run into the record, and tells the replicas.
fn trigger(bench: &mut Bench) {
    let now = bench.now.wall;
    let record = bench.records.get_mut(&job("j")).expect("it is open");
    (record.order, record.order_tick, record.order_at) = (Some(RunId::new()), Some(Tick(now)), Some(now));
    bench.notices = vec![Notice { job: job("j"), stamp: now.0 }];
    bench.pass(1_000);
}

/// The store forgets the run of the job.
fn forget(bench: &mut Bench) {
    let record = bench.records.get_mut(&job("j")).expect("it is open");
    (record.phase, record.run, record.locked_until) = (Phase::Idle, None, LeaseInstant::FREE);
}

#[test]
fn a_lock_granted_although_a_run_is_going_here_is_given_back() {
    let mut bench = with("overlap = \"wait\"");
    forget(&mut bench);
    bench.answers = Answers::Later;
    bench.pass(9_100);
    let granted = bench.kept.pop().expect("the next tick is claimed");
    bench.tell(granted);
    assert_eq!(bench.started.len(), 1);
    assert_eq!(bench.count("give back j"), 1, "{:?}", bench.done);
}

#[test]
fn a_tick_that_could_not_start_beside_a_run_here_is_claimed_again_when_that_is_over() {
    let mut bench = with("overlap = \"wait\"");
    forget(&mut bench);
    bench.pass(9_100);
    assert_eq!(bench.count("give back j"), 1, "{:?}", bench.done);
    for _ in 0..3 {
        // The store publishes that the tick was given back.
        let (mark, era) = (Some(bench.records[&job("j")].mark), bench.era.clone());
        let answer = Answer::Abandoned;
        let reply = Reply { mark, ..testing::reply(bench.now.wall, answer) };
        bench.tell(CoreInput::Hint(Hint { job: job("j"), era, reply }));
        bench.pass(1_500);
    }
    assert_eq!(bench.count("give back j"), 1, "it is not claimed while the run is going: {:?}", bench.done);
    bench.end("j");
    assert_eq!(bench.started_at(), [10_000, 20_000]);
}

#[test]
fn a_run_of_which_nothing_is_left_keeps_no_other_from_starting() {
    let mut bench = with("overlap = \"wait\"");
    bench.tell(CoreInput::RunEnded(RunExit { run: bench.run_of("j"), was_cut_short: false }));
    forget(&mut bench);
    bench.pass(10_000);
    assert_eq!(bench.started.len(), 2);
}

#[test]
fn an_own_run_proves_that_it_is_alive_where_the_job_skips() {
    let mut bench = with("");
    bench.pass(10_000);
    assert!(bench.count("Prove") > 0, "{:?}", bench.done);
    let mut bench = with("overlap = \"wait\"");
    bench.pass(10_000);
    assert_eq!(bench.count("Prove"), 0);
}

#[test]
fn a_waiting_tick_is_skipped_once_an_own_run_has_proved_that_it_is_alive() {
    let mut bench = with("");
    bench.pass(9_100);
    assert_eq!(bench.count("Prove"), 1, "{:?}", bench.done);
    let start = &bench.started[0].grant;
    let renew = Renew { lease: start.lease.clone(), leapt: None, expect: bench.now.wall };
    bench.submit(&job("j"), &Request::Renew(renew)).expect("the store is up");
    let claims = bench.count("claim");
    bench.tell(CoreInput::RunProven(job("j")));
    assert_eq!(bench.count("claim"), claims + 1, "it claims at once");
    let is_skipped = |event: &Event| matches!(event, Event::TickConsumed { verdict, .. } if verdict.outcome == Outcome::Skipped);
    assert!(bench.events.iter().any(is_skipped), "{:?}", bench.events);
}

#[test]
fn an_own_run_that_is_replaced_stops_at_once() {
    let mut bench = with("overlap = \"replace\"\nkill_grace = \"3s\"");
    bench.pass(9_100);
    let order = StopOrder { reason: StopReason::Replaced, grace: Duration::from_secs(3) };
    assert_eq!(bench.stops.first(), Some(&(bench.run_of("j"), order)));
}

#[test]
fn a_manual_run_starts_on_the_replica_that_takes_its_order() {
    let mut bench = with("");
    bench.end("j");
    trigger(&mut bench);
    assert_eq!(bench.started.len(), 2);
    assert_eq!(bench.started[1].grant.lease.cause, crate::job::Cause::Manual);
    bench.pass(3_000);
    assert_eq!(bench.started.len(), 2, "once");
}

#[test]
fn a_manual_run_waits_for_a_slot_and_takes_it() {
    let jobs = [("j", "schedule = \"@daily\""), ("k", "schedule = \"10 * * * * *\"")];
    let mut bench = Bench::of(&jobs, Some(1));
    bench.pass(6_000);
    assert_eq!(bench.started(), ["k"]);
    trigger(&mut bench);
    assert_eq!(bench.started(), ["k"], "no slot is free");
    bench.end("k");
    bench.pass(1_100);
    assert_eq!(bench.started(), ["k", "j"]);
    assert!(bench.core.capacity.is_full());
    bench.end("j");
    assert!(!bench.core.capacity.is_full());
}

#[test]
fn a_notice_about_a_job_makes_its_own_run_renew() {
    let mut bench = with("");
    let renewals = bench.count("Renew");
    bench.notices = vec![Notice { job: job("j"), stamp: 1 }];
    bench.pass(1_000);
    assert_eq!(bench.count("Renew"), renewals + 1);
    bench.pass(2_000);
    assert_eq!(bench.count("Renew"), renewals + 1, "the same notice is none any more");
}

#[test]
fn an_interrupted_run_is_announced_where_the_job_reruns() {
    for (keys, announced) in [("on_interrupt = \"rerun\"", 1), ("on_interrupt = \"skip\"", 0)] {
        let mut bench = with(keys);
        bench.tell(CoreInput::RunEnded(RunExit { run: bench.run_of("j"), was_cut_short: false }));
        bench.record_end("j", Verdict::plain(Outcome::Interrupted));
        assert_eq!(bench.count("Announce"), announced, "{keys}");
        bench.pass(2_000);
        assert_eq!(bench.started.len(), 1 + announced, "{keys}");
        let attempts = bench.started.iter().map(|start| start.grant.launch.identity.attempt);
        assert!(attempts.eq(1..=bench.started.len() as u32), "the rerun is the second attempt");
    }
}
