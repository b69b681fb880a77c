//! Rules 3 and 4: claims that meet a store which forgot the record, or parts of it.

use std::time::Duration;

use solocron::job::{Cause, Outcome, Reason, RunId, Verdict};
use solocron::lease::{Answer, Claim, Gap, Lease, LeaseInstant, Memory};
use solocron::time::UtcMillis;

use crate::book::{Book, GAP, MEMORIES, at, held_for, is_held_by, is_won, one, secs, several, tick};
use crate::sample;
use crate::sample::{LEASE, node};

const LOST: Verdict = Verdict::because(Outcome::Unknown, Reason::StoreReset);

#[test]
fn rule_3_a_missing_record_is_opened_and_the_lock_waits_a_lease() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        let answer = book.claim(tick(0.0), |claim| claim.caller.largest_lease = secs(300));
        assert_eq!(answer, held_for(secs(300)));
        let until = book.lease_end(300);
        let record = book.record();
        assert_eq!((record.locked_until, record.lease, record.mark), (until, secs(300), at(0.2)));
        assert!(!record.is_running() && record.fence.0 == 0);
    }
}

#[test]
fn rule_3_what_was_heard_in_an_earlier_era_stays_decided() {
    let mut book = Book::new(Memory::Forgetful);
    book.claim(tick(0.0), |claim| claim.caller.latest_store_time = at(10.0));
    assert_eq!(book.record().mark, at(10.2));
}

#[test]
fn rule_3_the_tick_that_met_a_missing_record_gets_its_one_entry() {
    for memory in MEMORIES {
        let mut book = Book::new(memory);
        book.claim(tick(0.0), |_| {});
        book.pass(LEASE);
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Consumed(LOST));
        assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Decided { by: None, how: None });
        let told = book.told();
        assert_eq!(told.iter().map(|told| (told.1, told.3)).collect::<Vec<_>>(), [(tick(0.0), LOST)]);
        assert!(is_won(&book.claim(tick(30.0), |claim| claim.prev = Some(tick(0.0)))));
        assert_eq!(book.entries.len(), 1);
    }
}

#[test]
fn rule_3_ticks_since_the_mark_that_the_claimant_knew_are_told_of_together() {
    let mut book = Book::new(Memory::Forgetful);
    let knows = |claim: &mut solocron::lease::Claim| {
        claim.caller.known_mark = Some(at(-180.0));
        claim.gap = Some(Gap { after: at(-180.0), before: Some(tick(-180.0)), count: 2 });
    };
    book.claim(tick(0.0), knows);
    book.pass(LEASE);
    // Its own tick never comes back, the next one does.
    let answer = book.claim(tick(30.0), |claim| {
        knows(claim);
        claim.prev = Some(tick(0.0));
    });
    assert!(is_won(&answer), "{answer:?}");
    assert_eq!(book.told(), [several(at(-180.0), tick(0.0), LOST)]);
    assert_eq!(book.entries[0].count, Some(2));
}

#[test]
fn rule_4_a_record_of_another_era_waits_the_longest_lease_and_raises_its_mark() {
    let cases = [(30, 5, 5), (5, 30, 5), (5, 5, 30)];
    for (of_record, of_request, remembered) in cases {
        let mut book = Book::ready(Memory::Forgetful);
        book.record().lease = secs(of_record);
        book.new_era();
        let answer = book.claim(tick(0.0), |claim| {
            claim.lease = secs(of_request);
            claim.caller.largest_lease = secs(remembered);
            claim.caller.latest_store_time = at(-1.0);
            claim.caller.calm = Duration::ZERO;
        });
        assert_eq!(answer, held_for(secs(30)));
        let (until, era) = (book.lease_end(30), book.server.era.clone());
        let record = book.record();
        assert_eq!((record.locked_until, &record.era, record.mark), (until, &era, at(-0.8)));
    }
}

#[test]
fn rule_4_never_shortens_a_wait_nor_lowers_a_mark() {
    let mut book = Book::ready(Memory::Forgetful);
    book.record().locked_until = book.lease_end(20);
    book.record().lease = secs(5);
    book.record().mark = at(0.0);
    let until = book.record().locked_until;
    book.new_era();
    book.claim(tick(60.0), |claim| {
        claim.lease = secs(5);
        claim.caller.largest_lease = secs(5);
        claim.caller.latest_store_time = at(-30.0);
    });
    // Rule 6 then takes it for a clock that was stepped back; rule 4 alone would have left it.
    let least = book.lease_end(5);
    assert!((least..=until).contains(&book.record().locked_until));
    assert_eq!(book.record().mark, at(0.0));
}

#[test]
fn rule_4_a_claimant_with_a_smaller_lease_waits_as_long_as_the_one_who_knew_better() {
    let mut book = Book::ready(Memory::Forgetful);
    book.new_era();
    book.open(|open| open.caller.largest_lease = secs(300));
    book.pass(secs(31));
    let fresh = |claim: &mut solocron::lease::Claim| {
        claim.caller.largest_lease = Duration::ZERO;
        claim.caller.calm = secs(31);
        claim.overlap = solocron::job::Overlap::Wait;
    };
    assert_eq!(book.claim(tick(31.0), fresh), held_for(secs(269)));
}

#[test]
fn rule_4_ticks_passed_over_have_one_entry_and_the_first_free_one_runs() {
    let mut book = Book::ready(Memory::Forgetful);
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(30.0));
    assert_eq!(book.record().mark, at(30.2));
    book.pass(secs(60));
    assert!(is_won(&book.claim(tick(60.0), |_| {})));
    assert_eq!(book.told(), [several(at(-60.0), tick(0.0), LOST)]);
}

#[test]
fn rule_4_forgotten_ticks_that_are_claimed_again_do_not_run_and_are_each_told_once() {
    let mut book = Book::ready(Memory::Forgetful);
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(125.0));
    book.pass(secs(130));
    for second in [0.0, 60.0, 0.0, 60.0] {
        book.claim(tick(second), |_| {});
    }
    assert!(is_won(&book.claim(tick(130.0), |claim| claim.prev = Some(tick(120.0)))));
    let expected = [
        several(at(-60.0), tick(0.0), LOST),
        several(at(0.2), tick(60.0), LOST),
        several(at(60.0), tick(120.0), LOST),
    ];
    assert_eq!(book.told(), expected);
}

#[test]
fn rule_4_forgotten_ticks_those_yet_to_come_and_missed_ones_have_own_entries() {
    let mut book = Book::ready(Memory::Forgetful);
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(5.0));
    book.pass(secs(180));
    assert!(is_won(&book.claim(tick(180.0), |_| {})));
    let expected = [
        several(at(-60.0), tick(0.2), LOST),
        several(at(0.2), tick(5.2), LOST),
        several(at(5.2), tick(120.0), GAP),
    ];
    assert_eq!(book.told(), expected);
}

#[test]
fn rule_4_on_a_durable_store_a_restart_forgets_nothing() {
    let mut idle = Book::ready(Memory::Durable);
    idle.record().locked_until = idle.lease_end(20);
    idle.new_era();
    idle.server.lease_now = LeaseInstant(1_000);
    assert!(is_won(&idle.claim(tick(0.0), |claim| claim.caller.latest_store_time = at(60.0))));

    let mut running = Book::ready(Memory::Durable);
    running.win(tick(0.0));
    running.new_era();
    running.server.lease_now = LeaseInstant(1_000);
    running.server.now = at(60.0);
    let claim = |claim: &mut solocron::lease::Claim| claim.caller.latest_store_time = at(120.0);
    let answer = running.claim(tick(60.0), claim);
    assert!(is_held_by(&answer, &node("a")), "{answer:?}");
    assert_eq!(running.record().mark, at(0.0));
    running.pass(LEASE);
    assert!(is_won(&running.claim(tick(60.0), claim)));
    let node_lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    assert_eq!(running.told(), [one(tick(0.0), Cause::Schedule, node_lost)]);
}

/// B's claim is granted and the answer lost; when the lease is over, another is granted the next tick. Then the store
/// goes on from a copy of before that. Returns the other's lock.
fn with_an_unheard_grant(book: &mut Book, unheard: RunId) -> Lease {
    assert!(is_won(&book.claim(tick(0.0), again(unheard, secs(3600)))));
    let copy = book.record.clone();
    book.pass(LEASE);
    let lease = book.win(tick(30.0));
    book.record = copy;
    book.new_era();
    lease
}

fn again(run: RunId, calm: Duration) -> impl FnOnce(&mut Claim) {
    move |claim| (claim.run, claim.caller.node, claim.caller.calm) = (run, node("b"), calm)
}

#[test]
fn rule_5_a_claim_repeated_in_another_era_is_not_granted_beside_a_forgotten_one() {
    let mut book = Book::ready(Memory::Forgetful);
    let unheard = RunId::new();
    let lease = with_an_unheard_grant(&mut book, unheard);
    assert!(is_held_by(&book.claim(tick(0.0), again(unheard, Duration::ZERO)), &node("b")));
    assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    book.pass(LEASE);
    assert!(matches!(book.claim(tick(0.0), again(unheard, LEASE)), Answer::Decided { .. }));
}

#[test]
fn rule_5_a_claim_repeated_in_another_era_is_granted_if_no_lock_was_put_back() {
    let mut book = Book::ready(Memory::Forgetful);
    let unheard = RunId::new();
    with_an_unheard_grant(&mut book, unheard);
    assert!(!is_won(&book.claim(tick(0.0), again(unheard, secs(29)))));
    assert!(is_won(&book.claim(tick(0.0), again(unheard, LEASE))));
}

#[test]
fn a_manual_run_put_back_by_its_holder_does_not_free_ticks_that_had_run() {
    let mut book = Book::ready(Memory::Forgetful);
    let ran = book.win(tick(0.0));
    book.finish(&ran, |_| {});
    book.pass(secs(5));
    assert!(is_won(&book.manual(|_| {})));
    let lease = sample::lease(book.record());
    // The key is deleted, by an eviction or by hand: no new era tells of it.
    book.record = None;
    book.renew(&lease);
    book.pass(secs(1));
    book.finish(&lease, |_| {});
    book.pass(secs(40));
    let answer = book.claim(tick(0.0), |_| {});
    assert!(!is_won(&answer), "{answer:?}");
    book.pass(secs(60));
    let answer = book.claim(tick(0.0), |claim| claim.start_deadline = secs(3600));
    assert!(!is_won(&answer), "{answer:?}");
}

#[test]
fn an_old_finish_on_a_missing_record_does_not_free_ticks_that_had_run_since() {
    let mut book = Book::ready(Memory::Forgetful);
    let old = book.win(tick(-1.0));
    book.finish(&old, |_| {});
    let newer = book.win(tick(0.0));
    book.finish(&newer, |_| {});
    book.record = None;
    assert_eq!(book.finish(&old, |_| {}), Answer::Finished);
    for _ in 0..3 {
        let answer = book.claim(tick(0.0), |claim| claim.start_deadline = secs(3600));
        assert!(!is_won(&answer), "{answer:?}");
        book.pass(secs(31));
    }
    assert_ne!(book.record().mark, UtcMillis(0));
}

#[test]
fn a_gap_after_an_edited_schedule_is_not_told_of() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.record().mark = at(-600.0);
        book.record().schedule_hash.0.push('x');
        book.win(tick(0.0));
        assert!(book.entries.is_empty());
        book.pass(secs(180));
        book.claim(tick(180.0), |_| {});
        assert!(book.told().contains(&several(at(0.0), tick(120.0), GAP)), "{:?}", book.told());
    }
}

#[test]
fn a_rerun_leaves_forgotten_ticks_to_be_told_of() {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    let interrupted = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
    book.finish(&lease, |finish| finish.verdict = interrupted);
    book.new_era();
    book.pass(secs(70));
    book.open(|open| open.caller.latest_store_time = at(65.0));
    book.pass(LEASE);
    let rerun = book.claim(tick(0.0), |claim| {
        claim.on_interrupt = solocron::job::OnInterrupt::Rerun;
        claim.start_deadline = secs(3_600);
    });
    assert!(is_won(&rerun), "{rerun:?}");
    assert_eq!(book.claim(tick(60.0), |_| {}), Answer::Consumed(LOST));
}

#[test]
fn a_manual_request_that_meets_a_missing_record_keeps_what_was_seen() {
    let mut book = Book::new(Memory::Forgetful);
    book.manual(|manual| manual.caller.known_mark = Some(at(-180.0)));
    book.pass(LEASE);
    assert!(is_won(&book.claim(tick(30.0), |claim| claim.prev = Some(tick(-30.0)))));
    assert_eq!(book.told(), [several(at(-180.0), tick(-30.0), LOST)]);
}

#[test]
fn a_rolled_back_store_makes_claims_wait_once_even_if_a_leap_stays_open() {
    for returned in [0.0, 300_000_000.0] {
        let mut book = Book::ready(Memory::Forgetful);
        book.pass(secs(200));
        let leap = format!("{}-{}!", at(60.0).0, at(120.0).0);
        (book.record().leaps, book.record().mark) = (leap.parse().expect("a leap"), at(180.0));
        book.record().reopened = if returned > 0.0 { at(returned) } else { UtcMillis(0) };
        let remembers = |claim: &mut Claim| {
            (claim.caller.answered_mark, claim.caller.leapt_from) = (Some(at(150.0)), Some(at(60.0)));
        };
        let answer = book.claim(tick(200.0), remembers);
        assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
        let until = book.record().locked_until;
        book.pass(secs(20));
        book.claim(tick(200.0), remembers);
        assert_eq!(book.record().locked_until, until, "it waits from the first time on");
    }
}

#[test]
fn a_lock_that_a_store_which_went_back_shows_as_free_is_waited_for() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let run = book.win(tick(0.0));
        book.finish(&run, |_| {});
        let before = book.record().clone();
        book.pass(secs(5));
        // Its holder is cut off, and lives for a lease. No mark tells of a run by hand.
        assert!(is_won(&book.manual(|_| {})));
        *book.record() = before;
        book.pass(secs(2));
        book.open_told(|open| {
            (open.latest_of_earlier_eras, open.caller.latest_store_time, open.caller.calm) =
                (at(7.0), at(7.0), secs(0));
            (open.caller.answered_mark, open.caller.known_mark) = (Some(at(0.0)), Some(at(0.0)));
        });
        book.pass(secs(3));
        let answer = book.claim(tick(10.0), |claim| {
            (claim.caller.calm, claim.caller.latest_store_time, claim.prev) = (secs(3), at(7.0), None);
        });
        assert!(!is_won(&answer), "{answer:?}");
        // Others who remember as much make nobody wait for longer.
        let until = book.record().locked_until;
        book.open_told(|open| (open.latest_of_earlier_eras, open.caller.calm) = (at(7.0), secs(3)));
        assert_eq!(book.record().locked_until, until);
    }
}
