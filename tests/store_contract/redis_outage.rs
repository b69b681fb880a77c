//! A Redis server that is down, hangs, forgets or was demoted: every call ends in time, says what may have happened,
//! and the next ones find the server again by themselves.

use std::time::Duration;

use solocron::config::RedisUrl;
use solocron::lease::{Answer, Request};
use solocron::store::{RedisStore, Store, StoreError};
use solocron::time::{Clock, SystemClock};
use tokio::time::timeout;

use crate::support::redis_server::RedisServer;
use crate::support::sample;
use crate::world::{Replica, World, cluster, job};

/// No call takes longer, with some allowance for a busy machine.
const BOUND: Duration = Duration::from_secs(4);

/// A connection comes back within this long after the server does.
const BACK: Duration = Duration::from_secs(20);

/// Calls made while a connection is known to be down do not wait for anything.
const AT_ONCE: Duration = Duration::from_millis(500);

fn server(world: &mut World) -> &mut RedisServer {
    match world {
        World::Redis(server) => server,
        World::Local(_) | World::Postgres(_) => unreachable!("it was made with a server"),
    }
}

/// Waits until the store can be asked again; each `ready` waits for the connection itself.
async fn is_back(replica: &Replica) {
    let pulse = async {
        loop {
            if replica.store.ready().await.is_ok() && replica.store.pulse(None).await.is_ok() {
                return;
            }
        }
    };
    timeout(BACK, pulse).await.expect("the connection comes back");
}

#[tokio::test]
async fn a_server_that_was_never_there_is_not_sent_anything() {
    let mut world = World::redis();
    let server = server(&mut world);
    server.stop();
    let url = RedisUrl::parse(&server.url()).expect("a good url");
    let store = RedisStore::start(&url, cluster()).expect("a runtime");

    let ready = timeout(BOUND, store.ready()).await.expect("in time");
    assert!(matches!(&ready, Err(StoreError::NotSent(why)) if why.contains("refused")), "{ready:?}");
    let pulse = timeout(AT_ONCE, store.pulse(None)).await.expect("at once");
    assert!(matches!(pulse, Err(StoreError::NotSent(_))), "{pulse:?}");

    server.start_again();
    let era = String::new();
    is_back(&Replica { store: std::sync::Arc::new(store), era: solocron::lease::Era(era) }).await;
}

#[tokio::test]
async fn calls_while_the_server_is_down_fail_at_once_and_its_next_life_is_another_era() {
    let mut world = World::redis();
    let replica = world.opened().await;
    let claim = Request::Claim(replica.claim(Duration::ZERO).await);
    server(&mut world).stop();

    // The first call may still find the connection that has just broken.
    let first = timeout(BOUND, replica.store.submit(&job(), &claim)).await.expect("in time");
    assert!(matches!(first, Err(StoreError::Unknown(_) | StoreError::NotSent(_))), "{first:?}");
    let second = timeout(AT_ONCE, replica.store.submit(&job(), &claim)).await.expect("at once");
    assert!(matches!(second, Err(StoreError::NotSent(_))), "{second:?}");

    server(&mut world).start_again();
    is_back(&replica).await;
    let fresh = Request::Claim(replica.claim(Duration::ZERO).await);
    let answer = replica.ask(fresh).await.answer;
    assert!(matches!(&answer, Answer::NewEra(era) if *era != replica.era), "{answer:?}");
}

#[tokio::test]
async fn a_heartbeat_whose_connection_was_just_dropped_is_repeated_over_the_next() {
    let mut world = World::redis();
    let replica = world.opened().await;
    for _ in 0..10 {
        server(&mut world).cli(&["CLIENT", "KILL", "TYPE", "normal"]);

        let pulse = timeout(BOUND, replica.store.pulse(None)).await.expect("in time");

        assert!(pulse.is_ok(), "{pulse:?}");
    }
}

#[tokio::test]
async fn a_heartbeat_to_a_server_that_has_gone_fails_at_once() {
    let mut world = World::redis();
    let replica = world.opened().await;
    server(&mut world).stop();
    for _ in 0..3 {
        let pulse = timeout(AT_ONCE, replica.store.pulse(None)).await.expect("at once");

        assert!(matches!(pulse, Err(StoreError::NotSent(_) | StoreError::Unknown(_))), "{pulse:?}");
    }
}

#[tokio::test]
async fn a_hung_server_is_unknown_within_the_bound_and_found_again() {
    let mut world = World::redis();
    let replica = world.opened().await;
    let lease = replica.win().await;
    let renew = Request::Renew(sample::renew(&lease, replica.now().await));
    let manual = Request::Manual(sample::manual(replica.caller().await));
    server(&mut world).freeze();

    for request in [&renew, &manual] {
        let hung = timeout(BOUND, replica.store.submit(&job(), request)).await.expect("in time");
        assert!(matches!(hung, Err(StoreError::Unknown(_))), "{hung:?}");
        let next = timeout(AT_ONCE, replica.store.submit(&job(), request)).await.expect("at once");
        assert!(matches!(next, Err(StoreError::NotSent(_))), "{next:?}");
    }

    server(&mut world).thaw();
    is_back(&replica).await;
    // What was sent to the hung server was still executed, and refused for being late.
    assert_eq!(replica.record().await.run, Some(lease.run));
}

#[tokio::test]
async fn a_renewal_is_waited_for_no_longer_than_leaves_room_for_further_tries() {
    let mut world = World::redis();
    let replica = world.opened().await;
    let short = solocron::lease::Lease { length: Duration::from_secs(5), ..replica.win().await };
    let renew = Request::Renew(sample::renew(&short, replica.now().await));
    replica.ask(renew.clone()).await;
    server(&mut world).freeze();
    let begun = SystemClock.boot();

    let hung = timeout(BOUND, replica.store.submit(&job(), &renew)).await.expect("in time");

    let took = SystemClock.boot().since(begun);
    assert!(matches!(&hung, Err(StoreError::Unknown(why)) if why.contains("833ms")), "{hung:?}");
    assert!(took >= Duration::from_millis(833), "{took:?}");
    let next = timeout(AT_ONCE, replica.store.submit(&job(), &renew)).await.expect("at once");
    assert!(matches!(next, Err(StoreError::NotSent(_))), "nothing was heard over the connection: {next:?}");
    server(&mut world).thaw();
}

#[tokio::test]
async fn a_demoted_server_refuses_and_is_connected_to_anew() {
    let mut world = World::redis();
    let replica = world.opened().await;
    let claim = Request::Claim(replica.claim(Duration::ZERO).await);
    let connections = |server: &RedisServer| {
        let stats = server.cli(&["INFO", "stats"]);
        let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
        line.expect("a count").trim().parse::<u64>().expect("a number")
    };
    server(&mut world).cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let before = connections(server(&mut world));

    let refused = replica.store.submit(&job(), &claim).await;

    assert!(
        matches!(&refused, Err(error @ StoreError::Refused(why)) if why.contains("READONLY") && !error.may_have_been_applied()),
        "{refused:?}"
    );
    server(&mut world).cli(&["REPLICAOF", "NO", "ONE"]);
    is_back(&replica).await;
    // Ours besides those of redis-cli: twice here, and once for each count.
    assert!(connections(server(&mut world)) >= before + 3);
    let answer = replica.ask(Request::Claim(replica.claim(Duration::ZERO).await)).await.answer;
    assert!(matches!(answer, Answer::NewEra(_)), "{answer:?}");
}

#[tokio::test]
async fn renewals_have_a_connection_of_their_own() {
    let mut world = World::redis();
    let replica = world.opened().await;
    let lease = replica.win().await;
    let renew = Request::Renew(sample::renew(&lease, replica.now().await));
    replica.record().await;

    replica.ask(renew).await;

    let clients = server(&mut world).cli(&["CLIENT", "LIST"]);
    let last_was = |command: &str| clients.lines().filter(|line| line.contains(command)).count();
    assert_eq!((last_was(" cmd=hgetall "), last_was(" cmd=eval")), (1, 1), "{clients}");
}
