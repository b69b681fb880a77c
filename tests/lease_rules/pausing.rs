//! Pausing and resuming: the last word holds, and is put back by whoever remembers it.

use solocron::job::{Cause, Outcome, Reason, Verdict};
use solocron::lease::{Act, Answer, Operate, Pausing, Request};
use solocron::time::UtcMillis;

use crate::book::{Book, MEMORIES, at, is_won, one, secs, tick};

const PAUSED: Verdict = Verdict::because(Outcome::Skipped, Reason::Paused);

fn pause(book: &mut Book, seconds: Option<u64>) -> Answer {
    book.operate(Act::Pause { lasts: seconds.map(secs), why: Some("month end".into()) })
}

fn said(until: Option<UtcMillis>, at: UtcMillis) -> Pausing {
    let why = until.map(|_| "month end".to_owned());
    Pausing { until, at, by: "ann@db1".into(), why }
}

#[test]
fn a_paused_job_skips_its_ticks_until_the_pause_is_over_or_lifted() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        assert_eq!(pause(&mut book, Some(60)), Answer::Noted);
        assert_eq!(book.record().pausing(), Some(said(Some(at(60.0)), at(0.0))));
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Consumed(PAUSED));
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, PAUSED)]);
        book.pass(secs(60));
        let lease = book.win(tick(60.0));
        book.finish(&lease, |_| {});

        assert_eq!(pause(&mut book, None), Answer::Noted);
        assert_eq!(book.record().paused, Some(Pausing::UNTIL_RESUMED));
        book.pass(secs(60));
        assert_eq!(book.claim(tick(120.0), |_| {}), Answer::Consumed(PAUSED));
        assert_eq!(book.operate(Act::Resume), Answer::Noted);
        assert_eq!(book.record().pausing(), Some(said(None, at(120.0))));
        book.pass(secs(60));
        assert!(is_won(&book.claim(tick(180.0), |_| {})));
        assert_eq!(book.operate(Act::Resume), Answer::AlreadyDecided);
    }
}

#[test]
fn a_manual_run_is_not_held_up_by_a_pause() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        pause(&mut book, None);
        assert!(is_won(&book.manual(|_| {})));
    }
}

#[test]
fn a_request_that_comes_late_or_finds_no_record_changes_nothing() {
    let mut book = Book::ready(solocron::lease::Memory::Forgetful);
    let act = Act::Pause { lasts: None, why: None };
    let late = Operate { expect: at(-2.0), by: "ann@db1".into(), act };
    assert_eq!(book.ask(Request::Operate(late)), Answer::Unsynced);
    assert_eq!(book.record().paused, None);
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        assert_eq!(pause(&mut book, None), Answer::NoRecord);
        assert_eq!(book.record, None);
    }
}

#[test]
fn a_store_that_forgot_a_pause_is_told_of_it_by_whoever_remembers() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        pause(&mut book, Some(600));
        let known = book.record().pausing();
        book.record = None;
        let answer = book.open(|open| open.pausing = known.clone());
        assert!(matches!(answer, Answer::Opened { pausing, .. } if pausing == known));
        assert_eq!(book.record().pausing(), known);
        book.pass(secs(60));
        assert_eq!(book.claim(tick(60.0), |claim| claim.prev = None), Answer::Consumed(PAUSED));
    }
}

#[test]
fn of_two_words_about_a_pause_the_later_holds_whoever_comes_first() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        pause(&mut book, Some(600));
        let paused = book.record().pausing();
        book.operate(Act::Resume);
        let resumed = book.record().pausing();
        assert_eq!(resumed, Some(said(None, UtcMillis(at(0.0).0 + 1))), "later, at the same instant");
        book.open(|open| open.pausing = paused.clone());
        assert_eq!(book.record().pausing(), resumed, "who has not heard of the end puts nothing back");
        // An older copy of the record, in which the job is paused still.
        book.record().paused = Some(at(600.0));
        book.record().paused_at = Some(at(0.0));
        book.open(|open| open.pausing = resumed.clone());
        assert_eq!(book.record().pausing(), resumed);
    }
}
