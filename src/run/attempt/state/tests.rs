//! Tables of events, and what they lead to.

use proptest::prelude::*;

use super::*;

const CLEAN: Exit = Exit { code: Some(0), signal: None };
const TERMED: Exit = Exit { code: None, signal: Some(15) };
const KILLED: Exit = Exit { code: None, signal: Some(9) };
const EMPTY: Event = Event::Tree(Tree::Empty);

fn limits() -> Limits {
    Limits { timeout: Some(secs(60)), kill_grace: secs(10), loss_grace: secs(5), success_codes: vec![0, 3] }
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn stop(reason: StopReason, grace: u64) -> Event {
    Event::Stop(StopOrder { reason, grace: secs(grace) })
}

/// Feeds the events, each at its second; returns what was done, and the verdict if it is over.
fn course(events: &[(u64, Event)]) -> (Vec<Action>, Option<(String, Exit)>) {
    let (mut course, mut done) = (Course::Running, Vec::new());
    for &(at, event) in events {
        match course.step(event, secs(at), &limits()) {
            Step::Over(verdict, exit) => return (done, Some((verdict.to_string(), exit))),
            Step::On(next, action) => {
                course = next;
                done.extend(Some(action).filter(|action| *action != Action::Wait));
            }
        }
    }
    (done, None)
}

#[test]
fn who_ends_by_itself_is_judged_by_its_exit_code() {
    let code = |code| Exit { code: Some(code), signal: None };
    for (exit, words) in
        [(CLEAN, "succeeded"), (code(3), "succeeded"), (code(1), "failed"), (KILLED, "failed")]
    {
        assert_eq!(course(&[(1, Event::Exited(exit))]), (vec![], Some((words.into(), exit))));
    }
}

#[test]
fn a_timeout_asks_then_kills_and_is_over_when_nothing_is_left() {
    let alive = Event::Tree(Tree::Alive);
    let (done, end) = course(&[
        (59, Event::Clock),
        (60, Event::Clock),
        (69, Event::Clock),
        (70, Event::Clock),
        (70, Event::Stopped(KILLED)),
        (71, alive),
        (72, EMPTY),
    ]);
    assert_eq!(done, [Action::Stop(secs(10)), Action::Stop(secs(0))]);
    assert_eq!(end, Some(("timed_out".into(), KILLED)));
}

#[test]
fn an_exit_and_a_timeout_in_one_instant_give_the_verdict_of_the_exit() {
    assert_eq!(
        course(&[(60, Event::Exited(CLEAN)), (60, Event::Clock)]).1,
        Some(("succeeded".into(), CLEAN))
    );
}

#[test]
fn who_ended_by_itself_before_it_could_be_stopped_keeps_its_own_verdict() {
    for order in [stop(StopReason::Operator, 5), stop(StopReason::LockLost, 0)] {
        let end = course(&[(1, order), (2, Event::Exited(CLEAN))]).1;
        assert_eq!(end, Some(("succeeded".into(), CLEAN)));
    }
}

#[test]
fn an_exit_with_success_after_the_order_is_still_a_stop() {
    let events = [(1, stop(StopReason::Operator, 5)), (2, Event::Stopped(CLEAN)), (2, EMPTY)];
    assert_eq!(course(&events), (vec![Action::Stop(secs(5))], Some(("killed (operator)".into(), CLEAN))));
}

#[test]
fn what_is_left_after_the_main_process_is_waited_for_until_the_grace_ends_and_then_killed() {
    let alive = Event::Tree(Tree::Alive);
    let events =
        [(1, stop(StopReason::Replaced, 5)), (2, Event::Stopped(TERMED)), (5, alive), (6, alive), (6, EMPTY)];
    let done = vec![Action::Stop(secs(5)), Action::Stop(secs(0))];
    assert_eq!(course(&events), (done, Some(("killed (replaced)".into(), TERMED))));
}

#[test]
fn no_grace_means_sigkill_at_once() {
    assert_eq!(course(&[(1, stop(StopReason::LockLost, 0))]).0, [Action::Stop(secs(0))]);
}

#[test]
fn a_guard_that_stops_the_run_by_itself_has_found_the_deadline_over() {
    let events = [(1, Event::Stopped(TERMED)), (2, EMPTY)];
    assert_eq!(course(&events), (vec![], Some(("interrupted (lock_lost)".into(), TERMED))));
}

#[test]
fn without_its_guard_a_run_is_killed_and_nobody_can_say_how_it_ended() {
    let events = [(1, Event::GuardLost), (2, Event::Tree(Tree::Alive)), (3, EMPTY)];
    let end = Some(("interrupted (node_lost)".into(), Exit::default()));
    assert_eq!(course(&events), (vec![Action::Stop(secs(0))], end));
    let stopped = course(&[(1, stop(StopReason::Operator, 9)), (2, Event::GuardLost), (3, EMPTY)]);
    assert_eq!(stopped.1, Some(("killed (operator)".into(), Exit::default())));
}

#[test]
fn of_several_orders_the_strongest_reason_and_the_earliest_kill_count() {
    let end = [(9, Event::Stopped(KILLED)), (9, EMPTY)];
    let (ask, kill) = (|grace| Action::Stop(secs(grace)), Action::Stop(secs(0)));
    type Case<'a> = (&'a [(u64, Event)], &'a [Action], &'a str);
    let cases: [Case<'_>; 4] = [
        (
            &[(1, stop(StopReason::LockLost, 5)), (2, stop(StopReason::Operator, 9)), (5, Event::Clock)],
            &[ask(5)],
            "interrupted (lock_lost)",
        ),
        (
            &[(1, stop(StopReason::LockLost, 9)), (2, stop(StopReason::Operator, 3)), (5, Event::Clock)],
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
        assert_eq!(course(&all), (actions.to_vec(), Some((words.into(), KILLED))));
    }
}

#[test]
fn a_tree_that_outlives_sigkill_is_said_once() {
    let alive = Event::Tree(Tree::Alive);
    let events = [(1, stop(StopReason::Operator, 0)), (5, alive), (6, alive), (7, alive)];
    assert_eq!(course(&events).0, [Action::Stop(secs(0)), Action::Complain(StopReason::Operator)]);
}

fn any_event() -> impl Strategy<Value = Event> {
    let reasons = [StopReason::Timeout, StopReason::Operator, StopReason::Shutdown, StopReason::LockLost];
    prop_oneof![
        Just(Event::Clock),
        Just(Event::Tree(Tree::Alive)),
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
        prop_assert_eq!(course(&events).1, None);
    }
}
