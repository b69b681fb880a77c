//! Ticks that did not run, one right after the other and for the same reason, have one entry.

use solocron::job::{Cause, Outcome, Reason, Tick, Verdict};
use solocron::lease::{Answer, Claim, Open, ScheduleHash};
use solocron::time::UtcMillis;

use crate::book::{Book, GAP, MEMORIES, Told, at, is_won, one, secs, tick};
use crate::sample::PERIOD;

const LATE: Verdict = Verdict::because(Outcome::Missed, Reason::Late);
const PAUSED: Verdict = Verdict::because(Outcome::Skipped, Reason::Paused);

/// Claims each of these ticks a minute and a second after its instant.
fn miss(book: &mut Book, seconds: &[f64]) {
    for second in seconds {
        book.server.now = at(second + 61.0);
        assert_eq!(book.claim(tick(*second), |_| {}), Answer::Consumed(LATE));
    }
}

/// The entry of all ticks from the first to the last one.
fn folded(first: f64, last: f64, verdict: Verdict) -> Told {
    (Some(UtcMillis(at(first).0 - 1)), tick(last), Cause::Schedule, verdict)
}

#[test]
fn ticks_missed_one_after_the_other_have_one_entry_that_counts_them() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        miss(&mut book, &[0.0]);
        assert_eq!((book.told(), book.entries[0].count), (vec![one(tick(0.0), Cause::Schedule, LATE)], None));
        miss(&mut book, &[60.0, 120.0]);
        assert_eq!((book.told(), book.entries[0].count), (vec![folded(0.0, 120.0, LATE)], Some(3)));
        assert_eq!(book.entries[0].finished, at(181.0));
    }
}

#[test]
fn a_run_in_between_or_another_reason_begins_another_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        miss(&mut book, &[0.0]);
        let lease = book.win(tick(60.0));
        book.finish(&lease, |_| {});
        miss(&mut book, &[120.0, 180.0]);
        book.record().paused = Some(at(400.0));
        assert_eq!(book.claim(tick(240.0), |_| {}), Answer::Consumed(PAUSED));
        book.server.now = at(300.0);
        assert_eq!(book.claim(tick(300.0), |_| {}), Answer::Consumed(PAUSED));
        let told = book.told();
        assert_eq!(told[0], one(tick(0.0), Cause::Schedule, LATE));
        assert_eq!(told[2..], [folded(120.0, 180.0, LATE), folded(240.0, 300.0, PAUSED)]);
    }
}

#[test]
fn a_run_that_goes_on_in_between_is_not_told_of_before_it_ends() {
    let mut book = Book::ready(MEMORIES[0]);
    miss(&mut book, &[0.0]);
    let lease = book.win(tick(60.0));
    miss(&mut book, &[120.0]);
    book.finish(&lease, |_| {});
    let ticks: Vec<Tick> = book.told().iter().map(|told| told.1).collect();
    assert_eq!(ticks, [tick(0.0), tick(120.0), tick(60.0)]);
}

#[test]
fn ticks_that_nobody_claimed_are_folded_with_those_before_and_after_them() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let missed = |gap_reason| move |claim: &mut Claim| claim.gap_reason = gap_reason;
        miss(&mut book, &[0.0]);
        book.server.now = at(301.0);
        assert_eq!(book.claim(tick(240.0), missed(Reason::Late)), Answer::Consumed(LATE));
        assert_eq!(book.told(), [folded(0.0, 240.0, LATE)]);
        assert_eq!(book.entries[0].count, None, "the claim did not say how many it passed over");

        book.server.now = at(480.0);
        assert!(is_won(&book.claim(tick(480.0), missed(Reason::NoReplica))));
        let passed = (Some(at(240.0)), tick(420.0), Cause::Schedule, GAP);
        assert_eq!(book.told(), [folded(0.0, 240.0, LATE), passed]);
    }
}

#[test]
fn ticks_of_another_schedule_are_not_folded_with_those_before() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        miss(&mut book, &[0.0]);
        book.server.now = at(90.0);
        let other = || ScheduleHash("bb".into());
        book.open(|open: &mut Open| (open.schedule_hash, open.schedule_since) = (other(), at(90.0)));
        book.server.now = at(90.0).plus(PERIOD + secs(61));
        assert_eq!(book.claim(tick(150.0), |claim| claim.schedule_hash = other()), Answer::Consumed(LATE));
        assert_eq!(book.told().len(), 2);
    }
}
