//! Many requests at once: decided as if they had come one by one, in a few exchanges.

use std::time::Duration;

use futures_util::future::join_all;
use solocron::job::{JobName, Tick};
use solocron::lease::{Answer, Era, Reply, Request};
use solocron::store::{RedisKeys, Replied, StoreError};
use tokio::time::timeout;

use crate::support::redis_server::RedisServer;
use crate::support::sample;
use crate::world::{Replica, World, cluster};

/// More than share one call or one transaction.
const JOBS: usize = 2_100;

fn name(number: usize) -> JobName {
    JobName::parse(&format!("j{number}")).expect("a good name")
}

/// An opening of each job, then the end of a run of each that the store does not know.
async fn openings_and_ends(replica: &Replica, jobs: usize) -> Vec<(JobName, Request)> {
    let caller = replica.caller().await;
    let tick = Tick(caller.expect.minus(Duration::from_secs(60)));
    let lease = sample::forgotten(tick, caller.expect.0 - 60_000);
    let open = Request::Open(sample::open(caller));
    let finish = Request::Finish(sample::finish(&lease, &replica.era));
    let opens = (0..jobs).map(|number| (name(number), open.clone()));
    opens.chain((0..jobs).map(|number| (name(number), finish.clone()))).collect()
}

fn answers(replies: Vec<Replied>) -> Vec<Answer> {
    replies.into_iter().map(|reply| reply.expect("an answer").answer).collect()
}

pub(crate) async fn many_requests_at_once_are_each_decided_in_their_order(world: &World) {
    let replica = world.replica().await;
    let mut requests = openings_and_ends(&replica, JOBS).await;
    let Request::Open(of_old) = &mut requests[7].1 else { unreachable!("openings come first") };
    of_old.caller.era = Era("of old".to_owned());

    let answers = answers(replica.store.submit_all(&requests).await);

    assert_eq!(answers.len(), 2 * JOBS);
    let opened = answers.iter().filter(|answer| matches!(answer, Answer::Opened { .. })).count();
    assert_eq!(opened, JOBS - 1);
    assert_eq!(answers[7], Answer::NewEra(replica.era.clone()), "its neighbours are not touched by it");
    assert!(answers[JOBS..].iter().all(|answer| *answer == Answer::Finished));
    let records = replica.store.records(&[name(0), name(JOBS - 1)]).await.expect("records");
    let ended = |record: &Option<_>| {
        record
            .as_ref()
            .is_some_and(|record: &solocron::lease::Record| record.run.is_some() && !record.is_running())
    };
    assert!(records.iter().all(ended), "{records:?}");
    assert_eq!(replica.store.submit_all(&[]).await, []);
}

fn calls_of(server: &RedisServer) -> u64 {
    let stats = server.cli(&["INFO", "stats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("total_reads_processed:"));
    line.expect("a count").trim().parse().expect("a number")
}

#[tokio::test]
async fn many_requests_cost_a_few_round_trips_also_where_the_server_forgot_the_scripts() {
    let world = World::redis();
    let replica = world.replica().await;
    let World::Redis(server) = &world else { unreachable!("it was made with a server") };
    let requests = openings_and_ends(&replica, 250).await;
    server.cli(&["SCRIPT", "FLUSH"]);
    let before = calls_of(server);

    let answers = answers(replica.store.submit_all(&requests).await);

    assert!(answers[250..].iter().all(|answer| *answer == Answer::Finished), "{answers:?}");
    // A call of this size comes in several reads of at most 16 KiB; one per request would be far above.
    let reads = calls_of(server) - before;
    assert!(reads < 120, "{reads} reads for {} requests", requests.len());
}

#[tokio::test]
async fn many_requests_to_a_server_that_is_down_all_fail_at_once() {
    let mut world = World::redis();
    let replica = world.replica().await;
    let requests = openings_and_ends(&replica, 600).await;
    let World::Redis(server) = &mut world else { unreachable!("it was made with a server") };
    server.freeze();

    let hung = timeout(Duration::from_secs(4), replica.store.submit_all(&requests)).await.expect("in time");

    assert_eq!(hung.len(), requests.len());
    assert!(matches!(hung[0], Err(StoreError::Unknown(_))), "{:?}", hung[0]);
    assert!(matches!(hung[hung.len() - 1], Err(StoreError::NotSent(_))), "the rest is not sent");
    let next = timeout(Duration::from_secs(1), replica.store.submit_all(&requests)).await.expect("at once");
    assert!(next.iter().all(|reply| matches!(reply, Err(StoreError::NotSent(_)))));
    server.thaw();
}

/// How often the server has called a script.
fn scripts_called(server: &RedisServer) -> u64 {
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let calls = calls.and_then(|rest| rest.split(',').next());
    calls.map_or(0, |calls| calls.parse().expect("a number"))
}

#[tokio::test]
async fn claims_of_many_tasks_share_calls_and_each_has_its_own_answer() {
    const CLAIMS: usize = 200;
    let world = World::redis();
    let replica = world.replica().await;
    let (broken, keys) = (7, RedisKeys::of(cluster()));
    let opens: Vec<_> = {
        let open = Request::Open(sample::open(replica.caller().await));
        (0..CLAIMS).map(|number| (name(number), open.clone())).collect()
    };
    answers(replica.store.submit_all(&opens).await);
    world.server().cli(&["SET", &keys.state(&name(broken)), "not a record"]);
    let caller = replica.caller().await;
    let away = |number: usize| Duration::from_secs(10 + number as u64);
    let claims: Vec<_> = (0..CLAIMS)
        .map(|number| {
            let tick = Tick(caller.expect.plus(away(number)));
            (name(number), Request::Claim(sample::claim(caller.clone(), tick)))
        })
        .collect();
    let before = scripts_called(world.server());

    let asked = claims.iter().map(|(job, claim)| replica.store.submit(job, claim));
    let replies = timeout(Duration::from_secs(10), join_all(asked)).await.expect("in time");

    for (number, reply) in replies.iter().enumerate() {
        match reply {
            Err(StoreError::Refused(why)) if number == broken => assert!(why.contains("WRONGTYPE"), "{why}"),
            Ok(Reply { answer: Answer::Early { wait }, .. }) if number != broken => {
                let passed = away(number).checked_sub(*wait).expect("time does not go back");
                assert!(passed < Duration::from_secs(1), "{number}: {wait:?}");
            }
            other => panic!("{number}: {other:?}"),
        }
    }
    let calls = scripts_called(world.server()) - before;
    assert!(calls < CLAIMS as u64 / 4, "{calls} calls");
}
