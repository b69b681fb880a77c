//! What a clock that was ahead decided without a run is taken back when it is right; what a right clock decided before is not.

use std::time::Duration;

use solocron::job::{Outcome, Reason, Verdict};
use solocron::lease::{Answer, Claim, LeaseInstant, Memory};

use crate::book::{Book, MEMORIES, at, is_won, secs, tick};

const HOUR: f64 = 3_600.0;
const LATE: Verdict = Verdict::because(Outcome::Missed, Reason::Late);
const OVERLAP: Verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);

fn set_clock(book: &mut Book, seconds: f64) {
    book.server.now = at(seconds);
    if book.server.memory == Memory::Forgetful {
        book.server.lease_now = LeaseInstant(at(seconds).0);
    }
}

fn just_stepped(claim: &mut Claim) {
    claim.caller.calm = Duration::ZERO;
}

#[test]
fn a_tick_that_was_skipped_for_a_run_while_a_clock_was_ahead_runs_when_it_comes() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let run = book.win(tick(0.0));
        set_clock(&mut book, HOUR);
        book.renew(&run);
        assert_eq!(book.claim(tick(HOUR), just_stepped), Answer::Consumed(OVERLAP));
        set_clock(&mut book, 5.0);
        book.open(|_| {});
        assert!(book.entries.iter().all(|entry| entry.tick < tick(5.0)), "{:?}", book.told());
        book.finish(&run, |_| {});
        set_clock(&mut book, HOUR);
        let answer = book.claim(tick(HOUR), |_| {});
        assert!(is_won(&answer), "{memory:?}: {answer:?}");
    }
}

#[test]
fn however_long_a_clock_was_ahead_nobody_vouches_for_what_it_passed() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let ahead = |claim: &mut Claim| (claim.caller.calm, claim.caller.leapt) = (secs(300), Some(at(1.0)));
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), ahead)));
        let run = crate::sample::holding(book.record());
        book.finish(&run, |_| {});
        set_clock(&mut book, HOUR + 200.0);
        assert_eq!(book.claim(tick(HOUR + 60.0), ahead), Answer::Consumed(LATE));
        set_clock(&mut book, 260.0);
        book.open(|_| {});
        assert!(book.entries.iter().all(|entry| entry.run.is_some()), "{:?}", book.told());
        set_clock(&mut book, HOUR);
        assert!(matches!(book.claim(tick(HOUR), |_| {}), Answer::Decided { .. }), "it ran");
        set_clock(&mut book, HOUR + 60.0);
        assert!(is_won(&book.claim(tick(HOUR + 60.0), |_| {})), "{memory:?}");
    }
}

#[test]
fn what_a_right_clock_passed_stays_passed_when_what_came_after_it_is_taken_back() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        set_clock(&mut book, 200.0);
        assert_eq!(book.claim(tick(60.0), just_stepped), Answer::Consumed(LATE));
        let told = book.told();
        set_clock(&mut book, HOUR);
        let answer = book.claim(tick(HOUR - 600.0), |claim| {
            just_stepped(claim);
            claim.caller.leapt = Some(at(201.0));
        });
        assert_eq!(answer, Answer::Consumed(LATE));
        set_clock(&mut book, 210.0);
        book.open(|_| {});
        assert_eq!(book.told(), told, "{memory:?}");
        assert!(matches!(book.claim(tick(60.0), |_| {}), Answer::Decided { .. }));
    }
}

#[test]
fn who_was_told_of_ticks_by_a_clock_that_was_ahead_finds_no_loss_where_it_is_ahead_once_more() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), just_stepped)));
        let run = crate::sample::holding(book.record());
        book.finish(&run, |_| {});
        set_clock(&mut book, 5.0);
        book.open(|_| {});
        // The clock leaps again, before the replica has asked for the job once more.
        set_clock(&mut book, 2.0 * HOUR);
        book.open(|open| (open.caller.expect, open.caller.answered) = (at(6.0), Some(at(HOUR))));
        assert_eq!(book.record().mark, at(HOUR), "{memory:?}");
    }
}

#[test]
fn a_wait_that_began_while_the_clock_was_ahead_is_over_once_it_has_been_right_for_a_lease() {
    let mut book = Book::ready(Memory::Forgetful);
    set_clock(&mut book, HOUR);
    book.new_era();
    book.open(|_| {});
    set_clock(&mut book, 60.0);
    assert!(!is_won(&book.claim(tick(60.0), just_stepped)), "it may have been set back just now");
    let answer = book.claim(tick(60.0), |_| {});
    assert!(is_won(&answer), "{answer:?}");
    assert_eq!(book.record().settled, LeaseInstant::FREE, "it does not begin again when that time comes");
}

#[test]
fn what_a_store_waits_for_that_began_its_life_while_its_clock_was_ahead_holds_up_no_tick_when_that_time_comes()
 {
    for is_granted in [true, false] {
        let mut book = Book::ready(Memory::Forgetful);
        set_clock(&mut book, 120.0);
        book.new_era();
        book.open(|_| {});
        set_clock(&mut book, 60.0);
        if is_granted {
            let run = book.win(tick(60.0));
            book.finish(&run, |_| {});
        } else {
            assert_eq!(book.claim(tick(-10.0), |claim| claim.prev = None), Answer::Consumed(LATE));
        }
        // Then it would be five seconds until the store calls itself settled.
        set_clock(&mut book, 121.0);
        let answer = book.claim(tick(60.5), |claim| claim.prev = None);
        assert_eq!(answer, Answer::Consumed(LATE));
    }
}
