//! Rules 5 to 7, 12 and 13: claims that meet a holder, one who is gone, or a run that covered the instant.

use std::time::Duration;

use solocron::job::{Cause, Outcome, Overlap, Reason, Verdict};
use solocron::lease::{Answer, Claim, Memory, Request};

use crate::book::{Book, MEMORIES, at, held_for, is_held_by, is_won, one, secs, tick};
use crate::sample::{self, LEASE, node};

const OVERLAP: Verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);
const NODE_LOST: Verdict = Verdict::because(Outcome::Interrupted, Reason::NodeLost);

fn wait(claim: &mut Claim) {
    claim.overlap = Overlap::Wait;
    claim.prev = None;
}

#[test]
fn rule_5_the_same_run_asks_again_and_hears_the_same() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let claim = sample::claim(book.caller(), tick(0.0));
        let first = book.ask(Request::Claim(claim.clone()));
        book.pass(Duration::from_millis(900));
        assert_eq!(book.ask(Request::Claim(claim.clone())), first);
        assert_eq!(book.lease_end(30), book.record().locked_until);
        let lease = sample::lease(book.record());
        book.finish(&lease, |_| {});
        assert!(matches!(book.ask(Request::Claim(claim)), Answer::Decided { by: Some(_), how: Some(_) }));
        assert_eq!(book.entries.len(), 1);
    }
}

#[test]
fn rule_5_never_shortens_the_lock() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let mut claim = sample::claim(book.caller(), tick(0.0));
        book.ask(Request::Claim(claim.clone()));
        let until = book.record().locked_until;
        claim.lease = secs(5);
        assert!(is_won(&book.ask(Request::Claim(claim))));
        assert_eq!(book.record().locked_until, until);
    }
}

#[test]
fn rule_6_a_lock_that_ends_too_far_ahead_is_cut_to_the_largest_lease() {
    for memory in MEMORIES {
        for (remembered, expected) in [(30, 30), (60, 60)] {
            let mut book = Book::ready(memory);
            book.win(tick(0.0));
            book.record().locked_until = book.lease_end(3600);
            book.claim(tick(0.1), |claim| {
                wait(claim);
                claim.caller.largest_lease = secs(remembered);
            });
            assert_eq!(book.lease_end(expected), book.record().locked_until);
        }
    }
}

#[test]
fn rule_7_a_holder_not_heard_from_for_a_lease_is_gone_and_the_lock_is_free() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lost = book.win(tick(0.0));
        book.pass(secs(10));
        book.renew(&lost);
        book.pass(LEASE - Duration::from_millis(1));
        assert!(is_held_by(&book.claim(tick(39.0), wait), &node("a")));
        assert!(book.entries.is_empty());

        book.pass(Duration::from_millis(1));
        assert!(is_won(&book.claim(tick(39.0), wait)));

        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, NODE_LOST)]);
        let entry = &book.entries[0];
        assert_eq!(
            (entry.run, entry.fence, &entry.node),
            (Some(lost.run), Some(lost.fence), &Some(lost.node))
        );
        // Its last sign of life was the renewal.
        assert_eq!((entry.started, entry.finished), (Some(at(0.0)), at(10.0)));
    }
}

#[test]
fn rule_7_and_12_a_claimant_without_a_lease_of_calm_waits_for_the_largest_lease() {
    type Change = fn(&mut Claim);
    let cases: [(Change, u64); 3] = [
        (|_| {}, 30),
        (|claim| claim.lease = secs(40), 40),
        (|claim| claim.caller.largest_lease = secs(50), 50),
    ];
    for (change, needed) in cases {
        let claim = |calm: u64| {
            move |claim: &mut Claim| {
                wait(claim);
                claim.caller.largest_lease = Duration::ZERO;
                change(claim);
                claim.caller.calm = secs(calm);
            }
        };
        let mut book = Book::ready(Memory::Forgetful);
        book.win(tick(0.0));
        book.pass(secs(3600));
        let answer = book.claim(tick(3599.0), claim(needed - 1));
        assert!(
            matches!(answer, Answer::Held { by: Some(_), frees_in } if frees_in == secs(1)),
            "{answer:?}"
        );
        assert!(is_won(&book.claim(tick(3599.0), claim(needed))));
    }
}

#[test]
fn rule_12_calm_is_endless_on_a_durable_store() {
    let mut book = Book::ready(Memory::Durable);
    book.win(tick(0.0));
    book.pass(LEASE);
    let answer = book.claim(tick(30.0), |claim| {
        wait(claim);
        claim.caller.calm = Duration::ZERO;
    });
    assert!(is_won(&answer), "{answer:?}");
}

#[test]
fn rule_12_a_free_lock_needs_no_calm() {
    let mut book = Book::ready(Memory::Forgetful);
    assert!(is_won(&book.claim(tick(0.0), |claim| claim.caller.calm = Duration::ZERO)));
}

#[test]
fn rule_12_skip_consumes_a_tick_at_which_the_holder_was_seen_alive() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(10));
        let claim = |book: &mut Book| book.claim(tick(10.0), |claim| claim.prev = None);
        assert!(is_held_by(&claim(&mut book), &node("a")), "not seen alive yet");
        book.renew(&lease);
        assert_eq!(claim(&mut book), Answer::Consumed(OVERLAP));
        assert_eq!(book.told(), [one(tick(10.0), Cause::Schedule, OVERLAP)]);
        assert!(book.record().is_running());
    }
}

#[test]
fn rule_12_a_holder_that_only_a_new_era_lets_wait_is_not_taken_for_alive() {
    let mut book = Book::ready(Memory::Forgetful);
    book.win(tick(0.0));
    book.pass(secs(10));
    book.new_era();
    book.open(|open| open.caller.largest_lease = secs(300));
    book.pass(secs(10));
    let answer = book.claim(tick(5.0), |claim| {
        claim.prev = None;
        claim.caller.calm = secs(10);
    });
    assert!(is_held_by(&answer, &node("a")), "{answer:?}");
}

#[test]
fn rule_12_wait_and_replace_are_held_and_replace_stops_the_holder() {
    for memory in MEMORIES {
        for overlap in [Overlap::Wait, Overlap::Replace] {
            let mut book = Book::ready(memory);
            let lease = book.win(tick(0.0));
            book.pass(secs(10));
            book.renew(&lease);
            let answer = book.claim(tick(10.0), |claim| (claim.overlap, claim.prev) = (overlap, None));
            assert!(is_held_by(&answer, &node("a")), "{answer:?}");
            assert!(book.entries.is_empty() && book.record().mark == at(0.0));
            let stop = (overlap == Overlap::Replace).then_some(Reason::Replaced);
            assert_eq!(book.renew(&lease), Answer::Renewed { stop });
            book.finish(&lease, |_| {});
            assert_eq!(book.record().stop_run, None);
            assert!(is_won(&book.claim(tick(10.0), |claim| (claim.overlap, claim.prev) = (overlap, None))));
        }
    }
}

#[test]
fn rule_12_an_order_to_stop_is_not_passed_on_to_the_next_run() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        book.pass(Duration::from_millis(100));
        book.claim(tick(0.1), |claim| claim.overlap = Overlap::Replace);
        assert!(book.record().stop_run.is_some());
        book.pass(LEASE);
        let next = book.win(tick(30.0));
        assert_eq!(book.renew(&next), Answer::Renewed { stop: None });
    }
}

#[test]
fn rule_12_a_record_opened_and_never_granted_holds_by_nobody() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.open(|_| {});
        book.pass(secs(10));
        for overlap in [Overlap::Skip, Overlap::Wait, Overlap::Replace] {
            let answer = book.claim(tick(10.0), |claim| (claim.overlap, claim.prev) = (overlap, None));
            assert_eq!(answer, held_for(secs(20)));
        }
    }
}

#[test]
fn rule_13_skip_consumes_a_tick_that_the_last_run_covered() {
    // The run goes from second 1 to second 11: its start is within, its end is not.
    for (second, is_covered) in [(0.999, false), (1.0, true), (10.999, true), (11.0, false)] {
        for memory in MEMORIES {
            let mut book = Book::ready(memory);
            book.pass(secs(1));
            let lease = book.win(tick(0.5));
            book.pass(secs(10));
            book.finish(&lease, |_| {});
            let mut waiting =
                Book { record: book.record.clone(), entries: Vec::new(), server: book.server.clone() };
            let answer = book.claim(tick(second), |claim| claim.prev = None);
            assert_eq!(answer == Answer::Consumed(OVERLAP), is_covered, "{second}: {answer:?}");
            assert_eq!(is_won(&answer), !is_covered, "{second}: {answer:?}");
            assert!(is_won(&waiting.claim(tick(second), wait)));
        }
    }
}

#[test]
fn rule_13_an_abandoned_claim_covered_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(5));
        book.abandon(&lease);
        assert!(is_won(&book.claim(tick(2.0), |claim| claim.prev = None)));
    }
}

#[test]
fn rule_13_a_run_whose_end_was_told_late_covered_nothing_after_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        // The store was unreachable from second 5 on.
        book.pass(secs(20));
        book.finish(&lease, |finish| finish.ended = finish.ended.minus(secs(16)));
        assert_eq!(book.entries[0].finished, at(4.0));
        assert_eq!(book.claim(tick(3.0), |claim| claim.prev = None), Answer::Consumed(OVERLAP));
        assert!(is_won(&book.claim(tick(10.0), |claim| claim.prev = None)));
    }
}

#[test]
fn rule_13_a_run_that_ended_by_a_clock_that_was_stepped_back_since_covered_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(60));
        book.finish(&lease, |_| {});
        book.server.now = at(5.0);
        assert!(is_won(&book.claim(tick(5.0), |claim| claim.prev = None)));
    }
}
