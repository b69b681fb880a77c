//! What the embedded store promises besides: several processes share one file, and what was acknowledged stays.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use solocron::job::{Overlap, Tick};
use solocron::lease::{Answer, Request};
use solocron::store::{LocalStore, Store, StoreError};
use solocron::time::{SystemClock, UtcMillis};
use tempfile::TempDir;

use crate::cases::ALL_DAY;
use crate::support::sample;
use crate::world::{Replica, World, cluster, job, patiently};

/// Names the file to the processes of a race.
const RACE_FILE: &str = "SOLOCRON_TEST_RACE_FILE";

/// Names the first tick to them.
const RACE_BASE: &str = "SOLOCRON_TEST_RACE_BASE";

const RACE_TICKS: i64 = 200;

fn start(path: &Path) -> LocalStore {
    LocalStore::start(path, cluster(), Box::new(SystemClock)).expect("a machine with a boot id")
}

#[tokio::test]
async fn processes_race_for_200_ticks_without_a_double() {
    // The test starts itself as each of the racers.
    if let Ok(path) = std::env::var(RACE_FILE) {
        return race(Path::new(&path)).await;
    }
    let world = World::local();
    let replica = world.opened().await;
    let World::Local(folder) = &world else { unreachable!("it was made local") };
    let base = replica.now().await.minus(Duration::from_secs(30));
    let racers: Vec<_> = (0..3)
        .map(|_| {
            Command::new(std::env::current_exe().expect("a test has a file"))
                .args(["local::processes_race_for_200_ticks_without_a_double", "--exact", "--nocapture"])
                .env(RACE_FILE, folder.path().join("store.db"))
                .env(RACE_BASE, base.0.to_string())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a process")
        })
        .collect();

    let mut wins = Vec::new();
    for racer in racers {
        let output = racer.wait_with_output().expect("a process");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        wins.extend(said.lines().filter_map(|line| line.strip_prefix("won ")?.parse::<i64>().ok()));
    }

    wins.sort_unstable();
    assert_eq!(wins, (1..=RACE_TICKS).map(|n| base.0 + n).collect::<Vec<_>>());
}

/// One process of the race.
async fn race(path: &Path) {
    let base: i64 = std::env::var(RACE_BASE).expect("started by the race").parse().expect("a number");
    let store = start(path);
    let era = patiently(|| store.pulse(None)).await.expect("a pulse").era;
    let replica = Replica { store: std::sync::Arc::new(store), era };
    // What libtest says so far ends without a new line.
    println!();
    for tick in (1..=RACE_TICKS).map(|n| Tick::at_millis(base + n)) {
        if run(&replica, tick).await {
            println!("won {}", tick.as_millis());
        }
    }
}

/// Claims until the tick is decided, and finishes at once; `true` if it ran here.
async fn run(replica: &Replica, tick: Tick) -> bool {
    loop {
        let mut claim = sample::claim(replica.caller().await, tick);
        (claim.prev, claim.overlap, claim.start_deadline) = (None, Overlap::Wait, ALL_DAY);
        let run = claim.run;
        match replica.ask(Request::Claim(claim)).await.answer {
            Answer::Won { fence, .. } => {
                let lease = solocron::lease::Lease { run, ..sample::forgotten(tick, fence.0) };
                let finish = sample::finish(&lease, &replica.era);
                assert_eq!(replica.ask(Request::Finish(finish)).await.answer, Answer::Finished);
                return true;
            }
            Answer::Held { .. } => {}
            Answer::Decided { .. } => return false,
            other => panic!("neither granted nor refused: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_store_without_a_channel_says_so_at_once() {
    let replica = World::local().replica().await;
    assert!(replica.store.wakes().recv().await.is_none() && replica.store.hints().recv().await.is_none());
}

#[tokio::test]
async fn replicas_that_start_together_make_the_file_together() {
    for _ in 0..10 {
        let folder = TempDir::new().expect("a folder for temporary files");
        let path = folder.path().join("deep/er/store.db");
        let stores: Vec<LocalStore> = (0..6).map(|_| start(&path)).collect();
        // Each store opens the file on a thread of its own.
        let ready = futures_util::future::join_all(stores.iter().map(Store::ready)).await;
        assert_eq!(ready, [const { Ok(()) }; 6]);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_an_outage_and_is_used_once_it_can() {
    let folder = TempDir::new().expect("a folder for temporary files");
    let in_the_way = folder.path().join("deep");
    std::fs::write(&in_the_way, "").expect("a temporary file");
    let store = start(&in_the_way.join("store.db"));

    let error = store.ready().await.expect_err("a file is where its folder should be");
    assert!(matches!(&error, StoreError::NotSent(why) if why.contains("folder")), "{error:?}");

    std::fs::remove_file(&in_the_way).expect("our own file");
    assert_eq!(store.ready().await, Ok(()));
}

#[tokio::test]
async fn a_file_that_was_deleted_is_left_for_the_one_that_others_find() {
    let world = World::local();
    let replica = world.opened().await;
    replica.win().await;
    let World::Local(folder) = &world else { unreachable!("it was made local") };
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        std::fs::remove_file(folder.path().join(file)).expect("our own file");
    }

    let other = start(&folder.path().join("store.db"));
    other.enroll(&[job()]).await.expect("a new file");

    assert_eq!(replica.store.known(&[job()]).await, Ok(vec![true]));
    assert_eq!(replica.store.records(&[job()]).await, Ok(vec![None]));
}

#[tokio::test]
async fn what_was_decided_survives_a_restart() {
    let world = World::local();
    let replica = world.opened().await;
    replica.win().await;
    let before = replica.record().await;
    drop(replica);

    assert_eq!(world.replica().await.record().await, before);
}

#[tokio::test]
async fn a_file_that_another_process_keeps_is_refused_and_nothing_is_applied() {
    let world = World::local();
    let replica = world.opened().await;
    let World::Local(folder) = &world else { unreachable!("it was made local") };
    let other = Connection::open(folder.path().join("store.db")).expect("a store");
    let claim = replica.claim(Duration::ZERO).await;
    let before = replica.record().await;
    other.execute_batch("BEGIN IMMEDIATE").expect("a free file");

    let error = replica.store.submit(&job(), &Request::Claim(claim)).await.expect_err("it is kept");

    assert!(
        matches!(&error, StoreError::Refused(why) if why.contains("another replica has been writing for 2s"))
            && !error.needs_hands(),
        "{error:?}"
    );
    other.execute_batch("COMMIT").expect("our own transaction");
    assert_eq!(replica.record().await, before);
}

#[tokio::test]
async fn a_command_that_a_person_gave_outwaits_replicas() {
    let world = World::local();
    let replica = world.opened().await;
    let World::Local(folder) = &world else { unreachable!("it was made local") };
    let path = folder.path().join("store.db");
    let patient = LocalStore::start_patient(&path, cluster(), Box::new(SystemClock)).expect("a boot id");
    patient.ready().await.expect("a free file");
    let other = Connection::open(&path).expect("a store");
    other.execute_batch("BEGIN IMMEDIATE").expect("a free file");

    let jobs = [job()];
    let given_up = async {
        let answer = replica.store.enroll(&jobs).await;
        other.execute_batch("COMMIT").expect("our own transaction");
        answer
    };
    let (given_up, waited_for) = tokio::join!(given_up, patient.enroll(&jobs));

    assert!(matches!(given_up, Err(StoreError::Refused(_))), "{given_up:?}");
    assert_eq!(waited_for, Ok(()));
}

#[tokio::test]
async fn a_mark_is_never_moved_by_a_wall_clock_that_was_stepped_back() {
    let world = World::local();
    let replica = world.opened().await;
    let lease = replica.win().await;
    replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    let mut claim = sample::claim(replica.caller().await, lease.tick);
    claim.wall = UtcMillis(0);

    let answer = replica.ask(Request::Claim(claim)).await.answer;

    assert!(matches!(answer, Answer::Decided { .. }), "{answer:?}");
}
