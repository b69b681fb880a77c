//! The contest under policies other than the usual ones: ticks that wait, and ticks that are caught up with.

use std::time::Duration;

use crate::job::{Cause, Outcome, Reason, Tick, Verdict};
use crate::lease::{Answer, Claim, Reply};
use crate::replica::tick::action::{Action, Bid};
use crate::replica::tick::claiming::Contest;
use crate::replica::tick::claiming::tests::{
    SENT, T0, at, caller, claimed, contest, held, no_stagger, reply, won,
};

#[test]
fn a_waiting_tick_is_claimed_in_turn_and_is_missed_before_the_next_one_waits() {
    let mut contest = contest("schedule = \"* * * * * *\"\noverlap = \"wait\"\nstart_deadline = \"2500ms\"");
    claimed(contest.wake(at(1_000), no_stagger));
    let long = held(Duration::from_secs(25));
    assert_eq!(
        contest.answered(&long, at(1_001), SENT, true).1,
        Action::WakeAt(at(3_501)),
        "not slept through"
    );
    assert_eq!(contest.wake(at(2_000), no_stagger), Action::WakeAt(at(3_501)), "the older one goes first");

    let bid = claimed(contest.wake(at(3_501), no_stagger));
    assert_eq!(bid.tick, Tick(at(1_000)));
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    contest.answered(&reply(Answer::Consumed(late)), at(3_502), SENT, true);
    assert_eq!(claimed(contest.wake(at(3_502), no_stagger)).tick, Tick(at(2_000)));
    contest.answered(&long, at(3_503), SENT, true);
    contest.hurry(at(3_600));
    assert_eq!(claimed(contest.wake(at(3_600), no_stagger)).tick, Tick(at(2_000)), "its holder has ended");
}

/// A contest of which the ticks of the first two seconds were decided too late, as the lock was held, and the claim of the
/// fourth, which passes the third. `meanwhile` is what happens while the first waits.
fn passes_a_tick(meanwhile: impl FnOnce(&mut Contest)) -> (Contest, Claim) {
    let mut contest = contest("schedule = \"* * * * * *\"\noverlap = \"wait\"\nstart_deadline = \"2s\"");
    claimed(contest.wake(at(1_000), no_stagger));
    contest.answered(&held(Duration::from_millis(100)), at(1_001), SENT, true);
    meanwhile(&mut contest);
    assert_eq!(claimed(contest.wake(at(3_002), no_stagger)).tick, Tick(at(1_000)));
    contest.answered(&late(), at(3_003), SENT, true);
    assert_eq!(claimed(contest.wake(at(3_003), no_stagger)).tick, Tick(at(2_000)));
    contest.answered(&late(), at(4_002), SENT, true);
    let (bid, claim) = claim_at(&mut contest, 5_010);
    assert_eq!((bid.tick, claim.gap.map(|gap| gap.count)), (Tick(at(4_000)), Some(1)));
    (contest, claim)
}

fn late() -> Reply {
    reply(Answer::Consumed(Verdict::because(Outcome::Missed, Reason::Late)))
}

#[test]
fn ticks_that_become_too_late_while_older_ones_are_decided_have_their_reason() {
    let (mut contest, claim) = passes_a_tick(|_| {});
    assert_eq!(claim.gap_reason, Reason::Late, "replicas were up all the time");
    contest.answered(&won(), at(5_011), SENT, true);
    let (_, claim) = claim_at(&mut contest, 5_012);
    assert_eq!((claim.tick, claim.gap), (Tick(at(5_000)), None));
    contest.answered(&late(), at(5_013), SENT, true);
    assert_eq!(claim_at(&mut contest, 60_000).1.gap_reason, Reason::NoReplica, "nothing has delayed these");
}

#[test]
fn that_no_replica_was_there_is_no_reason_for_ticks_that_came_since_one_waits() {
    let mut contest = contest("schedule = \"* * * * * *\"\noverlap = \"wait\"\nstart_deadline = \"2s\"");
    for (instant, reason) in [(9_500, Reason::NoReplica), (12_500, Reason::Late), (15_500, Reason::Late)] {
        let (bid, claim) = claim_at(&mut contest, instant);
        assert_eq!((bid.tick, claim.gap_reason), (Tick(at(instant - 1_500)), reason));
        contest.answered(&held(Duration::from_secs(2)), at(instant + 1), SENT, true);
        claimed(contest.wake(at(instant + 2_900), no_stagger));
        contest.answered(&late(), at(instant + 2_901), SENT, true);
    }
}

#[test]
fn an_outage_is_no_reason_for_ticks_that_came_after_it_while_older_ones_waited() {
    let (_, claim) = passes_a_tick(|contest| assert_eq!(contest.unheard(at(1_500)), Some(Tick(at(1_000)))));
    assert_eq!(claim.gap_reason, Reason::Late, "the store was there when they came");
}

#[test]
fn a_run_that_waited_for_another_is_told_apart_from_one_that_started_at_its_tick() {
    let mut contest = contest("schedule = \"* * * * * *\"\noverlap = \"wait\"");
    claimed(contest.wake(at(1_000), no_stagger));
    let (_, action) = contest.answered(&won(), at(1_001), SENT, true);
    assert!(matches!(action, Action::Start { won, .. } if !won.waited));
    claimed(contest.wake(at(2_000), no_stagger));
    contest.answered(&held(Duration::from_millis(300)), at(2_001), SENT, true);
    claimed(contest.wake(at(2_301), no_stagger));
    let (_, action) = contest.answered(&won(), at(2_302), SENT, true);
    assert!(matches!(action, Action::Start { won, .. } if won.waited && won.lease.tick == Tick(at(2_000))));
}

#[test]
fn an_older_waiting_tick_is_claimed_first_and_not_again_once_it_is_decided() {
    let mut contest = contest("schedule = \"* * * * * *\"\noverlap = \"wait\"");
    let long = held(Duration::from_secs(25));
    claimed(contest.wake(at(1_000), no_stagger));
    contest.answered(&long, at(1_001), SENT, true);
    let action = contest.wake(at(2_000), no_stagger);
    assert_eq!(action, Action::WakeAt(at(2_001)));
    assert_eq!(claimed(contest.wake(at(2_001), no_stagger)).tick, Tick(at(1_000)));
    let decided = reply(Answer::Decided { by: None, how: None });
    contest.answered(&decided, at(2_002), SENT, true);
    assert_eq!(claimed(contest.wake(at(2_003), no_stagger)).tick, Tick(at(2_000)));
}

#[test]
fn a_tick_that_waits_goes_after_those_that_come_first_by_a_clock_that_was_set_back() {
    let mut contest = contest("schedule = \"* * * * * *\"\noverlap = \"wait\"");
    assert_eq!(claimed(contest.wake(at(HOUR), no_stagger)).tick, Tick(at(HOUR)));
    contest.answered(&held(Duration::from_secs(25)), at(HOUR + 1), SENT, true);
    assert_eq!(claimed(contest.wake(at(1_000), no_stagger)).tick, Tick(at(1_000)));
}

const HOUR: i64 = 3_600_000;

fn hourly_with_catch_up() -> Contest {
    contest("schedule = \"@hourly\"\nstart_deadline = \"1m\"\ncatch_up = \"last\"")
}

fn claim_at(contest: &mut Contest, now: i64) -> (Bid, Claim) {
    let bid = claimed(contest.wake(at(now), no_stagger));
    let claim = contest.proposal().claim(&bid, caller(), at(now), at(now));
    contest.claims(&claim);
    (bid, claim)
}

#[test]
fn after_an_outage_the_newest_tick_is_caught_up_and_the_others_are_counted() {
    let mut contest = hourly_with_catch_up();
    let (bid, claim) = claim_at(&mut contest, 3 * HOUR + HOUR / 2);
    assert_eq!((bid.tick, claim.catch_up), (Tick(at(3 * HOUR)), true));
    assert_eq!(claim.gap.map(|gap| (gap.after, gap.count)), Some((T0, 2)));
    assert_eq!(claim.gap_reason, Reason::NoReplica);
    contest.answered(&held(Duration::from_secs(5)), at(3 * HOUR + HOUR / 2), SENT, true);
    let (_, claim) = claim_at(&mut contest, 3 * HOUR + HOUR / 2 + 5_000);
    assert_eq!(claim.gap_reason, Reason::NoReplica, "the lock that is held now held up none of them");
    let (_, action) = contest.answered(&won(), at(3 * HOUR + HOUR / 2), SENT, true);
    assert!(matches!(action, Action::Start { won, .. } if won.lease.cause == Cause::CatchUp));
}

#[test]
fn a_tick_in_time_is_no_catch_up_and_one_no_longer_the_newest_is_missed() {
    let mut in_time = hourly_with_catch_up();
    assert!(!claim_at(&mut in_time, 3 * HOUR + 30_000).1.catch_up);

    let mut contest = hourly_with_catch_up();
    let (bid, _) = claim_at(&mut contest, 3 * HOUR + HOUR / 2);
    let claim = contest.proposal().claim(&bid, caller(), at(4 * HOUR), at(4 * HOUR));
    assert!(!claim.catch_up);
}

#[test]
fn an_edited_schedule_starts_now_and_catches_up_with_nothing() {
    let mut contest = hourly_with_catch_up();
    contest.close();
    contest.opened(T0, at(3 * HOUR + HOUR / 2), at(3 * HOUR + HOUR / 2));
    assert_eq!(contest.wake(at(3 * HOUR + HOUR / 2), no_stagger), Action::Nothing);
    assert!(!claim_at(&mut contest, 4 * HOUR).1.catch_up);
}
