use crate::lease::testing;
use crate::replica::tick::claiming::tests::{contest, every_second};
use crate::time::UtcMillis;

use super::*;

const OWN: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_secs(600);
const HOURS: Duration = Duration::from_secs(36_000);

/// A contest whose record once had a long lease.
fn remembering() -> Contest {
    let mut contest = every_second();
    contest.saw(Some(LONG));
    contest
}

#[test]
fn a_longer_lease_is_forgotten_when_the_record_that_was_asked_tells_a_shorter_one() {
    let mut contest = remembering();
    contest.told_lease(Some(OWN));
    assert_eq!(contest.largest_lease(), LONG, "it was not asked");
    contest.ask_for_lease();
    contest.told_lease(None);
    assert_eq!(contest.largest_lease(), LONG, "it did not tell");
    contest.ask_for_lease();
    contest.told_lease(Some(LONG));
    assert_eq!(contest.largest_lease(), LONG, "it is held");
    contest.ask_for_lease();
    contest.told_lease(Some(Duration::from_secs(2)));
    assert_eq!(contest.largest_lease(), OWN);
}

#[test]
fn what_is_heard_while_the_record_is_asked_counts_more_than_its_answer() {
    let heard: [fn(&mut Contest); 3] = [
        |contest| contest.saw(Some(LONG)),
        |contest| contest.close(),
        |contest| contest.revise(std::sync::Arc::clone(contest.spec())),
    ];
    for (nth, heard) in heard.into_iter().enumerate() {
        let mut contest = remembering();
        contest.ask_for_lease();
        heard(&mut contest);
        contest.told_lease(Some(OWN));
        assert_eq!(contest.largest_lease(), LONG, "{nth}");
    }
}

#[test]
fn the_record_is_asked_until_it_tells_that_a_longer_lease_is_held_by_nobody() {
    assert!(!every_second().may_forget_lease(HOURS));
    let mut contest = remembering();
    assert!(contest.may_forget_lease(Duration::ZERO), "it was seen in this life of the store");
    for answer in [None, Some(LONG)] {
        contest.ask_for_lease();
        contest.told_lease(answer);
        assert!(contest.may_forget_lease(HOURS), "{answer:?}");
    }
    contest.ask_for_lease();
    contest.told_lease(Some(OWN));
    assert!(!contest.may_forget_lease(HOURS));
}

#[test]
fn a_lease_from_before_the_store_forgot_is_remembered_for_as_long_as_it_may_be_held() {
    let mut contest = remembering();
    contest.close();
    assert!(!contest.may_forget_lease(LONG - Duration::from_secs(1)));
    assert!(contest.may_forget_lease(LONG));
}

#[test]
fn a_file_that_tells_a_shorter_lease_makes_the_former_one_a_memory() {
    let mut contest = contest("schedule = \"* * * * * *\"\nlease = \"10m\"");
    contest.revise(std::sync::Arc::clone(every_second().spec()));
    assert_eq!(contest.largest_lease(), LONG);
    assert!(contest.may_forget_lease(HOURS));
}

#[test]
fn a_wait_for_a_longer_lease_without_a_known_holder_is_reported_once_per_loss() {
    let mut contest = remembering();
    let held = |lease, frees_in| Reply {
        lease: Some(lease),
        ..testing::reply(UtcMillis(0), Answer::Held { by: None, frees_in })
    };
    assert_eq!(
        contest.awaits_longer_lease(&held(OWN, OWN)),
        None,
        "any loss of memory is waited for so long"
    );
    assert_eq!(contest.awaits_longer_lease(&held(LONG, OWN)), None, "it is soon over");
    assert_eq!(contest.awaits_longer_lease(&held(LONG, LONG)), Some((LONG, LONG)));
    assert_eq!(contest.awaits_longer_lease(&held(LONG, LONG)), None);
    contest.close();
    assert_eq!(contest.awaits_longer_lease(&held(LONG, LONG)), Some((LONG, LONG)));
}
