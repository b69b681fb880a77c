//! What a replica does that is ordered to drain, or to stop at once.

use crate::run::StopReason;

use super::*;

/// A replica with one run that is going.
fn running() -> Bench {
    let mut bench = Bench::of(&[("j", AT_TEN), ("k", "schedule = \"15 * * * * *\"")], None);
    bench.pass(6_000);
    assert_eq!(bench.started(), ["j"]);
    bench
}

fn order(grace_s: u64) -> StopOrder {
    StopOrder { reason: StopReason::Shutdown, grace: Duration::from_secs(grace_s) }
}

#[test]
fn a_draining_replica_takes_no_new_tick_and_lets_its_run_finish() {
    let mut bench = running();
    assert!(!bench.core.is_draining());
    bench.tell(CoreInput::Drain);
    assert!(bench.core.is_draining());
    assert_eq!(bench.count("EndAttempts"), 1, "no further attempt follows");
    assert!(bench.beat.as_ref().is_some_and(|beat| beat.draining), "the others learn of it");
    assert_eq!(bench.count("BeatNow"), 1);
    bench.pass(20_000);
    assert_eq!(bench.started(), ["j"]);
    assert_eq!(bench.stops, []);
    bench.end("j");
    bench.pass(20_000);
    assert_eq!(bench.started(), ["j"], "nor the next tick of the same job");
}

#[test]
fn after_the_drain_time_runs_are_stopped_then_left_unrecorded_then_left_behind() {
    let mut bench = running();
    bench.tell(CoreInput::Drain);
    bench.pass(29_900);
    assert_eq!(bench.stops, []);
    bench.pass(200);
    assert_eq!(bench.stops, [(bench.run_of("j"), order(10))], "with the job's own grace");
    bench.pass(14_800);
    assert_eq!(bench.count("GiveUpRecording"), 0, "10 s of grace and 5 s to record");
    bench.pass(200);
    assert_eq!(bench.count("GiveUpRecording"), 1);
    bench.pass(59_800);
    assert_eq!(bench.count("LeaveBehind"), 0);
    bench.pass(200);
    assert_eq!(bench.count("LeaveBehind"), 1);
    assert!(bench.events.iter().any(|event| matches!(event, Event::LeftBehind(1))), "{:?}", bench.events);
    bench.pass(60_000);
    assert_eq!((bench.stops.len(), bench.count("LeaveBehind")), (1, 1), "each once");
}

#[test]
fn a_run_that_has_ended_is_not_ordered_to_stop() {
    let mut bench = running();
    bench.tell(CoreInput::RunEnded(RunExit { run: bench.run_of("j"), was_cut_short: false }));
    bench.tell(CoreInput::StopAtOnce);
    assert_eq!(bench.stops, []);
}

#[test]
fn an_order_to_stop_at_once_leaves_no_grace_and_shortens_the_waits() {
    let mut bench = running();
    bench.tell(CoreInput::Drain);
    bench.pass(1_000);
    bench.tell(CoreInput::StopAtOnce);
    assert_eq!(bench.stops, [(bench.run_of("j"), order(0))]);
    assert_eq!(bench.count("EndAttempts"), 1, "it drained already");
    bench.pass(5_100);
    assert_eq!(bench.count("GiveUpRecording"), 1);
    bench.pass(5_100);
    assert_eq!(bench.count("LeaveBehind"), 1);
}

#[test]
fn a_grant_under_way_still_runs_in_a_drain_and_is_given_back_once_runs_are_stopped() {
    for is_stopped in [false, true] {
        let mut bench = Bench::of(&[("j", AT_TEN)], None);
        bench.answers = Answers::Later;
        bench.pass(5_050);
        bench.tell(if is_stopped { CoreInput::StopAtOnce } else { CoreInput::Drain });
        bench.let_answers_in();
        assert_eq!(bench.started.len(), usize::from(!is_stopped));
        assert_eq!(bench.count("give back j"), usize::from(is_stopped));
        assert!(bench.started.iter().all(|start| start.is_last_attempt), "one attempt is all it has");
    }
}

#[test]
fn what_an_unanswered_claim_may_have_been_granted_is_given_back_by_a_drain() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    bench.answers = Answers::Lost;
    bench.pass(5_050);
    bench.tell(CoreInput::Drain);
    assert_eq!(bench.count("give back j"), 1);
    assert!(!bench.records[&job("j")].is_running(), "the lock is free for the others");
    bench.pass(20_000);
    assert_eq!(bench.started.len(), 0);
}

#[test]
fn a_draining_replica_loads_no_file() {
    let mut bench = running();
    bench.tell(CoreInput::Drain);
    bench.tell(CoreInput::Reload(Box::new(file(&[("new", AT_TEN)], None))));
    assert!(bench.reloaded.is_none());
    assert!(bench.core.jobs.contains_key(&job("j")));
}
