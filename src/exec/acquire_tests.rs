//! What `exec` does on each answer.

use std::time::Duration;

use crate::job::{Fence, NodeName, RunId};
use crate::lease::{Answer, Era, Holder};
use crate::store::StoreError;
use crate::store::clock::{ClockReading, Known, StoreClock};
use crate::time::{BootInstant, UtcMillis};

use super::acquire::{AcquireError, Asking, Held, Next};

fn at(ms: u64) -> BootInstant {
    BootInstant(Duration::from_millis(ms))
}

fn holder(run: RunId) -> Holder {
    Holder { node: NodeName::parse("n1").expect("name"), run, since: UtcMillis(5) }
}

fn held_by(run: RunId, frees_in: u64) -> Answer {
    Answer::Held { by: Some(holder(run)), frees_in: Duration::from_millis(frees_in) }
}

/// Sends a request; returns its run.
fn send(asking: &mut Asking) -> RunId {
    let reading = ClockReading { sent: at(0), received: at(0), store: UtcMillis(5) };
    let known = Known { largest_lease: Duration::ZERO, mark: None, answered: None };
    let node = NodeName::parse("n1").expect("name");
    let caller = StoreClock::first(reading, Era("e".into())).caller(&node, at(0), known);
    asking.ask(caller, UtcMillis(5), Duration::from_secs(20), None).run
}

fn in_doubt(asking: &Asking) -> Option<RunId> {
    asking.doubt().map(|doubt| doubt.run)
}

/// One request, answered.
fn ask(asking: &mut Asking, answer: &Answer, held: &Held, now: u64) -> Next {
    send(asking);
    asking.answered(answer, || held.clone(), at(now), 0.5)
}

#[test]
fn who_does_not_wait_leaves_at_once_and_knows_whose_the_lock_is() {
    let other = RunId::new();
    let by = Held::By(holder(other));
    let next = ask(&mut Asking::begin(at(0)), &held_by(other, 20_000), &by, 10);
    assert_eq!(next, Next::Leave(AcquireError::Held(by)));
}

#[test]
fn who_waits_asks_again_soon_and_a_last_time_at_the_end() {
    let (other, mut asking) = (RunId::new(), Asking::begin(at(1_000)));
    let by = Held::By(holder(other));
    assert_eq!(ask(&mut asking, &held_by(other, 20_000), &by, 100), Next::AskAt(at(300)));
    assert_eq!(ask(&mut asking, &held_by(other, 20_000), &by, 950), Next::AskAt(at(1_000)));
    assert_eq!(ask(&mut asking, &held_by(other, 20_000), &by, 1_000), Next::Leave(AcquireError::Held(by)));
}

#[test]
fn those_who_wait_do_not_ask_in_step() {
    let (other, mut asking) = (RunId::new(), Asking::begin(at(10_000)));
    let pauses = [0.0, 0.25, 0.999].map(|chance| {
        send(&mut asking);
        asking.answered(&held_by(other, 20_000), || Held::By(holder(other)), at(0), chance)
    });
    assert_eq!(pauses[..2], [Next::AskAt(at(100)), Next::AskAt(at(150))]);
    assert!(matches!(pauses[2], Next::AskAt(until) if until > at(290) && until <= at(300)), "{pauses:?}");
}

#[test]
fn exec_without_wait_still_waits_a_bounded_time_for_a_lock_without_a_known_holder() {
    let mut asking = Asking::begin(at(0));
    let lapsed = Answer::Held { by: None, frees_in: Duration::from_secs(2) };
    let mut now = 10;
    while let Next::AskAt(until) = ask(&mut asking, &lapsed, &Held::WithoutHolder, now) {
        assert!(until > at(now));
        now = u64::try_from(until.0.as_millis()).expect("a short time");
    }
    assert_eq!(now, 7_010, "as long as the store said, and some slack");
}

#[test]
fn a_silent_holder_that_comes_back_is_not_waited_for() {
    let (other, mut asking) = (RunId::new(), Asking::begin(at(0)));
    assert!(matches!(ask(&mut asking, &held_by(other, 9_000), &Held::WithoutHolder, 10), Next::AskAt(_)));
    let by = Held::By(holder(other));
    assert_eq!(ask(&mut asking, &held_by(other, 9_000), &by, 400), Next::Leave(AcquireError::Held(by)));
}

#[test]
fn an_unanswered_claim_is_repeated_as_the_same_run_and_in_doubt_until_resolved() {
    let mut asking = Asking::begin(at(60_000));
    let run = send(&mut asking);
    assert_eq!(in_doubt(&asking), Some(run), "the result of a request under way is unknown");
    let gone = asking.failed(&StoreError::Unknown("gone".into()), at(0), at(0));
    assert!(matches!(gone, Next::LearnAt(_)));
    assert_eq!((in_doubt(&asking), send(&mut asking)), (Some(run), run));
    let next = asking.answered(&Answer::NewEra(Era("f".into())), || Held::WithoutHolder, at(1), 0.0);
    assert_eq!((next, in_doubt(&asking)), (Next::LearnAt(at(1)), Some(run)), "the answer is not about it");
    // The store reports that the lock was granted, and is not sure of it yet.
    ask(&mut asking, &held_by(run, 5_000), &Held::By(holder(run)), 2);
    assert_eq!(in_doubt(&asking), Some(run));
    let other = RunId::new();
    ask(&mut asking, &held_by(other, 5_000), &Held::By(holder(other)), 3);
    assert_eq!(in_doubt(&asking), None);
}

#[test]
fn a_request_that_was_surely_not_applied_leaves_no_doubt() {
    let mut asking = Asking::begin(at(0));
    send(&mut asking);
    asking.failed(&StoreError::NotSent("down".into()), at(0), at(0));
    assert_eq!(in_doubt(&asking), None);
}

#[test]
fn a_store_that_is_down_is_given_two_seconds_or_as_long_as_the_guest_waits() {
    let down = StoreError::NotSent("down".into());
    let leaves = Next::Leave(AcquireError::Unreachable(StoreError::NotSent("down".into())));
    let mut asking = Asking::begin(at(0));
    assert_eq!(asking.failed(&down, at(100), at(200)), Next::LearnAt(at(500)));
    assert_eq!(asking.failed(&down, at(500), at(2_100)), leaves);
    let mut slow = Asking::begin(at(0));
    assert_eq!(slow.failed(&down, at(0), at(2_000)), leaves, "the request itself has taken as long");
    let mut patient = Asking::begin(at(60_000));
    assert!(matches!(patient.failed(&down, at(28_000), at(30_000)), Next::LearnAt(_)));
    assert_eq!(patient.failed(&down, at(58_000), at(60_000)), leaves);
}

#[test]
fn a_record_that_opens_is_no_answer_to_who_asks_for_the_lock() {
    let opened = Answer::Opened {
        since: UtcMillis(0),
        pausing: None,
        ahead: None,
        closed: None,
        reopened_ahead_count: 0,
    };
    let mut asking = Asking::begin(at(0));
    let refuses = StoreError::Refused("out of memory".into());
    let mut now = 0;
    while let Next::LearnAt(until) = asking.failed(&refuses, at(now), at(now)) {
        assert_eq!(asking.answered(&opened, || Held::WithoutHolder, until, 0.0), Next::AskAt(until));
        send(&mut asking);
        now = u64::try_from(until.0.as_millis()).expect("a short time");
    }
    assert_eq!(now, 2_000);
    let mut late = 0;
    while let Next::LearnAt(until) = ask(&mut asking, &Answer::Unsynced, &Held::WithoutHolder, now) {
        assert_eq!(asking.answered(&opened, || Held::WithoutHolder, until, 0.0), Next::AskAt(until));
        late += 1;
        assert!(late <= 5, "it leaves");
    }
}

#[test]
fn a_grant_that_is_over_is_asked_for_as_another_run() {
    let mut asking = Asking::begin(at(0));
    let run = send(&mut asking);
    let over = Answer::Decided { by: None, how: None };
    assert_eq!(asking.answered(&over, || Held::WithoutHolder, at(1), 0.0), Next::AskAt(at(1)));
    assert_ne!(send(&mut asking), run);
}

#[test]
fn a_store_that_is_never_in_time_is_left_and_one_that_is_granted_is_taken() {
    let mut asking = Asking::begin(at(0));
    let nexts: Vec<Next> =
        (0..6).map(|_| ask(&mut asking, &Answer::Unsynced, &Held::WithoutHolder, 5)).collect();
    assert!(nexts[..5].iter().all(|next| *next == Next::LearnAt(at(5))), "{nexts:?}");
    assert!(matches!(nexts[5], Next::Leave(AcquireError::Unreachable(_))), "{nexts:?}");
    let won = Answer::Won { fence: Fence(7), tries: 1, started: UtcMillis(9) };
    let next = ask(&mut asking, &won, &Held::WithoutHolder, 6);
    assert_eq!(next, Next::Start);
}
