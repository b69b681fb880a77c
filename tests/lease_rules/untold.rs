//! Ticks that came before a record was opened anew, by one who could not say from where on they were forgotten.

use solocron::job::{Cause, Outcome, Reason, Verdict};
use solocron::lease::{Answer, Claim, Gap, Lease, Memory};

use crate::book::{Book, GAP, MEMORIES, at, is_won, one, secs, several, tick};
use crate::sample;

const LOST: Verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);

#[test]
fn ticks_that_only_a_later_claimant_had_seen_come_are_told_of() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        // A replica that was just started opens the record, and takes the tick for decided.
        book.open(|open| open.caller.known_mark = None);
        book.pass(secs(5));
        assert_eq!(
            book.claim(tick(0.0), |claim| claim.caller.known_mark = Some(at(-60.0))),
            Answer::Consumed(LOST)
        );
        assert_eq!(book.told().len(), 1);
    }
}

#[test]
fn what_was_told_of_a_record_that_was_never_granted_is_not_told_again() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.open(|open| open.caller.known_mark = Some(at(-60.0)));
        book.pass(secs(61));
        let late = Verdict::because(Outcome::Missed, Reason::Late);
        let claim = |claim: &mut Claim| {
            claim.start_deadline = secs(1);
            claim.caller.known_mark = Some(at(-60.0));
        };
        assert_eq!(book.claim(tick(59.0), claim), Answer::Consumed(late));
        let told = book.told();
        book.open(|open| {
            (open.caller.known_mark, open.caller.latest_store_time) = (Some(at(-60.0)), at(-60.0))
        });
        assert_eq!(book.claim(tick(59.0), claim), Answer::Decided { by: None, how: None });
        assert_eq!(book.told(), told);
    }
}

#[test]
fn a_finish_put_back_on_a_new_record_tells_from_where_on_ticks_were_forgotten() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.record = None;
        book.pass(secs(100));
        book.open(|open| open.caller.known_mark = None);
        book.finish(&lease, |_| {});
        assert_eq!(book.record().lost_after, Some(at(0.0)));
        book.pass(secs(5));
        assert_eq!(book.claim(tick(60.0), |_| {}), Answer::Consumed(LOST));
    }
}

/// A guest makes the record anew, and its run is over before anybody comes who knows the job.
fn made_by_a_guest(memory: Memory) -> Book {
    let mut book = Book::ready(memory);
    book.record = None;
    let guest = |manual: &mut solocron::lease::Manual| manual.caller.known_mark = None;
    book.manual(guest);
    book.pass(secs(31));
    assert!(is_won(&book.manual(guest)));
    let lease = sample::lease(book.record());
    assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
    book
}

#[test]
fn ticks_that_were_forgotten_before_a_guest_ran_are_told_of() {
    for memory in MEMORIES {
        let mut book = made_by_a_guest(memory);
        book.entries.clear();
        assert_eq!(
            book.claim(tick(0.0), |claim| claim.caller.known_mark = Some(at(-60.0))),
            Answer::Consumed(LOST)
        );
        // And only once.
        assert_eq!(
            book.claim(tick(0.0), |claim| claim.caller.known_mark = Some(at(-60.0))),
            Answer::Decided { by: None, how: None }
        );
        assert_eq!(book.told().len(), 1);
    }
}

#[test]
fn ticks_that_came_before_a_new_replica_opened_what_a_guest_had_made_are_told_of() {
    for memory in MEMORIES {
        let mut book = made_by_a_guest(memory);
        book.entries.clear();
        book.pass(secs(69));
        let now = book.server.now;
        book.open(|open| (open.schedule_since, open.caller.known_mark) = (now, None));
        assert_eq!(book.record().schedule_since, now, "it cannot know better");
        book.pass(secs(20));
        let remembers = |claim: &mut Claim| {
            claim.caller.known_mark = Some(at(-60.0));
            claim.gap = Some(Gap { after: at(-60.0), before: Some(tick(-60.0)), count: 2 });
        };
        assert!(is_won(&book.claim(tick(120.0), |claim| remembers(claim))));
        assert_eq!(book.told(), [several(at(-60.0), tick(0.2), LOST), several(at(0.2), tick(60.0), GAP)]);
    }
}

/// Up to zero all is known. The store forgets what came since, up to this second, and nobody claims before second 240.
fn nobody_claims_after_a_loss(second: f64, gap: Option<Gap>) -> Book {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    book.finish(&lease, |_| {});
    book.entries.clear();
    book.pass(secs(240));
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(second));
    book.pass(secs(31));
    assert!(is_won(&book.claim(tick(240.0), |claim| (claim.prev, claim.gap) = (Some(tick(180.0)), gap))));
    book
}

#[test]
fn of_ticks_after_those_that_were_forgotten_it_is_known_that_nobody_ran_them() {
    let gap = Gap { after: at(90.2), before: Some(tick(60.0)), count: 2 };
    let book = nobody_claims_after_a_loss(90.0, Some(gap));
    assert_eq!(book.told(), [several(at(0.0), tick(60.0), LOST), several(at(90.2), tick(180.0), GAP)]);
    assert_eq!(book.entries[1].count, Some(2));
    // Who cannot tell which was the last tick before the loss names the instant.
    let book = nobody_claims_after_a_loss(90.0, None);
    assert_eq!(book.told(), [several(at(0.0), tick(90.2), LOST), several(at(90.2), tick(180.0), GAP)]);
}

#[test]
fn no_tick_is_unknown_where_none_came_before_the_store_forgot() {
    let gap = Gap { after: at(30.2), before: Some(tick(0.0)), count: 3 };
    let book = nobody_claims_after_a_loss(30.0, Some(gap));
    assert_eq!(book.told(), [several(at(30.2), tick(180.0), GAP)]);
    assert_eq!(book.entries[0].count, Some(3));
}

#[test]
fn on_a_record_made_by_a_clock_that_was_ahead_ticks_that_ran_are_told_of_once() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.pass(secs(3_600));
        book.open(|open| (open.is_known_job, open.caller.known_mark) = (false, None));
        // The clock is set right. The claim finds that the record waits for too long.
        book.server = Book::new(memory).server;
        book.claim(tick(0.0), |_| {});
        book.pass(secs(60));
        for second in [60.0, 120.0, 180.0] {
            let claim = |claim: &mut Claim| {
                claim.caller.known_mark = Some(at(second - 60.0));
                claim.prev = Some(tick(second - 60.0)).filter(|_| second > 60.0);
            };
            assert!(is_won(&book.claim(tick(second), claim)));
            let lease = sample::lease(book.record());
            // Another comes too late.
            let answer = book.claim(tick(second), claim);
            assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
            book.finish(&lease, |_| {});
            book.pass(secs(60));
        }
        let told: Vec<_> = book.entries.iter().map(|entry| (entry.tick, entry.outcome)).collect();
        assert_eq!(told, [60.0, 120.0, 180.0].map(|second| (tick(second), Outcome::Succeeded)), "{memory:?}");
    }
}

#[test]
fn what_ran_is_told_once_where_a_store_that_forgot_it_had_leapt_over_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let ran = [0.0, 120.0].map(|second| {
            let lease = Lease { prev: Some(tick(second - 60.0)), ..book.win(tick(second)) };
            book.finish(&lease, |_| {});
            book.pass(secs(120));
            lease
        });
        book.record = None;
        book.entries.clear();
        // Who opens the record anew knows nothing of the job; then those who ran it tell.
        book.open(|open| (open.is_known_job, open.caller.known_mark) = (false, None));
        for lease in &ran {
            assert_eq!(book.finish(lease, |_| {}), Answer::Finished);
        }
        book.pass(secs(60));
        assert!(is_won(&book.claim(tick(300.0), |_| {})));
        let succeeded = Verdict::plain(Outcome::Succeeded);
        let told = [
            one(tick(0.0), Cause::Schedule, succeeded),
            one(tick(120.0), Cause::Schedule, succeeded),
            several(at(0.0), tick(60.0), LOST),
            several(at(120.0), tick(240.0), LOST),
        ];
        assert_eq!(book.told(), told, "{memory:?}");
        assert!(!book.record().leaps.to_string().contains('='), "{memory:?}: {}", book.record().leaps);
    }
}

#[test]
fn a_tick_that_ran_is_decided_for_who_claims_it_while_ticks_around_it_are_unknown() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let first = book.win(tick(0.0));
        book.finish(&first, |_| {});
        book.pass(secs(60));
        let second = Lease { prev: Some(tick(0.0)), ..book.win(tick(60.0)) };
        book.finish(&second, |_| {});
        book.record = None;
        book.entries.clear();
        book.pass(secs(120));
        book.open(|open| open.caller.known_mark = Some(at(-60.0)));
        assert_eq!(book.finish(&second, |_| {}), Answer::Finished);
        // Another run by hand since: the record does not name the tick any more.
        book.pass(secs(31));
        assert!(is_won(&book.manual(|_| {})));
        let manual = sample::lease(book.record());
        book.finish(&manual, |_| {});
        book.entries.clear();
        assert_eq!(book.claim(tick(60.0), |_| {}), Answer::Decided { by: None, how: None });
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Consumed(LOST));
        assert_eq!(book.claim(tick(120.0), |_| {}), Answer::Consumed(LOST));
        assert_eq!(book.told(), [several(at(-60.0), tick(0.0), LOST), several(at(60.0), tick(120.0), LOST)]);
    }
}

#[test]
fn every_run_whose_end_is_told_after_a_loss_has_its_entry_whatever_the_order() {
    for newest_first in [false, true] {
        let mut book = Book::ready(Memory::Forgetful);
        let follower = book.record.clone();
        let mut runs = Vec::new();
        for second in [0.0, 60.0, 120.0] {
            let run = Lease { prev: Some(tick(second - 60.0)), ..book.win(tick(second)) };
            book.finish(&run, |_| {});
            runs.push(run);
            book.pass(secs(60));
        }
        (book.record, book.entries) = (follower, Vec::new());
        book.new_era();
        book.open(|open| open.caller.latest_store_time = at(179.0));
        if newest_first {
            runs.reverse();
        }
        for run in &runs {
            assert_eq!(book.finish(run, |_| {}), Answer::Finished);
            assert_eq!(book.finish(run, |_| {}), Answer::AlreadyDecided, "and once");
        }
        book.pass(secs(60));
        assert!(is_won(&book.claim(tick(240.0), |claim| claim.prev = Some(tick(180.0)))));
        let told: Vec<_> = book.entries.iter().map(|entry| (entry.tick, entry.verdict().outcome)).collect();
        let ran = |second| (tick(second), Outcome::Succeeded);
        let mut expected = vec![ran(0.0), ran(60.0), ran(120.0)];
        if newest_first {
            expected.reverse();
        }
        assert_eq!(told[..3], expected);
        assert!(book.entries[3..].iter().all(|entry| entry.after >= Some(at(120.0))), "{:?}", book.told());
    }
}

#[test]
fn a_run_whose_entry_outlived_the_record_has_no_second_one() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let run = book.win(tick(0.0));
        book.finish(&run, |_| {});
        book.record = None;
        book.pass(secs(600));
        book.open(|open| open.caller.known_mark = None);
        assert_eq!(book.finish(&run, |_| {}), Answer::Finished);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, Verdict::plain(Outcome::Succeeded))]);
    }
}

#[test]
fn an_ended_run_gets_no_second_entry_from_a_rolled_back_record() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let run = book.win(tick(0.0));
        let running = book.record.clone();
        book.finish(&run, |_| {});
        book.record = running;
        book.pass(secs(60));
        // Whoever comes next finds that the run's lease is over.
        assert!(is_won(&book.claim(tick(60.0), |_| {})));
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, Verdict::plain(Outcome::Succeeded))]);
    }
}
