//! A longer lease than one's own is waited for as long as somebody may hold it, and no longer.

use std::time::Duration;

use solocron::lease::{Answer, LeaseInstant, Memory, Open};

use crate::book::{Book, MEMORIES, at, held_for, is_won, secs, tick};
use crate::sample::LEASE;

const LONG: Duration = Duration::from_secs(600);

/// All replicas have had a file with a short lease for a while, and whoever asks remembers a long one.
fn agreed(open: &mut Open) {
    open.files_agree = true;
    open.caller.largest_lease = LONG;
}

/// A lock with a long lease was granted.
fn long(memory: Memory) -> Book {
    let mut book = Book::ready(memory);
    assert!(is_won(&book.claim(tick(0.0), |claim| claim.lease = LONG)));
    book
}

fn finish(book: &mut Book) {
    let lease = crate::sample::lease(book.record());
    assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
}

#[test]
fn after_its_run_a_long_lease_is_forgotten_once_no_replica_has_it_any_more() {
    for memory in MEMORIES {
        let mut book = long(memory);
        finish(&mut book);
        book.open(|open| open.caller.largest_lease = LONG);
        assert_eq!(book.record().lease, LONG, "some replica has it still");
        book.open(agreed);
        assert_eq!(book.record().lease, LEASE);
        // Whoever starts now, after a restart of the store, waits for nothing longer.
        book.new_era();
        book.open(|_| {});
        assert_eq!(book.record().lease, LEASE);
    }
}

#[test]
fn a_lease_that_somebody_holds_or_may_hold_is_not_forgotten() {
    for memory in MEMORIES {
        let mut book = long(memory);
        book.open(agreed);
        assert_eq!(book.record().lease, LONG, "it is held");
    }
    let mut book = long(Memory::Forgetful);
    finish(&mut book);
    book.new_era();
    book.open(agreed);
    assert_eq!(book.record().lease, LONG, "what was granted last may be lost");
    book.pass(secs(4));
    assert_eq!(book.claim(tick(4.0), |_| {}), held_for(LONG - secs(4)));
}

#[test]
fn a_wait_begins_anew_with_each_loss_because_the_holder_may_have_renewed_in_between() {
    let mut book = long(Memory::Forgetful);
    let lease = crate::sample::lease(book.record());
    let forgets = |book: &mut Book| {
        book.record = None;
        book.new_era();
        book.open(|open| open.caller.largest_lease = LONG);
    };
    forgets(&mut book);
    book.pass(LONG / 2);
    assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    let held_until = book.lease_end(600);
    forgets(&mut book);
    assert!(book.record().locked_until >= held_until, "the store does not know that holder, but it lives");
}

#[test]
fn a_record_that_was_never_granted_waits_for_as_long_as_anybody_remembers() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.open(|_| {});
        book.pass(secs(1));
        book.open(agreed);
        let until = LeaseInstant(book.lease_end(600).0 - 1_000);
        assert_eq!((book.record().locked_until, book.record().lease), (until, LONG));
        // It is the wait of a job's own lease that a new job is spared.
        book.record = None;
        book.open(|open| open.is_known_job = false);
        book.open(|_| {});
        assert_eq!(book.record().lease, secs(2));
    }
}

#[test]
fn a_wait_that_is_over_is_not_remembered() {
    let mut book = Book::new(Memory::Forgetful);
    book.open(|open| open.caller.largest_lease = LONG);
    book.pass(LONG);
    book.open(|open| (open.files_agree, open.caller.calm) = (true, LONG - secs(1)));
    assert_eq!(book.record().lease, LONG, "who has just come cannot tell that it is over");
    book.open(|open| (open.files_agree, open.caller.calm) = (true, LONG));
    assert_eq!(book.record().lease, LEASE);
}

#[test]
fn a_wait_for_a_holder_that_the_store_forgot_is_not_remembered_when_it_is_over() {
    let mut book = long(Memory::Forgetful);
    finish(&mut book);
    book.new_era();
    book.open(agreed);
    book.pass(LONG);
    for (calm, lease) in [(LONG - secs(1), LONG), (LONG, LEASE)] {
        book.open(|open| {
            agreed(open);
            open.caller.calm = calm;
        });
        assert_eq!(book.record().lease, lease, "calm for {calm:?}");
    }
    assert!(is_won(&book.claim(tick(600.0), |_| {})), "nobody waits for it again");
}

#[test]
fn a_long_lease_from_before_a_loss_is_forgotten_beside_a_run_granted_after_it() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.open(agreed);
        book.pass(LONG);
        let answer = book.claim(tick(600.0), |claim| {
            (claim.caller.largest_lease, claim.caller.calm) = (LONG, LONG);
        });
        assert!(is_won(&answer), "{answer:?}");
        let lease = crate::sample::lease(book.record());
        for (calm, told) in [(LONG - secs(1), LONG), (LONG, LEASE)] {
            book.renew(&lease);
            book.open(|open| {
                agreed(open);
                (open.caller.calm, open.caller.latest_store_time) = (calm, at(-1.0));
            });
            assert_eq!(book.record().lease, told, "calm for {calm:?}");
        }
    }
}

#[test]
fn a_forgotten_wait_does_not_come_back_with_a_caller_that_still_remembers_it() {
    let mut book = Book::new(Memory::Forgetful);
    let made = book.lease_end(0);
    book.open(|open| open.caller.largest_lease = LONG);
    book.pass(LONG);
    book.open(|open| (open.files_agree, open.caller.calm) = (true, LONG));
    assert_eq!((book.record().lease, book.record().locked_until), (LEASE, made.plus(LEASE)));
    for _ in 0..2 {
        book.pass(secs(1));
        book.open(|open| (open.caller.largest_lease, open.caller.calm) = (LONG, secs(10)));
        assert_eq!((book.record().lease, book.record().locked_until), (LONG, made.plus(LONG)));
    }
    // A longer one is waited for from when the record was made.
    book.open(|open| (open.caller.largest_lease, open.caller.calm) = (LONG * 2, secs(10)));
    assert_eq!(book.record().locked_until, made.plus(LONG * 2));
    assert_eq!(book.claim(tick(602.0), |claim| claim.caller.calm = LONG * 2), held_for(LONG * 2 - secs(602)));
}
