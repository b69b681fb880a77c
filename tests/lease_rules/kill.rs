//! Stopping a run: its holder learns it by renewing, and by whom it was wanted.

use std::time::Duration;

use solocron::job::{Cause, Outcome, Overlap, Reason, RunId, Verdict};
use solocron::lease::{Act, Answer};

use crate::book::{Book, MEMORIES, is_held_by, one, secs, tick};
use crate::sample::node;

fn kill(book: &mut Book, run: Option<RunId>) -> Answer {
    book.operate(Act::Kill { run })
}

#[test]
fn the_holder_of_a_run_that_an_operator_kills_learns_it_by_renewing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        assert_eq!(kill(&mut book, None), Answer::AlreadyDecided, "nothing runs");
        let lease = book.win(tick(0.0));
        assert_eq!(kill(&mut book, Some(RunId::new())), Answer::AlreadyDecided, "another run is meant");
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        assert!(is_held_by(&kill(&mut book, None), &node("a")));
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: Some(Reason::Operator) });
        book.finish(&lease, |_| {});
        assert_eq!(kill(&mut book, Some(lease.run)), Answer::AlreadyDecided);
        book.pass(secs(60));
        let next = book.win(tick(60.0));
        assert_eq!(book.renew(&next), Answer::Renewed { stop: None }, "the next run is none of it");
    }
}

#[test]
fn a_run_that_an_operator_kills_before_it_has_begun_is_not_given_back() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.1));
        book.entries.clear();
        kill(&mut book, None);
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        let killed = Verdict::because(Outcome::Killed, Reason::Operator);
        assert_eq!(book.told(), [one(tick(0.1), Cause::Schedule, killed)]);
        book.pass(secs(1));
        assert!(matches!(book.claim(tick(0.1), |_| {}), Answer::Decided { .. }));
    }
}

#[test]
fn an_operators_wish_is_not_taken_for_a_newer_ticks_and_outlives_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(Duration::from_millis(100));
        let replace = |book: &mut Book| {
            book.claim(tick(0.1), |claim| (claim.overlap, claim.prev) = (Overlap::Replace, None))
        };
        replace(&mut book);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: Some(Reason::Replaced) });
        kill(&mut book, None);
        replace(&mut book);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: Some(Reason::Operator) });
    }
}
