//! A tick that was granted and given back after a loss of memory: it may have run on another replica. It has one entry all the
//! same, and is not run twice.

use std::time::Duration;

use solocron::job::{Cause, OnInterrupt, Outcome, Reason, Verdict};
use solocron::lease::{
    Abandon, Act, Answer, Claim, Era, HistoryEntry, Lease, LeaseInstant, Memory, Open, Request, ScheduleHash,
};

use crate::book::{Book, at, is_won, secs, several, tick};
use crate::sample;

const LOST: Verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);
const SUCCEEDED: Verdict = Verdict::plain(Outcome::Succeeded);
const HOUR: f64 = 3_600.0;

fn set_clock(book: &mut Book, seconds: f64) {
    (book.server.now, book.server.lease_now) = (at(seconds), LeaseInstant(at(seconds).0));
}

/// Gives back a lock of an earlier life of the store.
fn abandon(book: &mut Book, run: &Lease) {
    let abandon = sample::abandon(run.run, &Era("e1".into()));
    assert_eq!(book.ask(Request::Abandon(abandon)), Answer::Abandoned);
}

/// How the entries that cover this tick say that it ended.
fn entries(book: &Book, second: f64) -> Vec<Verdict> {
    let covers = |entry: &&HistoryEntry| {
        let (instant, after) = (entry.tick.instant(), entry.after);
        instant == at(second) || after.is_some_and(|after| after < at(second) && at(second) < instant)
    };
    book.entries.iter().filter(covers).map(HistoryEntry::verdict).collect()
}

/// The tick at 0 ran on one replica. The store went back to before its claim, and granted it again at `second`. A replica that had
/// heard the store until `heard` opens the record at `opened`. Returns the lock of the run, and of the second grant.
fn granted_again(first: f64, second: f64, heard: f64, opened: f64) -> (Book, Lease, Lease) {
    let mut book = Book::ready(Memory::Forgetful);
    let copy = book.record.clone();
    set_clock(&mut book, first);
    let ran = book.win(tick(0.0));
    (book.record, book.entries) = (copy, Vec::new());
    set_clock(&mut book, second);
    let again = book.win(tick(0.0));
    set_clock(&mut book, opened);
    book.open(|open| open.caller.latest_store_time = at(heard));
    (book, ran, again)
}

#[test]
fn a_loss_between_an_early_grant_and_the_start_counts_as_one_after_the_grant() {
    let (mut book, ran, again) = granted_again(-0.19, -0.15, -0.17, -0.1);
    set_clock(&mut book, 0.01);
    assert_eq!(book.abandon(&again), Answer::Abandoned);
    set_clock(&mut book, 1.0);
    assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
    assert_eq!(entries(&book, 0.0), [SUCCEEDED]);
}

#[test]
fn a_run_reported_while_its_tick_is_granted_again_is_its_only_entry() {
    let (mut book, ran, again) = granted_again(0.0, 0.5, 0.7, 1.0);
    assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
    assert_eq!(book.finish(&ran, |_| {}), Answer::AlreadyDecided);
    assert_eq!(book.abandon(&again), Answer::Abandoned);
    set_clock(&mut book, 8.0);
    assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Decided { by: None, how: None });
    set_clock(&mut book, 60.0);
    assert!(is_won(&book.claim(tick(60.0), |_| {})));
    assert_eq!((entries(&book, 0.0), book.record().leaps.to_string()), (vec![SUCCEEDED], String::new()));
}

#[test]
fn a_tick_whose_second_grant_an_operator_stopped_has_the_entry_of_its_run_alone() {
    // The fence of the run is below that of the second grant, or above it.
    for above in [0, 10_000] {
        let (mut book, mut ran, again) = granted_again(0.0, 0.5, 0.7, 1.0);
        ran.fence.0 += above;
        assert!(matches!(book.operate(Act::Kill { run: Some(again.run) }), Answer::Held { .. }));
        assert_eq!(book.abandon(&again), Answer::Abandoned);
        assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
        assert_eq!(entries(&book, 0.0), [SUCCEEDED], "{above}");
    }
}

#[test]
fn rule_6_ends_no_time_for_reports_that_began_while_a_clock_was_ahead_for_a_moment() {
    for abandons in [false, true] {
        let mut book = Book::ready(Memory::Forgetful);
        let copy = book.record.clone();
        let ran = book.win(tick(0.0));
        (book.record, book.entries) = (copy, Vec::new());
        let again = abandons.then(|| {
            set_clock(&mut book, 0.5);
            book.win(tick(0.0))
        });
        set_clock(&mut book, HOUR);
        book.open(|open| {
            (open.caller.latest_store_time, open.caller.leapt_from) = (at(0.8), Some(at(1.0)));
            open.caller.calm = Duration::ZERO;
        });
        // The clock is right again. This caller did not see that it had been ahead.
        set_clock(&mut book, 2.0);
        let answer = book.claim(tick(0.0), |_| {});
        assert!(matches!(answer, Answer::Held { .. } | Answer::Decided { .. }), "{answer:?}");
        again.iter().for_each(|again| assert_eq!(book.abandon(again), Answer::Abandoned));
        set_clock(&mut book, 2.5);
        assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
        set_clock(&mut book, 8.0);
        book.claim(tick(0.0), |_| {});
        assert_eq!(entries(&book, 0.0), [SUCCEEDED], "{abandons}");
    }
}

#[test]
fn a_tick_ahead_that_is_opened_and_then_abandoned_runs_once_with_one_entry() {
    let reruns = |claim: &mut Claim| (claim.on_interrupt, claim.prev) = (OnInterrupt::Rerun, None);
    for (loses, is_rerun) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut book = Book::ready(Memory::Forgetful);
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), reruns)));
        let mut run = sample::lease(book.record());
        if is_rerun {
            let shutdown = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
            book.finish(&run, |finish| finish.verdict = shutdown);
            assert!(is_won(&book.claim(tick(HOUR), reruns)));
            run = sample::lease(book.record());
        }
        book.entries.clear();
        set_clock(&mut book, 0.0);
        if loses {
            book.new_era();
            book.open(|_| {});
        }
        let wall = book.server.now;
        assert_eq!(book.operate(Act::SetMark { wall }), Answer::Noted);
        abandon(&mut book, &run);
        assert_eq!(entries(&book, HOUR), [], "{loses} {is_rerun}");
        // After a loss, the lock stays closed as long as before.
        set_clock(&mut book, HOUR + 30.0);
        assert!(is_won(&book.claim(tick(HOUR), reruns)), "{loses} {is_rerun}");
        let run = sample::lease(book.record());
        book.finish(&run, |_| {});
        let answer = book.claim(tick(HOUR), reruns);
        assert!(matches!(answer, Answer::Decided { .. }), "{loses} {is_rerun}: {answer:?}");
        assert_eq!(entries(&book, HOUR), [SUCCEEDED], "{loses} {is_rerun}");
    }
}

#[test]
fn ticks_that_ran_ahead_are_remembered_also_beside_a_lost_one() {
    let mut book = Book::ready(Memory::Forgetful);
    set_clock(&mut book, HOUR);
    let ran = book.win(tick(HOUR));
    book.finish(&ran, |_| {});
    set_clock(&mut book, HOUR + 60.0);
    let abandoned = book.win(tick(HOUR + 60.0));
    set_clock(&mut book, 10.0);
    book.new_era();
    book.open(|_| {});
    abandon(&mut book, &abandoned);
    let Answer::Opened { ahead, .. } = book.open(|_| {}) else { panic!("opened") };
    // The store forgets everything once more.
    book.record = None;
    book.new_era();
    book.open(|open| open.ahead = ahead.into_iter().collect());
    set_clock(&mut book, HOUR);
    let answer = book.claim(tick(HOUR), |_| {});
    assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
}

#[test]
fn a_lost_tick_has_its_entry_also_if_the_record_has_no_place_for_another_leap() {
    for (sign, count) in [("!", 32), ("=", 32), ("!", 31)] {
        let mut book = Book::ready(Memory::Forgetful);
        let leap = |from: f64, sign| format!("{}-{}{sign}", at(from).0, at(from + 70.0).0);
        let others = (1..count).map(|n| leap(f64::from(n) * 100.0, sign));
        let leaps: Vec<String> = std::iter::once(leap(-60.0, "!")).chain(others).collect();
        (book.record().leaps, book.record().mark) = (leaps.join(" ").parse().expect("leaps"), at(2.0 * HOUR));
        let run = book.win(tick(0.0));
        book.new_era();
        abandon(&mut book, &run);
        assert_eq!(entries(&book, 0.0).len(), usize::from(count == 32), "{sign} {count}");
        book.open(|_| {});
        book.pass(secs(5));
        book.claim(tick(0.0), |_| {});
        assert_eq!(entries(&book, 0.0), [LOST], "{sign} {count}");
    }
}

fn another() -> ScheduleHash {
    ScheduleHash("00000000000000bb".into())
}

fn edit(open: &mut Open) {
    (open.schedule_hash, open.schedule_since) = (another(), open.caller.expect);
}

#[test]
fn a_lost_tick_has_its_entry_also_if_its_schedule_ends_before_the_next_claim() {
    let mut book = Book::ready(Memory::Forgetful);
    let run = book.win(tick(0.0));
    book.new_era();
    book.pass(secs(1));
    book.open(|_| {});
    abandon(&mut book, &run);
    book.pass(secs(10));
    book.open(|_| {});
    assert_eq!(entries(&book, 0.0), []);
    book.open(edit);
    book.open(edit);
    set_clock(&mut book, 60.0);
    let claims = |claim: &mut Claim| (claim.schedule_hash, claim.prev) = (another(), Some(tick(30.0)));
    assert!(is_won(&book.claim(tick(60.0), claims)));
    assert_eq!(entries(&book, 0.0), [LOST]);
}

#[test]
fn a_lost_tick_that_the_next_schedule_has_as_well_has_its_entry() {
    let mut book = Book::ready(Memory::Forgetful);
    set_clock(&mut book, -0.1);
    let run = book.win(tick(0.0));
    book.new_era();
    book.open(edit);
    let edited = Abandon { edited: true, ..sample::abandon(run.run, &Era("e1".into())) };
    assert_eq!(book.ask(Request::Abandon(edited)), Answer::Abandoned);
    set_clock(&mut book, 5.0);
    let claims = |claim: &mut Claim| claim.schedule_hash = another();
    assert_eq!(book.claim(tick(0.0), claims), Answer::Consumed(LOST));
}

#[test]
fn a_lost_tick_and_forgotten_ones_after_it_share_one_entry() {
    let mut book = Book::ready(Memory::Forgetful);
    let run = book.win(tick(0.0));
    book.new_era();
    set_clock(&mut book, 60.5);
    book.open(|open| open.caller.latest_store_time = at(60.0));
    abandon(&mut book, &run);
    set_clock(&mut book, 120.0);
    assert!(is_won(&book.claim(tick(120.0), |_| {})));
    assert_eq!(book.told(), [several(at(-0.001), tick(60.0), LOST)]);
}

/// A clock that was an hour ahead granted the tick at `HOUR`; it was set right, and an operator opened the tick again.
fn open_again(book: &mut Book) {
    set_clock(book, 1.0);
    let wall = book.server.now;
    assert_eq!(book.operate(Act::SetMark { wall }), Answer::Noted);
}

#[test]
fn a_run_that_ends_after_an_operator_opened_its_tick_leaves_no_leap_beyond_the_mark() {
    let mut book = Book::ready(Memory::Forgetful);
    let copy = book.record.clone();
    set_clock(&mut book, HOUR);
    let mut ran = book.win(tick(HOUR));
    (book.record, book.entries) = (copy, Vec::new());
    book.win(tick(HOUR));
    book.open(|open| open.caller.latest_store_time = at(HOUR));
    // Both are reruns.
    (ran.cause, ran.tries) = (Cause::Rerun, 2);
    (book.record().cause, book.record().tries) = (Some(Cause::Rerun), 2);
    open_again(&mut book);
    assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
    assert_eq!(entries(&book, HOUR), [SUCCEEDED]);
    let mark = book.record().mark;
    assert!(book.record().leaps.iter().all(|leap| leap.to <= mark), "{}", book.record().leaps);
}

#[test]
fn a_lost_tick_that_lies_in_a_leap_gets_no_second_one() {
    let mut book = Book::ready(Memory::Forgetful);
    set_clock(&mut book, HOUR);
    let run = book.win(tick(HOUR));
    open_again(&mut book);
    book.new_era();
    book.claim(tick(60.0), |claim| {
        (claim.caller.latest_store_time, claim.caller.calm) = (at(HOUR + 1.0), Duration::ZERO);
    });
    abandon(&mut book, &run);
    let around = book.record().leaps.iter().filter(|leap| leap.covers(at(HOUR))).count();
    assert_eq!(around, 1, "{}", book.record().leaps);
    // Nobody claims a tick until after it.
    set_clock(&mut book, HOUR + 60.0);
    assert!(is_won(&book.claim(tick(HOUR + 60.0), |claim| claim.prev = Some(tick(HOUR)))));
    assert_eq!(entries(&book, HOUR).len(), 1, "{:?}", book.told());
}
