//! What becomes of the pending tick, and of a claim under way, when jobs.toml is loaded again.

use std::sync::Arc;
use std::time::Duration;

use crate::config::testing::spec;
use crate::job::{Fence, JobSpec, Outcome, Reason, Tick, Verdict};
use crate::lease::{Abandon, Answer, Dropped, Era, Gap, ScheduleHash, testing};
use crate::replica::tick::action::{Action, Bid};
use crate::replica::tick::claiming::Contest;
use crate::replica::tick::claiming::tests::{T0, at, caller, this_node};
use crate::time::{BootInstant, UtcMillis};

const SENT: BootInstant = BootInstant(Duration::ZERO);

const EVERY_SECOND: &str = "schedule = \"* * * * * *\"";
const EVERY_TEN: &str = "schedule = \"*/10 * * * * *\"";

/// A job of every second, opened at `T0`.
fn contest() -> Contest {
    super::contest(EVERY_SECOND)
}

fn longer_lease() -> Arc<JobSpec> {
    spec(&format!("{EVERY_SECOND}\nlease = \"10m\""))
}

fn wake(contest: &mut Contest, ms: i64) -> Action {
    contest.wake(at(ms), |_| Duration::ZERO)
}

fn claim(contest: &mut Contest, ms: i64) -> (Bid, Option<Abandon>) {
    match wake(contest, ms) {
        Action::Claim { bid, instead_of } => (bid, instead_of),
        other => panic!("expected a claim, got {other:?}"),
    }
}

fn answer(contest: &mut Contest, answer: Answer, ms: i64) -> Action {
    let reply = testing::reply(T0, answer);
    contest.answered(&reply, at(ms), SENT, true).1
}

fn won() -> Answer {
    Answer::Won { fence: Fence(1), tries: 1, started: T0 }
}

#[test]
fn a_grant_to_the_former_definition_is_given_back_and_claimed_by_the_new_one() {
    let mut contest = contest();
    let (former, _) = claim(&mut contest, 1_000);
    contest.revise(longer_lease());
    let action = answer(&mut contest, won(), 1_001);
    let Action::Claim { bid, instead_of: Some(doubt) } = action else {
        panic!("it is claimed anew: {action:?}")
    };
    assert_eq!((bid.tick, doubt.run), (former.tick, former.request.run));
    assert_ne!(bid.request.run, former.request.run, "the former claim told of another lease");
    assert_eq!(
        contest.proposal().claim(&bid, caller(), at(1_001), at(1_001)).lease,
        Duration::from_secs(600)
    );
    assert!(
        matches!(answer(&mut contest, won(), 1_002), Action::Start { won, .. } if won.lease.run == bid.request.run)
    );
}

#[test]
fn an_unanswered_claim_of_the_former_definition_is_given_back_before_a_new_one() {
    for tick_is_decided in [false, true] {
        let mut contest = contest();
        let (former, _) = claim(&mut contest, 1_000);
        contest.failed(true, at(1_010));
        contest.revise(longer_lease());
        if tick_is_decided {
            // The mark may be the unanswered claim's own.
            contest.opened(at(1_000), UtcMillis(0), at(1_020));
        }
        let (bid, doubt) = claim(&mut contest, 1_120);
        assert_eq!(doubt.map(|doubt| doubt.run), Some(former.request.run));
        assert_eq!(bid.tick, former.tick);
        assert_ne!(bid.request.run, former.request.run);
    }
}

#[test]
fn an_edit_that_leaves_the_schedule_leaves_a_tick_that_waits() {
    let mut contest = contest();
    claim(&mut contest, 1_000);
    let held = Answer::Held { by: None, frees_in: Duration::from_secs(3) };
    let Action::WakeAt(until) = answer(&mut contest, held, 1_001) else { panic!("it waits") };
    contest.revise(longer_lease());
    assert_eq!(contest.waits_for().map(|tick| tick.instant()), Some(at(1_000)));
    assert_eq!(wake(&mut contest, 1_500), Action::WakeAt(until));
    let (bid, doubt) = claim(&mut contest, until.0 - T0.0);
    assert_eq!((bid.tick.instant(), doubt), (at(4_000), None), "the newest tick, as without an edit");
}

#[test]
fn a_job_that_is_to_be_rerun_from_now_on_asks_once_for_the_run_that_goes_on() {
    let mut contest = contest();
    let reruns = || spec(&format!("{EVERY_SECOND}\non_interrupt = \"rerun\""));
    contest.revise(reruns());
    assert!(contest.is_unopened());
    contest.opened(T0, UtcMillis(0), at(1));
    contest.revise(reruns());
    assert!(!contest.is_unopened());
}

#[test]
fn another_schedule_starts_now_and_nothing_older_runs() {
    let mut contest = contest();
    let begun = BootInstant(Duration::from_secs(15));
    assert_eq!(contest.restart(spec(EVERY_TEN), at(15_000), begun), None);
    assert!(contest.is_unopened(), "the record has to know it");
    let open = contest.proposal().open(caller(), at(15_000), UtcMillis(0), caller().expect);
    assert_eq!(
        (open.schedule_hash, open.schedule_since),
        (ScheduleHash::of(&spec(EVERY_TEN).schedule), at(15_000))
    );
    assert_eq!(contest.begun(), begun);
    contest.opened(T0, at(15_000), at(15_001));
    assert_eq!(wake(&mut contest, 15_000), Action::Nothing, "the tick of second 10 is older");
    assert_eq!(claim(&mut contest, 20_000).0.tick.instant(), at(20_000));
}

/// What is abandoned of a tick whose schedule has ended.
fn edited(former: &Bid) -> Abandon {
    Abandon { edited: true, ..former.abandon() }
}

#[test]
fn a_claim_of_the_former_schedule_starts_nothing_whatever_is_answered() {
    let answers = [
        (won(), true),
        (Answer::Held { by: None, frees_in: Duration::from_secs(1) }, false),
        (Answer::Consumed(Verdict::because(Outcome::Skipped, Reason::Overlap)), false),
        (Answer::NewEra(Era("f".into())), false),
    ];
    for (said, is_given_back) in answers {
        let mut contest = contest();
        let (former, _) = claim(&mut contest, 1_000);
        assert_eq!(contest.restart(spec(EVERY_TEN), at(1_001), SENT), None, "its answer is waited for");
        let action = answer(&mut contest, said.clone(), 1_002);
        let expected = if is_given_back { Action::GiveBack(edited(&former)) } else { Action::Nothing };
        assert_eq!(action, expected, "{said:?}");
        assert_eq!(wake(&mut contest, 1_003), Action::Nothing);
    }
}

#[test]
fn a_claim_of_the_former_schedule_without_an_answer_is_given_back() {
    let mut before = contest();
    let (former, _) = claim(&mut before, 1_000);
    before.failed(true, at(1_010));
    assert_eq!(before.restart(spec(EVERY_TEN), at(1_011), SENT), Some(edited(&former)));

    let mut after = contest();
    let (former, _) = claim(&mut after, 1_000);
    after.restart(spec(EVERY_TEN), at(1_001), SENT);
    assert_eq!(after.failed(true, at(1_010)), Action::GiveBack(edited(&former)));
    assert_eq!(wake(&mut after, 1_011), Action::Nothing);
}

#[test]
fn a_retired_job_claims_nothing_and_restarts_at_new_ticks_with_what_it_knew() {
    let mut contest = contest();
    contest.revise(longer_lease());
    let (former, _) = claim(&mut contest, 1_000);
    assert_eq!(contest.retire(at(1_000), SENT), None);
    assert!(contest.is_retired() && contest.is_unopened(), "the record has to know it");
    assert_eq!(
        contest.proposal().open(caller(), at(1_000), UtcMillis(0), caller().expect).schedule_hash,
        ScheduleHash::none()
    );
    contest.opened(T0, UtcMillis(0), at(1_001));
    assert_eq!(answer(&mut contest, won(), 1_001), Action::GiveBack(edited(&former)));
    assert!(contest.is_unopened(), "the claim may have come after the opening");
    contest.opened(T0, UtcMillis(0), at(1_002));
    assert_eq!(wake(&mut contest, 5_000), Action::Nothing);

    contest.restart(spec(EVERY_SECOND), at(7_500), SENT);
    assert!(contest.is_unopened());
    contest.opened(T0, UtcMillis(0), at(7_501));
    assert_eq!(wake(&mut contest, 7_502), Action::Nothing);
    let (bid, _) = claim(&mut contest, 8_000);
    assert_eq!(contest.known().largest_lease, Duration::from_secs(600), "it may be held for as long");
    let claim = contest.proposal().claim(&bid, caller(), at(8_000), at(8_000));
    assert_eq!(claim.gap_reason, Reason::Edited, "ticks in between are told of as such");
}

#[test]
fn ticks_before_the_records_schedule_began_are_neither_claimed_nor_counted() {
    let mut contest = Contest::new(spec(EVERY_SECOND), this_node(), SENT);
    contest.opened(T0, at(4_500), at(7_200));
    let (bid, _) = claim(&mut contest, 7_200);
    let claim = contest.proposal().claim(&bid, caller(), at(7_200), at(7_200));
    let gap = Gap { after: at(4_500), before: Some(Tick(at(4_000))), count: 2 };
    assert_eq!((bid.tick.instant(), claim.gap), (at(7_000), Some(gap)));
    assert_eq!(contest.known().mark, Some(T0), "the mark that was seen is another matter");
}

#[test]
fn a_job_that_is_not_enabled_claims_nothing_and_is_told_of() {
    let mut contest = Contest::new(spec(&format!("{EVERY_SECOND}\nenabled = false")), this_node(), SENT);
    assert!(contest.is_retired() && contest.is_unopened());
    assert_eq!(
        contest.proposal().open(caller(), T0, UtcMillis(0), caller().expect).schedule_hash,
        ScheduleHash::none()
    );
    contest.opened(T0, UtcMillis(0), at(1));
    assert_eq!(wake(&mut contest, 9_000), Action::Nothing);
}

#[test]
fn what_was_left_of_a_schedule_is_told_of_once_but_for_what_has_just_come() {
    let mut contest = contest();
    let left = Dropped { tick: Tick(at(3_000)), after: T0, count: Some(3) };
    contest.restart(spec(EVERY_TEN), at(4_500), SENT);
    assert_eq!(
        contest.proposal().open(caller(), at(4_500), UtcMillis(0), caller().expect).dropped,
        Some(left)
    );
    contest.retire(at(4_600), SENT);
    assert_eq!(contest.dropped(), Some(left), "nobody has told the store yet");
    contest.restart(spec(EVERY_SECOND), at(9_500), SENT);
    assert_eq!(contest.dropped(), Some(left), "it was not scheduled meanwhile");
    contest.opened(at(3_000), at(9_500), at(9_501));
    assert_eq!(contest.dropped(), None);

    let mut unheard = Contest::new(spec(EVERY_SECOND), this_node(), SENT);
    unheard.restart(spec(EVERY_TEN), at(4_500), SENT);
    assert_eq!(unheard.dropped(), None, "nobody knows from when on it was scheduled");
}

#[test]
fn a_claim_under_way_outlives_two_edits_in_a_row() {
    let mut contest = contest();
    let (former, _) = claim(&mut contest, 1_000);
    contest.retire(at(1_000), SENT);
    contest.restart(spec(EVERY_SECOND), at(1_001), SENT);
    contest.revise(longer_lease());
    assert_eq!(answer(&mut contest, won(), 1_002), Action::GiveBack(edited(&former)));
}

#[test]
fn a_job_that_is_added_is_opened_as_one_that_nobody_knows() {
    let mut contest = Contest::since(spec(EVERY_SECOND), this_node(), at(500), SENT);
    assert!(
        !contest.proposal().open(caller(), UtcMillis(0), UtcMillis(0), caller().expect).is_known_job,
        "or its first start would wait a whole lease"
    );
    contest.opened(at(700), UtcMillis(0), at(501));
    assert_eq!(claim(&mut contest, 1_000).0.tick.instant(), at(1_000));
}
