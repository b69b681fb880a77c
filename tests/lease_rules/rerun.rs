//! A run that was cut short by its replica: it is run once more, before newer ticks, and not however late.

use solocron::job::{Cause, OnInterrupt, Outcome, Overlap, Reason, RunId, Tick, Verdict};
use solocron::lease::{
    Abandon, Act, Answer, Claim, Decision, Lease, LiveRuns, Memory, Request, Rerun, decide,
};

use crate::book::{Book, MEMORIES, at, secs, tick};
use crate::sample::{self, LEASE, PERIOD};

const SHUTDOWN: Verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
const NODE_LOST: Verdict = Verdict::because(Outcome::Interrupted, Reason::NodeLost);

fn wanted(claim: &mut Claim) {
    claim.on_interrupt = OnInterrupt::Rerun;
}

/// The same, where live replicas list these runs.
fn wanted_beside(running: &[RunId], ended: &[RunId]) -> impl FnOnce(&mut Claim) + use<> {
    let live_runs = LiveRuns { running: running.to_vec(), ended: ended.to_vec() };
    |claim| (claim.on_interrupt, claim.live_runs) = (OnInterrupt::Rerun, live_runs)
}

/// A claim for the tick by a replica that would run it once more.
fn claim(book: &mut Book, tick: Tick) -> Answer {
    book.claim(tick, wanted)
}

fn is_won(answer: &Answer, tries: u32) -> bool {
    matches!(answer, Answer::Won { tries: made, .. } if *made == tries)
}

/// A job whose run at time zero was cut short just now.
fn cut_short(memory: Memory) -> (Book, Lease) {
    let mut book = Book::ready(memory);
    let lease = book.win(tick(0.0));
    book.finish(&lease, |finish| finish.verdict = SHUTDOWN);
    (book, lease)
}

/// What an answer tells about what may run once more.
fn told_by(book: &Book, request: &Request) -> Option<Rerun> {
    let Decision { reply, .. } = decide(book.record.as_ref(), request, &book.server);
    reply.rerun
}

fn any_request(book: &Book) -> Request {
    Request::Open(sample::open(book.caller()))
}

#[test]
fn every_answer_tells_of_a_run_that_may_be_cut_short_and_of_one_that_was() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        assert_eq!(told_by(&book, &any_request(&book)), None, "nothing has run");
        let lease = book.win(tick(0.0));
        book.pass(secs(1));
        let by = Some(lease.node.clone());
        let running = Rerun { tick: tick(0.0), by, goes_on: true, frees_in: LEASE - secs(1) };
        assert_eq!(told_by(&book, &any_request(&book)), Some(running.clone()));
        book.finish(&lease, |finish| finish.verdict = SHUTDOWN);
        let over = Rerun { goes_on: false, frees_in: secs(0), ..running };
        assert_eq!(told_by(&book, &any_request(&book)), Some(over.clone()));
        assert_eq!(book.record().cut_short(), Some(over));
        claim(&mut book, tick(0.0));
        assert_eq!(told_by(&book, &any_request(&book)), None, "a rerun is not rerun");
    }
}

#[test]
fn the_claim_that_finds_a_holder_gone_is_told_so_and_the_rerun_goes_before_its_tick() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        book.pass(LEASE.max(PERIOD));
        let held = claim(&mut book, tick(60.0));
        assert!(matches!(held, Answer::Held { by: None, .. }), "{held:?}");
        assert_eq!(book.record().verdict, Some(NODE_LOST));
        assert_eq!(book.record().cut_short().map(|rerun| rerun.tick), Some(tick(0.0)));
        assert!(is_won(&claim(&mut book, tick(0.0)), 2));
        let rerun = sample::lease(book.record());
        assert_eq!(rerun.cause, Cause::Rerun);
        book.finish(&rerun, |_| {});
        assert!(is_won(&claim(&mut book, tick(60.0)), 1), "then the newer tick runs");
    }
}

#[test]
fn a_rerun_precedes_newer_ticks_and_manual_runs_only_where_the_policy_is_rerun() {
    for memory in MEMORIES {
        let (mut book, _) = cut_short(memory);
        let held = book.manual(|manual| manual.rerun_deadline = Some(PERIOD));
        assert!(matches!(held, Answer::Held { by: None, .. }), "{held:?}");
        let (mut by_hand, _) = cut_short(memory);
        assert!(is_won(&by_hand.manual(|_| {}), 1));
        book.pass(PERIOD);
        assert!(is_won(&book.claim(tick(60.0), |_| {}), 1), "the policy of this file is to skip it");
        assert_eq!(book.record().cut_short(), None);
    }
}

#[test]
fn a_lost_run_that_a_live_replica_lists_is_not_rerun_while_it_may_have_ended_well() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lost = book.win(tick(0.0));
        book.pass(LEASE);
        let other = RunId::new();
        let held = book.claim(tick(0.0), wanted_beside(&[other, lost.run], &[]));
        assert!(matches!(held, Answer::Held { by: None, frees_in } if frees_in == secs(1)), "{held:?}");

        let refused = book.claim(tick(0.0), wanted_beside(&[], &[other, lost.run]));

        assert!(matches!(refused, Answer::Decided { .. }), "{refused:?}");
        assert!(matches!(claim(&mut book, tick(0.0)), Answer::Decided { .. }), "it is refused for good");
        assert_eq!(book.record().cut_short(), None);
        assert!(is_won(&claim(&mut book, tick(1.0)), 1), "the job continues");
    }
}

#[test]
fn a_run_that_its_replica_recorded_as_interrupted_or_lists_no_more_is_rerun() {
    for memory in MEMORIES {
        for verdict in [SHUTDOWN, NODE_LOST] {
            let mut book = Book::ready(memory);
            let lease = book.win(tick(0.0));
            book.finish(&lease, |finish| finish.verdict = verdict);
            let listed = wanted_beside(&[lease.run], &[lease.run]);
            assert!(is_won(&book.claim(tick(0.0), listed), 2), "the list is older than the record");
        }

        let mut book = Book::ready(memory);
        book.win(tick(0.0));
        book.pass(LEASE);
        let other = wanted_beside(&[RunId::new()], &[RunId::new()]);
        assert!(is_won(&book.claim(tick(0.0), other), 2), "another run is listed");
    }
}

#[test]
fn a_run_that_was_taken_for_lost_is_not_rerun_once_its_replica_tells_that_it_ended() {
    for memory in MEMORIES {
        for verdict in [Verdict::plain(Outcome::Failed), SHUTDOWN] {
            let mut book = Book::ready(memory);
            let lease = book.win(tick(0.0));
            book.pass(LEASE);
            claim(&mut book, tick(30.0));
            assert_eq!(book.record().verdict, Some(NODE_LOST));
            let entries = book.entries.len();

            assert_eq!(book.finish(&lease, |finish| finish.verdict = verdict), Answer::AlreadyDecided);

            assert_eq!((book.record().verdict, book.entries.len()), (Some(NODE_LOST), entries));
            let answer = claim(&mut book, tick(0.0));
            assert_eq!(is_won(&answer, 2), verdict == SHUTDOWN, "{answer:?}");
        }
    }
}

#[test]
fn a_newer_tick_that_replaces_what_runs_takes_the_place_of_a_rerun() {
    for memory in MEMORIES {
        let (mut book, _) = cut_short(memory);
        book.pass(PERIOD);
        let newer = book.claim(tick(60.0), |claim| {
            wanted(claim);
            claim.overlap = Overlap::Replace;
        });
        assert!(is_won(&newer, 1), "{newer:?}");
    }
}

#[test]
fn a_rerun_may_start_until_the_start_deadline_and_a_lease_after_its_run_ended() {
    for memory in MEMORIES {
        let limit = PERIOD + LEASE;
        let (mut book, _) = cut_short(memory);
        book.pass(limit - secs(1));
        let held = claim(&mut book, tick(60.0));
        assert_eq!(held, Answer::Held { by: None, frees_in: secs(1) }, "and so long newer ticks wait");
        assert!(is_won(&claim(&mut book, tick(0.0)), 2));

        let (mut late, _) = cut_short(memory);
        late.pass(limit);
        let told = late.told();
        let by = late.record().owner.clone();
        assert_eq!(claim(&mut late, tick(0.0)), Answer::Decided { by, how: Some(SHUTDOWN) });
        assert_eq!(late.record().cut_short(), None, "that settles it");
        assert_eq!(late.told(), told, "the tick has its record");

        let (mut unasked, _) = cut_short(memory);
        unasked.pass(limit);
        assert!(is_won(&claim(&mut unasked, tick(60.0)), 1), "nobody need ask for the rerun before");
    }
}

#[test]
fn what_is_paused_or_was_edited_when_its_rerun_is_asked_for_is_not_rerun() {
    for memory in MEMORIES {
        let (mut paused, _) = cut_short(memory);
        paused.record().paused = Some(at(10.0));
        assert!(matches!(claim(&mut paused, tick(0.0)), Answer::Decided { how: Some(SHUTDOWN), .. }));
        paused.pass(secs(11));
        assert!(matches!(claim(&mut paused, tick(0.0)), Answer::Decided { .. }), "later neither");

        let (mut edited, _) = cut_short(memory);
        edited.record().schedule_hash.0.push('x');
        assert!(matches!(claim(&mut edited, tick(0.0)), Answer::Decided { how: Some(SHUTDOWN), .. }));
        assert_eq!(edited.record().cut_short(), None);
    }
}

#[test]
fn what_was_to_be_stopped_anyway_is_not_rerun_when_its_replica_dies_before_it_stops() {
    for memory in MEMORIES {
        let mut killed = Book::ready(memory);
        let lease = killed.win(tick(0.0));
        killed.operate(Act::Kill { run: None });
        killed.pass(LEASE);
        assert!(matches!(claim(&mut killed, tick(0.0)), Answer::Decided { how: Some(NODE_LOST), .. }));
        assert_eq!(killed.record().cut_short(), None);
        assert_eq!(killed.renew(&lease), Answer::Lost);

        let mut drained = Book::ready(memory);
        let lease = drained.win(tick(0.0));
        drained.operate(Act::Kill { run: None });
        drained.finish(&lease, |finish| finish.verdict = SHUTDOWN);
        assert!(matches!(claim(&mut drained, tick(0.0)), Answer::Decided { .. }));
    }
}

#[test]
fn a_rerun_that_did_not_start_is_given_back_though_newer_ticks_were_decided() {
    for memory in MEMORIES {
        let (mut book, _) = cut_short(memory);
        assert!(is_won(&claim(&mut book, tick(0.0)), 2));
        let rerun = sample::lease(book.record());
        // A tick that its replica's clock found due, and that somebody skipped.
        book.record().mark = at(60.0);
        assert_eq!(book.abandon(&rerun), Answer::Abandoned);
        assert_eq!(book.told().len(), 1, "it says nothing new of the tick");
        assert_eq!(book.record().mark, at(60.0));
        assert!(is_won(&claim(&mut book, tick(0.0)), 2));
    }
}

#[test]
fn a_rerun_that_did_not_start_has_no_entry_in_another_era_and_is_not_granted_again() {
    let (mut book, _) = cut_short(Memory::Forgetful);
    assert!(is_won(&claim(&mut book, tick(0.0)), 2));
    let (rerun, era) = (sample::lease(book.record()), book.server.era.clone());
    book.new_era();
    assert_eq!(book.ask(Request::Abandon(Abandon { run: rerun.run, era, edited: false })), Answer::Abandoned);
    assert_eq!(book.told().len(), 1, "the tick has the entry of its first run");
    assert!(!book.record().is_running());
    assert_eq!(book.record().cut_short(), None);
}

#[test]
fn a_run_shown_running_by_a_rolled_back_store_is_not_rerun_after_a_newer_finish() {
    let mut book = Book::ready(Memory::Forgetful);
    let first = book.win(tick(0.0));
    let copy = book.record.clone();
    book.finish(&first, |_| {});
    book.pass(PERIOD);
    let second = book.win(tick(60.0));
    book.record = copy;
    book.new_era();
    book.finish(&second, |_| {});
    assert_eq!(
        book.record().tick,
        Some(tick(0.0)),
        "it may have ended well: its replica told so, and was forgotten"
    );
    assert_eq!(book.record().cut_short(), None);
    book.open(|open| open.caller.latest_store_time = at(60.0));
    book.pass(LEASE * 2);
    assert!(matches!(claim(&mut book, tick(0.0)), Answer::Decided { .. }));
}

#[test]
fn an_end_earlier_than_the_record_knows_does_not_make_a_rerun_too_late() {
    for memory in MEMORIES {
        let mut book = Book::ready(memory);
        let lease = book.win(tick(0.0));
        for _ in 0..60 {
            book.pass(secs(5));
            book.renew(&lease);
        }
        book.finish(&lease, |finish| (finish.verdict, finish.ended) = (NODE_LOST, lease.started));
        assert_eq!(book.record().ended, Some(at(300.0)));
        assert!(is_won(&claim(&mut book, tick(0.0)), 2));
    }
}
