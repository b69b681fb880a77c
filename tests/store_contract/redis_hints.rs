//! What the Redis store tells everybody of decided ticks, and what becomes of that when it cannot be told or heard.

use std::time::Duration;

use solocron::config::RedisUrl;
use solocron::job::{JobName, Outcome, Reason, Tick, Verdict};
use solocron::lease::{Answer, Claim, Request};
use solocron::store::{Hint, Marked, RedisStore, Store};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::redis_access::{LEAST_PRIVILEGE, grant};
use crate::support::redis_server::RedisServer;
use crate::support::sample::{self, PERIOD};
use crate::world::{Replica, World, cluster, job};

const LIMIT: Duration = Duration::from_secs(20);

/// Waits until so many listen to the cluster's hints in this database.
async fn until_heard_by(server: &RedisServer, db: u32, listeners: &str) {
    let channel = format!("solocron:{{c}}:hints:{db}");
    let listening = async {
        while server.cli(&["PUBSUB", "NUMSUB", &channel]).lines().nth(1) != Some(listeners) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, listening).await.expect("somebody listens");
}

async fn next(hints: &mut mpsc::Receiver<Hint>) -> Hint {
    timeout(LIMIT, hints.recv()).await.expect("in time").expect("the store goes on")
}

/// A replica, and another one that listens.
async fn heard() -> (World, Replica, Replica, mpsc::Receiver<Hint>) {
    let world = World::redis();
    let (a, b) = (world.opened().await, world.replica().await);
    let hints = b.store.hints();
    until_heard_by(world.server(), 0, "1").await;
    (world, a, b, hints)
}

#[tokio::test]
async fn what_a_claim_decides_is_told_to_all_who_listen_and_nothing_else_is() {
    let (_world, a, b, mut hints) = heard().await;

    let late = a.claim(2 * PERIOD).await;
    let missed = a.ask(Request::Claim(late)).await;
    let lease = a.win().await;
    // Neither a claim of what is decided, nor the end of a run, decides anything.
    let again = Claim { tick: lease.tick, ..b.claim(Duration::ZERO).await };
    let answer = b.ask(Request::Claim(again)).await;
    a.ask(Request::Finish(sample::finish(&lease, &a.era))).await;
    let last = Claim {
        tick: Tick(lease.tick.instant().plus(Duration::from_millis(1))),
        ..a.claim(Duration::ZERO).await
    };
    a.ask(Request::Claim(last.clone())).await;

    let first = next(&mut hints).await;
    assert_eq!((&first.job, &first.era), (&job(), &a.era));
    assert_eq!((first.reply.now, first.reply.mark), (missed.now, missed.mark));
    let how = Some(Verdict::because(Outcome::Missed, Reason::Late));
    assert_eq!(first.reply.answer, Answer::Decided { by: None, how });

    let second = next(&mut hints).await;
    assert_eq!(second.reply.answer, answer.answer, "it is what whoever asks is told");
    assert_eq!((second.reply.mark, second.reply.lease), (answer.mark, answer.lease));
    assert_eq!(second.reply.rerun.map(|rerun| rerun.tick), answer.rerun.map(|rerun| rerun.tick));

    assert_eq!(next(&mut hints).await.reply.mark, Some(last.tick.instant()));
}

#[tokio::test]
async fn the_marks_that_are_looked_up_are_those_of_the_records() {
    let (world, a, b, _hints) = heard().await;
    let lease = a.win().await;
    let other = JobName::parse("other").expect("a name");
    let jobs: Vec<JobName> = std::iter::repeat_n(other, 300).chain([job()]).collect();

    let marks = b.store.marks(&jobs).await.expect("an answer");

    let record = a.record().await;
    assert_eq!(marks.last(), Some(&Marked::of(&record)));
    assert_eq!(record.mark, lease.tick.instant());
    assert!(marks.len() == 301 && marks[..300].iter().all(Option::is_none), "without a record: {marks:?}");
    world.server().cli(&["HSET", "solocron:{c/j}:state", "schema", "2"]);
    let marks = b.store.marks(&[job()]).await.expect("an answer");
    assert_eq!(marks, [None], "of a newer release");
}

#[tokio::test]
async fn hints_are_heard_again_after_their_connection_ended() {
    let (world, a, _b, mut hints) = heard().await;
    world.server().cli(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    until_heard_by(world.server(), 0, "1").await;

    let lease = a.win().await;

    assert_eq!(next(&mut hints).await.reply.mark, Some(lease.tick.instant()));
}

#[tokio::test]
async fn hints_of_a_cluster_of_the_same_name_in_another_database_are_not_heard() {
    let world = World::redis();
    let a = world.opened().await;
    let elsewhere = RedisUrl::parse(&world.server().url().replace("/0", "/1")).expect("a good url");
    let elsewhere = RedisStore::start(&elsewhere, cluster()).expect("a runtime");
    elsewhere.ready().await.expect("a store");
    let (mut there, mut here) = (elsewhere.hints(), a.store.hints());
    until_heard_by(world.server(), 0, "1").await;
    until_heard_by(world.server(), 1, "1").await;

    a.win().await;
    next(&mut here).await;

    assert!(there.try_recv().is_err());
}

#[tokio::test]
async fn without_the_rights_ticks_are_decided_all_the_same() {
    for (right, listeners) in [("+publish", "1"), ("+subscribe", "0"), ("+hmget", "1")] {
        let world = World::redis();
        let opened = world.opened().await;
        let rights: Vec<_> = LEAST_PRIVILEGE.split_whitespace().filter(|word| *word != right).collect();
        grant(world.server(), &rights.join(" "));
        let url = world.server().url().replace("redis://", "redis://solocron:s3cret@");
        let store = RedisStore::start(&RedisUrl::parse(&url).expect("a good url"), cluster());
        let store = store.expect("a runtime");
        store.ready().await.expect("a store");
        let _hints = store.hints();
        until_heard_by(world.server(), 0, listeners).await;

        let claim = opened.claim(Duration::ZERO).await;
        let reply = store.submit(&job(), &Request::Claim(claim)).await.expect("an answer");

        assert!(matches!(reply.answer, Answer::Won { .. }), "{right}: {reply:?}");
        assert_eq!(opened.record().await.run.map(|_| ()), Some(()), "{right}: it is recorded");
    }
}
