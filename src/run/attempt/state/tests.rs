//! Tables of events and their results.

use proptest::prelude::*;

use super::*;

const CLEAN: ChildExit = ChildExit { code: Some(0), signal: None };
const TERMED: ChildExit = ChildExit { code: None, signal: Some(15) };
const KILLED: ChildExit = ChildExit { code: None, signal: Some(9) };
const EMPTY: AttemptEvent = AttemptEvent::Tree(Tree::Empty);

fn limits() -> Limits {
    Limits { timeout: Some(secs(60)), kill_grace: secs(10), loss_grace: secs(5), success_codes: vec![0, 3] }
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn stop(reason: StopReason, grace: u64) -> AttemptEvent {
    AttemptEvent::Stop(StopOrder { reason, grace: secs(grace) })
}

/// Feeds the events, each at its second. Returns the actions, without `Wait`, and the verdict if the attempt is over.
fn state(events: &[(u64, AttemptEvent)]) -> (Vec<AttemptAction>, Option<(String, ChildExit)>) {
    let (mut state, mut done) = (AttemptState::Running, Vec::new());
    for &(at, event) in events {
        match state.step(event, secs(at), &limits()) {
            Step::Over(verdict, exit) => return (done, Some((verdict.to_string(), exit))),
            Step::On(next, action) => {
                state = next;
                done.extend(Some(action).filter(|action| *action != AttemptAction::Wait));
            }
        }
    }
    (done, None)
}

#[test]
fn who_ends_by_itself_is_judged_by_its_exit_code() {
    let code = |code| ChildExit { code: Some(code), signal: None };
    for (exit, words) in
        [(CLEAN, "succeeded"), (code(3), "succeeded"), (code(1), "failed"), (KILLED, "failed")]
    {
        assert_eq!(state(&[(1, AttemptEvent::Exited(exit))]), (vec![], Some((words.into(), exit))));
    }
}

#[test]
fn a_timeout_asks_then_kills_and_is_over_when_nothing_is_left() {
    let alive = AttemptEvent::Tree(Tree::Alive);
    let (done, end) = state(&[
        (59, AttemptEvent::Clock),
        (60, AttemptEvent::Clock),
        (69, AttemptEvent::Clock),
        (70, AttemptEvent::Clock),
        (70, AttemptEvent::Stopped(KILLED)),
        (71, alive),
        (72, EMPTY),
    ]);
    assert_eq!(done, [AttemptAction::Stop(secs(10)), AttemptAction::Stop(secs(0))]);
    assert_eq!(end, Some(("timed_out".into(), KILLED)));
}

/// Returns the signals that the processes are sent by these events, each at its second.
fn signals(events: &[(u64, AttemptEvent)]) -> StopSignals {
    let (mut state, mut signals) = (AttemptState::Running, StopSignals::default());
    for &(at, event) in events {
        if let Step::On(next, _) = state.step(event, secs(at), &limits()) {
            state = next;
            state.note_signal(&mut signals);
        }
    }
    signals
}

#[test]
fn each_signal_is_noted_with_the_reason_for_which_it_was_sent_first() {
    let (timeout, drain) = (StopReason::Timeout, StopReason::Shutdown);
    for (events, term, kill) in [
        (&[(1, AttemptEvent::Exited(CLEAN))][..], None, None),
        (&[(60, AttemptEvent::Clock), (61, EMPTY)], Some(timeout), None),
        (&[(60, AttemptEvent::Clock), (70, AttemptEvent::Clock)], Some(timeout), Some(timeout)),
        (&[(1, stop(drain, 0)), (2, EMPTY)], None, Some(drain)),
        (&[(1, stop(StopReason::Operator, 9)), (2, stop(drain, 5))], Some(StopReason::Operator), None),
        (&[(1, AttemptEvent::Stopped(TERMED)), (2, EMPTY)], Some(StopReason::LockLost), None),
    ] {
        assert_eq!(signals(events), StopSignals { term, kill }, "{events:?}");
    }
}

#[test]
fn an_exit_and_a_timeout_in_one_instant_give_the_verdict_of_the_exit() {
    assert_eq!(
        state(&[(60, AttemptEvent::Exited(CLEAN)), (60, AttemptEvent::Clock)]).1,
        Some(("succeeded".into(), CLEAN))
    );
}

#[test]
fn who_ended_by_itself_before_it_could_be_stopped_keeps_its_own_verdict() {
    for order in [stop(StopReason::Operator, 5), stop(StopReason::LockLost, 0)] {
        let end = state(&[(1, order), (2, AttemptEvent::Exited(CLEAN))]).1;
        assert_eq!(end, Some(("succeeded".into(), CLEAN)));
    }
}

#[test]
fn an_exit_with_success_after_the_order_is_still_a_stop() {
    let events = [(1, stop(StopReason::Operator, 5)), (2, AttemptEvent::Stopped(CLEAN)), (2, EMPTY)];
    assert_eq!(
        state(&events),
        (vec![AttemptAction::Stop(secs(5))], Some(("killed (operator)".into(), CLEAN)))
    );
}

#[test]
fn processes_left_by_the_main_one_get_the_grace_and_are_then_killed() {
    let alive = AttemptEvent::Tree(Tree::Alive);
    let events = [
        (1, stop(StopReason::Replaced, 5)),
        (2, AttemptEvent::Stopped(TERMED)),
        (5, alive),
        (6, alive),
        (6, EMPTY),
    ];
    let done = vec![AttemptAction::Stop(secs(5)), AttemptAction::Stop(secs(0))];
    assert_eq!(state(&events), (done, Some(("killed (replaced)".into(), TERMED))));
}

#[test]
fn no_grace_means_sigkill_at_once() {
    assert_eq!(state(&[(1, stop(StopReason::LockLost, 0))]).0, [AttemptAction::Stop(secs(0))]);
}

#[test]
fn a_guard_that_stops_the_run_by_itself_has_found_the_deadline_over() {
    let events = [(1, AttemptEvent::Stopped(TERMED)), (2, EMPTY)];
    assert_eq!(state(&events), (vec![], Some(("interrupted (lock_lost)".into(), TERMED))));
}

#[test]
fn without_its_guard_a_run_is_killed_and_nobody_can_say_how_it_ended() {
    let events = [(1, AttemptEvent::GuardLost), (2, AttemptEvent::Tree(Tree::Alive)), (3, EMPTY)];
    let end = Some(("interrupted (node_lost)".into(), ChildExit::default()));
    assert_eq!(state(&events), (vec![AttemptAction::Stop(secs(0))], end));
    let stopped = state(&[(1, stop(StopReason::Operator, 9)), (2, AttemptEvent::GuardLost), (3, EMPTY)]);
    assert_eq!(stopped.1, Some(("killed (operator)".into(), ChildExit::default())));
}

#[test]
fn of_several_orders_the_strongest_reason_and_the_earliest_kill_count() {
    let end = [(9, AttemptEvent::Stopped(KILLED)), (9, EMPTY)];
    let (ask, kill) = (|grace| AttemptAction::Stop(secs(grace)), AttemptAction::Stop(secs(0)));
    type Case<'a> = (&'a [(u64, AttemptEvent)], &'a [AttemptAction], &'a str);
    let cases: [Case<'_>; 4] = [
        (
            &[
                (1, stop(StopReason::LockLost, 5)),
                (2, stop(StopReason::Operator, 9)),
                (5, AttemptEvent::Clock),
            ],
            &[ask(5)],
            "interrupted (lock_lost)",
        ),
        (
            &[
                (1, stop(StopReason::LockLost, 9)),
                (2, stop(StopReason::Operator, 3)),
                (5, AttemptEvent::Clock),
            ],
            &[ask(9), ask(3), kill],
            "interrupted (lock_lost)",
        ),
        (
            &[(1, stop(StopReason::Operator, 9)), (2, stop(StopReason::Shutdown, 0))],
            &[ask(9), kill],
            "killed (operator)",
        ),
        (
            &[(1, stop(StopReason::Operator, 0)), (2, stop(StopReason::LockLost, 0))],
            &[kill],
            "killed (operator)",
        ),
    ];
    for (events, actions, words) in cases {
        let all = [events, &end].concat();
        assert_eq!(state(&all), (actions.to_vec(), Some((words.into(), KILLED))));
    }
}

#[test]
fn a_tree_that_outlives_sigkill_is_said_once() {
    let alive = AttemptEvent::Tree(Tree::Alive);
    let events = [(1, stop(StopReason::Operator, 0)), (5, alive), (6, alive), (7, alive)];
    assert_eq!(
        state(&events).0,
        [AttemptAction::Stop(secs(0)), AttemptAction::Complain(StopReason::Operator)]
    );
}

fn any_event() -> impl Strategy<Value = AttemptEvent> {
    let reasons = [StopReason::Timeout, StopReason::Operator, StopReason::Shutdown, StopReason::LockLost];
    prop_oneof![
        Just(AttemptEvent::Clock),
        Just(AttemptEvent::Tree(Tree::Alive)),
        (prop::sample::select(reasons.to_vec()), 0u64..20).prop_map(|(reason, grace)| stop(reason, grace)),
    ]
}

proptest! {
    #[test]
    fn nothing_ends_an_attempt_but_its_own_end_and_the_proof_that_nothing_is_left(
        events in prop::collection::vec((0u64..200, any_event()), 0..40),
    ) {
        let mut events = events;
        events.sort_by_key(|(at, _)| *at);
        prop_assert_eq!(state(&events).1, None);
    }
}
