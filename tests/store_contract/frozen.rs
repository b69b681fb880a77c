//! Records and entries as releases of schema 1 have stored them, in `tests/frozen/schema-1`: read for ever. Those files
//! are never changed: what an old release has written lies in stores out there. A new shape gets a new folder.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, params};
use solocron::job::{Cause, Fence, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use solocron::lease::{
    Answer, Claim, Era, HistoryEntry, LeaseInstant, Phase, Record, Request, SCHEMA, ScheduleHash,
};
use solocron::store::RedisKeys;
use solocron::time::UtcMillis;

use crate::support::sample;
use crate::world::{Replica, World, cluster, file, job};

type Fields = BTreeMap<String, String>;

fn stored(name: &str) -> Fields {
    let path = format!("{}/tests/frozen/schema-1/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run(id: &str) -> Option<RunId> {
    Some(id.parse().expect("a run id"))
}

fn at(ms: i64) -> Option<UtcMillis> {
    Some(UtcMillis(ms))
}

const MIDNIGHT: i64 = 1_735_689_600_000;
const RUN: &str = "01941f29-7c04-7707-9151-ed69bb41bd98";

/// What `idle` says.
fn idle() -> Record {
    Record {
        schema: 1,
        fence: Fence(MIDNIGHT + 4),
        mark: UtcMillis(MIDNIGHT),
        lease: Duration::from_secs(5),
        run: run(RUN),
        tick: Some(Tick::at_millis(MIDNIGHT)),
        tries: 1,
        cause: Some(Cause::Schedule),
        started: at(MIDNIGHT + 4),
        ended: at(MIDNIGHT + 893),
        verdict: Some(Verdict::because(Outcome::Interrupted, Reason::Shutdown)),
        owner: Some(NodeName::parse("n1").expect("a name")),
        schedule_hash: ScheduleHash("a3ce27aae07ba1b5".into()),
        ..Record::empty(Era("c2a162ed66e1282ed902c9d79771cd8b35b516be".into()))
    }
}

fn running() -> Record {
    Record {
        locked_until: LeaseInstant(MIDNIGHT + 5_004),
        phase: Phase::Running,
        verdict: None,
        ended: at(MIDNIGHT + 4),
        ..idle()
    }
}

#[test]
fn records_of_schema_1_are_read_as_they_were_meant() {
    let never_run = Record {
        mark: UtcMillis(MIDNIGHT),
        lease: Duration::from_secs(2),
        schedule_hash: idle().schedule_hash,
        schema: 1,
        ..Record::empty(idle().era)
    };
    let local = Era("28443426-c831-45b8-9dd5-7bd609ee24ac".into());
    let every_field = Record {
        tries: 2,
        cause: Some(Cause::Rerun),
        verdict: Some(Verdict::because(Outcome::Failed, Reason::SpawnFailed)),
        paused: at(MIDNIGHT + 3_600_000),
        order: run("01941f29-7c05-7707-9151-ed69bb41bd98"),
        stop_run: run(RUN),
        lost_after: at(MIDNIGHT - 1_000),
        ..running()
    };
    let failing = Record {
        verdict: Some(Verdict::plain(Outcome::Failed)),
        last_success_tick: Some(Tick::at_millis(MIDNIGHT - 180_000)),
        last_success_end: at(MIDNIGHT - 179_107),
        failures_in_row: 3,
        failing_since: at(MIDNIGHT - 119_107),
        ..idle()
    };
    for (name, record) in [
        ("idle", idle()),
        ("failing", failing),
        ("running-redis", running()),
        ("running-local", Record { locked_until: LeaseInstant(5_004), era: local, ..running() }),
        ("never-run", never_run),
        ("every-field", every_field),
    ] {
        assert_eq!(Record::from_fields(&stored(name)), Ok(record), "{name}");
    }
}

/// What the three entries say, in their order.
fn entries() -> [(&'static str, HistoryEntry); 3] {
    let n1 = NodeName::parse("n1").ok();
    let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
    let bare = |tick: i64, verdict, ended: i64| {
        HistoryEntry::without_run(
            Tick::at_millis(MIDNIGHT + tick),
            Cause::Schedule,
            verdict,
            UtcMillis(MIDNIGHT + ended),
        )
    };
    let ran = HistoryEntry {
        run: run(RUN),
        node: n1.clone(),
        fence: Some(Fence(MIDNIGHT + 4)),
        attempt: Some(1),
        exit_code: Some(3),
        started: at(MIDNIGHT + 4),
        tail: Some("paid\n".into()),
        ..bare(0, Verdict::plain(Outcome::Failed), 2_223)
    };
    let stopped = HistoryEntry {
        run: run("01941f29-87bc-77fb-b80e-727b8a5f9c9b"),
        node: n1,
        fence: Some(Fence(MIDNIGHT + 3_004)),
        attempt: Some(1),
        signal: Some(9),
        started: at(MIDNIGHT + 3_004),
        ..bare(3_000, Verdict::because(Outcome::Interrupted, Reason::Shutdown), 3_893)
    };
    let missed = HistoryEntry { after: at(MIDNIGHT - 10_000), count: Some(8), ..bare(-2_000, missed, -282) };
    [("entry-missed", missed), ("entry-run", ran), ("entry-stopped", stopped)]
}

#[test]
fn entries_of_schema_1_are_read_as_they_were_meant() {
    for (name, entry) in entries() {
        assert_eq!(HistoryEntry::from_fields(&stored(name)), Ok(entry), "{name}");
    }
}

/// Puts a record there as an old release has left it, but for the store's life: a store that was restarted since is
/// another matter.
async fn thaw(world: &World, name: &str) -> Replica {
    let replica = world.replica().await;
    let mut fields = stored(name);
    fields.insert("era".into(), replica.era.0.clone());
    match world {
        World::Redis(server) => {
            let state = RedisKeys::of(cluster()).state(&job());
            let words = fields.iter().flat_map(|(name, value)| [name.as_str(), value]);
            server.cli(&["HSET", &state].into_iter().chain(words).collect::<Vec<_>>());
        }
        World::Local(folder) => insert(folder, "records", &fields),
        World::Postgres(_) => unreachable!("no earlier release had it"),
    }
    assert_eq!(replica.record().await.schema, 1);
    replica
}

fn insert(folder: &tempfile::TempDir, table: &str, fields: &Fields) {
    let store = Connection::open(file(folder)).expect("a store");
    let text = serde_json::to_string(fields).expect("texts are plain JSON");
    let sql = format!("INSERT INTO {table} (cluster, job, fields) VALUES (?1, ?2, ?3)");
    store.execute(&sql, params![cluster().as_str(), job().as_str(), text]).expect("a table");
}

async fn claim_of(replica: &Replica) -> Claim {
    let record = replica.record().await;
    Claim { schedule_hash: record.schedule_hash, ..replica.claim(Duration::ZERO).await }
}

fn running_in(world: &World) -> &'static str {
    match world {
        World::Redis(_) => "running-redis",
        World::Local(_) => "running-local",
        World::Postgres(_) => unreachable!("no earlier release had it"),
    }
}

async fn last_verdicts(replica: &Replica) -> Vec<Verdict> {
    let history = replica.store.history(&[job()], 10).await.expect("a history");
    history[0].1.iter().map(HistoryEntry::verdict).collect()
}

/// An idle record is claimed, renewed and finished.
pub(crate) async fn a_record_of_schema_1_is_claimed_renewed_and_finished(world: &World) {
    let replica = thaw(world, "idle").await;
    let answer = replica.ask(Request::Claim(claim_of(&replica).await)).await.answer;
    let Answer::Won { fence, .. } = answer else { panic!("{answer:?}") };
    assert!(fence > idle().fence, "{fence}");
    let lease = sample::lease(&replica.record().await);
    let renewed = replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await;
    assert_eq!(renewed.answer, Answer::Renewed { stop: None });
    let finished = replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    assert_eq!(finished.answer, Answer::Finished);
    let record = replica.record().await;
    assert_eq!((record.schema, record.is_running(), record.fence), (SCHEMA, false, fence));
    assert_eq!((record.last_success_tick, record.failures_in_row), (Some(lease.tick), 0));
    let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
    assert_eq!(last_verdicts(&replica).await, [missed, Verdict::plain(Outcome::Succeeded)]);
}

/// A record that has never run is claimed as well.
pub(crate) async fn a_record_of_schema_1_that_never_ran_is_claimed(world: &World) {
    let replica = thaw(world, "never-run").await;
    let answer = replica.ask(Request::Claim(claim_of(&replica).await)).await.answer;
    assert!(matches!(answer, Answer::Won { tries: 1, .. }), "{answer:?}");
}

/// Whoever holds the lock of a running record goes on with it.
pub(crate) async fn a_running_record_of_schema_1_is_renewed_and_finished_by_its_holder(world: &World) {
    let replica = thaw(world, running_in(world)).await;
    let lease = sample::lease(&replica.record().await);
    let renewed = replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await;
    assert_eq!(renewed.answer, Answer::Renewed { stop: None });
    let finished = replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    assert_eq!(finished.answer, Answer::Finished);
    assert_eq!(last_verdicts(&replica).await, [Verdict::plain(Outcome::Succeeded)]);
}

/// A running record whose holder is gone is taken over, and its run recorded as cut short.
pub(crate) async fn a_running_record_of_schema_1_is_taken_over_from_a_lost_holder(world: &World) {
    let replica = thaw(world, running_in(world)).await;
    let answer = replica.ask(Request::Claim(claim_of(&replica).await)).await.answer;
    assert!(matches!(answer, Answer::Won { .. }), "{answer:?}");
    let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
    let missed = Verdict::because(Outcome::Missed, Reason::NoReplica);
    assert_eq!(last_verdicts(&replica).await, [lost, missed]);
    let record = replica.record().await;
    assert_eq!((record.failures_in_row, record.failing_since), (2, at(MIDNIGHT + 4)));
}

/// History of schema 1 is shown.
pub(crate) async fn entries_of_schema_1_are_read_from_the_store(world: &World) {
    let replica = world.replica().await;
    let runs = RedisKeys::of(cluster()).runs(&job());
    for (name, _) in entries() {
        let fields = stored(name);
        match world {
            World::Redis(server) => {
                let words = fields.iter().flat_map(|(name, value)| [name.as_str(), value]);
                server.cli(&["XADD", &runs, "*"].into_iter().chain(words).collect::<Vec<_>>());
            }
            World::Local(folder) => insert(folder, "entries", &fields),
            World::Postgres(_) => unreachable!("no earlier release had it"),
        }
    }
    let history = replica.store.history(&[job()], 10).await.expect("a history");
    assert_eq!(history[0].1, entries().map(|(_, entry)| entry));
}
