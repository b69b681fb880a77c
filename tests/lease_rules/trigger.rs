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

#[test]
fn the_same_order_given_again_before_it_is_taken_changes_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let order = order(&mut book, Some(tick(-60.0)));
        let given = book.record.clone();
        book.pass(secs(7));
        assert_eq!(book.operate(Act::Trigger { order, tick: None }), Answer::Noted);
        assert_eq!(book.record, given);
        assert!(is_won(&book.manual(|manual| manual.order = Some(order))));
    }
}

#[test]
fn the_same_order_given_again_after_it_was_taken_runs_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let order = order(&mut book, None);
        assert!(is_won(&book.manual(|manual| manual.order = Some(order))));
        let (lease, mut taken) = (sample::lease(book.record()), book.record.clone());
        for is_over in [false, true] {
            assert_eq!(book.operate(Act::Trigger { order, tick: None }), Answer::Noted, "{is_over}");
            assert_eq!(book.record, taken, "{is_over}");
            let again = book.manual(|manual| manual.order = Some(order));
            assert!(matches!(again, Answer::Decided { .. }), "{again:?}");
            assert_eq!(book.record().order_taken_by, Some(lease.run));
            if !is_over {
                book.finish(&lease, |_| {});
            }
            taken = book.record.clone();
        }
        assert_eq!(book.entries.len(), 1);
    }
}

#[test]
fn an_order_that_was_skipped_is_not_given_again_either() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        let (order, skipped) = (order(&mut book, None), RunId::new());
        let answer = book.manual(|manual| (manual.run, manual.order) = (skipped, Some(order)));
        assert!(matches!(answer, Answer::Consumed(_)), "{answer:?}");
        assert_eq!(book.operate(Act::Trigger { order, tick: None }), Answer::Noted);
        assert_eq!((book.record().order, book.record().order_taken_by), (None, Some(skipped)));
    }
}

#[test]
fn an_order_that_was_withdrawn_or_replaced_may_be_given_again_and_runs_once() {
    for memory in MEMORIES {
        for is_replaced in [false, true] {
            let mut book = Book::ready(memory);
            let first = order(&mut book, None);
            if is_replaced {
                order(&mut book, None);
            } else {
                assert_eq!(book.operate(Act::Withdraw { order: first }), Answer::Noted);
            }
            assert_eq!(book.operate(Act::Trigger { order: first, tick: None }), Answer::Noted);
            assert_eq!(book.record().order, Some(first));
            assert!(is_won(&book.manual(|manual| manual.order = Some(first))));
        }
    }
}

#[test]
fn an_order_that_an_older_release_gave_twice_is_not_taken_twice() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let order = Some(RunId::new());
        (book.record().order, book.record().order_taken) = (order, order);
        let again = book.manual(|manual| manual.order = order);
        assert!(matches!(again, Answer::Decided { .. }), "{again:?}");
    }
}

#[test]
fn an_older_order_keeps_its_run_when_a_later_one_was_forgotten() {
    let mut book = Book::ready(Memory::Forgetful);
    let first = order(&mut book, None);
    let run = RunId::new();
    assert!(is_won(&book.manual(|manual| (manual.run, manual.order) = (run, Some(first)))));
    let lease = sample::lease(book.record());
    book.finish(&lease, |_| {});
    let copy = book.record.clone();
    book.pass(secs(1));
    let second = order(&mut book, None);
    assert!(is_won(&book.manual(|manual| manual.order = Some(second))));
    let lease = sample::lease(book.record());
    book.record = copy;
    book.new_era();
    book.open(|_| {});
    assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    assert_eq!((book.record().order_taken, book.record().order_taken_by), (Some(first), Some(run)));
}
