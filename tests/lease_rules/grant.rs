//! Rule 14, and the entry for ticks that a claim passes over.

use std::time::Duration;

use solocron::job::{Cause, Fence, Reason, RunId};
use solocron::lease::{Answer, Caller, Gap, Memory, Phase, Record};

use crate::book::{Book, GAP, MEMORIES, at, is_won, secs, several, tick};
use crate::sample::{self, LEASE, node};

#[test]
fn rule_14_a_grant_writes_the_whole_record_and_keeps_pause_and_order() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let order = Some(RunId::new());
        book.record().order = order;
        book.record().paused = Some(at(-1.0));
        let run = RunId::new();
        let answer = book.claim(tick(-0.5), |claim| {
            (claim.run, claim.lease, claim.caller.node) = (run, secs(7), node("b"));
        });
        let fence = Fence(at(0.0).0);
        assert_eq!(answer, Answer::Won { fence, tries: 1, started: at(0.0) });
        let expected = Record {
            fence,
            mark: at(-0.5),
            locked_until: book.lease_end(7),
            lease: secs(7),
            phase: Phase::Running,
            run: Some(run),
            tick: Some(tick(-0.5)),
            tries: 1,
            cause: Some(Cause::Schedule),
            started: Some(at(0.0)),
            ended: Some(at(0.0)),
            owner: Some(node("b")),
            schedule_hash: sample::sched(),
            paused: Some(at(-1.0)),
            order,
            ..Record::empty(book.server.era.clone())
        };
        assert_eq!(*book.record(), expected);
        assert!(book.entries.is_empty());
    }
}

#[test]
fn rule_14_a_fence_is_above_the_last_and_not_below_any_store_time_seen() {
    let cases =
        [(at(-5.0).0, -9.0, at(0.0).0), (at(5.0).0, -9.0, at(5.0).0 + 1), (at(-5.0).0, 7.0, at(7.0).0)];
    for (last, heard, expected) in cases {
        for memory in MEMORIES {
            let mut book = Book::ready(memory);
            book.record().fence = Fence(last);
            let answer = book.claim(tick(0.0), |claim| claim.caller.latest_store_time = at(heard));
            assert!(matches!(answer, Answer::Won { fence, .. } if fence == Fence(expected)), "{answer:?}");
        }
    }
}

#[test]
fn rule_14_a_catch_up_of_an_older_tick_does_not_lower_the_mark() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-7200.0);
        assert!(is_won(&book.claim(tick(-3600.0), |claim| claim.catch_up = true)));
        assert_eq!(book.record().mark, at(-3600.0));
    }
}

#[test]
fn ticks_between_the_mark_and_prev_are_missed_with_one_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-240.0);
        book.claim(tick(0.0), |claim| {
            claim.gap = Some(Gap { after: at(-240.0), before: Some(tick(-240.0)), count: 3 });
            claim.gap_reason = Reason::NoReplica;
        });
        assert_eq!(book.told(), [several(at(-240.0), tick(-60.0), GAP)]);
        assert_eq!((book.entries[0].count, book.entries[0].finished), (Some(3), at(0.0)));
    }
}

#[test]
fn a_count_for_another_mark_is_not_believed() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-240.0);
        book.claim(tick(0.0), |claim| {
            claim.gap = Some(Gap { after: at(-600.0), before: Some(tick(-600.0)), count: 9 })
        });
        assert_eq!((book.entries.len(), book.entries[0].count), (1, None));
    }
}

#[test]
fn no_gap_is_recorded_if_prev_is_decided_or_missing_or_the_schedule_changed() {
    let ready = |mark: f64| {
        let mut book = Book::ready(Memory::Forgetful);
        book.record().mark = at(mark);
        book
    };
    let mut adjacent = ready(-60.0);
    assert!(is_won(&adjacent.claim(tick(0.0), |_| {})));
    let mut edited = ready(-600.0);
    assert!(is_won(&edited.claim(tick(0.0), |claim| claim.schedule_hash.0 = "bb".into())));
    let mut first = ready(-600.0);
    assert!(is_won(&first.claim(tick(0.0), |claim| claim.prev = None)));
    for book in [&adjacent, &edited, &first] {
        assert!(book.entries.is_empty(), "{:?}", book.told());
    }
    assert_eq!(edited.record().schedule_hash.0, "bb");
}

#[test]
fn a_held_claim_passes_nothing_over_and_the_granted_one_does_it_once() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.pass(secs(180));
        book.renew(&lease);
        let wait = |claim: &mut solocron::lease::Claim| claim.overlap = solocron::job::Overlap::Wait;
        book.claim(tick(180.0), wait);
        assert!(book.entries.is_empty());
        book.finish(&lease, |_| {});
        assert!(is_won(&book.claim(tick(180.0), wait)));
        assert_eq!(book.told()[1..], [several(at(0.0), tick(120.0), GAP)]);
    }
}

#[test]
fn an_abandoned_tick_does_not_tell_of_the_gap_again() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-240.0);
        for _ in 0..2 {
            let lease = book.win(tick(0.0));
            book.pass(Duration::from_millis(10));
            book.abandon(&lease);
        }
        assert_eq!(book.told(), [several(at(-240.0), tick(-60.0), GAP)]);
    }
}

#[test]
fn rule_14_a_fence_is_above_all_that_the_caller_knows_even_after_a_lost_record() {
    let ahead = Fence(at(300_000_000.0).0);
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.claim(tick(0.0), |_| {});
        book.pass(secs(60));
        let now = book.server.now;
        let answer = book.claim(tick(60.0), |claim| {
            (claim.prev, claim.caller.largest_fence) = (Some(tick(0.0)), ahead);
        });
        let fence = Fence(ahead.0 + 1);
        assert_eq!(answer, Answer::Won { fence, tries: 1, started: now });
        let end = book.lease_end(LEASE.as_secs());
        let record = book.record();
        assert_eq!((record.mark, record.locked_until), (at(60.0), end), "a fence is no time");
        // One that clocks have passed long ago changes nothing.
        let mut book = Book::ready(memory);
        let answer = book.manual(|manual| manual.caller.largest_fence = Fence(at(-1.0).0));
        assert!(matches!(answer, Answer::Won { fence, .. } if fence == Fence(at(0.0).0)), "{answer:?}");
        let mut book = Book::ready(memory);
        let answer = book.manual(|manual| manual.caller.largest_fence = ahead);
        assert!(matches!(answer, Answer::Won { fence, .. } if fence == Fence(ahead.0 + 1)), "{answer:?}");
    }
}

#[test]
fn rule_14_after_a_loss_a_fence_is_above_those_of_a_replica_that_is_silent() {
    // A clock was years ahead, and the fences still are. One replica was granted newer ones than the others know, and is frozen.
    let (told, untold) = (Fence(at(300_000_000.0).0), Fence(at(300_000_000.0).0 + 3));
    let known = |caller: &mut Caller| caller.largest_fence = told;
    let granted = |book: &mut Book, seconds| {
        book.pass(LEASE);
        let answer = book.claim(tick(seconds), |claim| {
            claim.prev = Some(tick(seconds - 60.0));
            known(&mut claim.caller);
        });
        let Answer::Won { fence, .. } = answer else { panic!("{answer:?}") };
        fence
    };
    for memory in MEMORIES {
        let mut by_open = Book::new(memory);
        by_open.open(|open| known(&mut open.caller));
        assert!(granted(&mut by_open, 30.0) > untold);
        let mut by_claim = Book::new(memory);
        by_claim.claim(tick(0.0), |claim| known(&mut claim.caller));
        assert!(granted(&mut by_claim, 30.0) > untold);
    }
    let mut older = Book::ready(Memory::Forgetful);
    older.record().fence = Fence(told.0 - 1);
    older.new_era();
    older.open(|open| known(&mut open.caller));
    older.open(|open| known(&mut open.caller));
    let fence = granted(&mut older, 30.0);
    assert!(fence > untold && fence.0 < told.0 + 20_000, "once, however many tell: {fence}");
    let mut right = Book::new(Memory::Forgetful);
    right.open(|open| open.caller.largest_fence = Fence(at(-1.0).0));
    right.pass(LEASE);
    let answer = right.manual(|manual| manual.caller.largest_fence = Fence(at(29.0).0));
    assert!(matches!(answer, Answer::Won { fence, .. } if fence == Fence(at(30.0).0)), "{answer:?}");
}
