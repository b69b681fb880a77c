//! Orders: taken once, by one, told which run took them; or taken back.

use solocron::job::{RunId, Tick};
use solocron::lease::{Act, Answer, Memory};

use crate::book::{Book, MEMORIES, at, is_won, secs, tick};
use crate::sample;

fn order(book: &mut Book, tick: Option<Tick>) -> RunId {
    let order = RunId::new();
    assert_eq!(book.operate(Act::Trigger { order, tick }), Answer::Noted);
    order
}

#[test]
fn an_order_is_for_the_tick_that_was_named_or_for_now() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.pass(secs(7));
        order(&mut book, None);
        assert_eq!((book.record().order_tick, book.record().order_at), (Some(tick(7.0)), Some(at(7.0))));
        order(&mut book, Some(tick(-3_600.0)));
        assert_eq!(book.record().order_tick, Some(tick(-3_600.0)));
        assert_eq!(book.record().mark, at(-60.0));
    }
}

#[test]
fn whoever_takes_an_order_is_named_and_also_who_is_skipped_for_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let first = order(&mut book, None);
        let run = RunId::new();
        assert!(is_won(&book.manual(|manual| (manual.run, manual.order) = (run, Some(first)))));
        assert_eq!((book.record().order_taken, book.record().order_taken_by), (Some(first), Some(run)));
        let second = order(&mut book, None);
        let skipped = RunId::new();
        let answer = book.manual(|manual| (manual.run, manual.order) = (skipped, Some(second)));
        assert!(matches!(answer, Answer::Consumed(_)), "{answer:?}");
        assert_eq!((book.record().order_taken, book.record().order_taken_by), (Some(second), Some(skipped)));
        assert_eq!(book.record().run, Some(run), "the run that goes on is left alone");
    }
}

#[test]
fn an_order_that_was_withdrawn_is_taken_by_nobody() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let order = order(&mut book, None);
        assert_eq!(book.operate(Act::Withdraw { order: RunId::new() }), Answer::AlreadyDecided);
        assert_eq!(book.operate(Act::Withdraw { order }), Answer::Noted);
        let answer = book.manual(|manual| manual.order = Some(order));
        assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
        assert!(book.entries.is_empty());
    }
}

#[test]
fn an_order_that_was_taken_before_a_failover_is_not_taken_again_from_an_older_copy() {
    let mut book = Book::ready(Memory::Forgetful);
    let order = order(&mut book, None);
    let copy = book.record.clone();
    book.pass(secs(1));
    assert!(is_won(&book.manual(|manual| manual.order = Some(order))));
    let lease = sample::lease(book.record());
    book.record = copy;
    book.new_era();
    book.open(|_| {});
    assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    assert_eq!((book.record().order, book.record().order_taken), (None, Some(order)));
    assert_eq!(book.record().order_taken_by, Some(lease.run));
}
