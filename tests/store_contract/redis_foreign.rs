//! What somebody else writes to the cluster's keys: it costs no heartbeat, no other job, and no entry.

use solocron::job::{JobName, Tick};
use solocron::lease::{Answer, Claim, Request};
use solocron::store::{Beat, RedisKeys, StoreError, Told};

use crate::cases::beat;
use crate::support::redis_server::RedisServer;
use crate::support::sample;
use crate::world::{Replica, World, cluster, job};

fn keys() -> RedisKeys {
    RedisKeys::of(cluster())
}

/// Makes the key a string.
fn spoil(server: &RedisServer, key: &str) {
    assert_eq!(server.cli(&["SET", key, "spoilt"]), "OK");
}

/// Why a request about the job was refused.
async fn refusal(replica: &Replica, job: &JobName, request: &Request) -> String {
    match replica.store.submit(job, request).await {
        Err(StoreError::Refused(why)) => why.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_field_that_is_none_of_ours_costs_no_heartbeat_and_goes_with_the_next() {
    let world = World::redis();
    let (replica, keys) = (world.replica().await, keys());
    let (nodes, notices) = (keys.nodes(), keys.notices());
    // Every replica would be sent it with each heartbeat.
    let long = "return redis.call('HSET', KEYS[1], 'zz', ARGV[1] .. string.rep('x', 4194304))";
    let now = replica.now().await.0.to_string();
    assert_eq!(world.server().cli(&["EVAL", long, "1", &nodes, &format!("{now} ")]), "1");
    replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    assert_eq!(world.server().cli(&["HEXISTS", &nodes, "zz"]), "0", "it is too long");
    for (key, field, value) in [
        (&notices, "zz", "abc"),
        (&notices, "zz", "inf"),
        (&notices, "zz", "-1"),
        (&notices, "zz", "1.5"),
        (&notices, "zz", "9007199254740991"),
        (&notices, "zz", "99999999999999999999999999"),
        (&nodes, "zz", "abc"),
        (&nodes, "zz", "9007199254740991 {}"),
    ] {
        world.server().cli(&["HSET", key, field, value]);
        replica.store.pulse(None).await.expect("a listener hears");
        let pulse = replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");
        assert!(pulse.notices.is_empty() && pulse.peers.len() <= 1, "{value}: {pulse:?}");
        assert_eq!(world.server().cli(&["HEXISTS", key, field]), "0", "{value} stays");
    }
}

#[tokio::test]
async fn the_heartbeat_of_a_replica_with_thousands_of_runs_is_heard() {
    let world = World::redis();
    let replica = world.replica().await;
    let running = vec![beat("a").running.remove(0); 5_000];
    replica.store.pulse(Some(&Beat { running, ..beat("a") })).await.expect("a pulse");
    let pulse = replica.store.pulse(Some(&beat("b"))).await.expect("a pulse");
    let heard = pulse.peers.iter().find(|peer| peer.beat.node.as_str() == "a").expect("it is live");
    assert_eq!(heard.beat.running.len(), 5_000);
}

#[tokio::test]
async fn no_count_in_a_heartbeat_by_another_program_is_a_sign_of_a_rollback() {
    let world = World::redis();
    let (replica, nodes) = (world.replica().await, keys().nodes());
    let mut last = replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    let marker = last.marker.clone();
    let now = last.now.0;
    for (field, value) in [
        ("a", "abc".to_owned()),
        ("a", format!("{now} {{\"node\":\"a\"}}")),
        ("a", format!("{now} {{\"count\":0,\"node\":\"a\"}}")),
        ("zz", format!("{now} {{\"count\":999999999999999,")),
        ("zz", format!("{now} {{\"count\":99999999999999999999,")),
    ] {
        world.server().cli(&["HSET", &nodes, field, &value]);
        for _ in 0..2 {
            // Another replica is alive.
            replica.store.pulse(Some(&beat("b"))).await.expect("a pulse");
            let told = Told { count: last.count, era: last.era, marker: marker.clone().expect("a marker") };
            last = replica.store.pulse(Some(&Beat { told: Some(told), ..beat("a") })).await.expect("a pulse");
            assert_eq!(last.marker, marker, "{value}");
        }
    }
}

#[tokio::test]
async fn what_is_no_text_and_what_is_no_heartbeat_is_passed_over() {
    let world = World::redis();
    let (replica, keys) = (world.replica().await, keys());
    let now = replica.now().await.0;
    for (key, value) in [(keys.notices(), format!("{now}000")), (keys.nodes(), format!("{now} \\255"))] {
        let bytes = format!("return redis.call('HSET', KEYS[1], '\\255\\254', '{value}')");
        assert_eq!(world.server().cli(&["EVAL", &bytes, "1", &key]), "1");
    }
    let copied = format!("{now} {}", serde_json::to_string(&beat("b")).expect("JSON"));
    world.server().cli(&["HSET", &keys.nodes(), "not-b", &copied]);

    let pulse = replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");

    assert!(pulse.notices.is_empty() && pulse.peers.is_empty(), "{pulse:?}");
}

#[tokio::test]
async fn a_key_of_the_cluster_that_is_of_another_type_is_made_anew() {
    let world = World::redis();
    let (replica, keys) = (world.replica().await, keys());
    replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");
    for key in [keys.nodes(), keys.notices()] {
        spoil(world.server(), &key);
        replica.store.pulse(None).await.expect("a listener hears");
        replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");
        replica.store.announce(&job()).await.expect("announced");
        let pulse = replica.store.pulse(Some(&beat("a"))).await.expect("a pulse");
        assert_eq!((pulse.notices.len(), pulse.peers.len()), (1, 1), "{key}");
    }
    spoil(world.server(), &keys.jobs());
    assert_eq!(replica.store.known(&[job()]).await, Ok(vec![true]), "that has the longer wait");
    replica.store.enroll(&[job()]).await.expect("enrolled");
    assert_eq!(world.server().cli(&["SMEMBERS", &keys.jobs()]), "j");
}

#[tokio::test]
async fn a_run_whose_history_is_of_another_type_keeps_its_end_until_it_can_be_recorded() {
    let world = World::redis();
    let replica = world.opened().await;
    let lease = replica.win().await;
    let runs = keys().runs(&job());
    spoil(world.server(), &runs);
    let before = replica.record().await;
    let finish = Request::Finish(sample::finish(&lease, &replica.era));

    let why = refusal(&replica, &job(), &finish).await;

    assert!(why.contains(&runs) && why.contains("WRONGTYPE") && why.contains("DEL"), "{why}");
    assert_eq!(replica.record().await, before, "nothing is done by halves");
    let renewed = replica.ask(Request::Renew(sample::renew(&lease, replica.now().await))).await.answer;
    assert_eq!(renewed, Answer::Renewed { stop: None });
    world.server().cli(&["DEL", &runs]);
    assert_eq!(replica.ask(finish).await.answer, Answer::Finished);
    let entries = replica.store.history(&[job()], 10).await.expect("history").remove(0).1;
    assert_eq!(entries.iter().map(|entry| entry.run).collect::<Vec<_>>(), [Some(lease.run)]);
}

#[tokio::test]
async fn a_tick_that_cannot_have_its_entry_is_not_decided() {
    let world = World::redis();
    let replica = world.opened().await;
    let (runs, server) = (keys().runs(&job()), world.server());
    // Twice: without an entry before it, and with one that it would go on from.
    for round in 0..2 {
        spoil(server, &runs);
        let before = replica.record().await;
        let late = replica.claim(sample::PERIOD * (5 - 2 * round)).await;
        let late = Request::Claim(Claim { prev: Some(Tick(before.mark)), ..late });
        let why = refusal(&replica, &job(), &late).await;
        assert!(why.contains(&runs), "{why}");
        assert_eq!(replica.record().await, before, "round {round}");
        server.cli(&["DEL", &runs]);
        let answer = replica.ask(late).await.answer;
        assert!(matches!(answer, Answer::Consumed(_)), "{answer:?}");
    }
}

#[tokio::test]
async fn a_record_that_is_none_refuses_its_own_job_alone_and_is_named() {
    let world = World::redis();
    let replica = world.opened().await;
    let (state, server) = (keys().state(&job()), world.server());
    let claim = Request::Claim(replica.claim(std::time::Duration::ZERO).await);
    for (field, value) in [("mark", "abc"), ("until", "inf"), ("schema", "new"), ("fence", "1e5")] {
        let before = server.cli(&["HGET", &state, field]);
        server.cli(&["HSET", &state, field, value]);
        let why = refusal(&replica, &job(), &claim).await;
        assert!([&state, field, value].iter().all(|word| why.contains(word)), "{field}: {why}");
        server.cli(&["HSET", &state, field, &before]);
    }
    spoil(server, &state);
    let why = refusal(&replica, &job(), &claim).await;
    assert!(why.contains(&state) && why.contains("WRONGTYPE") && why.contains("DEL"), "{why}");
    let error = replica.store.records(&[job()]).await.expect_err("it is none").to_string();
    assert!(error.contains(&state), "{error}");
    let other = JobName::parse("other").expect("a good name");
    let open = Request::Open(sample::open(replica.caller().await));
    let replies = replica.store.submit_all(&[(job(), open.clone()), (other, open)]).await;
    assert!(replies[0].is_err() && replies[1].is_ok(), "{replies:?}");
}

#[tokio::test]
async fn a_mirror_of_another_type_is_replaced() {
    let world = World::redis();
    let replica = world.opened().await;
    let lock = keys().lock(&job());
    world.server().cli(&["RPUSH", &lock, "spoilt"]);

    let lease = replica.win().await;

    assert!(world.server().cli(&["GET", &lock]).contains(&lease.run.to_string()));
    world.server().cli(&["DEL", &lock]);
    world.server().cli(&["RPUSH", &lock, "spoilt"]);
    let renew = Request::Renew(sample::renew(&lease, replica.now().await));
    assert_eq!(replica.ask(renew).await.answer, Answer::Renewed { stop: None });
    assert!(world.server().cli(&["GET", &lock]).contains(&lease.run.to_string()));
    let finish = Request::Finish(sample::finish(&lease, &replica.era));
    assert_eq!(replica.ask(finish).await.answer, Answer::Finished);
}

#[tokio::test]
async fn a_server_that_does_not_tell_which_life_it_lives_is_refused_in_plain_words() {
    // Without INFO; with something else under its name, as where a proxy answers it.
    let mute: &[&str] = &["--rename-command", "INFO", ""];
    let other: &[&str] = &["--rename-command", "INFO", "", "--rename-command", "PING", "INFO"];
    for args in [mute, other] {
        let server = RedisServer::start_with(args);
        let url = solocron::config::RedisUrl::parse(&server.url()).expect("a good url");
        let store = solocron::store::RedisStore::start(&url, cluster()).expect("a runtime");
        solocron::store::Store::ready(&store).await.expect("a server");

        let error = solocron::store::Store::pulse(&store, None).await.expect_err("without an era");

        let StoreError::Refused(why) = &error else { panic!("{error:?}") };
        assert!(why.contains("replication id") && why.contains("restart") && why.contains("INFO"), "{why}");
    }
}

#[tokio::test]
async fn an_entry_that_no_replica_wrote_is_named_with_its_id_and_costs_no_run() {
    let world = World::redis();
    let replica = world.opened().await;
    let runs = keys().runs(&job());
    world.server().cli(&["XADD", &runs, "7-0", "foo", "bar"]);

    let error = replica.store.history(&[job()], 10).await.expect_err("it is no entry").to_string();
    assert!(error.contains("job `j`") && error.contains(&format!("XDEL `{runs}` 7-0")), "{error}");
    let lease = replica.win().await;
    let finish = Request::Finish(sample::finish(&lease, &replica.era));
    assert_eq!(replica.ask(finish).await.answer, Answer::Finished);
}

/// All fields that a record may have.
const FIELDS: [&str; 42] = [
    "schema",
    "fence",
    "mark",
    "until",
    "lease",
    "phase",
    "run",
    "tick",
    "tries",
    "cause",
    "started",
    "ended",
    "last",
    "reason",
    "owner",
    "era",
    "sched",
    "paused",
    "order",
    "stop",
    "lost",
    "paused_at",
    "paused_by",
    "paused_why",
    "stop_by",
    "order_tick",
    "order_at",
    "taken",
    "taken_run",
    "stop_for",
    "settled",
    "since",
    "leaps",
    "returned",
    "floor",
    "made",
    "returned_ahead",
    "returns_ahead",
    "ok",
    "ok_at",
    "bad",
    "bad_since",
];

/// Makes the record what it was when it was saved, but for bytes in one field, which are given as a text of Lua.
fn put(server: &RedisServer, key: &str, field: &str, bytes: &str) {
    let script = format!(
        "redis.call('COPY', 'saved', KEYS[1], 'REPLACE') return redis.call('HSET', KEYS[1], ARGV[1], {bytes})"
    );
    server.cli(&["EVAL", &script, "1", key, field]);
}

/// Makes the request about both jobs by one call; returns the first answer. The second must be one.
async fn beside(replica: &Replica, other: &JobName, request: &Request, what: &str) -> Result<(), StoreError> {
    let both = [(job(), request.clone()), (other.clone(), request.clone())];
    let replies = replica.store.submit_all(&both).await;
    assert!(replies[1].is_ok(), "{what}: {replies:?}");
    replies[0].clone().map(|_| ())
}

#[tokio::test]
async fn bytes_that_are_no_text_cost_their_own_job_alone_in_whatever_field_they_are() {
    let world = World::redis();
    let (replica, server) = (world.opened().await, world.server());
    let other = JobName::parse("other").expect("a good name");
    let open = Request::Open(sample::open(replica.caller().await));
    replica.store.submit_all(&[(other.clone(), open)]).await;
    let lease = replica.win().await;
    let state = keys().state(&job());
    server.cli(&["COPY", &state, "saved"]);
    let finish = Request::Finish(sample::finish(&lease, &replica.era));
    for field in FIELDS {
        // The second is cut within a character.
        for bytes in ["'1\\255\\n'", "'x' .. string.rep('ä', 300)"] {
            let what = format!("{field} = {bytes}");
            let open = Request::Open(sample::open(replica.caller().await));
            let claim = Request::Claim(replica.claim(std::time::Duration::ZERO).await);
            let renew = Request::Renew(sample::renew(&lease, replica.now().await));
            for request in [&open, &claim, &renew, &finish] {
                put(server, &state, field, bytes);
                // What the record says of its numbers, nobody can go by.
                if let Err(StoreError::Refused(why)) = beside(&replica, &other, request, &what).await {
                    assert!(why.trim_end_matches('…').is_ascii() && why.contains(field), "{what}: {why}");
                }
            }
            put(server, &state, field, bytes);
            server.cli(&["HSET", &keys().state(&other), "mark", "1"]);
            let marks = replica.store.marks(&[job(), other.clone()]).await.expect("of the other");
            assert!(marks[1].is_some(), "{what}: {marks:?}");
            let records = replica.store.records(&[job()]).await;
            assert!(matches!(records, Err(StoreError::Refused(_)) | Ok(_)), "{what}: {records:?}");
        }
    }
    server.cli(&["COPY", "saved", &state, "REPLACE"]);
    // In an entry, and in the mirror.
    let runs = keys().runs(&job());
    server.cli(&["EVAL", "return redis.call('XADD', KEYS[1], '*', 'node', '\\255')", "1", &runs]);
    server.cli(&["EVAL", "return redis.call('SET', KEYS[1], '\\255')", "1", &keys().lock(&job())]);
    let error = replica.store.history(&[job()], 10).await.expect_err("it is no text").to_string();
    assert!(error.contains(&runs), "{error}");
    assert_eq!(replica.ask(finish).await.answer, Answer::Finished);
}

#[tokio::test]
async fn a_record_of_another_type_hides_no_other_mark() {
    let world = World::redis();
    let replica = world.opened().await;
    let bad = JobName::parse("bad").expect("a good name");
    spoil(world.server(), &keys().state(&bad));
    world.server().cli(&["HSET", &keys().state(&job()), "mark", "1"]);

    let marks = replica.store.marks(&[bad, job()]).await.expect("marks");

    assert!(marks[0].is_none() && marks[1].is_some(), "{marks:?}");
}
