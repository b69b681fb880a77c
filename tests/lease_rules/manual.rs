//! Manual runs: the same lock, without a look at the mark, and each order taken once.

use solocron::job::{Cause, OnInterrupt, Outcome, Overlap, Reason, RunId, Verdict};
use solocron::lease::{Answer, Era, Memory};

use crate::book::{Book, MEMORIES, at, held_for, is_held_by, is_won, one, secs, tick};
use crate::sample::{self, LEASE, node};

const OVERLAP: Verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);

#[test]
fn a_manual_run_is_never_early_decided_late_or_paused_and_leaves_the_mark() {
    for memory in MEMORIES {
        for second in [-3600.0, -60.0, 0.0, 3600.0] {
            let mut book = Book::ready(memory);
            book.record().paused = Some(at(60.0));
            assert!(is_won(&book.manual(|manual| manual.tick = tick(second))));
            assert_eq!(book.record().mark, at(-60.0));
            let lease = sample::lease(book.record());
            assert_eq!((lease.cause, lease.tick), (Cause::Manual, tick(second)));
            book.finish(&lease, |_| {});
            assert_eq!(book.record().mark, at(-60.0));
            assert!(book.entries.iter().all(|entry| entry.cause == Cause::Manual));
        }
    }
}

#[test]
fn a_manual_request_obeys_rules_1_to_3() {
    let mut book = Book::ready(Memory::Forgetful);
    assert_eq!(book.manual(|manual| manual.caller.expect = at(2.0)), Answer::Unsynced);
    assert!(matches!(book.manual(|manual| manual.caller.era = Era("e0".into())), Answer::NewEra(_)));
    let mut missing = Book::new(Memory::Forgetful);
    assert_eq!(missing.manual(|_| {}), held_for(LEASE));
    assert_eq!(missing.record().mark, at(0.2));
}

#[test]
fn an_order_is_taken_by_one_and_cleared() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let order = Some(RunId::new());
        book.record().order = order;
        let other = book.manual(|manual| manual.order = Some(RunId::new()));
        assert!(matches!(other, Answer::Decided { .. }), "{other:?}");
        assert!(is_won(&book.manual(|manual| manual.order = order)));
        assert_eq!(book.record().order, None);
        let again = book.manual(|manual| manual.order = order);
        assert!(matches!(again, Answer::Decided { .. }), "{again:?}");
    }
}

#[test]
fn a_manual_run_during_another_is_skipped_held_or_replaces_it() {
    for memory in MEMORIES {
        let run = RunId::new();
        let mut skip = Book::ready(memory);
        let lease = skip.win(tick(0.0));
        skip.record().order = Some(run);
        let answer = skip.manual(|manual| (manual.run, manual.order) = (run, Some(run)));
        assert_eq!(answer, Answer::Consumed(OVERLAP));
        assert_eq!(skip.told(), [one(tick(0.0), Cause::Manual, OVERLAP)]);
        assert_eq!((skip.entries[0].run, skip.record().order), (Some(run), None));
        assert_eq!(skip.renew(&lease), Answer::Renewed { stop: None });

        for (overlap, stop) in [(Overlap::Wait, None), (Overlap::Replace, Some(Reason::Replaced))] {
            let mut book = Book::ready(memory);
            let lease = book.win(tick(0.0));
            book.record().order = Some(run);
            let answer = book.manual(|manual| (manual.overlap, manual.order) = (overlap, Some(run)));
            assert!(is_held_by(&answer, &node("a")), "{answer:?}");
            assert_eq!(book.record().order, Some(run));
            assert_eq!(book.renew(&lease), Answer::Renewed { stop });
        }
    }
}

#[test]
fn a_tick_during_a_manual_run_is_skipped_and_recorded() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        assert!(is_won(&book.manual(|_| {})));
        let lease = sample::lease(book.record());
        book.pass(secs(60));
        book.renew(&lease);
        assert_eq!(book.claim(tick(60.0), |claim| claim.prev = None), Answer::Consumed(OVERLAP));
    }
}

#[test]
fn a_manual_run_that_was_interrupted_is_not_rerun() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        assert!(is_won(&book.manual(|manual| manual.tick = tick(-60.0))));
        book.pass(LEASE);
        let rerun = book.claim(tick(-60.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
        assert!(matches!(rerun, Answer::Decided { .. }), "{rerun:?}");
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        assert_eq!(book.told(), [one(tick(-60.0), Cause::Manual, lost)]);
    }
}

#[test]
fn an_abandoned_manual_run_has_its_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        assert!(is_won(&book.manual(|manual| manual.tick = tick(-60.0))));
        let lease = sample::lease(book.record());
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        let abandoned = Verdict::because(Outcome::Missed, Reason::Abandoned);
        assert_eq!(book.told(), [one(tick(-60.0), Cause::Manual, abandoned)]);
        assert_eq!(book.record().mark, at(-60.0));
        assert!(is_won(&book.claim(tick(0.0), |_| {})));
    }
}
