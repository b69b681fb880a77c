//! What the Redis store promises besides: the lock shown to people, scripts that come back, and memory that runs out.

use std::time::Duration;

use solocron::config::RedisUrl;
use solocron::job::Verdict;
use solocron::lease::{Answer, Request};
use solocron::store::{RedisKeys, RedisStore, Store, StoreError};

use crate::support::redis_server::RedisServer;
use crate::support::sample::{self, LEASE};
use crate::world::{World, cluster, job};

fn lock() -> String {
    RedisKeys::of(cluster()).lock(&job())
}

fn ttl(server: &RedisServer) -> u128 {
    server.cli(&["PTTL", &lock()]).parse().expect("a lock with a ttl")
}

#[tokio::test]
async fn the_lock_shows_its_holder_as_long_as_it_is_held() {
    let world = World::redis();
    let replica = world.opened().await;
    assert_eq!(world.server().cli(&["EXISTS", &lock()]), "0");

    let lease = replica.win().await;

    let shown = world.server().cli(&["GET", &lock()]);
    assert!(shown.contains("node=a") && shown.contains(&format!("run={}", lease.run)), "{shown}");
    assert!(shown.contains(&format!("fence={}", lease.fence)), "{shown}");
    assert!((1..=LEASE.as_millis()).contains(&ttl(world.server())));

    world.server().cli(&["PEXPIRE", &lock(), "5000"]);
    replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await;
    assert!(ttl(world.server()) > LEASE.as_millis() - 5_000);

    replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    assert_eq!(world.server().cli(&["EXISTS", &lock()]), "0");
}

#[tokio::test]
async fn a_lock_key_that_was_deleted_gives_the_lock_to_nobody_else() {
    let world = World::redis();
    let (a, b) = (world.opened().await, world.replica().await);
    let lease = a.win().await;
    world.server().cli(&["DEL", &lock()]);

    let manual =
        solocron::lease::Manual { overlap: solocron::job::Overlap::Wait, ..sample::manual(b.caller().await) };
    let answer = b.ask(Request::Manual(manual)).await.answer;
    assert!(matches!(&answer, Answer::Held { by: Some(by), .. } if by.run == lease.run), "{answer:?}");

    a.ask(Request::Renew(sample::renew(&lease, a.now().await))).await;
    assert_eq!(world.server().cli(&["EXISTS", &lock()]), "1");
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_sent_again() {
    let world = World::redis();
    let replica = world.opened().await;
    let lease = replica.win().await;

    assert_eq!(world.server().cli(&["SCRIPT", "FLUSH"]), "OK");

    let renew = Request::Renew(sample::renew(&lease, replica.now().await));
    assert_eq!(replica.ask(renew.clone()).await.answer, Answer::Renewed { stop: None });
    assert_eq!(replica.ask(renew).await.answer, Answer::Renewed { stop: None });
}

#[tokio::test]
async fn a_unix_socket_serves_as_well() {
    let server = RedisServer::start();
    let url = RedisUrl::parse(&server.unix_url()).expect("a good url");

    let store = RedisStore::start(&url, cluster()).expect("a runtime");

    store.ready().await.expect("a server");
    store.pulse(None).await.expect("a pulse");
    assert_eq!(store.label(), server.unix_url());
}

#[tokio::test]
async fn a_full_server_refuses_claims_loudly_but_lets_holders_renew_and_finish() {
    let world = World::redis();
    let replica = world.opened().await;
    let lease = replica.win().await;
    world.server().cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    world.server().cli(&["CONFIG", "SET", "maxmemory", "1"]);

    let renewed = replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await;
    assert_eq!(renewed.answer, Answer::Renewed { stop: None });
    let finish = sample::finish(&lease, &replica.era);
    let verdict = finish.verdict;
    assert_eq!(replica.ask(Request::Finish(finish)).await.answer, Answer::Finished);
    assert_eq!(last_entry(&replica.store).await, Some(verdict));

    let before = replica.record().await;
    let claim = replica.claim(Duration::ZERO).await;
    let error = replica.store.submit(&job(), &Request::Claim(claim)).await.expect_err("full");
    assert!(matches!(&error, StoreError::Refused(why) if why.contains("maxmemory")), "{error:?}");
    assert_eq!(replica.record().await, before);
}

async fn last_entry(store: &std::sync::Arc<dyn Store>) -> Option<Verdict> {
    let history = store.history(&[job()], 1).await.expect("history");
    history[0].1.last().map(solocron::lease::HistoryEntry::verdict)
}

#[tokio::test]
async fn an_abandon_passes_at_maxmemory_too() {
    let world = World::redis();
    let replica = world.opened().await;
    let lease = replica.win().await;
    world.server().cli(&["CONFIG", "SET", "maxmemory", "1"]);

    let abandon = sample::abandon(lease.run, &replica.era);
    assert_eq!(replica.ask(Request::Abandon(abandon)).await.answer, Answer::Abandoned);

    assert!(!replica.record().await.is_running());
}

#[tokio::test]
async fn a_full_server_still_takes_heartbeats_and_remembers_new_jobs() {
    let world = World::redis();
    let replica = world.opened().await;
    world.server().cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    world.server().cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert!(world.server().cli(&["SET", "x", "y"]).contains("maxmemory"), "it is full");

    let beat = async || replica.store.pulse(Some(&crate::cases::beat("a"))).await.expect("a pulse");
    let (first, second) = (beat().await, beat().await);
    assert!(first.marker.is_some() && first.marker == second.marker, "{first:?}, {second:?}");
    replica.store.enroll(&[job()]).await.expect("enrolled");

    assert_eq!(replica.store.known(&[job()]).await, Ok(vec![true]));
    let nodes = RedisKeys::of(cluster()).nodes();
    let mut fields: Vec<String> = world.server().cli(&["HKEYS", &nodes]).lines().map(str::to_owned).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["-marker", "a"]);
    assert_eq!(world.server().cli(&["PTTL", &nodes]), "-1", "it has no ttl");
}

#[tokio::test]
async fn every_replica_learns_that_the_store_forgot_also_two_of_one_name() {
    let world = World::redis();
    let (a, again, b) = (world.replica().await, world.replica().await, world.replica().await);
    let replicas = [(&a, "a"), (&again, "a"), (&b, "b")];
    let mut before = None;
    let nodes = RedisKeys::of(cluster()).nodes();
    for loss in [&["PING"][..], &["FLUSHALL"], &["DEL", &nodes], &["SET", &nodes, "x"]] {
        world.server().cli(loss);
        let mut markers = Vec::new();
        for _ in 0..2 {
            for (replica, name) in replicas {
                let pulse = replica.store.pulse(Some(&crate::cases::beat(name))).await.expect("a pulse");
                markers.push(pulse.marker.expect("a marker"));
            }
        }
        assert!(markers.iter().all(|marker| *marker == markers[0]), "{loss:?}: {markers:?}");
        assert_ne!(before.replace(markers[0].clone()), Some(markers[0].clone()), "{loss:?}");
    }
}

#[tokio::test]
async fn an_hour_of_silence_is_no_loss_of_memory() {
    let world = World::redis();
    let replica = world.replica().await;
    let first = replica.store.pulse(Some(&crate::cases::beat("a"))).await.expect("a pulse");
    let nodes = RedisKeys::of(cluster()).nodes();
    world.server().cli(&["HSET", &nodes, "a", &format!("{} {{}}", first.now.0 - 3_600_001)]);

    // Another one forgets what was silent for so long.
    let other = replica.store.pulse(Some(&crate::cases::beat("b"))).await.expect("a pulse");
    assert_eq!(world.server().cli(&["HEXISTS", &nodes, "a"]), "0");
    let again = replica.store.pulse(Some(&crate::cases::beat("a"))).await.expect("a pulse");

    assert_eq!([&other.marker, &again.marker], [&first.marker; 2]);
}

#[tokio::test]
async fn a_record_of_a_newer_release_grants_nothing() {
    let world = World::redis();
    let replica = world.opened().await;
    let state = RedisKeys::of(cluster()).state(&job());
    world.server().cli(&["HSET", &state, "schema", "2", "phase", "melting"]);

    let answer = replica.ask(Request::Claim(replica.claim(Duration::ZERO).await)).await.answer;

    assert_eq!(answer, Answer::NewerSchema(2));
    assert_eq!(world.server().cli(&["HGET", &state, "phase"]), "melting");
}

#[test]
fn a_server_of_a_test_leaves_nothing_behind() {
    let server = RedisServer::start();
    let info = server.cli(&["INFO", "server"]);
    let pid = info.lines().find_map(|line| line.strip_prefix("process_id:")).expect("an id").trim();
    let (process, socket) = (format!("/proc/{pid}"), server.socket());
    assert!(std::fs::exists(&process).expect("readable") && socket.exists());

    drop(server);

    assert!(!std::fs::exists(&process).expect("readable") && !socket.exists());
    assert!(!socket.parent().expect("a folder").exists());
}
