//! Hints put claims off, and what marks show decides.

use crate::job::{NodeName, Outcome, Verdict};
use crate::lease::{Rerun, testing};
use crate::replica::tick::claiming::tests::{SENT, at, contest, held};

use super::*;

const STAGGER: Duration = Duration::from_millis(20);
const LEASE: Duration = Duration::from_secs(60);

fn decided(mark: UtcMillis) -> Reply {
    let (by, how) = (NodeName::parse("n2").ok(), Some(Verdict::plain(Outcome::Running)));
    let answer = Answer::Decided { by, how };
    Reply { mark: Some(mark), lease: Some(LEASE), ..testing::reply(mark, answer) }
}

fn given_back(mark: UtcMillis) -> Reply {
    Reply { answer: Answer::Abandoned, ..decided(mark) }
}

fn marked(mark: UtcMillis) -> Marked {
    Marked { mark, lease: LEASE }
}

fn every_minute() -> Contest {
    contest("schedule = \"* * * * *\"")
}

/// Gives it a hint at `now` that this tick is decided.
fn told(contest: &mut Contest, mark: UtcMillis, now: UtcMillis) {
    contest.overhear(&decided(mark), now, now);
}

/// A job whose tick of the first minute is decided according to a hint, and whose mark is being read.
fn looking() -> Contest {
    let mut contest = every_minute();
    assert_eq!(contest.wake(at(60_000), |_| STAGGER), Action::WakeAt(at(60_020)));
    told(&mut contest, at(60_000), at(60_005));
    assert_eq!(contest.wake(at(60_020), |_| STAGGER), Action::WakeAt(at(61_000)));
    assert!(!contest.takes_look(at(60_020)));
    assert_eq!(contest.wake(at(61_000), |_| STAGGER), Action::WakeAt(at(62_000)));
    assert!(contest.takes_look(at(61_000)));
    assert!(!contest.takes_look(at(61_000)), "once");
    contest
}

fn claims(action: &Action, tick: UtcMillis) -> bool {
    matches!(action, Action::Claim { bid, .. } if bid.tick == Tick(tick))
}

#[test]
fn a_tick_that_is_told_to_be_decided_is_not_asked_for_where_the_mark_shows_it() {
    let mut contest = looking();
    let (tick, finding) = contest.look_found(Some(&marked(at(60_000))), at(61_002)).expect("it is news");
    assert_eq!(tick, Tick(at(60_000)));
    assert!(matches!(finding, Finding::Decided { by: Some(by), .. } if by.as_str() == "n2"));
    assert_eq!(contest.wake(at(61_002), |_| STAGGER), Action::Nothing);
    assert_eq!(contest.known().mark, Some(at(60_000)));
    assert_eq!(contest.known().answered, Some(at(60_000)), "the store itself has told it");
    assert_eq!(contest.known().largest_lease, LEASE);
    assert_eq!(contest.wake(at(120_000), |_| STAGGER), Action::WakeAt(at(120_020)), "the next one is not");
}

#[test]
fn a_tick_wrongly_hinted_as_decided_is_claimed_once_the_mark_shows_the_truth() {
    let mut contest = looking();
    assert_eq!(contest.look_found(Some(&marked(at(0))), at(61_002)), None);
    told(&mut contest, at(61_100), at(61_001));
    assert!(claims(&contest.wake(at(61_002), |_| STAGGER), at(60_000)));
}

#[test]
fn a_tick_whose_mark_cannot_be_read_is_asked_for() {
    let mut contest = looking();
    assert_eq!(contest.look_found(None, at(61_002)), None);
    assert!(claims(&contest.wake(at(61_002), |_| STAGGER), at(60_000)));
}

#[test]
fn however_much_is_told_and_though_no_mark_comes_a_tick_is_asked_for_before_long() {
    let mut contest = looking();
    for ms in 61_000..62_000 {
        told(&mut contest, at(ms + 200), at(ms));
        assert_eq!(contest.wake(at(ms), |_| STAGGER), Action::WakeAt(at(62_000)));
    }
    assert!(claims(&contest.wake(at(62_000), |_| STAGGER), at(60_000)));
}

#[test]
fn hints_delay_the_claim_of_an_every_second_job_by_a_quarter_second_at_most() {
    let mut contest = contest("schedule = \"* * * * * *\"\nstart_deadline = \"1h\"");
    told(&mut contest, at(1_200), at(1_000));
    assert_eq!(contest.wake(at(1_020), |_| STAGGER), Action::WakeAt(at(1_125)));
    assert_eq!(contest.wake(at(1_125), |_| STAGGER), Action::WakeAt(at(1_250)));
    assert!(claims(&contest.wake(at(1_250), |_| STAGGER), at(1_000)));
}

#[test]
fn the_replica_that_asks_first_does_so_whatever_it_is_told() {
    let mut contest = every_minute();
    told(&mut contest, at(60_200), at(60_000));
    assert!(claims(&contest.wake(at(60_000), |_| Duration::ZERO), at(60_000)));
}

#[test]
fn nothing_else_is_taken_from_a_hint() {
    let mut contest = contest("schedule = \"* * * * *\"\non_interrupt = \"rerun\"");
    let before = contest.known();
    let by = NodeName::parse("n2").ok();
    let rerun = Rerun { tick: Tick(at(60_000)), by, goes_on: true, frees_in: LEASE };
    let (now, lease) = (UtcMillis(i64::MAX), Some(Duration::from_secs(1_000_000_000)));
    contest.overhear(
        &Reply { now, lease, rerun: Some(rerun), ..decided(at(60_000)) },
        at(60_003),
        at(60_003),
    );
    assert_eq!(contest.known(), before);
    assert_eq!(contest.rerun_at_hand(at(1_000_000)), None);
}

#[test]
fn a_replica_that_may_have_to_rerun_a_tick_asks_for_it_a_moment_later() {
    let mut contest = contest("schedule = \"* * * * *\"\non_interrupt = \"rerun\"");
    told(&mut contest, at(60_000), at(60_003));
    assert_eq!(contest.wake(at(60_020), |_| STAGGER), Action::WakeAt(at(61_000)));
    assert!(claims(&contest.wake(at(61_000), |_| STAGGER), at(60_000)));
    assert!(!contest.takes_look(at(61_000)));
}

#[test]
fn while_a_claim_is_under_way_or_in_doubt_only_its_own_answer_counts() {
    let mut contest = every_minute();
    let Action::Claim { bid, .. } = contest.wake(at(60_000), |_| Duration::ZERO) else { panic!("no claim") };
    told(&mut contest, at(60_000), at(60_001));
    assert_eq!(contest.look_found(Some(&marked(at(60_000))), at(60_002)), None);
    contest.failed(true, at(60_010));
    assert_eq!(contest.look_found(Some(&marked(at(60_000))), at(60_012)), None);
    let asked = contest.wake(at(60_110), |_| STAGGER);
    assert!(
        matches!(&asked, Action::Claim { bid: again, .. } if again.request.run == bid.request.run),
        "{asked:?}"
    );
}

#[test]
fn nothing_is_known_of_a_record_that_is_not_open() {
    let mut contest = looking();
    contest.close();
    assert_eq!(contest.look_found(Some(&marked(at(60_000))), at(61_002)), None);
}

#[test]
fn a_mark_that_no_claim_can_have_set_is_not_believed() {
    let mut contest = every_minute();
    for mark in [UtcMillis(i64::MAX), at(60_204)] {
        contest.overhear(&decided(mark), at(60_003), at(60_003));
        assert!(contest.hearsay.decided.is_none(), "{mark:?}");
    }
    contest.overhear(&decided(at(60_203)), at(60_003), at(60_003));
    assert!(contest.hearsay.decided.is_some());
}

#[test]
fn a_tick_that_is_given_back_is_asked_for_where_the_mark_shows_it() {
    let mut contest = looking();
    contest.look_found(Some(&marked(at(60_000))), at(61_002));
    let looks = contest.overhear(&given_back(at(59_999)), at(61_050), at(61_050));
    assert_eq!(looks, Some(at(61_100)));
    assert!(!contest.takes_look(at(61_099)));
    assert_eq!(contest.overhear(&given_back(at(59_999)), at(61_060), at(61_060)), None, "known");
    assert!(contest.takes_look(at(61_100)));

    contest.look_found(Some(&marked(at(59_999))), at(61_102));
    assert!(claims(&contest.wake(at(61_102), |_| STAGGER), at(60_000)));
}

#[test]
fn a_tick_that_is_wrongly_told_to_be_given_back_stays_decided() {
    let mut contest = looking();
    contest.look_found(Some(&marked(at(60_000))), at(61_002));
    contest.overhear(&given_back(at(59_999)), at(61_050), at(61_050));
    assert!(contest.takes_look(at(61_100)));
    contest.look_found(Some(&marked(at(60_000))), at(61_102));
    assert_eq!(contest.wake(at(61_102), |_| STAGGER), Action::Nothing);
}

#[test]
fn that_an_older_tick_was_given_back_opens_nothing() {
    let mut contest = looking();
    contest.look_found(Some(&marked(at(60_000))), at(61_002));
    assert_eq!(contest.overhear(&given_back(at(-1)), at(61_050), at(61_050)), None);
}

#[test]
fn a_mark_below_what_is_told_decides_what_it_covers() {
    let mut contest = looking();
    told(&mut contest, at(61_190), at(61_001));
    let found = contest.look_found(Some(&marked(at(60_000))), at(61_002));
    assert_eq!(found, Some((Tick(at(60_000)), Finding::Decided { by: None, how: None })));
    assert_eq!(contest.wake(at(61_002), |_| STAGGER), Action::Nothing);
}

#[test]
fn the_tick_that_was_waited_for_is_told_of_though_a_newer_one_was_decided() {
    let mut contest = every_minute();
    contest.wake(at(60_000), |_| Duration::from_secs(90));
    told(&mut contest, at(120_000), at(120_005));
    let found = contest.look_found(Some(&marked(at(120_000))), at(120_010));
    assert_eq!(found, Some((Tick(at(60_000)), Finding::Decided { by: None, how: None })));
}

#[test]
fn what_delayed_a_tick_that_another_replica_decided_is_no_reason_for_later_ones() {
    let mut contest = every_minute();
    contest.unheard(at(60_000));
    told(&mut contest, at(60_000), at(60_005));
    contest.look_found(Some(&marked(at(60_000))), at(60_006));
    assert_eq!(contest.delayed_by, None);
}

#[test]
fn a_replica_that_waits_for_a_lock_learns_that_it_does_not_need_it_any_more() {
    let mut contest = every_minute();
    assert!(claims(&contest.wake(at(60_000), |_| Duration::ZERO), at(60_000)));
    contest.answered(&held(LEASE), at(60_005), SENT, true);
    assert_eq!(contest.overhear(&decided(at(60_000)), at(63_030), at(63_030)), Some(at(63_100)));
    assert_eq!(contest.overhear(&decided(at(60_000)), at(63_040), at(63_040)), None, "known");
    assert!(contest.takes_look(at(63_100)));
    assert_eq!(contest.look_found(Some(&marked(at(0))), at(63_102)), None);
    assert!(matches!(contest.wake(at(63_102), |_| STAGGER), Action::WakeAt(_)), "it waits as before");
    assert_eq!(contest.overhear(&decided(at(60_000)), at(63_110), at(63_110)), Some(at(63_200)));
    assert!(contest.takes_look(at(63_200)));
    assert!(contest.look_found(Some(&marked(at(60_000))), at(63_202)).is_some());
    assert_eq!(contest.tick(), None);
}
