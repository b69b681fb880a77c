//! Removing the lock of a holder that is not heard from any more.

use solocron::job::{Cause, Outcome, Reason, RunId, Verdict};
use solocron::lease::{Act, Answer, Claim, Memory};

use crate::book::{Book, MEMORIES, held_for, is_held_by, is_won, one, secs, tick};
use crate::sample::node;

fn unlock(book: &mut Book, run: RunId) -> Answer {
    book.operate(Act::Unlock { run: Some(run) })
}

#[test]
fn unlock_frees_a_lock_whose_holder_is_silent_longer_than_a_renewal_interval() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        // A sixth of the lease, and four seconds.
        book.pass(secs(9));
        assert!(is_held_by(&unlock(&mut book, lease.run), &node("a")));
        assert_eq!(unlock(&mut book, RunId::new()), Answer::AlreadyDecided, "another run is meant");
        assert!(book.entries.is_empty() && book.record().is_running());
        book.pass(secs(1));
        assert_eq!(unlock(&mut book, lease.run), Answer::Noted);
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, lost)]);
        assert!(is_won(&book.claim(tick(10.0), |claim| claim.prev = None)));
        assert_eq!(book.renew(&lease), Answer::Lost, "a holder that is back stops at once");
    }
}

#[test]
fn a_lock_that_waits_for_whom_the_store_forgot_is_not_removed() {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    book.pass(secs(20));
    // A failover: whatever was granted since is forgotten, and may be held for a lease.
    book.new_era();
    book.open(|_| {});
    assert!(is_held_by(&unlock(&mut book, lease.run), &node("a")));
    assert!(book.entries.is_empty() && book.record().is_running());
}

#[test]
fn unlock_ends_the_wait_for_a_forgotten_holder_where_no_holder_is_known() {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    assert_eq!(book.operate(Act::Unlock { run: None }), Answer::AlreadyDecided, "it is held");
    book.finish(&lease, |_| {});
    assert_eq!(book.operate(Act::Unlock { run: None }), Answer::AlreadyDecided, "it is free");
    // Redis is restarted, and somebody remembers that leases took ten minutes.
    book.new_era();
    book.open(|open| open.caller.largest_lease = secs(600));
    book.pass(secs(4));
    let remembers = |claim: &mut Claim| (claim.caller.largest_lease, claim.prev) = (secs(600), None);
    assert_eq!(book.claim(tick(4.0), remembers), held_for(secs(596)));
    assert_eq!(book.operate(Act::Unlock { run: None }), Answer::Noted);
    assert!(is_won(&book.claim(tick(4.0), remembers)));
}
