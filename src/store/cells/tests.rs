use std::time::Duration;

use futures_util::future::BoxFuture;
use proptest::prelude::*;

use crate::job::{Cause, JobName, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::testing;
use crate::lease::{
    Abandon, Answer, Caller, Claim, Decision, Era, Finish, HistoryEntry, Leap, Lease, Passed, Record, Renew,
    Reply, Request, SCHEMA, Version,
};
use crate::store::{Beat, Store, StoreError, Told};
use crate::time::{BootInstant, Clock, UtcMillis, Waiting};

use super::testing::{MemoryEngine, MemoryServer};
use super::{CasStore, JobCell, NumberedEntry, RequestLane};

const NOW: UtcMillis = UtcMillis(1_800_000_000_000);
const LEASE: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct StillClock;

impl Clock for StillClock {
    fn utc(&self) -> UtcMillis {
        NOW
    }

    fn boot(&self) -> BootInstant {
        BootInstant(Duration::from_secs(100))
    }

    fn wait_until(&self, _: UtcMillis) -> Waiting<'_> {
        Box::pin(std::future::pending())
    }

    fn wait_until_boot(&self, _: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

fn job() -> JobName {
    JobName::parse("j").expect("a name")
}

fn node() -> NodeName {
    NodeName::parse("n").expect("a name")
}

/// A server whose one job is free, and whose ticks up to a minute ago are decided.
fn engine() -> MemoryEngine {
    let engine = MemoryEngine::new(NOW);
    let mut server = engine.server();
    let mut record = Record::empty(server.moment.era.clone());
    record.mark = NOW.minus(Duration::from_secs(60));
    let version = Version { count: 1, nonce: 1 };
    server.kept.cells.insert(job(), JobCell { record, version, newest: None });
    drop(server);
    engine
}

fn store(engine: &MemoryEngine) -> CasStore<MemoryEngine> {
    CasStore::start(engine.clone(), Box::new(StillClock))
}

fn claim(run: RunId, tick: UtcMillis) -> Request {
    let caller = testing::caller("n", NOW, Era("e1".into()));
    let caller = Caller { calm: Duration::from_secs(3_600), largest_lease: LEASE, ..caller };
    Request::Claim(Claim { run, ..testing::claim(caller, Tick(tick)) })
}

fn lease(engine: &MemoryEngine) -> Lease {
    let record = engine.server().kept.cells[&job()].record.clone();
    Lease {
        run: record.run.expect("a run"),
        fence: record.fence,
        tick: record.tick.expect("a tick"),
        length: record.lease,
        node: node(),
        cause: Cause::Schedule,
        tries: record.tries,
        started: record.started.expect("a start"),
        schedule_hash: record.schedule_hash,
        mark: record.mark,
        prev: None,
    }
}

fn renew(engine: &MemoryEngine) -> Request {
    Request::Renew(Renew { lease: lease(engine), expect: NOW, leapt: None })
}

fn finish(engine: &MemoryEngine) -> Request {
    Request::Finish(Finish {
        lease: lease(engine),
        era: Era("e1".into()),
        attempt: 1,
        verdict: Verdict::plain(Outcome::Succeeded),
        ended: NOW,
        exit_code: Some(0),
        signal: None,
        tail: "done".into(),
        leapt: None,
    })
}

async fn ask(store: &CasStore<MemoryEngine>, request: &Request) -> Result<Reply, StoreError> {
    store.submit(&job(), request).await
}

/// How many cells were read, and how many swaps were sent.
fn sent(engine: &MemoryEngine) -> (usize, usize) {
    let server = engine.server();
    (server.reads, server.swaps)
}

/// Time passes at the server, and the replica hears of it.
async fn pass(engine: &MemoryEngine, store: &CasStore<MemoryEngine>, millis: u64) {
    let later = engine.server().moment.now.plus(Duration::from_millis(millis));
    engine.server().moment.now = later;
    store.pulse(None).await.expect("a pulse");
}

fn is_won(reply: &Result<Reply, StoreError>) -> bool {
    matches!(reply, Ok(Reply { answer: Answer::Won { .. }, .. }))
}

#[tokio::test]
async fn a_run_costs_one_read_and_a_swap_for_each_step() {
    let engine = engine();
    let store = store(&engine);
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
    pass(&engine, &store, 100).await;
    let renewed = ask(&store, &renew(&engine)).await.expect("an answer");
    assert_eq!((renewed.answer, renewed.lag), (Answer::Renewed { stop: None }, Duration::ZERO));
    assert_eq!(ask(&store, &finish(&engine)).await.expect("an answer").answer, Answer::Finished);
    assert_eq!(sent(&engine), (1, 3));
    let history = store.history(&[job()], 10).await.expect("history").remove(0).1;
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].outcome, history[0].tail.as_deref()), (Outcome::Succeeded, Some("done")));
}

#[tokio::test]
async fn of_two_replicas_one_is_granted_and_the_other_learns_it() {
    let engine = engine();
    let (a, b) = (store(&engine), store(&engine));
    let granted = ask(&a, &claim(RunId::new(), NOW)).await;
    let refused = ask(&b, &claim(RunId::new(), NOW)).await.expect("an answer");
    assert!(is_won(&granted) && matches!(refused.answer, Answer::Decided { by: Some(_), .. }), "{refused:?}");
}

#[tokio::test]
async fn a_grant_whose_answer_was_lost_is_found_again_by_the_same_run() {
    let engine = engine();
    let store = store(&engine);
    let claim = claim(RunId::new(), NOW);
    engine.server().loses_answer = true;
    assert!(matches!(ask(&store, &claim).await, Err(StoreError::Unknown(_))));
    let fence = engine.server().kept.cells[&job()].record.fence;
    let again = ask(&store, &claim).await.expect("an answer");
    assert!(matches!(again.answer, Answer::Won { fence: granted, .. } if granted == fence), "{again:?}");
}

#[tokio::test]
async fn a_record_that_another_changed_is_read_again_a_few_times_only() {
    let engine = engine();
    let store = store(&engine);
    fn change(server: &mut MemoryServer) {
        server.kept.cells.get_mut(&job()).expect("a cell").version.nonce += 1;
    }
    engine.server().before_swap = Some(change);
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
    assert_eq!(sent(&engine), (2, 2));
    fn keep_changing(server: &mut MemoryServer) {
        change(server);
        server.before_swap = Some(keep_changing);
    }
    engine.server().before_swap = Some(keep_changing);
    let given_up = ask(&store, &finish(&engine)).await.expect_err("it never fits");
    assert!(matches!(given_up, StoreError::Refused(_)), "{given_up}");
    assert_eq!(engine.server().swaps, 2 + 5);
}

#[tokio::test]
async fn what_is_remembered_of_a_cell_that_went_back_is_not_written_over_it() {
    let engine = engine();
    let store = store(&engine);
    let before = engine.server().kept.clone();
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
    let renew = renew(&engine);
    engine.server().kept = before;
    pass(&engine, &store, 100).await;
    let reply = ask(&store, &renew).await.expect("an answer");
    // The holder puts its lock back, from the record as it is now.
    assert_eq!(reply.answer, Answer::Renewed { stop: None });
    assert_eq!(sent(&engine), (2, 3));
}

#[tokio::test]
async fn a_swap_of_another_era_is_decided_anew() {
    let engine = engine();
    let store = store(&engine);
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
    engine.server().moment.era = Era("e2".into());
    let late = ask(&store, &claim(RunId::new(), NOW.plus(Duration::from_millis(100)))).await;
    assert_eq!(late.expect("an answer").answer, Answer::NewEra(Era("e2".into())));
}

#[tokio::test]
async fn a_lease_that_is_renewed_by_an_older_time_begins_earlier() {
    let engine = engine();
    let store = store(&engine);
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
    pass(&engine, &store, 100).await;
    // The replica's clock stands still, so that it does not see this.
    engine.server().moment.now = NOW.plus(Duration::from_millis(500));
    let reply = ask(&store, &renew(&engine)).await.expect("an answer");
    assert_eq!(reply.lag, Duration::from_millis(400));
    let sent = BootInstant(Duration::from_secs(100));
    assert_eq!(reply.leased_from(sent), BootInstant(Duration::from_millis(99_600)));
}

#[tokio::test]
async fn giving_back_a_run_that_holds_nothing_makes_a_new_version() {
    let engine = engine();
    let (a, b) = (store(&engine), store(&engine));
    let run = RunId::new();
    let abandon = Request::Abandon(Abandon { run, era: Era("e1".into()), edited: false });
    assert_eq!(ask(&b, &abandon).await.expect("an answer").answer, Answer::AlreadyDecided);
    assert_eq!(engine.server().swaps, 1, "it makes a new version all the same");
    assert!(is_won(&ask(&a, &claim(RunId::new(), NOW)).await));
}

#[tokio::test]
async fn requests_on_one_job_are_decided_in_their_order() {
    let engine = engine();
    let store = store(&engine);
    let run = RunId::new();
    let abandon = Request::Abandon(Abandon { run, era: Era("e1".into()), edited: false });
    let requests = [(job(), claim(run, NOW)), (job(), abandon), (job(), claim(RunId::new(), NOW))];
    let replies = store.submit_all(&requests).await;
    let answers: Vec<_> = replies.into_iter().map(|reply| reply.expect("an answer").answer).collect();
    assert!(
        matches!(answers[0], Answer::Won { .. }) && matches!(answers[2], Answer::Won { .. }),
        "{answers:?}"
    );
    assert_eq!(answers[1], Answer::Abandoned);
}

#[tokio::test]
async fn a_server_that_knows_less_of_a_heartbeat_gets_another_marker() {
    let engine = engine();
    let store = store(&engine);
    let beat = |told| Beat { told, ..Beat::of(node(), RunId::new(), "f".into(), NOW) };
    let first = store.pulse(Some(&beat(None))).await.expect("a pulse");
    assert_eq!((first.count, first.peers.len()), (1, 0));
    let marker = first.marker.clone().expect("a marker");
    let told = |count| Some(Told { count, era: Era("e1".into()), marker: marker.clone() });
    let second = store.pulse(Some(&beat(told(1)))).await.expect("a pulse");
    assert_eq!((second.count, second.marker), (2, first.marker.clone()));
    assert_eq!(second.peers[0].beat.count, 1, "the sender is as it was before");
    let third = store.pulse(Some(&beat(told(9)))).await.expect("a pulse");
    assert_ne!(third.marker, first.marker);
}

#[tokio::test]
async fn a_server_that_went_back_behind_the_last_heartbeat_takes_no_swap() {
    let engine = engine();
    let store = store(&engine);
    let beat = Beat::of(node(), RunId::new(), "f".into(), NOW);
    store.pulse(Some(&beat)).await.expect("a pulse");
    let before = engine.server().kept.clone();
    store.pulse(Some(&beat)).await.expect("a pulse");
    engine.server().kept = before;
    let refused = ask(&store, &claim(RunId::new(), NOW)).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    store.pulse(Some(&beat)).await.expect("a pulse");
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
}

#[tokio::test]
async fn a_request_from_before_a_rollback_is_not_written_after_the_next_heartbeat() {
    let engine = engine();
    let store = store(&engine);
    let beat = Beat::of(node(), RunId::new(), "f".into(), NOW);
    let before = engine.server().kept.clone();
    store.pulse(Some(&beat)).await.expect("a pulse");
    store.pulse(Some(&beat)).await.expect("a pulse");
    let made = store.decider.request(&job(), &claim(RunId::new(), NOW));

    engine.server().kept = before;
    assert_eq!(store.pulse(Some(&beat)).await.expect("a pulse").count, 1);

    let late = store.decider.reply(RequestLane::Others, Duration::from_secs(4), made).await;
    assert!(matches!(late, Err(StoreError::Refused(_))), "{late:?}");
    assert!(is_won(&ask(&store, &claim(RunId::new(), NOW)).await));
}

#[tokio::test]
async fn a_record_of_a_newer_release_is_not_written_over() {
    let engine = engine();
    let store = store(&engine);
    engine.server().kept.cells.get_mut(&job()).expect("a cell").record.schema = SCHEMA + 1;
    let run = RunId::new();
    let abandon = Request::Abandon(Abandon { run, era: Era("e1".into()), edited: false });
    for request in [abandon, claim(run, NOW)] {
        let answer = ask(&store, &request).await.expect("an answer").answer;
        assert_eq!(answer, Answer::NewerSchema(SCHEMA + 1));
    }
    assert_eq!(engine.server().swaps, 0);
}

/// An entry of a small world, in which ticks, runs and reasons often meet.
fn entry() -> impl Strategy<Value = HistoryEntry> {
    (0..6_i64, 0..3_u8, 0..3_u128, any::<bool>()).prop_map(|(tick, kind, run, is_reported)| {
        let tick = Tick::at_millis(1_000 + tick);
        let verdict = match kind {
            0 => Verdict { outcome: Outcome::Missed, reason: Some(Reason::Late) },
            1 => Verdict { outcome: Outcome::Skipped, reason: Some(Reason::Paused) },
            _ => Verdict::plain(Outcome::Succeeded),
        };
        let entry = HistoryEntry::without_run(tick, Cause::Schedule, verdict, NOW);
        let run: Option<RunId> = (kind == 2).then(|| format!("{run:032x}").parse().expect("an id"));
        HistoryEntry { run, attempt: (run.is_some() && is_reported).then_some(1), ..entry }
    })
}

fn decision() -> impl Strategy<Value = Decision> {
    let leap = (995..1_006_i64, 0..4_i64).prop_map(|(after, length)| Leap {
        after: UtcMillis(after),
        to: UtcMillis(after + length),
        passed: Passed::Open,
    });
    let entries = prop::collection::vec(entry(), 0..4);
    let retracted = prop::collection::vec(leap, 0..2);
    let (follows, ends) = (prop::option::of(1_000..1_006_i64), prop::option::of(0..3_u128));
    (entries, follows, retracted, ends).prop_map(|(entries, follows, retracted, ends)| Decision {
        record: Some(Record::empty(Era("e1".into()))),
        entries,
        follows: follows.map(Tick::at_millis),
        retracted,
        ends: ends.map(|run| format!("{run:032x}").parse().expect("an id")),
        reply: testing::reply(NOW, Answer::Noted),
    })
}

proptest! {
    #[test]
    fn a_history_in_numbered_rows_is_the_one_that_was_decided(decisions in prop::collection::vec(decision(), 1..12)) {
        let (mut expected, mut cell) = (Vec::new(), None::<JobCell>);
        let mut rows: Vec<NumberedEntry> = Vec::new();
        for decision in &decisions {
            decision.append_to(&mut expected);
            let history = JobCell::needs_history(cell.as_ref(), decision).then(|| rows.clone());
            let (next, stored, removed) = JobCell::after(cell.as_ref(), decision, history, 7);
            let replaced = |row: &NumberedEntry| stored.iter().any(|new| new.number == row.number);
            rows.retain(|row| !removed.contains(&row.number) && !replaced(row));
            rows.extend(stored);
            rows.sort_by_key(|row| row.number);
            prop_assert_eq!(next.newest.as_ref(), rows.last());
            cell = Some(next);
        }
        let stored: Vec<HistoryEntry> = rows.into_iter().map(|row| row.entry).collect();
        prop_assert_eq!(stored, expected);
    }
}
