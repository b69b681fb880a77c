//! A clock was ahead, and the mark it has set lies ahead still: what a store forgets once the clock is right.

use std::time::Duration;

use solocron::job::Overlap;
use solocron::lease::{Act, Ahead, Answer, Claim, HistoryEntry, Lease, LeaseInstant, Memory, Open, Request};

use crate::book::{Book, at, is_won, secs, tick};
use crate::sample::{self, LEASE};

/// By so much the clock was ahead.
const HOUR: f64 = 3_600.0;

fn set_clock(book: &mut Book, seconds: f64) {
    book.server.now = at(seconds);
    book.server.lease_now = LeaseInstant(at(seconds).0);
}

/// A replica opens the record that heard the store last, in its life before, at this second.
fn open_by_who_heard(book: &mut Book, seconds: f64, more: impl FnOnce(&mut Open)) {
    book.open(|open| {
        open.latest_of_earlier_eras = at(seconds);
        open.caller.calm = Duration::ZERO;
        more(open);
    });
}

/// A job of which one tick ran.
fn ran_once() -> Book {
    let mut book = Book::ready(Memory::Forgetful);
    let usual = book.win(tick(0.0));
    book.finish(&usual, |_| {});
    book
}

/// One tick ran an hour ahead of its time, the clock was set right, and the store failed over once since.
fn was_ahead() -> Book {
    let mut book = ran_once();
    set_clock(&mut book, HOUR);
    assert!(is_won(&book.claim(tick(HOUR), |claim| claim.caller.calm = Duration::ZERO)));
    let ahead = sample::lease(book.record());
    book.finish(&ahead, |_| {});
    set_clock(&mut book, 6.0);
    book.new_era();
    open_by_who_heard(&mut book, 5.9, |_| {});
    book
}

/// The same, and an operator has set the mark back since; a tick has run as usual.
fn was_ahead_and_set_back() -> Book {
    let mut book = was_ahead();
    set_clock(&mut book, 70.0);
    let wall = book.server.now;
    assert_eq!(book.operate(Act::SetMark { wall }), Answer::Noted);
    set_clock(&mut book, 120.0);
    let run = book.win(tick(120.0));
    book.finish(&run, |_| {});
    book
}

/// The tick of second 180 is granted with this lease, and a failover loses that. First comes who does not know of it.
fn lose_a_grant(lease: Duration, first: impl FnOnce(&mut Book)) -> Book {
    let mut book = was_ahead_and_set_back();
    let follower = book.record.clone();
    set_clock(&mut book, 180.0);
    assert!(is_won(&book.claim(tick(180.0), |claim| claim.lease = lease)));
    book.record = follower;
    book.new_era();
    set_clock(&mut book, 181.0);
    first(&mut book);
    set_clock(&mut book, 181.4);
    book
}

fn calm_for(seconds: u64) -> impl FnOnce(&mut Claim) {
    move |claim| claim.caller.calm = secs(seconds)
}

#[test]
fn a_tick_that_was_lost_runs_no_second_time_where_a_mark_lies_ahead() {
    let newcomer = |book: &mut Book| open_by_who_heard(book, 179.0, |_| {});
    let guest = |book: &mut Book| {
        let open = Open::by_exec(book.caller(), LEASE, at(181.0));
        book.ask(Request::Open(open));
    };
    for first in [newcomer as fn(&mut Book), guest] {
        let mut book = lose_a_grant(LEASE, first);
        open_by_who_heard(&mut book, 180.5, |open| open.caller.answered_mark = Some(at(120.0)));
        set_clock(&mut book, 212.0);
        let answer = book.claim(tick(180.0), calm_for(31));
        assert!(!is_won(&answer), "{answer:?}");
    }
}

#[test]
fn a_long_lease_that_was_lost_is_waited_for_by_who_knows_it_where_a_mark_lies_ahead() {
    let long = secs(600);
    let mut book = lose_a_grant(long, |book| open_by_who_heard(book, 180.5, |_| {}));
    open_by_who_heard(&mut book, 180.5, |open| open.caller.largest_lease = long);
    set_clock(&mut book, 240.0);
    let answer = book.claim(tick(240.0), calm_for(59));
    assert!(!is_won(&answer), "{answer:?}");
}

#[test]
fn a_tick_that_waits_is_not_lost_where_its_record_is_opened_once_more() {
    for is_set_back in [false, true] {
        let mut book = was_ahead();
        let mut heard = 5.9;
        if is_set_back {
            set_clock(&mut book, 40.0);
            let wall = book.server.now;
            assert_eq!(book.operate(Act::SetMark { wall }), Answer::Noted);
            heard = 39.9;
            book.new_era();
            open_by_who_heard(&mut book, heard, |_| {});
        }
        set_clock(&mut book, 120.0);
        let run = book.win(tick(120.0));
        set_clock(&mut book, 185.0);
        assert_eq!(book.renew(&run), Answer::Renewed { stop: None });
        let waits = |claim: &mut Claim| claim.overlap = Overlap::Wait;
        assert!(!is_won(&book.claim(tick(180.0), waits)));
        open_by_who_heard(&mut book, heard, |_| {});
        set_clock(&mut book, 190.0);
        book.finish(&run, |_| {});
        let answer = book.claim(tick(180.0), waits);
        assert!(is_won(&answer), "{answer:?}");
    }
}

#[test]
fn of_two_runs_that_two_eras_started_at_once_a_renewed_one_has_its_entry() {
    let mut book = Book::ready(Memory::Forgetful);
    let run = book.win(tick(0.0));
    set_clock(&mut book, 10.0);
    assert_eq!(book.renew(&run), Answer::Renewed { stop: None });
    let mut other = sample::forgotten(tick(0.0), run.fence.0 + 1);
    other.started = at(0.0);
    set_clock(&mut book, 12.0);
    assert_eq!(book.renew(&other), Answer::Renewed { stop: None });
    assert_eq!(book.renew(&run), Answer::Lost);
    assert_eq!(book.finish(&run, |_| {}), Answer::AlreadyDecided);
    assert_eq!(book.finish(&other, |_| {}), Answer::Finished);
    assert!(book.entries.iter().any(|entry| entry.run == Some(run.run)), "{:?}", book.told());
}

#[test]
fn a_tick_known_to_have_run_does_not_run_again_where_the_next_server_is_behind() {
    let mut book = ran_once();
    let follower = book.record.clone();
    set_clock(&mut book, 60.0);
    book.win(tick(60.0));
    // Its replica dies with the primary; the next server's clock is three seconds behind.
    book.record = follower;
    book.new_era();
    set_clock(&mut book, 58.5);
    let mut open = sample::open(book.caller());
    (open.wall, open.latest_of_earlier_eras) = (at(61.1), at(58.5));
    (open.caller.latest_store_time, open.caller.calm) = (at(61.5), Duration::ZERO);
    (open.caller.known_mark, open.caller.answered_mark) = (Some(at(60.0)), Some(at(60.0)));
    open.ahead = vec![Ahead { after: at(59.999), to: at(60.0) }];
    book.ask(Request::Open(open));
    set_clock(&mut book, 90.0);
    let answer = book.claim(tick(60.0), |claim| (claim.wall, claim.caller.calm) = (at(92.6), secs(31)));
    assert!(!is_won(&answer), "{answer:?}");
}

#[test]
fn a_fence_is_above_those_of_a_clock_ahead_even_for_a_caller_that_missed_it() {
    let mut book = ran_once();
    let follower = book.record.clone();
    set_clock(&mut book, HOUR);
    assert!(is_won(&book.manual(|_| {})));
    let ahead = book.record().fence;
    book.record = follower;
    book.new_era();
    set_clock(&mut book, 6.0);
    let mut open = sample::open(book.caller());
    (open.latest_of_earlier_eras, open.caller.latest_store_time, open.caller.calm) =
        (at(5.9), at(HOUR), Duration::ZERO);
    book.ask(Request::Open(open));
    set_clock(&mut book, 40.0);
    assert!(is_won(&book.manual(|_| {})));
    assert!(book.record().fence > ahead);
}

/// How many entries cover the tick.
fn covering(book: &Book, second: f64) -> usize {
    let covers = |entry: &&HistoryEntry| {
        entry.tick == tick(second)
            || entry.after.is_some_and(|after| after < at(second)) && tick(second) < entry.tick
    };
    book.entries.iter().filter(covers).count()
}

/// A job of which ticks were missed so often, each time with a clock that nobody had watched for as long, that no more leaps are
/// kept.
fn often_missed() -> (Book, f64) {
    let (mut book, mut second) = (Book::ready(Memory::Forgetful), 0.0);
    for _ in 0..33 {
        second += 600.0;
        set_clock(&mut book, second);
        assert!(is_won(&book.claim(tick(second), |claim| claim.caller.calm = LEASE)));
        let run = sample::lease(book.record());
        book.finish(&run, |_| {});
    }
    (book, second)
}

#[test]
fn old_leaps_take_no_place_of_what_has_no_entry_yet_or_ran() {
    // It ran, and its holder puts it back.
    let (mut book, last) = often_missed();
    let (copy, entries) = (book.record.clone(), book.entries.clone());
    set_clock(&mut book, last + 60.0);
    let run = Lease { prev: Some(tick(last)), ..book.win(tick(last + 60.0)) };
    (book.record, book.entries) = (copy, entries);
    book.new_era();
    set_clock(&mut book, last + 65.0);
    book.open(|open| open.caller.latest_store_time = at(last + 64.0));
    book.finish(&run, |_| {});
    set_clock(&mut book, last + 120.0);
    assert!(is_won(&book.claim(tick(last + 120.0), |claim| claim.caller.calm = LEASE)));
    assert_eq!(covering(&book, last + 60.0), 1, "{:?}", book.told());

    // Nobody knows whether it ran.
    let (mut book, last) = often_missed();
    set_clock(&mut book, last + HOUR);
    assert!(is_won(&book.claim(tick(last + HOUR), |claim| claim.caller.calm = Duration::ZERO)));
    let ahead = sample::lease(book.record());
    book.finish(&ahead, |_| {});
    set_clock(&mut book, last + 30.0);
    book.open(|_| {});
    let (copy, entries) = (book.record.clone(), book.entries.clone());
    set_clock(&mut book, last + 60.0);
    book.win(tick(last + 60.0));
    (book.record, book.entries) = (copy, entries);
    book.new_era();
    set_clock(&mut book, last + 70.0);
    open_by_who_heard(&mut book, last + 69.9, |_| {});
    set_clock(&mut book, last + 120.0);
    assert!(is_won(&book.claim(tick(last + 120.0), |_| {})));
    assert_eq!(covering(&book, last + 60.0), 1, "{:?}", book.told());
}

#[test]
fn a_skipped_tick_whose_entry_was_withdrawn_after_a_loss_has_another_one() {
    let mut book = ran_once();
    // The clock is ahead, and the replica skips the tick of 120 s before the one of 180 s runs.
    set_clock(&mut book, 180.0);
    assert!(is_won(&book.claim(tick(180.0), |claim| claim.caller.calm = Duration::ZERO)));
    let ahead = sample::lease(book.record());
    set_clock(&mut book, 10.0);
    book.record = None;
    book.renew(&ahead);
    book.pass(secs(5));
    // A replica that knows none of this opens the leap, and the entry of the skipped tick is withdrawn.
    book.open(|_| {});
    book.entries.clear();
    let skipped = Ahead { after: at(60.0), to: at(180.0) };
    book.open(|open| open.ahead = vec![skipped]);
    book.finish(&ahead, |_| {});
    assert!(!is_won(&book.claim(tick(120.0), |_| {})), "it stays decided");
    set_clock(&mut book, 240.0);
    let answer = book.claim(tick(240.0), |claim| {
        (claim.caller.latest_store_time, claim.prev) = (at(240.0), Some(tick(180.0)));
    });
    assert!(is_won(&answer), "{answer:?}");
    assert_eq!([120.0, 180.0].map(|second| covering(&book, second)), [1, 1], "{:#?}", book.told());
}
