//! A clock that was ahead: what it decided stays so, what it passed does not, and no memory raises the mark again.

use std::time::Duration;

use solocron::job::{Cause, OnInterrupt, Outcome, Reason, Verdict};
use solocron::lease::{
    Act, Ahead, Answer, Claim, Dropped, Era, HistoryEntry, LeaseInstant, Memory, Renew, Request, ScheduleHash,
};
use solocron::time::UtcMillis;

use crate::book::{Book, GAP, MEMORIES, at, is_won, secs, several, tick};
use crate::sample::LEASE;

const HOUR: f64 = 3_600.0;

/// Sets the clock of ticks; that of leases is the same one where the store forgets.
fn set_clock(book: &mut Book, seconds: f64) {
    book.server.now = at(seconds);
    if book.server.memory == Memory::Forgetful {
        book.server.lease_now = LeaseInstant(at(seconds).0);
    }
}

/// Its replica has just seen that the clock was stepped.
fn just_stepped(claim: &mut Claim) {
    claim.caller.calm = Duration::ZERO;
}

/// The clock steps an hour ahead, and the tick of that hour runs.
fn run_an_hour_ahead(book: &mut Book, change: impl FnOnce(&mut Claim)) {
    set_clock(book, HOUR);
    let answer = book.claim(tick(HOUR), change);
    assert!(is_won(&answer), "{answer:?}");
    let ahead = crate::sample::lease(book.record());
    book.finish(&ahead, |_| {});
}

/// A job of which a tick ran while the clock was an hour ahead, for five seconds, and then was set right.
fn was_ahead(memory: Memory) -> Book {
    let mut book = Book::ready(memory);
    let first = book.win(tick(0.0));
    book.finish(&first, |_| {});
    run_an_hour_ahead(&mut book, just_stepped);
    set_clock(&mut book, 5.0);
    book
}

#[test]
fn once_a_clock_that_was_ahead_is_right_jobs_run_again_within_a_lease() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        set_clock(&mut book, 60.0);
        if memory == Memory::Forgetful {
            let answer = book.claim(tick(60.0), just_stepped);
            assert_eq!(
                answer,
                Answer::Held { by: None, frees_in: LEASE },
                "the clock may be the wrong one now"
            );
        }
        assert!(is_won(&book.claim(tick(60.0), |_| {})), "{memory:?}");
        assert_eq!(book.record().mark, at(HOUR), "the mark never falls");
    }
}

#[test]
fn a_tick_that_ran_while_the_clock_was_ahead_does_not_run_again_when_it_comes() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        set_clock(&mut book, HOUR);
        assert!(matches!(book.claim(tick(HOUR), |_| {}), Answer::Decided { .. }));
    }
}

#[test]
fn nothing_stays_recorded_of_ticks_that_have_not_come() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
        let is_missed = |book: &Book| book.entries.iter().any(|entry| entry.verdict() == missed);
        assert!(is_missed(&book), "they seemed to be over");
        let answer = book.open(|_| {});
        let Answer::Opened { ahead: Some(ahead), .. } = answer else { panic!("{answer:?}") };
        assert_eq!(ahead.to, at(HOUR));
        assert!(!is_missed(&book), "{:?}", book.told());
        // Those that nobody claims until they have come are recorded then.
        set_clock(&mut book, HOUR + 60.0);
        assert!(is_won(&book.claim(tick(HOUR + 60.0), |_| {})));
        assert!(is_missed(&book), "{:?}", book.told());
    }
}

#[test]
fn opening_a_mark_ahead_returns_the_newest_tick_that_stays_decided() {
    let closed = |book: &mut Book, known| match book.open(|open| open.is_known_job = known) {
        Answer::Opened { closed, .. } => closed,
        answer => panic!("{answer:?}"),
    };
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        assert_eq!(closed(&mut book, true), Some(at(HOUR)), "it ran");
        let mut book = Book::ready(memory);
        book.record().mark = at(HOUR);
        assert_eq!(closed(&mut book, true), Some(at(HOUR)), "nobody knows what the mark passed");
        // A job that began then: nothing of it has run, and all of its ticks are open again.
        let mut book = Book::new(memory);
        set_clock(&mut book, HOUR);
        closed(&mut book, false);
        set_clock(&mut book, 5.0);
        assert_eq!(closed(&mut book, false), None);
        assert!(book.record().lies_ahead(at(5.0)));
    }
}

/// The first tick of a job that nobody knew: the clock is an hour ahead, from when its record is opened or soon after.
fn was_ahead_at_first(memory: Memory, opened: f64) -> Book {
    let mut book = Book::new(memory);
    set_clock(&mut book, opened);
    let answer = book.open(|open| open.is_known_job = false);
    assert!(matches!(answer, Answer::Opened { .. }), "{answer:?}");
    book.pass(LEASE);
    run_an_hour_ahead(&mut book, |claim| claim.caller.calm = LEASE);
    set_clock(&mut book, 60.0);
    book
}

#[test]
fn ticks_before_a_job_was_known_do_not_run_once_a_clock_ahead_is_right() {
    for (memory, opened) in MEMORIES.map(|memory| [(memory, 0.0), (memory, HOUR - 60.0)]).as_flattened() {
        let mut book = was_ahead_at_first(*memory, *opened);
        book.open(|_| {});
        let answer = book.claim(tick(-5.0), |_| {});
        assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
        assert_eq!(book.told().len(), 1, "the run that was ahead: {:?}", book.told());
        set_clock(&mut book, 65.0);
        assert!(is_won(&book.claim(tick(65.0), |_| {})));
    }
}

#[test]
fn a_lock_put_back_while_the_clock_is_ahead_closes_no_tick_that_has_not_come() {
    for is_renewed in [true, false] {
        let mut book = Book::ready(Memory::Forgetful);
        let first = book.win(tick(0.0));
        book.finish(&first, |_| {});
        let before = book.record().clone();
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), just_stepped)));
        let ahead = crate::sample::lease(book.record());
        // A failover loses the grant, and the clock is still ahead.
        *book.record() = before;
        book.new_era();
        let (leapt, expect) = (Some(at(5.0)), book.server.now);
        if is_renewed {
            let answer = book.ask(Request::Renew(Renew { lease: ahead.clone(), expect, leapt }));
            assert_eq!(answer, Answer::Renewed { stop: None });
        }
        assert_eq!(book.finish(&ahead, |finish| finish.leapt = leapt), Answer::Finished);
        set_clock(&mut book, 60.0);
        book.open(|_| {});
        let answer = book.claim(tick(60.0), |_| {});
        assert!(!matches!(answer, Answer::Decided { .. }), "it is closed until then: {answer:?}");
        set_clock(&mut book, HOUR);
        let answer = book.claim(tick(HOUR), |_| {});
        assert!(matches!(answer, Answer::Decided { .. }), "it ran: {answer:?}");
    }
}

#[test]
fn a_decided_tick_keeps_its_entry_when_a_store_whose_clock_is_behind_forgets_it() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        set_clock(&mut book, 98.0);
        let earlier = book.win(tick(98.0));
        book.finish(&earlier, |_| {});
        set_clock(&mut book, 100.0);
        assert!(is_won(&book.claim(tick(100.0), |claim| claim.prev = Some(tick(99.0)))));
        let last = crate::sample::lease(book.record());
        let is_told = |book: &Book| book.entries.iter().any(|entry| entry.tick == tick(99.0));
        assert!(is_told(&book));
        set_clock(&mut book, 90.0);
        book.record = None;
        book.finish(&last, |_| {});
        book.open(|open| open.ahead = vec![Ahead { after: at(97.0), to: at(100.0) }]);
        assert!(is_told(&book), "{memory:?}: {:?}", book.record());
        set_clock(&mut book, 99.0);
        let answer = book.claim(tick(99.0), |_| {});
        assert!(matches!(answer, Answer::Decided { .. }), "{memory:?}: {answer:?}");
    }
}

#[test]
fn forgotten_ticks_and_ticks_passed_by_a_clock_ahead_have_separate_entries() {
    let mut book = Book::ready(Memory::Forgetful);
    let first = book.win(tick(0.0));
    book.finish(&first, |_| {});
    set_clock(&mut book, 30.0);
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(30.0));
    set_clock(&mut book, HOUR);
    let answer = book.claim(tick(HOUR), |claim| {
        just_stepped(claim);
        claim.prev = Some(tick(HOUR - 60.0));
    });
    assert!(!is_won(&answer), "it waits for a lease first: {answer:?}");
    book.pass(LEASE);
    let claim = |claim: &mut Claim| (claim.caller.calm, claim.prev) = (LEASE, Some(tick(HOUR - 60.0)));
    assert!(is_won(&book.claim(tick(HOUR), claim)));
    let told = |book: &Book, after: f64| book.entries.iter().any(|entry| entry.after == Some(at(after)));
    assert!(told(&book, 0.0) && told(&book, 30.2), "{:?}", book.entries);
    set_clock(&mut book, 60.0);
    book.open(|_| {});
    assert!(told(&book, 0.0) && !told(&book, 30.2), "what has not come is told: {:?}", book.entries);
    assert!(book.entries.iter().all(|entry| entry.tick <= tick(60.0) || entry.run.is_some()));
}

/// A job whose mark, lost decisions and leaps are these.
fn with_leaps(mark: f64, lost: f64, leaps: &[(f64, f64, &str)]) -> Book {
    let mut book = Book::ready(Memory::Forgetful);
    set_clock(&mut book, 120.0);
    let leap = |(after, to, sign): &(f64, f64, &str)| format!("{}-{}{sign}", at(*after).0, at(*to).0);
    let leaps: Vec<String> = leaps.iter().map(leap).collect();
    let record = book.record();
    (record.mark, record.lost_after) = (at(mark), Some(at(lost)));
    record.leaps = leaps.join(" ").parse().expect("leaps");
    book
}

#[test]
fn ticks_that_were_open_when_later_ones_were_lost_have_their_entry() {
    let mut open = with_leaps(70.6, 60.0, &[(0.0, 70.0, "!"), (70.0, 70.6, "")]);
    assert!(is_won(&open.claim(tick(120.0), |claim| claim.prev = Some(tick(60.0)))));
    assert!(covers(&open, 60.0), "passed: {:?}", open.entries);
    let mut lost = with_leaps(130.0, 60.0, &[(0.0, 65.0, "?")]);
    lost.claim(tick(120.0), |claim| claim.prev = Some(tick(60.0)));
    assert!(covers(&lost, 60.0), "lost: {:?}", lost.entries);
}

#[test]
fn what_was_lost_stays_to_be_told_where_a_tick_before_it_that_was_open_does_not_run() {
    let mut book = with_leaps(130.0, 60.0, &[(-120.0, -60.0, "!")]);
    book.record().run = None;
    book.server.now = at(-50.0);
    let late = Verdict::because(Outcome::Missed, Reason::Late);
    let answer = book.claim(tick(-90.0), |claim| (claim.prev, claim.start_deadline) = (None, secs(1)));
    assert_eq!(answer, Answer::Consumed(late));
    assert_eq!(book.record().lost_after, Some(at(60.0)));
}

#[test]
fn what_was_lost_after_an_open_tick_has_its_entry_as_has_what_was_lost_before_it() {
    let mut book = with_leaps(115.0, 0.0, &[(50.0, 65.0, "!")]);
    assert!(is_won(&book.claim(tick(60.0), |claim| claim.prev = Some(tick(30.0)))));
    assert!(covers(&book, 30.0) && !covers(&book, 90.0), "{:?}", book.entries);
    let run = crate::sample::lease(book.record());
    book.finish(&run, |_| {});
    assert!(is_won(&book.claim(tick(120.0), |claim| claim.prev = Some(tick(90.0)))));
    assert!(covers(&book, 90.0), "{:?}", book.entries);
    assert_eq!(book.record().lost_after, None);
}

#[test]
fn ticks_lost_while_open_are_unknown_and_ticks_unclaimed_since_are_missed() {
    let mut book = with_leaps(HOUR, 0.0, &[(0.0, 65.0, "?"), (65.0, 200.0, "!")]);
    book.record().lost_after = None;
    set_clock(&mut book, 180.0);
    assert!(is_won(&book.claim(tick(180.0), |claim| claim.prev = Some(tick(120.0)))));
    let lost = Verdict::because(Outcome::Unknown, Reason::StoreReset);
    assert_eq!(book.told(), [several(at(0.0), tick(65.0), lost), several(at(65.0), tick(120.0), GAP)]);
}

/// Whether an entry stands for the tick.
fn covers(book: &Book, second: f64) -> bool {
    let is_above = |entry: &HistoryEntry| entry.after.is_some_and(|after| after < at(second));
    book.entries.iter().any(|entry| is_above(entry) && tick(second) <= entry.tick)
}

fn set_mark(book: &mut Book, wall: UtcMillis) -> Answer {
    book.operate(Act::SetMark { wall })
}

#[test]
fn a_store_whose_clock_is_behind_lets_no_operator_open_ticks_that_have_come() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let run = book.win(tick(0.0));
        book.finish(&run, |_| {});
        set_clock(&mut book, -60.0);
        assert_eq!(set_mark(&mut book, at(1.0)), Answer::AlreadyDecided);
        assert_eq!(book.record().mark, at(0.0), "the tick ran");
        // A mark that lies ahead of both clocks is set back to the later one.
        let mut book = was_ahead(memory);
        assert_eq!(set_mark(&mut book, at(65.0)), Answer::Noted);
        assert!(!book.record().lies_ahead(at(65.0)) && book.record().mark > at(65.0));
    }
}

#[test]
fn ticks_that_have_run_stay_decided_when_an_operator_sets_the_mark_back() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        set_clock(&mut book, 60.0);
        if memory == Memory::Forgetful {
            book.claim(tick(60.0), just_stepped);
            book.pass(LEASE);
        }
        // Of the ticks before this one, in the same leap, nothing is known yet.
        let run = book.win(tick(60.0));
        let mark = book.record().mark;
        let leaps = book.record().leaps.to_string();
        assert_eq!(mark, at(HOUR), "{leaps}");
        book.record().leaps = format!("{}-{}! {leaps}", at(5.0).0, at(30.0).0).parse().expect("leaps");
        book.finish(&run, |_| {});
        let wall = book.server.now;
        assert_eq!(set_mark(&mut book, wall), Answer::Noted);
        for (decided, is) in [(60.0, true), (HOUR, false)] {
            let tick = tick(decided);
            set_clock(&mut book, decided.max(61.0));
            let answer = book.claim(tick, |claim| claim.caller.calm = secs(HOUR as u64));
            assert_eq!(matches!(answer, Answer::Decided { .. }), is, "{decided}: {answer:?}");
        }
    }
}

#[test]
fn an_operator_sets_a_mark_back_and_no_memory_raises_it_again() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        let now = book.server.now;
        assert_eq!(set_mark(&mut book, now), Answer::Noted);
        assert!(!book.record().lies_ahead(now));
        assert_eq!(set_mark(&mut book, now), Answer::AlreadyDecided);
        book.open(|open| {
            (open.caller.known_mark, open.caller.answered_mark) = (Some(at(HOUR)), Some(at(HOUR)))
        });
        assert!(!book.record().lies_ahead(now), "{:?}", book.record());
        // Nor does one of a former life of the store, and nothing that has come since counts as lost.
        let before = (book.record().mark, book.record().lost_after, book.record().locked_until);
        set_clock(&mut book, 60.0);
        book.open(|open| open.latest_of_earlier_eras = at(HOUR - 1.0));
        assert_eq!((book.record().mark, book.record().lost_after, book.record().locked_until), before);
    }
}

#[test]
fn a_run_by_a_clock_ahead_again_after_the_mark_was_set_back_is_remembered() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        let now = book.server.now;
        assert_eq!(set_mark(&mut book, now), Answer::Noted);
        // The clock is ahead once more, by less, and the store forgets what ran then.
        let ran = [Ahead { after: at(1_770.0), to: at(1_800.0) }];
        let decided = |book: &Book| {
            let tick = tick(1_800.0);
            book.record.as_ref().is_some_and(|record| record.mark >= tick.instant())
        };
        book.open(|open| (open.ahead, open.reopened_ahead_count) = (ran.to_vec(), 0));
        assert!(!decided(&book), "who learnt of it before the mark was set back");
        let answer = book.open(|open| (open.ahead, open.reopened_ahead_count) = (ran.to_vec(), 1));
        assert!(decided(&book), "who learnt of it since then");
        assert!(matches!(answer, Answer::Opened { reopened_ahead_count: 1, .. }), "{answer:?}");
    }
}

#[test]
fn of_ticks_that_a_clock_ahead_decided_those_that_ran_do_not_run_again() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        set_clock(&mut book, HOUR);
        book.record = None;
        let ran = [4.0, 2.0].map(|second| Ahead { after: at(HOUR - second - 0.001), to: at(HOUR - second) });
        let open = |book: &mut Book, leapt_from| {
            book.open(|open| {
                (open.is_known_job, open.ahead, open.caller.leapt_from) = (true, ran.to_vec(), leapt_from);
            });
        };
        open(&mut book, Some(at(1.0)));
        set_clock(&mut book, 5.0);
        open(&mut book, None);
        for (second, is_decided) in [(4.0, true), (3.0, false), (2.0, true)] {
            set_clock(&mut book, HOUR - second);
            let answer = book.claim(tick(HOUR - second), |_| {});
            let found = matches!(answer, Answer::Decided { .. });
            assert_eq!(found, is_decided, "{memory:?}: {second}: {answer:?}");
        }
    }
}

#[test]
fn a_tick_that_was_given_back_while_the_clock_was_ahead_runs_when_it_comes() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), just_stepped)));
        let run = crate::sample::lease(book.record());
        book.abandon(&run);
        set_clock(&mut book, 5.0);
        // Another was told meanwhile that it was decided.
        let told = [Ahead { after: at(HOUR - 0.001), to: at(HOUR) }];
        book.open(|open| open.ahead = told.to_vec());
        // Also once another one was given back, by the clock that is right.
        book.pass(LEASE);
        let run = book.win(tick(30.0));
        book.abandon(&run);
        book.open(|open| open.ahead = told.to_vec());
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), |_| {})), "{memory:?} {:?}", book.record());
    }
}

#[test]
fn after_the_mark_was_set_back_a_tick_given_back_is_no_sign_of_a_rollback() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        let now = book.server.now;
        assert_eq!(set_mark(&mut book, now), Answer::Noted);
        set_clock(&mut book, 60.0);
        let run = book.win(tick(60.0));
        book.abandon(&run);
        assert!(is_won(&book.claim(tick(60.0), |claim| claim.caller.answered_mark = Some(at(60.0)))));
    }
}

#[test]
fn a_leap_that_is_found_to_lie_ahead_is_no_sign_of_a_store_that_went_back() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let first = book.win(tick(0.0));
        book.finish(&first, |_| {});
        // While the clock is an hour ahead, a tick that has come is told of as missed, and later ones as well.
        let leap = format!("{}-{}", at(0.0).0, at(HOUR).0);
        (book.record().leaps, book.record().mark) = (leap.parse().expect("a leap"), at(HOUR));
        set_clock(&mut book, 90.0);
        let answer = book.claim(tick(90.0), |claim| claim.caller.answered_mark = Some(at(60.0)));
        assert!(is_won(&answer), "{answer:?}");
    }
}

/// A tick is granted, the record goes back, and somebody who was told of the tick asks for a run by hand a second later.
fn by_hand_after_a_rollback(book: &mut Book, seconds: f64) -> Answer {
    let before = book.record().clone();
    set_clock(book, seconds);
    book.win(tick(seconds));
    *book.record() = before;
    set_clock(book, seconds + 1.0);
    book.manual(|manual| manual.caller.answered_mark = Some(at(seconds)))
}

#[test]
fn after_the_mark_was_set_back_a_manual_run_still_notices_a_rollback() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        let now = book.server.now;
        assert_eq!(set_mark(&mut book, now), Answer::Noted);
        set_clock(&mut book, 60.0);
        assert!(!is_won(&by_hand_after_a_rollback(&mut book, 60.0)), "its holder may live");
    }
}

#[test]
fn a_run_by_hand_notices_that_the_store_went_back_also_while_the_mark_lies_ahead() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        set_clock(&mut book, 60.0);
        // The leap is open again.
        book.open(|_| {});
        assert!(!is_won(&by_hand_after_a_rollback(&mut book, 120.0)), "its holder may live");
    }
}

#[test]
fn a_remade_record_learns_how_often_ticks_ahead_were_reopened() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let answer = book.open(|open| open.reopened_ahead_count = 3);
        assert!(matches!(answer, Answer::Opened { reopened_ahead_count: 3, .. }), "{answer:?}");
        let answer = book.open(|open| open.reopened_ahead_count = 2);
        assert!(matches!(answer, Answer::Opened { reopened_ahead_count: 3, .. }), "{answer:?}");
    }
}

#[test]
fn an_outage_that_its_caller_has_watched_makes_no_leap() {
    let mut book = Book::ready(Memory::Forgetful);
    assert!(is_won(&book.claim(tick(0.0), |claim| claim.caller.calm = secs(3_600))));
    assert_eq!(book.record().leaps.iter().count(), 0);
    let leaps = |book: &mut Book| book.record().leaps.iter().count();
    let mut unwatched = Book::ready(Memory::Forgetful);
    assert!(is_won(
        &unwatched.claim(tick(0.0), |claim| (claim.caller.calm, claim.prev) = (secs(31), Some(tick(-30.0))))
    ));
    assert_eq!(leaps(&mut unwatched), 1);
}

#[test]
fn a_record_that_knows_less_than_it_has_told_waits_as_in_a_new_era() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let before = book.record().clone();
        let run = book.win(tick(0.0));
        book.finish(&run, |_| {});
        // The store goes back, under the same name.
        *book.record() = before;
        book.server.now = at(1.0);
        let answer = book.claim(tick(0.0), |claim| claim.caller.answered_mark = Some(at(0.0)));
        assert!(!is_won(&answer), "the tick ran: {answer:?}");
        let lease_now = book.server.lease_now;
        assert!(book.record().locked_until > lease_now, "somebody may hold the lock");
    }
}

#[test]
fn a_run_shown_running_by_a_rolled_back_store_frees_no_later_lock_when_it_ends() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let run = book.win(tick(0.0));
        let before = book.record().clone();
        book.finish(&run, |_| {});
        book.server.now = at(1.0);
        book.win(tick(1.0));
        // The store goes back, under the same name: it does not know the second run.
        *book.record() = before;
        book.open(|open| open.caller.answered_mark = Some(at(1.0)));
        assert_eq!(book.finish(&run, |finish| finish.era = Era::default()), Answer::Finished);
        let answer = book.claim(tick(2.0), |claim| claim.prev = None);
        assert!(!is_won(&answer), "the second run goes on: {answer:?}");
        let lease_now = book.server.lease_now;
        assert!(book.record().locked_until > lease_now, "its lease is not over");
    }
}

/// A tick runs below a mark that lies ahead, and the store forgets it: in another life, or in the same one.
fn forgot_below_the_mark(in_another_life: bool) -> Book {
    let mut book = was_ahead(Memory::Forgetful);
    set_clock(&mut book, 30.0);
    book.claim(tick(60.0), just_stepped);
    let before = (book.record().clone(), book.entries.clone());
    set_clock(&mut book, 60.0);
    let run = book.win(tick(60.0));
    book.finish(&run, |_| {});
    (*book.record(), book.entries) = before;
    if in_another_life {
        book.new_era();
    }
    set_clock(&mut book, 70.0);
    book
}

#[test]
fn a_tick_run_below_a_mark_ahead_does_not_run_again_where_the_store_forgot_it() {
    let lost = Verdict::because(Outcome::Unknown, Reason::StoreReset);
    for in_another_life in [true, false] {
        for is_claimed_again in [true, false] {
            let mut book = forgot_below_the_mark(in_another_life);
            let knows = |claim: &mut Claim| {
                claim.caller.latest_store_time = at(70.0);
                claim.caller.answered_mark = Some(at(60.0)).filter(|_| !in_another_life);
                claim.start_deadline = secs(3_600);
            };
            // Ahead of its instant nothing is decided, but the store notices what it has forgotten.
            let first = if is_claimed_again { 60.0 } else { 120.0 };
            book.claim(tick(first), knows);
            // By then those who know could tell.
            book.pass(secs(5));
            let answer = book.claim(tick(first), knows);
            assert_eq!(answer == Answer::Consumed(lost), is_claimed_again, "{answer:?}");
            set_clock(&mut book, 121.0);
            let answer = book.claim(tick(120.0), |claim| {
                knows(claim);
                (claim.caller.latest_store_time, claim.prev) = (at(121.0), Some(tick(60.0)));
            });
            assert!(is_won(&answer), "{in_another_life} {is_claimed_again}: {answer:?}");
            let told: Vec<_> = book.entries.iter().filter(|entry| entry.verdict() == lost).collect();
            assert_eq!(told.len(), 1, "{:#?}", book.told());
            assert_eq!(told[0].tick, tick(60.0));
        }
    }
}

#[test]
fn a_holder_whose_tick_was_forgotten_below_a_mark_that_lies_ahead_keeps_it() {
    let mut book = was_ahead(Memory::Forgetful);
    set_clock(&mut book, 60.0);
    book.claim(tick(60.0), just_stepped);
    let before = book.record().clone();
    let run = book.win(tick(60.0));
    *book.record() = before;
    book.renew(&run);
    book.finish(&run, |_| {});
    assert!(matches!(book.claim(tick(60.0), |_| {}), Answer::Decided { .. }));
}

#[test]
fn a_tick_that_was_given_back_is_no_sign_of_a_store_that_went_back() {
    let mut book = Book::ready(Memory::Forgetful);
    let run = book.win(tick(0.0));
    book.abandon(&run);
    assert!(is_won(&book.claim(tick(0.0), |claim| claim.caller.answered_mark = Some(at(0.0)))));
}

#[test]
fn a_store_that_went_back_is_noticed_also_where_an_operator_has_set_a_mark_back() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        let now = book.server.now;
        assert_eq!(set_mark(&mut book, now), Answer::Noted);
        let (before, next) = (book.record().clone(), tick(90.0));
        set_clock(&mut book, 90.0);
        let run = book.win(next);
        book.finish(&run, |_| {});
        *book.record() = before;
        let answer = book.claim(next, |claim| claim.caller.answered_mark = Some(next.instant()));
        assert!(matches!(answer, Answer::Held { by: None, .. }), "it may have run: {answer:?}");
    }
}

#[test]
fn a_manual_run_on_a_server_that_is_behind_has_a_fence_above_all_that_was_heard() {
    let mut book = Book::ready(Memory::Forgetful);
    book.new_era();
    book.open(|open| open.caller.latest_store_time = at(30.0));
    book.pass(LEASE);
    assert!(is_won(&book.manual(|manual| manual.caller.latest_store_time = UtcMillis(0))));
    assert!(book.record().fence.0 > at(30.0).0);
}

#[test]
fn a_tick_that_was_left_by_an_edit_while_a_mark_lies_ahead_has_its_entry() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        set_clock(&mut book, 100.0);
        let dropped = Some(Dropped { tick: tick(60.0), after: at(0.0), count: Some(1) });
        book.open(|open| {
            (open.schedule_hash, open.schedule_since, open.dropped) =
                (ScheduleHash("bb".into()), at(100.0), dropped);
        });
        let edited = Verdict::because(Outcome::Missed, Reason::Edited);
        let of_tick = |entry: &HistoryEntry| entry.tick == tick(60.0) && entry.verdict() == edited;
        assert!(book.entries.iter().any(of_tick), "{memory:?}: {:?}", book.told());
        assert_eq!(book.record().mark, at(HOUR), "the mark never falls");
    }
}

#[test]
fn the_last_tick_before_one_that_ran_ahead_runs_also_where_it_was_given_back() {
    for memory in MEMORIES {
        let mut book = was_ahead(memory);
        book.open(|_| {});
        set_clock(&mut book, HOUR - 60.0);
        let run = book.win(tick(HOUR - 60.0));
        book.abandon(&run);
        let answer = book.claim(tick(HOUR - 60.0), |_| {});
        assert!(is_won(&answer), "{memory:?}: {answer:?}");
    }
}

#[test]
fn ticks_that_were_missed_in_a_leap_and_outside_of_it_have_entries_of_their_own() {
    // The clock is an hour behind; what it leapt over by then was told, and is open.
    let mut book = with_leaps(10.0, 10.0, &[(-60.0, 0.0, "!")]);
    set_clock(&mut book, 200.0);
    let late = |claim: &mut Claim| {
        (claim.caller.calm, claim.start_deadline) = (Duration::ZERO, secs(1));
        claim.gap_reason = Reason::Late;
    };
    let answer = book.claim(tick(60.0), late);
    assert!(matches!(answer, Answer::Consumed(_)), "{answer:?}");
    let spans =
        |entry: &HistoryEntry| entry.after.is_some_and(|after| after < at(0.0)) && tick(0.0) < entry.tick;
    assert!(!book.entries.iter().any(spans), "{:?}", book.told());
}

#[test]
fn a_tick_that_an_operator_opened_after_its_run_was_cut_short_runs_once() {
    for memory in MEMORIES {
        let reruns = |claim: &mut Claim| claim.on_interrupt = OnInterrupt::Rerun;
        let mut book = Book::ready(memory);
        set_clock(&mut book, HOUR);
        assert!(is_won(&book.claim(tick(HOUR), reruns)));
        let ahead = crate::sample::lease(book.record());
        set_clock(&mut book, 70.0);
        let shutdown = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        book.finish(&ahead, |finish| finish.verdict = shutdown);
        let wall = book.server.now;
        assert_eq!(book.operate(Act::SetMark { wall }), Answer::Noted);
        set_clock(&mut book, HOUR + 0.1);
        assert!(is_won(&book.claim(tick(HOUR), reruns)), "{memory:?}");
        let run = crate::sample::lease(book.record());
        assert_eq!((run.cause, book.record().mark), (Cause::Schedule, at(HOUR)));
        book.finish(&run, |_| {});
        let answer = book.claim(tick(HOUR), reruns);
        assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
    }
}

#[test]
fn a_tick_that_is_given_back_after_a_later_one_was_decided_is_no_loss_of_the_store() {
    let mut book = Book::ready(Memory::Forgetful);
    for second in [110.0, 120.0, 130.0] {
        set_clock(&mut book, second);
        assert!(is_won(&book.claim(tick(second), |claim| {
            just_stepped(claim);
            claim.prev = Some(tick(second - 10.0));
        })));
        let run = crate::sample::lease(book.record());
        book.finish(&run, |_| {});
    }
    set_clock(&mut book, 70.0);
    book.open(|_| {});
    set_clock(&mut book, 89.98);
    assert!(is_won(&book.claim(tick(90.0), |claim| claim.prev = Some(tick(80.0)))));
    let unheard = crate::sample::lease(book.record());
    set_clock(&mut book, 103.5);
    let late = book.claim(tick(100.0), |claim| {
        (claim.prev, claim.start_deadline) = (Some(tick(90.0)), secs(3));
    });
    assert_eq!(late, Answer::Consumed(Verdict::because(Outcome::Missed, Reason::Late)));
    set_clock(&mut book, 104.0);
    assert_eq!(book.abandon(&unheard), Answer::Abandoned);
    set_clock(&mut book, 139.98);
    let answer = book.claim(tick(140.0), |claim| {
        (claim.prev, claim.caller.answered_mark) = (Some(tick(130.0)), Some(at(130.0)));
    });
    assert!(is_won(&answer), "{answer:?}");
}
