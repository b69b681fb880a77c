//! What the record tells of the job's successes, whichever request writes the entry: the newest success, and how many
//! ticks in a row did not succeed since.

use std::time::Duration;

use solocron::job::{Outcome, Reason, RunId, Tick, Verdict};
use solocron::lease::{Act, Answer, Decision, Dropped, Gap, Lease, Memory, Record, ScheduleHash};
use solocron::time::UtcMillis;

use crate::book::{Book, MEMORIES, at, is_won, secs, tick};
use crate::sample::{self, LEASE, forgotten};

/// The four fields of a record.
type Successes = (Option<Tick>, Option<UtcMillis>, u64, Option<UtcMillis>);

fn successes(record: &Record) -> Successes {
    (record.last_success_tick, record.last_success_end, record.failures_in_row, record.failing_since)
}

/// What the record tells now.
fn told(book: &mut Book) -> Successes {
    successes(book.record())
}

/// Only failures, the first of which ended at that second.
fn failing(count: u64, since: f64) -> Successes {
    (None, None, count, Some(at(since)))
}

/// What every decision keeps: the instants of successes never go back, without an entry nothing changes, and there
/// is an instant since which the job fails exactly while it fails.
pub(crate) fn never_go_back(before: Option<&Record>, decision: &Decision) {
    let Some(after) = decision.record.as_ref() else { return };
    assert_eq!(after.failures_in_row == 0, after.failing_since.is_none(), "{after:#?}");
    let before = before.map_or((None, None, 0, None), successes);
    assert!(
        before.0 <= after.last_success_tick && before.1 <= after.last_success_end,
        "{before:?} {after:#?}"
    );
    let tells_nothing = |outcome| matches!(outcome, Outcome::Skipped | Outcome::Killed);
    if decision.entries.iter().all(|entry| tells_nothing(entry.outcome)) {
        assert_eq!(before, successes(after), "{decision:#?}");
    }
}

/// Runs the tick at this second, and ends it two seconds later.
fn run(book: &mut Book, second: f64, verdict: Verdict) -> Lease {
    book.server.now = at(second);
    let lease = book.win(tick(second));
    book.pass(secs(2));
    assert_eq!(book.finish(&lease, |finish| finish.verdict = verdict), Answer::Finished);
    lease
}

const SUCCEEDED: Verdict = Verdict::plain(Outcome::Succeeded);
const FAILED: Verdict = Verdict::plain(Outcome::Failed);

#[test]
fn runs_that_do_not_succeed_count_until_one_does() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        run(&mut book, 0.0, SUCCEEDED);
        assert_eq!(told(&mut book), (Some(tick(0.0)), Some(at(2.0)), 0, None));
        let interrupted = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        let left_behind = Verdict::because(Outcome::Unknown, Reason::LeftBehind);
        for (n, verdict) in
            (1..).zip([FAILED, Verdict::plain(Outcome::TimedOut), interrupted, left_behind, FAILED])
        {
            run(&mut book, 60.0 * n as f64, verdict);
            assert_eq!(told(&mut book), (Some(tick(0.0)), Some(at(2.0)), n, Some(at(62.0))));
        }
        run(&mut book, 360.0, SUCCEEDED);
        assert_eq!(told(&mut book), (Some(tick(360.0)), Some(at(362.0)), 0, None));
    }
}

#[test]
fn killed_runs_and_skipped_ticks_change_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        run(&mut book, 0.0, FAILED);
        run(&mut book, 60.0, Verdict::because(Outcome::Killed, Reason::Operator));
        book.server.now = at(120.0);
        book.record().paused = Some(at(180.0));
        assert!(matches!(book.claim(tick(120.0), |_| {}), Answer::Consumed(_)));
        book.record().paused = None;
        let lease = book.win(tick(120.05));
        book.pass(Duration::from_millis(50));
        let manual = book.manual(|_| {});
        assert!(matches!(manual, Answer::Consumed(_)), "{manual:?}");
        book.operate(Act::Kill { run: None });
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        assert_eq!(told(&mut book), failing(1, 2.0), "{:?}", book.told());
    }
}

#[test]
fn a_manual_run_counts_as_any_other_and_an_older_tick_does_not_lower_the_newest() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        run(&mut book, 0.0, SUCCEEDED);
        for (verdict, expected) in [
            (FAILED, (Some(tick(0.0)), Some(at(2.0)), 1, Some(at(10.0)))),
            (SUCCEEDED, (Some(tick(0.0)), Some(at(10.0)), 0, None)),
        ] {
            book.server.now = at(10.0);
            assert!(is_won(&book.manual(|manual| manual.tick = tick(-60.0))));
            let lease = sample::lease(book.record());
            book.finish(&lease, |finish| finish.verdict = verdict);
            assert_eq!(told(&mut book), expected);
        }
    }
}

#[test]
fn ticks_that_were_missed_count_one_by_one_also_where_they_share_an_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        for second in [0.0, 60.0] {
            book.server.now = at(second + 61.0);
            book.claim(tick(second), |_| {});
        }
        assert_eq!((told(&mut book), book.entries.len()), (failing(2, 61.0), 1));
        // Five ticks that no replica claimed.
        book.server.now = at(420.0);
        let gap = Some(Gap { after: at(60.0), before: None, count: 5 });
        book.claim(tick(420.0), |claim| claim.gap = gap);
        assert_eq!(book.entries.last().and_then(|entry| entry.count), Some(5));
        assert_eq!(told(&mut book), failing(7, 61.0));
    }
}

#[test]
fn ticks_that_an_edited_schedule_leaves_count_as_missed() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.open(|open| {
            (open.schedule_hash, open.schedule_since) = (ScheduleHash("bb".into()), at(0.0));
            open.dropped = Some(Dropped { tick: tick(-0.5), after: at(-60.0), count: Some(3) });
        });
        assert_eq!(told(&mut book), failing(3, 0.0));
    }
}

#[test]
fn a_run_whose_holder_is_gone_counts_whoever_records_it() {
    for memory in MEMORIES {
        // By the next claim, whose tick then succeeds; by an operator; and by a survivor's manual request.
        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        book.pass(LEASE);
        let claim = book.claim(tick(30.0), |claim| claim.prev = None);
        assert!(is_won(&claim), "{claim:?}");
        assert_eq!(told(&mut book), failing(1, 0.0));

        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(10));
        assert_eq!(book.operate(Act::Unlock { run: Some(lease.run) }), Answer::Noted);
        assert_eq!(told(&mut book), failing(1, 0.0));
        book.finish(&lease, |_| {});
        assert_eq!(told(&mut book), failing(1, 0.0), "its end was recorded before");

        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        book.pass(LEASE);
        let survivor = book.manual(|manual| manual.order = Some(RunId::new()));
        assert!(matches!(survivor, Answer::Decided { .. }), "{survivor:?}");
        assert_eq!(told(&mut book), failing(1, 0.0));
    }
}

#[test]
fn a_holder_that_another_one_replaces_after_a_loss_counts_as_interrupted() {
    let other = |book: &mut Book| {
        let lease = book.win(tick(0.0));
        forgotten(tick(-30.0), lease.fence.0 + 1)
    };
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = other(&mut book);
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        assert_eq!(told(&mut book), failing(1, 0.0));

        let mut book = Book::ready(memory);
        let lease = other(&mut book);
        book.pass(secs(1));
        assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
        // The other run ended with its last sign of life, and the reported one after it.
        assert_eq!(told(&mut book), (Some(tick(-30.0)), Some(at(1.0)), 0, None));
    }
}

#[test]
fn a_tick_that_was_claimed_and_never_started_counts_once_it_is_missed() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        assert_eq!(told(&mut book), (None, None, 0, None), "it may be claimed again");
        let lease = book.win(tick(0.0));
        book.record().schedule_since = at(0.0);
        book.abandon(&lease);
        assert_eq!(told(&mut book), failing(1, 0.0));
    }
}

#[test]
fn ticks_that_the_store_forgot_count_as_unknown() {
    let mut book = Book::ready(Memory::Forgetful);
    book.record().lost_after = Some(at(-120.0));
    assert!(matches!(book.claim(tick(-60.0), |_| {}), Answer::Consumed(_)));
    assert_eq!(told(&mut book), failing(1, 0.0));
}

#[test]
fn an_end_that_is_told_again_counts_once() {
    for memory in MEMORIES {
        for (verdict, failures) in [(FAILED, 1), (SUCCEEDED, 0)] {
            let mut book = Book::ready(memory);
            let lease = run(&mut book, 0.0, verdict);
            let before = book.record.clone();
            assert_eq!(book.finish(&lease, |finish| finish.verdict = verdict), Answer::AlreadyDecided);
            assert_eq!(book.record, before);
            // The store forgets the record, and the end is told again and again.
            book.record = None;
            for answer in [Answer::Finished, Answer::AlreadyDecided] {
                assert_eq!(book.finish(&lease, |finish| finish.verdict = verdict), answer);
                assert_eq!(told(&mut book).2, failures);
            }
        }
    }
}

#[test]
fn ends_that_are_told_in_another_order_after_a_loss_leave_the_newest_success() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        (book.record().lost_after, book.record().mark) = (Some(at(-60.0)), at(0.0));
        for (second, verdict) in [(-10.0, SUCCEEDED), (-20.0, FAILED)] {
            let lease = forgotten(tick(second), at(second).0);
            let ended = at(second + 1.0);
            let answer = book.finish(&lease, |finish| (finish.verdict, finish.ended) = (verdict, ended));
            assert_eq!(answer, Answer::Finished);
        }
        assert_eq!(told(&mut book), (Some(tick(-10.0)), Some(at(-9.0)), 0, None));
    }
}

#[test]
fn a_new_era_of_the_store_keeps_what_the_record_tells() {
    let mut book = Book::ready(Memory::Forgetful);
    run(&mut book, 0.0, SUCCEEDED);
    run(&mut book, 60.0, FAILED);
    let before = told(&mut book);
    book.new_era();
    book.open(|_| {});
    assert_eq!(told(&mut book), before);
    book.record = None;
    book.open(|_| {});
    assert_eq!(told(&mut book), (None, None, 0, None), "the store forgot it");
}
