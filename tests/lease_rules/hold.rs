//! Renew, finish and abandon on a store that remembers: only the holder's own lock, and each end once.

use std::time::Duration;

use solocron::job::{Cause, Fence, NodeName, OnInterrupt, Outcome, Reason, RunId, Verdict};
use solocron::lease::{Abandon, Answer, Lease, LeaseInstant, Memory, Request, ScheduleHash};
use solocron::time::UtcMillis;

use crate::book::{Book, MEMORIES, at, is_won, one, secs, tick};
use crate::sample;
use crate::sample::LEASE;

#[test]
fn a_renewal_gives_another_lease_and_tells_of_an_order_to_stop() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(29));
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        assert_eq!(book.lease_end(30), book.record().locked_until);
        book.record().stop_run = Some(lease.run);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: Some(Reason::Operator) });
        book.claim(tick(10.0), |claim| claim.overlap = solocron::job::Overlap::Replace);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: Some(Reason::Operator) }, "who asked first");
        book.record().stop_run = Some(RunId::new());
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    }
}

#[test]
fn a_renewal_after_the_end_of_the_lock_still_counts_if_nobody_took_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(45));
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    }
}

#[test]
fn a_renewal_that_was_held_up_on_its_way_is_unsynced() {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    let before = book.record.clone();
    let late = sample::renew(&lease, at(-1.001));
    assert_eq!(book.ask(Request::Renew(late.clone())), Answer::Unsynced);
    assert_eq!(book.record, before);

    let mut durable = Book::ready(Memory::Durable);
    let lease = durable.win(tick(0.0));
    let late = sample::renew(&lease, at(-1.001));
    assert_eq!(durable.ask(Request::Renew(late)), Answer::Renewed { stop: None });
}

/// Ways in which a holder differs from the record by one thing.
fn strangers(lease: &Lease) -> [Lease; 2] {
    [Lease { run: RunId::new(), ..lease.clone() }, Lease { fence: Fence(lease.fence.0 - 1), ..lease.clone() }]
}

#[test]
fn whoever_is_not_the_holder_has_lost_and_ends_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        let before = book.record.clone();
        for stranger in strangers(&lease) {
            assert_eq!(book.renew(&stranger), Answer::Lost);
            assert_eq!(book.finish(&stranger, |_| {}), Answer::AlreadyDecided);
        }
        assert_eq!(book.abandon(&strangers(&lease)[0]), Answer::AlreadyDecided);
        assert_eq!(book.record, before);
        assert!(book.entries.is_empty());
    }
}

#[test]
fn an_ended_run_can_neither_renew_nor_end_again() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.finish(&lease, |_| {});
        let before = book.record.clone();
        assert_eq!(book.renew(&lease), Answer::Lost);
        assert_eq!(book.finish(&lease, |_| {}), Answer::AlreadyDecided);
        assert_eq!(book.abandon(&lease), Answer::AlreadyDecided);
        assert_eq!((book.record, book.entries.len()), (before, 1));
    }
}

#[test]
fn a_holder_called_gone_has_lost() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(LEASE);
        // Any claim notices, also one that is not granted.
        book.claim(tick(60.0), |_| {});
        assert_eq!(book.renew(&lease), Answer::Lost);
        assert_eq!(book.finish(&lease, |_| {}), Answer::AlreadyDecided);
        let node_lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, node_lost)]);
    }
}

#[test]
fn a_finish_frees_the_lock_and_writes_the_whole_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(3));
        let verdict = Verdict::plain(Outcome::Failed);
        let answer = book.finish(&lease, |finish| {
            (finish.attempt, finish.verdict, finish.exit_code) = (3, verdict, Some(2));
            finish.tail = "oh\n".into();
        });
        assert_eq!(answer, Answer::Finished);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, verdict)]);
        let entry = book.entries[0].clone();
        assert_eq!((entry.run, entry.fence), (Some(lease.run), Some(lease.fence)));
        assert_eq!((entry.attempt, entry.exit_code, entry.signal), (Some(3), Some(2), None));
        assert_eq!((entry.started, entry.finished), (Some(at(0.0)), at(3.0)));
        assert_eq!(
            (entry.node.as_ref().map(NodeName::as_str), entry.tail.as_deref()),
            (Some("a"), Some("oh\n"))
        );
        let record = book.record();
        assert_eq!(
            (record.locked_until, record.ended, record.verdict),
            (LeaseInstant::FREE, Some(at(3.0)), Some(verdict))
        );
        assert!(!record.is_running());
    }
}

#[test]
fn a_run_never_ends_before_it_started() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(1));
        book.finish(&lease, |finish| finish.ended = UtcMillis(0));
        assert_eq!(book.entries[0].finished, at(0.0));
    }
}

#[test]
fn an_abandoned_tick_is_given_back_without_an_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        let record = book.record();
        assert_eq!((record.mark, record.locked_until), (at(-0.001), LeaseInstant::FREE));
        assert!(book.entries.is_empty());
        let again = book.win(tick(0.0));
        assert!(again.fence > lease.fence && again.tries == 1);
    }
}

#[test]
fn an_abandoned_tick_with_later_ones_decided_has_its_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(1));
        book.record().paused = Some(at(60.0));
        book.claim(tick(0.5), |claim| claim.prev = None);
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        let abandoned = Verdict::because(Outcome::Missed, Reason::Abandoned);
        assert_eq!(book.told()[1..], [one(tick(0.0), Cause::Schedule, abandoned)]);
        assert_eq!((book.record().mark, book.record().locked_until), (at(0.5), LeaseInstant::FREE));
    }
}

#[test]
fn an_abandoned_tick_from_before_the_schedule_is_recorded_as_missed() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.open(|open| (open.schedule_hash, open.schedule_since) = (ScheduleHash("bb".into()), at(0.0)));
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        let missed = Verdict::because(Outcome::Missed, Reason::Edited);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, missed)]);
        assert_eq!(book.record().mark, at(0.0));
    }
}

#[test]
fn an_abandoned_tick_of_an_edited_job_is_missed_and_its_rerun_adds_no_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        let edited = Abandon { edited: true, ..sample::abandon(lease.run, &book.server.era) };
        assert_eq!(book.ask(Request::Abandon(edited)), Answer::Abandoned);
        let missed = Verdict::because(Outcome::Missed, Reason::Edited);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, missed)]);
        assert_eq!((book.record().mark, book.record().locked_until), (at(0.0), LeaseInstant::FREE));

        book.pass(secs(60));
        let first = book.win(tick(60.0));
        book.finish(&first, |finish| {
            finish.verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown)
        });
        book.claim(tick(60.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
        let rerun = sample::lease(book.record());
        let edited = Abandon { edited: true, ..sample::abandon(rerun.run, &book.server.era) };
        assert_eq!(book.ask(Request::Abandon(edited)), Answer::Abandoned);
        assert_eq!(book.entries.len(), 2, "{:?}", book.told());
    }
}

#[test]
fn a_run_that_was_granted_ahead_and_is_lost_does_not_end_before_it_began() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.15));
        book.entries.clear();
        book.pass(Duration::from_millis(50));
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        book.pass(secs(300));
        book.claim(tick(300.0), |claim| claim.prev = None);
        let lost = &book.entries[0];
        assert_eq!(lost.verdict(), Verdict::because(Outcome::Interrupted, Reason::NodeLost));
        assert_eq!((lost.started, lost.finished), (Some(at(0.15)), at(0.15)));
    }
}

#[test]
fn a_claim_repeated_after_its_abandon_is_decided() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let claim = sample::claim(book.caller(), tick(0.0));
        assert!(is_won(&book.ask(Request::Claim(claim.clone()))));
        let lease = sample::lease(book.record());
        book.abandon(&lease);
        let late = book.ask(Request::Claim(claim));
        assert!(matches!(late, Answer::Decided { .. }), "{late:?}");
        assert!(!book.record().is_running());
    }
}

#[test]
fn an_abandoned_rerun_may_be_tried_again() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let first = book.win(tick(0.0));
        let shutdown = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        book.finish(&first, |finish| finish.verdict = shutdown);
        for _ in 0..2 {
            let rerun = book.claim(tick(0.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
            assert!(matches!(rerun, Answer::Won { tries: 2, .. }), "{rerun:?}");
            let lease = sample::lease(book.record());
            assert_eq!(book.abandon(&lease), Answer::Abandoned);
        }
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, shutdown)]);
        assert_eq!(book.record().mark, at(0.0));
        assert!(matches!(book.claim(tick(0.0), |_| {}), Answer::Decided { .. }));
    }
}
