use super::*;

const fn at(millis: u64) -> BootInstant {
    BootInstant(Duration::from_millis(millis))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Feeds the events, each at its millisecond, to a run with a deadline at 1,000 and a loss grace of 200. Returns the
/// actions, without `Wait`.
fn actions(events: &[(u64, GuardEvent)]) -> Vec<GuardAction> {
    acts_where(events, |_| (ms(0), false))
}

/// Does the same, where `struck` returns how long each kill round, from 0, takes and whether the next has to follow
/// at once.
fn acts_where(events: &[(u64, GuardEvent)], struck: impl Fn(usize) -> (Duration, bool)) -> Vec<GuardAction> {
    let (mut state, mut kill_rounds, mut done) = (GuardState::new(at(1_000), ms(200)), 0, Vec::new());
    for &(when, event) in events {
        let action = state.step(event, at(when));
        if action == GuardAction::Kill {
            let (took, press) = struck(kill_rounds);
            kill_rounds += 1;
            assert_eq!(
                state.step(GuardEvent::Struck { took, press }, at(when).plus(took)),
                GuardAction::Wait
            );
        }
        done.extend(Some(action).filter(|action| *action != GuardAction::Wait));
    }
    done
}

#[test]
fn a_run_that_ends_by_itself_is_told_of_and_what_it_left_behind_is_left_alone() {
    let events = [
        (10, GuardEvent::MainEnded),
        (11, GuardEvent::Stop(Duration::ZERO)),
        (12, GuardEvent::Hangup),
        (5_000, GuardEvent::Clock),
        (9_000, GuardEvent::Childless),
    ];
    assert_eq!(actions(&events), [GuardAction::ReportExited, GuardAction::Leave]);
}

#[test]
fn at_the_deadline_a_run_is_asked_then_killed_until_nothing_is_left() {
    let events = [
        (999, GuardEvent::Clock),
        (1_000, GuardEvent::Clock),
        (1_199, GuardEvent::Clock),
        (1_200, GuardEvent::Clock),
        (1_200, GuardEvent::MainEnded),
        (1_201, GuardEvent::Clock),
        (1_202, GuardEvent::Clock),
        (1_203, GuardEvent::Clock),
        (1_204, GuardEvent::Childless),
    ];
    let killed = [
        GuardAction::Kill,
        GuardAction::ReportStopped,
        GuardAction::Kill,
        GuardAction::Kill,
        GuardAction::ReportEmpty,
    ];
    assert_eq!(actions(&events), [&[GuardAction::Terminate], &killed[..]].concat());
}

#[test]
fn a_later_deadline_counts_and_an_earlier_one_does_not() {
    let events = [
        (10, GuardEvent::Deadline(at(2_000))),
        (11, GuardEvent::Deadline(at(1_500))),
        (1_999, GuardEvent::Clock),
        (2_000, GuardEvent::Clock),
    ];
    assert_eq!(actions(&events), [GuardAction::Terminate]);
}

#[test]
fn nothing_revives_a_run_whose_deadline_has_passed() {
    let events =
        [(1_000, GuardEvent::Clock), (1_001, GuardEvent::Deadline(at(9_000))), (1_200, GuardEvent::Clock)];
    assert_eq!(actions(&events), [GuardAction::Terminate, GuardAction::Kill]);
}

#[test]
fn without_its_replica_a_run_has_the_grace_of_a_loss() {
    let events = [(10, GuardEvent::Hangup), (209, GuardEvent::Clock), (210, GuardEvent::Clock)];
    assert_eq!(actions(&events), [GuardAction::Terminate, GuardAction::Kill]);
}

#[test]
fn whoever_wakes_up_after_the_deadline_has_what_is_left_of_the_grace() {
    let events = [(1_150, GuardEvent::Clock), (1_199, GuardEvent::Clock), (1_200, GuardEvent::Clock)];
    assert_eq!(actions(&events), [GuardAction::Terminate, GuardAction::Kill]);
    assert_eq!(actions(&[(1_200, GuardEvent::Clock)]), [GuardAction::Kill]);
    assert_eq!(actions(&[(9_000, GuardEvent::Hangup)]), [GuardAction::Kill]);
    let stop = (9_000, GuardEvent::Stop(ms(500)));
    assert_eq!(actions(&[stop, (9_000, GuardEvent::Clock)]), [GuardAction::Terminate, GuardAction::Kill]);
}

#[test]
fn a_long_grace_ends_early_when_the_replica_goes_or_its_deadline_passes() {
    let stop = (10, GuardEvent::Stop(ms(60_000)));
    assert_eq!(
        actions(&[stop, (20, GuardEvent::Hangup), (219, GuardEvent::Clock), (220, GuardEvent::Clock)]),
        [GuardAction::Terminate, GuardAction::Kill]
    );
    assert_eq!(
        actions(&[stop, (1_000, GuardEvent::Clock), (1_199, GuardEvent::Clock), (1_200, GuardEvent::Clock)]),
        [GuardAction::Terminate, GuardAction::Kill]
    );
    let renewed = (900, GuardEvent::Deadline(at(5_000)));
    assert_eq!(actions(&[stop, renewed, (4_999, GuardEvent::Clock)]), [GuardAction::Terminate]);
}

#[test]
fn a_stop_without_grace_kills_at_once_and_a_shorter_grace_takes_over() {
    assert_eq!(actions(&[(10, GuardEvent::Stop(Duration::ZERO))]), [GuardAction::Kill]);
    assert_eq!(
        actions(&[
            (10, GuardEvent::Stop(ms(500))),
            (20, GuardEvent::Stop(Duration::ZERO)),
            (21, GuardEvent::Clock)
        ]),
        [GuardAction::Terminate, GuardAction::Kill, GuardAction::Kill]
    );
}

#[test]
fn there_is_no_pause_between_blows_at_a_tree_that_grows() {
    let events = [
        (10, GuardEvent::Stop(Duration::ZERO)),
        (10, GuardEvent::Clock),
        (10, GuardEvent::Clock),
        (10, GuardEvent::Clock),
    ];
    assert_eq!(acts_where(&events, |_| (ms(0), true)), [GuardAction::Kill; 4]);
    assert_eq!(acts_where(&events, |blow| (ms(0), blow < 2)), [GuardAction::Kill; 3]);
}

#[test]
fn as_much_time_as_the_blows_take_is_left_for_the_dead() {
    let events = [
        (10, GuardEvent::Stop(Duration::ZERO)),
        (39, GuardEvent::Clock),
        (50, GuardEvent::Clock),
        (51, GuardEvent::Clock),
    ];
    assert_eq!(acts_where(&events, |_| (ms(20), false)), [GuardAction::Kill; 2]);
}

#[test]
fn a_tree_that_obeys_within_its_grace_is_not_killed() {
    let events = [(10, GuardEvent::Stop(ms(500))), (20, GuardEvent::MainEnded), (400, GuardEvent::Childless)];
    assert_eq!(
        actions(&events),
        [GuardAction::Terminate, GuardAction::ReportStopped, GuardAction::ReportEmpty]
    );
}
