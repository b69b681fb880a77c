//! Rules 1 and 2, and 8 to 11: claims that are not considered, come too early or too late, or were decided before.

use std::time::Duration;

use solocron::job::{Cause, OnInterrupt, Outcome, Overlap, Reason, RunId, Verdict};
use solocron::lease::{Answer, Era, Memory, SCHEMA, ScheduleHash};
use solocron::time::UtcMillis;

use crate::book::{Book, GAP, MEMORIES, at, is_won, one, secs, several, tick};
use crate::sample;

const LATE: Verdict = Verdict::because(Outcome::Missed, Reason::Late);
const EDITED: Verdict = Verdict::because(Outcome::Missed, Reason::Edited);
const PAUSED: Verdict = Verdict::because(Outcome::Skipped, Reason::Paused);

#[test]
fn rule_1_a_request_more_than_a_second_off_is_unsynced_and_changes_nothing() {
    for (expect, is_synced) in [(-1.001, false), (-1.0, true), (1.0, true), (1.001, false)] {
        let mut book = Book::ready(Memory::Forgetful);
        let before = book.record.clone();
        let answer = book.claim(tick(0.0), |claim| claim.caller.expect = at(expect));
        assert_eq!(is_won(&answer), is_synced, "{expect}: {answer:?}");
        assert_eq!(answer == Answer::Unsynced, !is_synced);
        assert_eq!(book.record == before, !is_synced);
    }
}

#[test]
fn rule_1_a_durable_store_has_no_requests_under_way() {
    let mut book = Book::ready(Memory::Durable);
    let answer = book.claim(tick(0.0), |claim| claim.caller.expect = at(-3600.0));
    assert!(is_won(&answer), "{answer:?}");
}

#[test]
fn rule_2_a_request_of_another_life_of_the_store_learns_of_the_new_one() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let before = book.record.clone();
        let answer = book.claim(tick(0.0), |claim| claim.caller.era = Era("e0".into()));
        assert_eq!(answer, Answer::NewEra(Era("e1".into())));
        assert_eq!(book.record, before);
    }
}

#[test]
fn a_newer_record_is_left_alone_whatever_is_asked() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.record().schema = SCHEMA + 1;
        let before = book.record.clone();
        let answers = [
            book.claim(tick(60.0), |_| {}),
            book.manual(|_| {}),
            book.open(|_| {}),
            book.renew(&lease),
            book.finish(&lease, |_| {}),
            book.abandon(&lease),
        ];
        assert!(answers.iter().all(|answer| *answer == Answer::NewerSchema(SCHEMA + 1)), "{answers:?}");
        assert_eq!(book.record, before);
        assert!(book.entries.is_empty());
    }
}

#[test]
fn rule_8_a_tick_is_early_until_200_milliseconds_before_its_instant() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let answer = book.claim(tick(0.201), |_| {});
        assert_eq!(answer, Answer::Early { wait: Duration::from_millis(201) });
        assert!(is_won(&book.claim(tick(0.2), |_| {})));
    }
}

#[test]
fn rule_8_what_is_granted_ahead_of_its_instant_begins_at_it_and_covers_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let Answer::Won { started, .. } = book.claim(tick(0.15), |_| {}) else { panic!("it is free") };
        assert_eq!((started, book.record().mark), (at(0.15), at(0.15)));
        assert_eq!(book.record().started, Some(at(0.15)));
    }
}

/// What stands in the way of a tick 150 ms before its instant may be gone by then: nothing is decided of it, or stopped
/// for it, or said to wait for the lock.
#[test]
fn rule_8_nothing_but_a_grant_comes_ahead_of_the_instant() {
    let early = Answer::Early { wait: Duration::from_millis(150) };
    let policies = [Overlap::Skip, Overlap::Wait, Overlap::Replace];
    for (memory, overlap) in MEMORIES.into_iter().flat_map(|memory| policies.map(|policy| (memory, policy))) {
        let mut book = Book::ready(memory);
        book.record().paused = Some(at(0.15));
        assert_eq!(book.claim(tick(0.15), |_| {}), early, "paused until then");
        book.pass(Duration::from_millis(150));
        let lease = book.win(tick(0.15));
        book.entries.clear();
        book.pass(secs(10));
        book.renew(&lease);
        let claim =
            |book: &mut Book| book.claim(tick(10.3), |claim| (claim.overlap, claim.prev) = (overlap, None));
        assert_eq!(claim(&mut book), early, "{overlap:?}: it runs");
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        assert!(book.entries.is_empty() && book.record().mark == at(0.15));
        book.finish(&lease, |_| {});
        assert!(is_won(&claim(&mut book)), "{overlap:?}: it has ended");
    }
}

#[test]
fn rule_9_a_tick_at_or_below_the_mark_is_decided() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        for decided in [-60.0, -61.0] {
            let answer = book.claim(tick(decided), |claim| claim.start_deadline = secs(3600));
            assert_eq!(answer, Answer::Decided { by: None, how: None });
        }
        let above = at(-60.0).plus(Duration::from_millis(1));
        assert!(is_won(&book.claim(solocron::job::Tick(above), |_| {})));
    }
}

#[test]
fn rule_9_a_decided_tick_tells_how_it_went_while_the_record_knows() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        let by = Some(lease.node.clone());
        let running = Some(Verdict::plain(Outcome::Running));
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Decided { by: by.clone(), how: running });
        book.finish(&lease, |_| {});
        let succeeded = Some(Verdict::plain(Outcome::Succeeded));
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Decided { by, how: succeeded });
        assert_eq!(book.claim(tick(-60.0), |_| {}), Answer::Decided { by: None, how: None });
    }
}

#[test]
fn rule_9_an_interrupted_tick_is_rerun_once_and_only_on_demand() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let first = book.win(tick(0.0));
        let interrupted = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        book.finish(&first, |finish| finish.verdict = interrupted);

        assert!(matches!(book.claim(tick(0.0), |_| {}), Answer::Decided { .. }));
        let rerun = book.claim(tick(0.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
        assert!(matches!(rerun, Answer::Won { tries: 2, .. }), "{rerun:?}");
        let second = sample::lease(book.record());
        assert_eq!((second.cause, second.tick), (Cause::Rerun, tick(0.0)));
        assert!(second.fence > first.fence);

        book.finish(&second, |finish| finish.verdict = interrupted);
        let third = book.claim(tick(0.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
        assert!(matches!(third, Answer::Decided { .. }), "{third:?}");
    }
}

#[test]
fn rule_9_only_the_records_own_interrupted_tick_is_rerun() {
    for memory in MEMORIES {
        let rerun = |book: &mut Book, second: f64| {
            book.claim(tick(second), |claim| claim.on_interrupt = OnInterrupt::Rerun)
        };
        let interrupted = Verdict::because(Outcome::Interrupted, Reason::Shutdown);

        let mut failed = Book::ready(memory);
        let lease = failed.win(tick(0.0));
        failed.finish(&lease, |finish| finish.verdict = Verdict::plain(Outcome::Failed));
        assert!(matches!(rerun(&mut failed, 0.0), Answer::Decided { .. }));

        let mut manual = Book::ready(memory);
        manual.record().mark = at(0.0);
        assert!(is_won(&manual.manual(|manual| manual.tick = tick(0.0))));
        let lease = sample::lease(manual.record());
        manual.finish(&lease, |finish| finish.verdict = interrupted);
        assert!(matches!(rerun(&mut manual, 0.0), Answer::Decided { .. }));

        let mut older = Book::ready(memory);
        let lease = older.win(tick(-30.0));
        older.finish(&lease, |finish| finish.verdict = interrupted);
        older.record().mark = at(-15.0);
        assert!(matches!(rerun(&mut older, -15.0), Answer::Decided { .. }));
        assert!(is_won(&rerun(&mut older, -30.0)));
    }
}

#[test]
fn rule_10_a_late_tick_is_missed_and_is_so_by_the_slower_clock() {
    for memory in MEMORIES {
        let claim_late = |wall: UtcMillis| {
            let mut book = Book::ready(memory);
            book.record().mark = at(-120.0);
            let answer = book.claim(tick(-60.001), |claim| (claim.wall, claim.prev) = (wall, None));
            (answer, book)
        };
        let (answer, mut book) = claim_late(at(0.0));
        assert_eq!(answer, Answer::Consumed(LATE));
        assert_eq!(book.told(), [one(tick(-60.001), Cause::Schedule, LATE)]);
        assert_eq!(book.record().mark, at(-60.001));
        assert!(!book.record().is_running());
        assert!(is_won(&claim_late(at(-0.001)).0));
        assert_eq!(claim_late(at(3600.0)).0, Answer::Consumed(LATE));
    }
}

#[test]
fn rule_10_a_catch_up_is_never_late_but_not_for_an_edited_schedule() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-7200.0);
        let mut edited = Book::ready(memory);
        edited.record().mark = at(-7200.0);
        edited.record().schedule_hash = ScheduleHash("bb".into());

        assert!(is_won(&book.claim(tick(-3600.0), |claim| claim.catch_up = true)));
        assert_eq!(book.record().cause, Some(Cause::CatchUp));

        let answer = edited.claim(tick(-3600.0), |claim| claim.catch_up = true);
        assert_eq!(answer, Answer::Consumed(EDITED));
        assert_eq!(edited.told(), [one(tick(-3600.0), Cause::CatchUp, EDITED)]);
        assert_eq!(edited.record().schedule_hash, sample::sched());
        assert!(is_won(&edited.claim(tick(0.0), |claim| claim.prev = None)));
    }
}

#[test]
fn rule_10_a_rerun_is_not_late_however_long_its_tick_is_past() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        let interrupted = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        book.pass(secs(600));
        book.finish(&lease, |finish| finish.verdict = interrupted);
        assert!(is_won(&book.claim(tick(0.0), |claim| claim.on_interrupt = OnInterrupt::Rerun)));
    }
}

#[test]
fn rule_11_a_paused_job_skips_its_ticks_until_the_pause_is_over() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().paused = Some(at(60.0));
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Consumed(PAUSED));
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, PAUSED)]);
        assert_eq!(book.record().mark, at(0.0));
        book.pass(secs(60));
        assert!(is_won(&book.claim(tick(60.0), |_| {})));
    }
}

#[test]
fn a_late_tick_that_is_paused_too_is_late_and_has_one_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-120.0);
        book.record().paused = Some(at(60.0));
        assert_eq!(book.claim(tick(-61.0), |claim| claim.prev = None), Answer::Consumed(LATE));
        assert_eq!(book.claim(tick(-61.0), |_| {}), Answer::Decided { by: None, how: None });
        assert_eq!(book.told(), [one(tick(-61.0), Cause::Schedule, LATE)]);
    }
}

#[test]
fn a_consumed_tick_leaves_a_running_holder_alone() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(20));
        book.record().paused = Some(at(60.0));
        let mut expected = book.record().clone();
        assert_eq!(book.claim(tick(20.0), |claim| claim.prev = None), Answer::Consumed(PAUSED));
        expected.mark = at(20.0);
        assert_eq!(*book.record(), expected);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
    }
}

#[test]
fn what_is_consumed_twice_is_told_once() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().paused = Some(at(60.0));
        book.record().mark = at(-300.0);
        let claim = |claim: &mut solocron::lease::Claim| claim.run = RunId::new();
        assert_eq!(book.claim(tick(0.0), claim), Answer::Consumed(PAUSED));
        assert_eq!(book.claim(tick(0.0), claim), Answer::Decided { by: None, how: None });
        let expected = [several(at(-300.0), tick(-60.0), GAP), one(tick(0.0), Cause::Schedule, PAUSED)];
        assert_eq!(book.told(), expected);
    }
}
