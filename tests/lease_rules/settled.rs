//! After a loss of memory nothing is said not to have run before those who know could tell.

use std::time::Duration;

use solocron::job::{Outcome, Reason, Verdict};
use solocron::lease::{Answer, Claim, HistoryEntry, LeaseInstant, Memory};

use crate::book::{Book, at, secs, tick};
use crate::sample;

/// Who remembers an earlier life of the store has so long to tell.
const SETTLING: Duration = Duration::from_secs(5);

const LOST: Verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);

/// A run goes on since the tick at 0; the next ones were skipped for it. Then a follower takes over that has not seen them.
fn failed_over_without_two_skips() -> Book {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    book.pass(secs(1));
    let behind = book.record().clone();
    for second in [5.0, 10.0] {
        book.pass(secs(5));
        book.renew(&lease);
        let answer = book.claim(tick(second), |claim| claim.prev = None);
        assert_eq!(answer, Answer::Consumed(Verdict::because(Outcome::Skipped, Reason::Overlap)));
    }
    book.record = Some(behind);
    book.new_era();
    book
}

/// A claim of one who was away, as of these seconds.
fn away_since(heard: f64) -> impl Fn(&mut Claim) {
    move |claim| {
        claim.caller.latest_store_time = at(heard);
        claim.prev = Some(tick(5.0));
        claim.start_deadline = Duration::ZERO;
    }
}

#[test]
fn rule_4_nothing_is_said_not_to_have_run_before_those_who_know_could_tell() {
    let mut book = failed_over_without_two_skips();
    let by = book.record().holder();
    let answer = book.claim(tick(10.0), away_since(4.0));
    assert_eq!(answer, Answer::Held { by, frees_in: SETTLING });
    assert_eq!(book.entries.len(), 2);
    book.open(|open| open.caller.latest_store_time = at(11.0));
    book.pass(SETTLING);
    let unknown = book.claim(tick(10.0), away_since(4.0));
    assert_eq!(unknown, Answer::Consumed(LOST));
    assert_eq!(book.entries.last().map(HistoryEntry::verdict), Some(LOST));
}

#[test]
fn rule_4_what_nobody_could_tell_in_time_is_missed() {
    let mut book = failed_over_without_two_skips();
    book.claim(tick(10.0), away_since(4.0));
    book.pass(SETTLING);
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    assert_eq!(book.claim(tick(10.0), away_since(4.0)), Answer::Consumed(late));
}

#[test]
fn rule_4_whoever_skips_or_is_paused_waits_for_those_who_know_too() {
    for is_paused in [false, true] {
        let mut book = failed_over_without_two_skips();
        book.record().paused = Some(at(600.0)).filter(|_| is_paused);
        let lease = sample::lease(book.record());
        book.open(|open| open.caller.latest_store_time = at(4.0));
        book.pass(secs(1));
        book.renew(&lease);
        let answer = book.claim(tick(12.0), |claim| claim.prev = Some(tick(10.0)));
        assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    }
}

#[test]
fn rule_4_a_machine_that_was_restarted_has_forgotten_nothing() {
    for is_running in [false, true] {
        let mut book = Book::ready(Memory::Durable);
        if is_running {
            book.win(tick(0.0));
        }
        // Of the life before, in which the lease clock was further.
        book.record().settles_at = book.lease_end(4);
        book.new_era();
        book.claim(tick(10.0), away_since(4.0));
        assert_eq!(book.record().settles_at, LeaseInstant::FREE);
    }
}

#[test]
fn rule_4_a_clock_that_was_set_back_makes_nobody_wait_longer_for_those_who_know() {
    let mut book = failed_over_without_two_skips();
    book.record().settles_at = book.lease_end(6);
    book.record().era = book.server.era.clone();
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    assert_eq!(book.claim(tick(10.0), away_since(4.0)), Answer::Consumed(late));
}

#[test]
fn rule_6_no_claim_waits_for_a_settled_time_that_a_clock_ahead_had_set() {
    let mut book = Book::ready(Memory::Forgetful);
    book.record().settles_at = book.lease_end(100);
    let run = book.win(tick(0.0));
    book.finish(&run, |_| {});
    book.pass(Duration::from_secs(97));
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    assert_eq!(book.claim(tick(30.0), |_| {}), Answer::Consumed(late));
}
