//! Claims of replicas that cannot run the job: nothing is granted to them, and what nobody started gets its record.

use std::time::Duration;

use solocron::job::{Cause, OnInterrupt, Outcome, Overlap, Reason, Tick, Verdict};
use solocron::lease::{Answer, Claim};

use crate::book::{Book, MEMORIES, at, is_held_by, is_won, one, secs, tick};

const NO_REPLICA: Verdict = Verdict::because(Outcome::Missed, Reason::NoReplica);
const OVERLAP: Verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);

fn watch(book: &mut Book, tick: Tick, change: impl FnOnce(&mut Claim)) -> Answer {
    book.claim(tick, |claim| {
        (claim.unfit, claim.prev) = (Some(Reason::NoReplica), None);
        change(claim);
    })
}

#[test]
fn a_free_lock_is_not_granted_and_the_end_of_the_start_deadline_is_told() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let before = book.record.clone();
        let wait = Duration::from_millis(50_001);
        assert_eq!(watch(&mut book, tick(-10.0), |_| {}), Answer::Early { wait });
        assert_eq!((book.record.clone(), book.told()), (before, vec![]));
        assert!(is_won(&book.claim(tick(-10.0), |_| {})), "who can run it still may");
    }
}

#[test]
fn what_nobody_started_in_time_is_missed_once_for_the_reason_that_is_given() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-120.0);
        let is_over = tick(-60.001);
        assert_eq!(watch(&mut book, is_over, |_| {}), Answer::Consumed(NO_REPLICA));
        assert_eq!(watch(&mut book, is_over, |_| {}), Answer::Decided { by: None, how: None });
        assert_eq!(book.told(), [one(is_over, Cause::Schedule, NO_REPLICA)]);
        let at_its_end = watch(&mut book, tick(0.0), |claim| claim.start_deadline = Duration::ZERO);
        assert_eq!(at_its_end, Answer::Early { wait: Duration::from_millis(1) }, "it may start until then");
    }
}

#[test]
fn a_run_that_covers_the_tick_is_why_it_is_skipped_whoever_asks() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(-10.0));
        book.pass(secs(5));
        book.renew(&lease);
        assert_eq!(watch(&mut book, tick(4.0), |_| {}), Answer::Consumed(OVERLAP));
        assert!(book.record().is_running());
    }
}

#[test]
fn who_would_not_run_has_nothing_stopped_and_reruns_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(-10.0));
        book.pass(secs(5));
        let answer = watch(&mut book, tick(4.0), |claim| claim.overlap = Overlap::Replace);
        assert!(is_held_by(&answer, &lease.node), "{answer:?}");
        assert_eq!(book.record().stop_run, None);

        book.finish(&lease, |finish| {
            finish.verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        });
        let answer = watch(&mut book, tick(-10.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
        assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
    }
}

#[test]
fn a_paused_job_misses_nobody_who_could_run_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-120.0);
        book.record().paused = Some(at(3_600.0));
        let paused = Verdict::because(Outcome::Skipped, Reason::Paused);
        assert_eq!(watch(&mut book, tick(-60.001), |_| {}), Answer::Consumed(paused));
    }
}
