//! A store's clock that is stepped: who has seen it says so by its calm, and who has not must not be misled.

use std::time::Duration;

use solocron::job::Overlap;
use solocron::lease::{Answer, Claim, Lease, LeaseInstant, Memory};

use crate::book::{Book, at, held_for, is_held_by, is_won, secs, tick};
use crate::sample::{self, LEASE, node};

fn set_clock(book: &mut Book, seconds: f64) {
    (book.server.now, book.server.lease_now) = (at(seconds), LeaseInstant(at(seconds).0));
}

fn wait(claim: &mut Claim) {
    claim.overlap = Overlap::Wait;
    claim.prev = None;
}

/// Its replica has just seen that the clock was set back from there.
fn notice(claim: &mut Claim, from: f64) {
    wait(claim);
    (claim.caller.calm, claim.caller.latest_store_time) = (Duration::ZERO, at(from));
}

#[test]
fn rule_6_needs_a_steady_clock_so_one_set_back_and_right_again_frees_no_lock() {
    for renews in [false, true] {
        let mut book = Book::ready(Memory::Forgetful);
        // A manual run: it leaves the mark where it is, and ticks to claim at either time.
        assert!(is_won(&book.manual(|_| {})));
        let lease = sample::lease(book.record());
        book.pass(secs(1));
        let right = book.server.clone();

        // For a moment the store's clock is a minute behind; who claims or renews meanwhile has noticed.
        set_clock(&mut book, -59.0);
        if renews {
            assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        }
        assert!(is_held_by(&book.claim(tick(-59.5), |claim| notice(claim, 1.0)), &node("a")));

        // Who has not noticed asks when it is right again.
        book.server = right;
        book.pass(secs(1));
        assert!(is_held_by(&book.claim(tick(2.0), wait), &node("a")));
        // Where it stays behind, and a lease has passed calmly, a holder that has not renewed since is gone; the lock of one
        // that has is cut, and free after another lease.
        set_clock(&mut book, -58.0);
        if renews {
            assert!(is_held_by(&book.claim(tick(-58.1), wait), &node("a")));
            assert_eq!(book.lease_end(30), book.record().locked_until);
            book.pass(LEASE);
        }
        let late = if renews { -28.1 } else { -58.1 };
        assert!(is_won(&book.claim(tick(late), |claim| seen(claim, 1.0))));
    }
}

/// Its replica saw the clock being set back from there, and has watched it ever since.
fn seen(claim: &mut Claim, from: f64) {
    wait(claim);
    claim.caller.latest_store_time = at(from);
}

/// The clock is an hour ahead, and a lock is granted by it. A manual run leaves the mark where it is.
fn granted_ahead(book: &mut Book) -> Lease {
    set_clock(book, 3_600.0);
    assert!(is_won(&book.manual(|manual| manual.caller.calm = Duration::ZERO)));
    sample::lease(book.record())
}

#[test]
fn rule_6_a_clock_that_was_ahead_for_a_moment_takes_no_lock_from_its_holder() {
    // What the caller saw: no step at all; a clock that was set back earlier, from a later time, or from an earlier one.
    for heard in [0.0, 7_200.0, 3_599.0] {
        let mut book = Book::ready(Memory::Forgetful);
        let right = book.server.clone();
        let lease = granted_ahead(&mut book);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        // The clock is right again. The holder still counts on a whole lease, and has not renewed by this clock.
        book.server = right;
        book.pass(secs(1));
        assert!(is_held_by(&book.claim(tick(1.0), |claim| seen(claim, heard)), &node("a")), "heard {heard}");
        assert_eq!(book.lease_end(30), book.record().locked_until);
        // A holder that is gone is found out a lease later.
        book.pass(LEASE);
        assert!(is_won(&book.claim(tick(2.0), |claim| seen(claim, heard))));
    }
}

#[test]
fn rule_6_whoever_saw_the_clock_being_set_back_waits_for_no_dead_holder() {
    let mut book = Book::ready(Memory::Forgetful);
    let right = book.server.clone();
    granted_ahead(&mut book);
    book.server = right;
    book.pass(LEASE);
    assert!(is_won(&book.claim(tick(30.0), |claim| seen(claim, 3_602.0))));
}

#[test]
fn a_lock_granted_by_a_clock_that_was_set_back_outlasts_its_being_set_right() {
    let mut book = Book::ready(Memory::Forgetful);
    let right = book.server.clone();
    set_clock(&mut book, -50.0);
    assert!(is_won(&book.claim(tick(-50.0), |claim| notice(claim, 0.0))));
    book.server = right;
    book.pass(secs(1));
    assert!(is_held_by(&book.claim(tick(1.0), wait), &node("a")));
    assert_eq!(book.record().locked_until, LeaseInstant(at(30.0).0));
}

#[test]
fn a_record_that_was_deleted_after_the_clock_was_set_back_waits_for_its_holder() {
    let mut book = Book::new(Memory::Forgetful);
    set_clock(&mut book, 60.0);
    // Whoever makes it anew has heard more of the clock: it may be set right again before anybody sees that.
    book.claim(tick(60.0), |claim| notice(claim, 3_600.0));
    assert_eq!(book.record().locked_until, LeaseInstant(at(3_630.0).0));
    let calm = |claim: &mut Claim| (claim.caller.calm, claim.prev) = (LEASE, None);
    set_clock(&mut book, 61.0);
    assert_eq!(
        book.claim(tick(61.0), calm),
        held_for(LEASE),
        "another, who has watched the clock since it was set back"
    );
}

#[test]
fn a_claimant_that_saw_a_clock_ahead_waits_the_longest_lease_and_no_longer() {
    for (heard, is_free) in [(3_600.0, true), (0.0, false)] {
        let mut book = Book::new(Memory::Forgetful);
        set_clock(&mut book, 3_600.0);
        book.open(|open| open.is_known_job = false);
        set_clock(&mut book, 60.0);
        book.open(|open| open.caller.calm = Duration::ZERO);
        // Since it was set right, a replica has watched it for all the time that anybody's lease may last.
        book.pass(LEASE);
        let answer = book.claim(tick(90.0), |claim| {
            (claim.caller.calm, claim.caller.latest_store_time, claim.prev) = (LEASE, at(heard), None);
        });
        assert_eq!(is_won(&answer), is_free, "{heard}: {answer:?}");
    }
}

#[test]
fn a_clock_that_is_a_little_back_frees_no_wait_that_has_just_begun() {
    let mut book = Book::ready(Memory::Forgetful);
    // Its holder is cut off, and lives for a lease; its record is deleted, and made anew.
    book.win(tick(0.0));
    book.pass(secs(1));
    book.record = None;
    book.claim(tick(1.0), |claim| claim.prev = None);
    set_clock(&mut book, 0.95);
    assert!(!is_won(&book.manual(|manual| manual.caller.latest_store_time = at(1.0))));
    book.claim(tick(1.0), wait);
    set_clock(&mut book, 2.0);
    assert!(!is_won(&book.claim(tick(2.0), wait)));
}
