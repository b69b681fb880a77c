//! Opening: there is a record afterwards, and one that was missing grants nothing before its wait is over.

use std::time::Duration;

use solocron::job::{Cause, Outcome, Overlap, Reason, Verdict};
use solocron::lease::{Abandon, Answer, Claim, Dropped, Era, Memory, Open, Record, Request, ScheduleHash};
use solocron::time::UtcMillis;

use crate::book::{Book, MEMORIES, at, held_for, is_held_by, is_won, one, secs, several, tick};
use crate::sample;
use crate::sample::LEASE;

fn opened(since: UtcMillis) -> Answer {
    Answer::Opened { since, pausing: None, ahead: None, closed: None, reopened_ahead_count: 0 }
}

/// Another schedule than the sample job's.
fn other() -> ScheduleHash {
    ScheduleHash("bb".into())
}

#[test]
fn an_unknown_job_waits_two_seconds_and_then_runs_its_first_tick() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        assert_eq!(book.open(|open| open.is_known_job = false), opened(UtcMillis(0)));
        let expected = Record {
            mark: at(0.2),
            created_mark: at(0.2),
            leaps: format!("0-{}", at(0.2).0).parse().expect("leaps"),
            locked_until: book.lease_end(2),
            settles_at: book.lease_end(2),
            lease: secs(2),
            schedule_hash: sample::sched(),
            ..Record::empty(book.server.era.clone())
        };
        assert_eq!(*book.record(), expected);
        book.pass(secs(1));
        let calm = |seconds| move |claim: &mut solocron::lease::Claim| claim.caller.calm = secs(seconds);
        assert_eq!(book.claim(tick(1.0), calm(1)), held_for(secs(1)));
        book.pass(secs(1));
        assert!(is_won(&book.claim(tick(1.0), calm(2))));
    }
}

#[test]
fn a_known_job_waits_by_the_largest_lease() {
    for memory in MEMORIES {
        for (lease, largest) in [(30, 300), (300, 30)] {
            let mut book = Book::new(memory);
            book.open(|open| (open.lease, open.caller.largest_lease) = (secs(lease), secs(largest)));
            assert_eq!(book.lease_end(300), book.record().locked_until);
        }
    }
}

#[test]
fn the_mark_of_a_missing_record_is_above_all_that_was_heard() {
    for (heard, mark) in [(-5.0, 0.2), (5.0, 5.2)] {
        let mut book = Book::new(Memory::Forgetful);
        book.open(|open| open.caller.latest_store_time = at(heard));
        assert_eq!(book.record().mark, at(mark));
    }
}

#[test]
fn a_record_of_this_era_is_only_told_of() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        let before = book.record.clone();
        assert_eq!(book.open(|open| open.schedule_since = at(-1.0)), opened(UtcMillis(0)));
        assert_eq!(book.record, before);
        assert_eq!(book.open(|open| open.schedule_hash = ScheduleHash::default()), opened(UtcMillis(0)));
        assert_eq!(book.record, before, "a guest has no say in the schedule");
    }
}

#[test]
fn another_schedule_holds_from_when_a_replica_took_it_over_and_decides_nothing() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        let before = book.record().clone();
        let edited =
            |since| move |open: &mut Open| (open.schedule_hash, open.schedule_since) = (other(), since);
        assert_eq!(book.open(edited(at(-5.0))), opened(at(-5.0)));
        assert_eq!(
            *book.record(),
            Record { schedule_hash: other(), schedule_since: at(-5.0), ..before.clone() }
        );
        assert_eq!(book.open(edited(at(-2.0))), opened(at(-5.0)), "the next replica takes over the same");
        assert_eq!(
            book.open(|open| open.schedule_since = at(9.0)),
            opened(at(0.0)),
            "nobody knows the future"
        );
        assert!(book.entries.is_empty());
    }
}

#[test]
fn an_unscheduled_job_gets_no_record_and_a_rescheduled_one_no_earlier_ticks() {
    for memory in MEMORIES {
        let mut nobodys = Book::new(memory);
        assert_eq!(nobodys.open(|open| open.schedule_hash = ScheduleHash::none()), opened(UtcMillis(0)));
        assert_eq!(nobodys.record, None);

        let mut book = Book::ready(memory);
        book.open(|open| (open.schedule_hash, open.schedule_since) = (ScheduleHash::none(), at(-30.0)));
        book.pass(secs(600));
        assert_eq!(book.open(|open| open.schedule_since = at(595.0)), opened(at(595.0)));
        let late = |claim: &mut Claim| (claim.catch_up, claim.start_deadline) = (true, secs(1));
        let edited = Answer::Consumed(Verdict::because(Outcome::Missed, Reason::Edited));
        assert_eq!(book.claim(tick(540.0), late), edited, "it was not scheduled then");
        book.pass(secs(20));
        let first = |claim: &mut Claim| (claim.prev, claim.wall) = (Some(tick(600.0)), at(620.0));
        assert!(is_won(&book.claim(tick(620.0), first)));
        let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
        let told = book.told();
        assert_eq!(told[told.len() - 1], several(at(595.0), tick(600.0), missed));
    }
}

#[test]
fn what_was_left_of_the_schedule_before_is_missed_unless_it_was_decided() {
    let left = |tick, after| Some(Dropped { tick, after, count: Some(2) });
    let edited = Verdict::because(Outcome::Missed, Reason::Edited);
    for memory in MEMORIES {
        let ended = |dropped| {
            move |open: &mut Open| {
                (open.schedule_hash, open.schedule_since, open.dropped) = (other(), at(-5.0), dropped);
            }
        };
        let mut book = Book::ready(memory);
        book.open(ended(left(tick(-10.0), at(-60.0))));
        assert_eq!(book.told(), [several(at(-60.0), tick(-10.0), edited)]);
        assert_eq!((book.record().mark, book.entries[0].count), (at(-10.0), Some(2)));
        book.open(ended(left(tick(-10.0), at(-60.0))));
        book.open(ended(left(tick(-20.0), at(-90.0))));
        book.open(ended(left(tick(-1.0), at(-60.0))));
        assert_eq!(book.entries.len(), 1, "told of, decided before, or of the schedule that holds");
        book.open(ended(left(tick(-8.0), at(-60.0))));
        assert_eq!(book.entries[1].count, None, "the replica has counted others than those");

        let mut one_alone = Book::ready(memory);
        one_alone.open(ended(Some(Dropped { tick: tick(-10.0), after: at(-60.0), count: Some(1) })));
        assert_eq!(one_alone.told(), [one(tick(-10.0), Cause::Schedule, edited)]);
    }
}

#[test]
fn what_was_left_is_counted_from_when_its_own_schedule_began() {
    let mut book = Book::ready(Memory::Durable);
    book.record().schedule_since = at(-30.0);
    let dropped = Some(Dropped { tick: tick(-10.0), after: at(-30.0), count: Some(2) });
    book.open(|open| (open.schedule_hash, open.schedule_since, open.dropped) = (other(), at(-5.0), dropped));
    let edited = Verdict::because(Outcome::Missed, Reason::Edited);
    assert_eq!(
        (book.told(), book.entries[0].count),
        (vec![several(at(-30.0), tick(-10.0), edited)], Some(2))
    );
}

#[test]
fn a_schedule_that_was_put_ahead_by_a_wrong_clock_does_not_stay_there() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().schedule_since = at(3_600.0);
        assert_eq!(book.open(|open| open.schedule_since = at(-20.0)), opened(at(-20.0)));
        book.record().schedule_since = at(0.2);
        assert_eq!(
            book.open(|open| open.schedule_since = at(-20.0)),
            opened(at(0.2)),
            "clocks differ a little"
        );
    }
}

#[test]
fn a_clock_set_back_raises_the_mark_only_of_a_deleted_record_of_a_known_job() {
    let set_back = |open: &mut Open| open.caller.latest_store_time = at(3_600.0);
    let mut there = Book::ready(Memory::Forgetful);
    there.open_told(set_back);
    assert_eq!(there.record().mark, at(-60.0));
    let mut of_another_life = Book::ready(Memory::Forgetful);
    of_another_life.new_era();
    of_another_life.open_told(|open| {
        set_back(open);
        open.latest_of_earlier_eras = at(-2.0);
    });
    assert_eq!(of_another_life.record().mark, at(-1.8));
    let mut unknown = Book::new(Memory::Forgetful);
    unknown.open_told(|open| {
        set_back(open);
        open.is_known_job = false;
    });
    assert_eq!((unknown.record().mark, unknown.record().locked_until), (at(0.2), unknown.lease_end(2)));
    let mut known = Book::new(Memory::Forgetful);
    known.open_told(set_back);
    assert_eq!(known.record().mark, at(3_600.2), "its ticks may have been decided, and the record deleted");
}

#[test]
fn what_was_cut_short_is_not_rerun_under_another_schedule() {
    let mut book = Book::ready(Memory::Durable);
    let lease = book.win(tick(0.0));
    let finish = |finish: &mut solocron::lease::Finish| {
        finish.verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
    };
    book.finish(&lease, finish);
    assert!(book.record().cut_short().is_some());
    book.open(|open| (open.schedule_hash, open.schedule_since) = (other(), at(0.0)));
    assert_eq!(book.record().cut_short(), None);
}

#[test]
fn an_open_of_another_life_of_the_store_learns_of_the_new_one() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        let answer = book.open(|open| open.caller.era = Era("e0".into()));
        assert_eq!((answer, &book.record), (Answer::NewEra(Era("e1".into())), &None));
    }
}

#[test]
fn of_replicas_that_open_at_once_the_first_decides_and_the_others_change_nothing() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.open(|open| open.is_known_job = false);
        let before = book.record.clone();
        book.pass(Duration::from_millis(300));
        book.open(|open| open.is_known_job = false);
        book.open(|_| {});
        assert_eq!(book.record, before);
    }
}

#[test]
fn ticks_that_an_emptied_store_forgot_have_one_entry() {
    let lost = Verdict::because(Outcome::Unknown, Reason::StoreReset);
    let mut book = Book::new(Memory::Forgetful);
    book.open(|open| (open.caller.latest_store_time, open.caller.known_mark) = (at(-30.0), Some(at(-180.0))));
    book.pass(LEASE);
    assert!(is_won(&book.claim(tick(30.0), |claim| claim.prev = Some(tick(-30.0)))));
    assert_eq!(book.told(), [several(at(-180.0), tick(-30.0), lost)]);

    let mut first_start = Book::new(Memory::Forgetful);
    first_start.open(|open| open.is_known_job = false);
    first_start.pass(LEASE);
    assert!(is_won(&first_start.claim(tick(30.0), |claim| claim.prev = Some(tick(-30.0)))));
    assert!(first_start.entries.is_empty());
}

#[test]
fn a_replica_that_remembers_more_of_earlier_eras_raises_the_mark_and_the_wait() {
    let mut book = Book::ready(Memory::Forgetful);
    book.new_era();
    book.open(|open| open.caller.largest_lease = Duration::ZERO);
    assert_eq!((book.record().mark, book.record().lease), (at(-60.0), LEASE));
    book.open(|open| (open.caller.latest_store_time, open.caller.largest_lease) = (at(-1.0), secs(300)));
    assert_eq!((book.record().mark, book.record().lease), (at(-0.8), secs(300)));
    book.pass(secs(60));
    let fresh = |claim: &mut solocron::lease::Claim| {
        (claim.caller.calm, claim.caller.largest_lease, claim.prev) = (secs(60), Duration::ZERO, None);
    };
    assert_eq!(book.claim(tick(60.0), fresh), held_for(secs(240)));
}

#[test]
fn a_new_process_that_opens_an_emptied_store_first_does_not_shorten_the_wait() {
    let mut book = Book::new(Memory::Forgetful);
    book.open(|open| open.is_known_job = false);
    book.pass(secs(1));
    book.open(|open| open.caller.latest_store_time = at(-1.0));
    book.pass(secs(2));
    let answer = book.claim(tick(3.0), |claim| (claim.caller.calm, claim.prev) = (secs(3), None));
    assert_eq!(answer, held_for(secs(27)));
}

#[test]
fn an_open_does_not_close_a_lock_that_is_free() {
    let mut book = Book::ready(Memory::Forgetful);
    book.open(|open| open.caller.latest_store_time = at(-120.0));
    assert!(is_won(&book.claim(tick(0.0), |claim| claim.caller.calm = Duration::ZERO)));
}

/// A record that was deleted, and is made anew by a run by hand, knows no schedule. Whoever opens it later, as the machine was
/// restarted, has not scheduled the job since then alone: a tick that has been asked for is known to be one.
#[test]
fn a_tick_that_waits_for_a_manual_run_gets_its_entry_though_all_replicas_restart() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.manual(|_| {});
        book.pass(LEASE);
        assert!(is_won(&book.manual(|_| {})));
        let lease = sample::lease(book.record());
        let waits = |claim: &mut Claim| (claim.overlap, claim.prev) = (Overlap::Wait, None);
        assert!(is_held_by(&book.claim(tick(30.0), waits), &sample::node("a")));
        book.pass(secs(1));
        let now = book.server.now;
        assert_eq!(book.open(|open| open.schedule_since = now), opened(UtcMillis(0)));
        book.finish(&lease, |_| {});
        book.entries.clear();
        book.pass(secs(59));
        assert!(is_won(&book.claim(tick(90.0), |claim| claim.prev = Some(tick(30.0)))));
        assert_eq!(book.entries.last().map(|entry| entry.tick), Some(tick(30.0)));
    }
}

/// The same, with nobody having asked for a tick before: who made the record knew of earlier ticks.
#[test]
fn a_known_job_is_not_taken_for_new_when_its_record_is_remade_without_schedule() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.manual(|manual| manual.caller.known_mark = Some(at(-60.0)));
        book.pass(secs(61));
        let now = book.server.now;
        assert_eq!(book.open(|open| open.schedule_since = now), opened(UtcMillis(0)));
    }
}

#[test]
fn a_tick_granted_early_is_not_in_a_schedule_that_began_before_its_instant() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.15));
        book.pass(Duration::from_millis(160));
        let edited = |open: &mut Open| (open.schedule_hash, open.schedule_since) = (other(), at(0.01));
        assert_eq!(book.open(edited), opened(at(0.15)));
        // Nothing was started: nobody would claim it again, and so it is told of.
        book.entries.clear();
        assert_eq!(book.abandon(&lease), Answer::Abandoned);
        let edited = Verdict::because(Outcome::Missed, Reason::Edited);
        assert_eq!(book.told(), [one(tick(0.15), Cause::Schedule, edited)]);
    }
}

/// It never came under the schedule before, and so needs no entry; the schedule that began in between may have it as well.
#[test]
fn a_tick_given_back_early_is_in_a_schedule_that_began_before_its_instant() {
    for memory in MEMORIES {
        for is_opened_first in [true, false] {
            let mut book = Book::ready(memory);
            let lease = book.win(tick(0.15));
            book.pass(Duration::from_millis(100));
            let edited = |open: &mut Open| (open.schedule_hash, open.schedule_since) = (other(), at(0.05));
            if is_opened_first {
                assert_eq!(book.open(edited), opened(at(0.15)));
            }
            book.entries.clear();
            let abandon = Abandon { edited: true, ..sample::abandon(lease.run, &book.server.era) };
            assert_eq!(book.ask(Request::Abandon(abandon)), Answer::Abandoned);
            assert!(!is_opened_first || book.record().schedule_since < at(0.15));
            if !is_opened_first {
                assert_eq!(book.open(edited), opened(at(0.149)));
            }
            book.pass(Duration::from_millis(60));
            let claim = book.claim(tick(0.15), |claim| (claim.schedule_hash, claim.prev) = (other(), None));
            assert!(is_won(&claim), "{claim:?}");
            assert_eq!(book.told(), []);
        }
    }
}
