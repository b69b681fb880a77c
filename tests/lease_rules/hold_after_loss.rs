//! Renew, finish and abandon on a store that forgot: what was granted is put back, and nobody is let in too early.

use std::time::Duration;

use solocron::job::{Cause, OnInterrupt, Outcome, Reason, Verdict};
use solocron::lease::{Abandon, Ahead, Answer, Claim, Era, Lease, Memory, Request};

use crate::book::{Book, MEMORIES, Told, at, held_for, is_held_by, is_won, one, secs, several, tick};
use crate::sample::{self, LEASE, forgotten, node};

fn wait(claim: &mut Claim) {
    claim.overlap = solocron::job::Overlap::Wait;
    claim.prev = None;
}

#[test]
fn a_renewal_puts_back_what_an_emptied_store_forgot() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        let before = book.record().clone();
        book.record = None;
        book.pass(secs(5));
        assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        let until = book.lease_end(30);
        let record = book.record();
        assert_eq!((record.fence, record.run, record.tick), (before.fence, before.run, before.tick));
        assert_eq!((record.mark, record.locked_until, record.owner.clone()), (at(0.0), until, before.owner));
        assert!(record.is_running());
        // The next claim treats it as a record of another life: it raises the mark, and waits.
        assert!(is_held_by(&book.claim(tick(5.0), wait), &node("a")));
        assert_eq!(book.record().mark, at(5.2));
        book.pass(secs(5));
        let answer = book.claim(tick(5.0), wait);
        assert!(matches!(answer, Answer::Consumed(_)), "{answer:?}");
        assert!(is_held_by(&book.claim(tick(6.0), wait), &node("a")));
    }
}

#[test]
fn a_record_that_was_put_back_waits_from_then_on_and_not_from_its_first_claim() {
    for memory in MEMORIES {
        for is_over in [false, true] {
            let mut book = Book::ready(memory);
            let lease = book.win(tick(0.0));
            book.pass(secs(5));
            book.record = None;
            // The finish of a short run puts it back, or a renewal.
            if is_over {
                assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
            } else {
                assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
                book.pass(secs(20));
                assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
            }
            // Half a lease after it was put back, it waits for the other half.
            let since = book.server.now.since(at(5.0));
            book.pass(secs(20) - since.min(secs(20)));
            let left = at(35.0).since(book.server.now);
            assert_eq!(book.manual(|_| {}), held_for(left), "{memory:?} {is_over}");
            book.pass(left);
            assert!(is_won(&book.manual(|_| {})), "{memory:?} {is_over}");
        }
    }
}

/// A book whose record went back, within its era, to a run that is over, while a later run of the job continues. Another
/// replica has noticed that, and opened the record.
fn went_back() -> (Book, Lease) {
    let mut book = Book::ready(Memory::Forgetful);
    let first = book.win(tick(0.0));
    let copy = book.record.clone();
    book.pass(secs(1));
    assert_eq!(book.finish(&first, |_| {}), Answer::Finished);
    book.pass(secs(1));
    book.win(tick(2.0));
    book.pass(secs(1));
    book.record = copy;
    let now = book.server.now;
    book.open(|open| open.caller.latest_store_time = now);
    (book, first)
}

#[test]
fn an_end_sent_again_to_a_store_that_went_back_ends_no_wait_for_later_holders() {
    let (mut book, first) = went_back();
    // The replica was started again meanwhile, and knows nothing of the loss.
    book.pass(secs(1));
    assert_eq!(book.finish(&first, |_| {}), Answer::Finished);
    assert_eq!(book.manual(|_| {}), held_for(secs(29)));
    book.pass(secs(29));
    assert!(is_won(&book.manual(|_| {})));
}

#[test]
fn a_holder_that_has_renewed_since_the_store_went_back_frees_its_lock_at_its_end() {
    let (mut book, first) = went_back();
    book.pass(secs(1));
    assert_eq!(book.renew(&first), Answer::Renewed { stop: None });
    book.pass(secs(1));
    assert_eq!(book.finish(&first, |_| {}), Answer::Finished);
    assert!(is_won(&book.manual(|_| {})));
}

#[test]
fn a_renewal_takes_its_lock_back_from_an_older_copy() {
    let mut book = Book::ready(Memory::Forgetful);
    let copy = book.record.clone();
    let lease = book.win(tick(0.0));
    book.record = copy;
    book.new_era();
    book.open(|_| {});
    assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
    assert_eq!((book.record().mark, book.record().run), (at(0.0), Some(lease.run)));
    assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
    assert!(is_won(&book.claim(tick(0.1), |claim| claim.prev = None)));
}

#[test]
fn a_run_displaced_by_a_renewal_with_a_newer_fence_loses_and_has_its_entry() {
    let mut book = Book::ready(Memory::Forgetful);
    let displaced = book.win(tick(0.0));
    let newer = forgotten(tick(-1.0), displaced.fence.0 + 1);
    assert_eq!(book.renew(&newer), Answer::Renewed { stop: None });
    assert_eq!(book.renew(&displaced), Answer::Lost);
    assert_eq!(book.finish(&displaced, |_| {}), Answer::AlreadyDecided);
    let lock_lost = Verdict::because(Outcome::Interrupted, Reason::LockLost);
    assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, lock_lost)]);
    assert_eq!(book.record().mark, at(0.0));
}

#[test]
fn a_claim_given_back_is_no_lost_run_where_the_store_forgot_its_ticks_run() {
    for is_renewed in [false, true] {
        let mut book = Book::ready(Memory::Forgetful);
        let given_back = book.win(tick(0.0));
        let copy = book.record.clone();
        assert_eq!(book.abandon(&given_back), Answer::Abandoned);
        let lease = book.win(tick(0.0));
        book.record = copy;
        book.new_era();
        book.open(|_| {});
        if is_renewed {
            assert_eq!(book.renew(&lease), Answer::Renewed { stop: None });
        }
        assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
        let succeeded = Verdict::plain(Outcome::Succeeded);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, succeeded)]);
        assert_eq!(book.finish(&given_back, |_| {}), Answer::AlreadyDecided);
        if !is_renewed {
            stays_closed_for_a_lease(book);
        }
    }
}

#[test]
fn a_finish_that_a_store_forgot_puts_back_fence_and_mark_and_writes_its_entry_once() {
    for memory in MEMORIES {
        for is_missing in [false, true] {
            let mut book = Book::ready(memory);
            let copy = book.record.clone();
            let lease = book.win(tick(0.0));
            book.record = copy.filter(|_| !is_missing);
            assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
            assert_eq!(book.finish(&lease, |_| {}), Answer::AlreadyDecided);
            let succeeded = Verdict::plain(Outcome::Succeeded);
            assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, succeeded)]);
            assert_eq!((book.record().fence, book.record().mark), (lease.fence, at(0.0)));
            assert!(!book.record().is_running());
        }
    }
}

#[test]
fn a_finish_told_again_to_a_record_that_went_back_alone_has_no_second_entry() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        let copy = book.record.clone();
        assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
        book.record = copy;
        assert_eq!(book.finish(&lease, |finish| finish.era = Era::default()), Answer::Finished);
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, Verdict::plain(Outcome::Succeeded))]);
        assert!(!book.record().is_running());
    }
}

/// After a claim was refused, the lock must stay closed until a lease has passed.
fn stays_closed_for_a_lease(mut book: Book) {
    book.pass(secs(1));
    let calm = |seconds| {
        move |claim: &mut Claim| {
            wait(claim);
            claim.caller.calm = secs(seconds);
        }
    };
    let answer = book.claim(tick(1.0), calm(1));
    assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    book.pass(LEASE);
    assert!(is_won(&book.claim(tick(31.0), calm(31))));
}

#[test]
fn a_finish_sent_again_to_an_emptied_store_does_not_let_anyone_in_early() {
    // Somebody else may hold the lock since, whom the store forgot, too.
    let mut book = Book::ready(Memory::Forgetful);
    let old = book.win(tick(0.0));
    book.finish(&old, |_| {});
    book.record = None;
    book.new_era();
    book.open(|_| {});
    assert_eq!(book.finish(&old, |_| {}), Answer::Finished);
    stays_closed_for_a_lease(book);
}

#[test]
fn a_finish_sent_again_to_an_older_copy_does_not_let_anyone_in_early() {
    let mut book = Book::ready(Memory::Forgetful);
    let old = book.win(tick(0.0));
    let era = book.server.era.clone();
    // The copy still shows the run as running; its end, and whoever came next, are lost.
    book.new_era();
    book.open(|_| {});
    assert_eq!(book.finish(&old, |finish| finish.era = era), Answer::Finished);
    stays_closed_for_a_lease(book);
}

#[test]
fn a_finish_before_anybody_asks_in_another_life_does_not_let_anyone_in_early() {
    for opens in [true, false] {
        let mut book = Book::ready(Memory::Forgetful);
        let old = book.win(tick(0.0));
        let era = book.server.era.clone();
        // The copy knows nothing of this life yet, nor of whoever came next in the former one.
        book.new_era();
        assert_eq!(book.finish(&old, |finish| finish.era = era), Answer::Finished);
        if opens {
            book.open(|_| {});
        }
        stays_closed_for_a_lease(book);
    }
}

#[test]
fn a_lock_renewed_in_an_era_the_record_does_not_know_lasts_its_full_lease() {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    book.new_era();
    book.renew(&lease);
    let until = book.record().locked_until;
    assert_eq!(book.finish(&lease, |_| {}), Answer::Finished);
    assert_eq!(book.record().locked_until, until);
    stays_closed_for_a_lease(book);
}

#[test]
fn an_abandon_sent_again_to_an_older_copy_frees_neither_lock_nor_tick() {
    let mut book = Book::ready(Memory::Forgetful);
    let old = book.win(tick(0.0));
    let abandon = sample::abandon(old.run, &book.server.era);
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(-5.0));
    assert_eq!(book.ask(Request::Abandon(abandon)), Answer::Abandoned);
    assert_eq!((book.record().mark, book.told()), (at(0.0), vec![]));
    stays_closed_for_a_lease(book);
}

/// A tick ran on one replica. The store went back to before its claim, and granted the tick again, to a claim that had been held
/// up. Then the store learned, or not yet, that it had gone back. Returns the lock of the run, and of the second grant.
fn granted_again_by_an_older_copy(new_era: bool) -> (Book, Lease, Lease) {
    let mut book = Book::ready(Memory::Forgetful);
    let copy = book.record.clone();
    let ran = book.win(tick(0.0));
    assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
    (book.record, book.entries) = (copy, Vec::new());
    book.pass(secs(1));
    let again = book.win(tick(0.0));
    if new_era {
        book.new_era();
    }
    book.pass(secs(1));
    book.open(|open| open.caller.answered_mark = Some(at(0.5)));
    (book, ran, again)
}

#[test]
fn an_abandon_after_a_loss_records_no_miss_of_a_tick_that_may_have_run() {
    for (new_era, edited) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut book, _, again) = granted_again_by_an_older_copy(new_era);
        let era = book.server.era.clone();
        let abandon = Abandon { edited, ..sample::abandon(again.run, &era) };
        assert_eq!(book.ask(Request::Abandon(abandon)), Answer::Abandoned);
        let unknown = Verdict::because(Outcome::Unknown, Reason::StoreReset);
        if !edited {
            assert_eq!(book.told(), [], "{new_era}");
            // Once no report can come any more, a claim for it tells that it is not known.
            assert!(matches!(book.claim(tick(0.0), |_| {}), Answer::Held { .. }), "{new_era}");
            book.pass(secs(5));
            assert_eq!(book.claim(tick(0.0), |_| {}), Answer::Consumed(unknown));
        }
        assert_eq!(
            book.told().iter().map(|told| (told.1, told.3)).collect::<Vec<_>>(),
            [(tick(0.0), unknown)]
        );
    }
}

#[test]
fn a_record_put_back_alone_adds_no_entry_of_a_run_whose_tick_was_missed_since() {
    for is_ended_by_holder in [true, false] {
        let mut book = Book::ready(Memory::Forgetful);
        let given_back = book.win(tick(0.0));
        let copy = book.record.clone();
        assert_eq!(book.abandon(&given_back), Answer::Abandoned);
        book.pass(secs(3));
        let next =
            book.claim(tick(3.0), |claim| (claim.prev, claim.gap_reason) = (Some(tick(0.0)), Reason::Late));
        assert!(is_won(&next), "{next:?}");
        let next = sample::lease(book.record());
        let before = book.told();
        assert_eq!(before.last().map(|told| (told.1, told.3.reason)), Some((tick(0.0), Some(Reason::Late))));
        book.record = copy;
        if is_ended_by_holder {
            assert_eq!(book.finish(&next, |_| {}), Answer::Finished);
            assert_eq!(
                book.told()[before.len()..],
                [one(tick(3.0), Cause::Schedule, Verdict::plain(Outcome::Succeeded))]
            );
        } else {
            book.pass(LEASE + secs(1));
            book.claim(tick(35.0), wait);
            assert!(!book.told()[before.len()..].iter().any(|told| told.1 == tick(0.0)), "{:?}", book.told());
        }
    }
}

#[test]
fn a_run_reported_again_is_the_only_entry_of_a_tick_that_another_replica_abandoned() {
    for new_era in [false, true] {
        let (mut book, ran, again) = granted_again_by_an_older_copy(new_era);
        assert_eq!(book.abandon(&again), Answer::Abandoned);
        assert_eq!(book.finish(&ran, |_| {}), Answer::Finished);
        let succeeded = Verdict::plain(Outcome::Succeeded);
        book.pass(secs(5));
        book.claim(tick(0.0), |_| {});
        assert_eq!(book.told(), [one(tick(0.0), Cause::Schedule, succeeded)], "{new_era}");
        // Who else may hold the lock is not known.
        let answer = book.claim(tick(7.0), wait);
        assert!(matches!(answer, Answer::Held { .. }), "{answer:?}");
    }
}

#[test]
fn a_holder_that_renewed_in_the_new_life_frees_the_lock_at_once() {
    let mut book = Book::ready(Memory::Forgetful);
    let lease = book.win(tick(0.0));
    book.new_era();
    book.open(|_| {});
    book.renew(&lease);
    book.finish(&lease, |_| {});
    let answer = book.claim(tick(0.1), |claim| {
        claim.prev = None;
        claim.caller.calm = Duration::ZERO;
    });
    assert!(is_won(&answer), "{answer:?}");
}

#[test]
fn a_durable_store_frees_at_once_what_a_restarted_replica_finishes() {
    let mut book = Book::ready(Memory::Durable);
    let lease = book.win(tick(0.0));
    let era = book.server.era.clone();
    book.new_era();
    let interrupted = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    book.finish(&lease, |finish| (finish.era, finish.verdict) = (era, interrupted));
    assert!(is_won(&book.claim(tick(0.1), |claim| claim.prev = None)));
}

#[test]
fn a_finish_with_a_newer_fence_ends_the_other_holder_before_the_lock_is_free() {
    let mut book = Book::ready(Memory::Forgetful);
    let other = book.win(tick(0.0));
    let newer = Lease { fence: solocron::job::Fence(other.fence.0 + 1), ..forgotten(tick(-1.0), 0) };
    assert_eq!(book.finish(&newer, |_| {}), Answer::Finished);
    book.pass(Duration::from_millis(100));
    assert_eq!(book.claim(tick(0.1), wait), held_for(LEASE - Duration::from_millis(100)));
    // The fence is the newer one's now: nobody may be told it as theirs.
    assert!(!is_won(&book.claim(tick(0.0), |claim| claim.run = other.run)));
    assert_eq!(book.renew(&other), Answer::Lost);
    book.pass(LEASE);
    let granted = book.win(tick(30.0));
    assert!(granted.fence > newer.fence);
    let verdicts: Vec<_> = book.entries.iter().map(|entry| (entry.tick, entry.outcome)).collect();
    assert_eq!(verdicts, [(tick(0.0), Outcome::Interrupted), (tick(-1.0), Outcome::Succeeded)]);
}

#[test]
fn a_manual_run_put_back_never_raises_the_mark_of_a_record_that_is_there() {
    let mut book = Book::ready(Memory::Forgetful);
    let copy = book.record.clone();
    assert!(is_won(&book.manual(|manual| manual.tick = tick(3600.0))));
    let lease = sample::lease(book.record());
    book.record = copy;
    book.renew(&lease);
    assert_eq!(book.record().mark, at(-60.0));
}

#[test]
fn a_run_that_a_newer_finish_ends_covers_no_tick_after_its_last_sign_of_life() {
    let mut book = Book::ready(Memory::Forgetful);
    let other = book.win(tick(0.0));
    let newer = Lease { fence: solocron::job::Fence(other.fence.0 + 1), ..forgotten(tick(-1.0), 0) };
    book.pass(secs(60));
    book.finish(&newer, |_| {});
    assert_eq!(book.record().ended, Some(at(0.0)));
    assert!(is_won(&book.claim(tick(60.0), |claim| claim.prev = None)));
}

#[test]
fn an_end_that_a_store_forgot_is_not_rerun_as_the_rerun_may_be_forgotten_too() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        book.record = None;
        book.pass(secs(5));
        book.open(|open| open.is_known_job = true);
        let interrupted = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        assert_eq!(book.finish(&lease, |finish| finish.verdict = interrupted), Answer::Finished);
        book.pass(LEASE);
        let answer = book.claim(tick(0.0), |claim| claim.on_interrupt = OnInterrupt::Rerun);
        assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
    }
}

/// What is told of the ticks up to second 120, where the store goes on from a copy that knows those up to -60, and `tell` it
/// again of the run of second 60, which came after `prev`.
fn told_after_a_rollback(prev: Option<f64>, tell: impl FnOnce(&mut Book, &Lease)) -> Vec<Told> {
    let mut book = Book::ready(Memory::Forgetful);
    let copy = book.record.clone();
    book.pass(secs(60));
    let lease = Lease { prev: prev.map(tick), ..book.win(tick(60.0)) };
    (book.record, book.entries) = (copy, Vec::new());
    book.new_era();
    book.pass(secs(2));
    tell(&mut book, &lease);
    book.pass(secs(58));
    let answer = book.claim(tick(120.0), |claim| claim.prev = Some(tick(60.0)));
    assert!(is_won(&answer), "{answer:?}");
    book.told()
}

#[test]
fn of_a_forgotten_tick_nothing_is_told_before_its_holder_could_tell() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        (book.record, book.entries) = (None, Vec::new());
        let another = |claim: &mut Claim| claim.caller.known_mark = Some(at(-60.0));
        let unknown = Answer::Consumed(Verdict::because(Outcome::Unknown, Reason::StoreReset));
        assert_eq!(book.claim(tick(0.0), another), held_for(LEASE));
        assert_eq!(book.claim(tick(0.0), another), held_for(secs(5)));
        let silent = book.record.clone();
        book.pass(secs(4));
        book.finish(&lease, |_| {});
        book.pass(secs(1));
        assert!(matches!(book.claim(tick(0.0), another), Answer::Decided { .. }));
        let ran = one(tick(0.0), Cause::Schedule, Verdict::plain(Outcome::Succeeded));
        assert_eq!(book.told(), [ran]);
        // Where nobody told anything by then, nobody knows.
        book.record = silent;
        assert_eq!(book.claim(tick(0.0), another), unknown);
    }
}

fn finish(book: &mut Book, lease: &Lease) {
    assert_eq!(book.finish(lease, |_| {}), Answer::Finished);
}

fn renew_and_finish(book: &mut Book, lease: &Lease) {
    assert_eq!(book.renew(lease), Answer::Renewed { stop: None });
    finish(book, lease);
}

fn open_now(book: &mut Book) {
    let now = book.server.now;
    // It knows that these ticks ran, and not that they have their entry.
    let ahead = vec![Ahead { after: at(-60.0), to: at(60.0) }];
    book.open(|open| (open.caller.latest_store_time, open.ahead) = (now, ahead));
}

#[test]
fn a_tick_of_which_a_store_that_forgot_is_told_again_has_that_entry_alone() {
    let ran = one(tick(60.0), Cause::Schedule, Verdict::plain(Outcome::Succeeded));
    let forgotten = |to| several(at(-60.0), tick(to), Verdict::because(Outcome::Unknown, Reason::StoreReset));
    let tells: [fn(&mut Book, &Lease); 2] = [finish, renew_and_finish];
    for tell in tells {
        for (prev, told) in [
            (Some(-60.0), vec![ran]),
            (Some(0.0), vec![ran, forgotten(0.0)]),
            (None, vec![ran, forgotten(59.999)]),
        ] {
            let opened_first = told_after_a_rollback(prev, |book, lease| {
                open_now(book);
                tell(book, lease);
                open_now(book);
            });
            assert_eq!(opened_first, told);
            let told_first = told_after_a_rollback(prev, |book, lease| {
                tell(book, lease);
                open_now(book);
                book.pass(LEASE);
            });
            assert_eq!(told_first, told);
        }
    }
}
