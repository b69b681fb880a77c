use super::*;

const fn at(millis: u64) -> BootInstant {
    BootInstant(Duration::from_millis(millis))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Feeds the cues, each at its millisecond, to a run with a deadline at 1,000 and a loss grace of 200; what was
/// done, waiting left out.
fn acts(cues: &[(u64, Cue)]) -> Vec<Act> {
    acts_where(cues, |_| (ms(0), false))
}

/// The same, where each blow, from 0, takes this long and finds that it has to be followed at once.
fn acts_where(cues: &[(u64, Cue)], struck: impl Fn(usize) -> (Duration, bool)) -> Vec<Act> {
    let (mut vigil, mut blows, mut done) = (Vigil::new(at(1_000), ms(200)), 0, Vec::new());
    for &(when, cue) in cues {
        let act = vigil.step(cue, at(when));
        if act == Act::Kill {
            let (took, press) = struck(blows);
            blows += 1;
            assert_eq!(vigil.step(Cue::Struck { took, press }, at(when).plus(took)), Act::Wait);
        }
        done.extend(Some(act).filter(|act| *act != Act::Wait));
    }
    done
}

#[test]
fn a_run_that_ends_by_itself_is_told_of_and_what_it_left_behind_is_left_alone() {
    let cues = [
        (10, Cue::MainEnded),
        (11, Cue::Stop(Duration::ZERO)),
        (12, Cue::Hangup),
        (5_000, Cue::Clock),
        (9_000, Cue::Childless),
    ];
    assert_eq!(acts(&cues), [Act::TellExited, Act::Leave]);
}

#[test]
fn at_the_deadline_a_run_is_asked_then_killed_until_nothing_is_left() {
    let cues = [
        (999, Cue::Clock),
        (1_000, Cue::Clock),
        (1_199, Cue::Clock),
        (1_200, Cue::Clock),
        (1_200, Cue::MainEnded),
        (1_201, Cue::Clock),
        (1_202, Cue::Clock),
        (1_203, Cue::Clock),
        (1_204, Cue::Childless),
    ];
    let killed = [Act::Kill, Act::TellStopped, Act::Kill, Act::Kill, Act::TellEmpty];
    assert_eq!(acts(&cues), [&[Act::Terminate], &killed[..]].concat());
}

#[test]
fn a_later_deadline_counts_and_an_earlier_one_does_not() {
    let cues = [
        (10, Cue::Deadline(at(2_000))),
        (11, Cue::Deadline(at(1_500))),
        (1_999, Cue::Clock),
        (2_000, Cue::Clock),
    ];
    assert_eq!(acts(&cues), [Act::Terminate]);
}

#[test]
fn nothing_revives_a_run_whose_deadline_has_passed() {
    let cues = [(1_000, Cue::Clock), (1_001, Cue::Deadline(at(9_000))), (1_200, Cue::Clock)];
    assert_eq!(acts(&cues), [Act::Terminate, Act::Kill]);
}

#[test]
fn without_its_replica_a_run_has_the_grace_of_a_loss() {
    let cues = [(10, Cue::Hangup), (209, Cue::Clock), (210, Cue::Clock)];
    assert_eq!(acts(&cues), [Act::Terminate, Act::Kill]);
}

#[test]
fn whoever_wakes_up_after_the_deadline_has_what_is_left_of_the_grace() {
    let cues = [(1_150, Cue::Clock), (1_199, Cue::Clock), (1_200, Cue::Clock)];
    assert_eq!(acts(&cues), [Act::Terminate, Act::Kill]);
    assert_eq!(acts(&[(1_200, Cue::Clock)]), [Act::Kill]);
    assert_eq!(acts(&[(9_000, Cue::Hangup)]), [Act::Kill]);
    let stop = (9_000, Cue::Stop(ms(500)));
    assert_eq!(acts(&[stop, (9_000, Cue::Clock)]), [Act::Terminate, Act::Kill]);
}

#[test]
fn a_long_grace_ends_early_when_the_replica_goes_or_its_deadline_passes() {
    let stop = (10, Cue::Stop(ms(60_000)));
    assert_eq!(
        acts(&[stop, (20, Cue::Hangup), (219, Cue::Clock), (220, Cue::Clock)]),
        [Act::Terminate, Act::Kill]
    );
    assert_eq!(
        acts(&[stop, (1_000, Cue::Clock), (1_199, Cue::Clock), (1_200, Cue::Clock)]),
        [Act::Terminate, Act::Kill]
    );
    let renewed = (900, Cue::Deadline(at(5_000)));
    assert_eq!(acts(&[stop, renewed, (4_999, Cue::Clock)]), [Act::Terminate]);
}

#[test]
fn a_stop_without_grace_kills_at_once_and_a_shorter_grace_takes_over() {
    assert_eq!(acts(&[(10, Cue::Stop(Duration::ZERO))]), [Act::Kill]);
    assert_eq!(
        acts(&[(10, Cue::Stop(ms(500))), (20, Cue::Stop(Duration::ZERO)), (21, Cue::Clock)]),
        [Act::Terminate, Act::Kill, Act::Kill]
    );
}

#[test]
fn there_is_no_pause_between_blows_at_a_tree_that_grows() {
    let cues = [(10, Cue::Stop(Duration::ZERO)), (10, Cue::Clock), (10, Cue::Clock), (10, Cue::Clock)];
    assert_eq!(acts_where(&cues, |_| (ms(0), true)), [Act::Kill; 4]);
    assert_eq!(acts_where(&cues, |blow| (ms(0), blow < 2)), [Act::Kill; 3]);
}

#[test]
fn as_much_time_as_the_blows_take_is_left_for_the_dead() {
    let cues = [(10, Cue::Stop(Duration::ZERO)), (39, Cue::Clock), (50, Cue::Clock), (51, Cue::Clock)];
    assert_eq!(acts_where(&cues, |_| (ms(20), false)), [Act::Kill; 2]);
}

#[test]
fn a_tree_that_obeys_within_its_grace_is_not_killed() {
    let cues = [(10, Cue::Stop(ms(500))), (20, Cue::MainEnded), (400, Cue::Childless)];
    assert_eq!(acts(&cues), [Act::Terminate, Act::TellStopped, Act::TellEmpty]);
}
