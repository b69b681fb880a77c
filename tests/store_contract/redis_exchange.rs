//! Feeds, slips and wakes on Redis: what its keys look like, what somebody else writes there or publishes, and what it costs.

use std::time::Duration;

use solocron::job::{JobName, RunId};
use solocron::store::{Feed, RedisKeys, RedisStore, SLIP_BYTES, Slip, Store, StoreError, Wake};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::redis_access::{LEAST_PRIVILEGE, grant};
use crate::support::redis_server::RedisServer;
use crate::support::sample::node;
use crate::world::{Replica, World, cluster};

const LIMIT: Duration = Duration::from_secs(20);
const TTL: Duration = Duration::from_secs(15);
const CHANNEL: &str = "solocron:{c}:wake:0";

fn keys() -> RedisKeys {
    RedisKeys::of(cluster())
}

fn slip() -> Slip {
    Slip::Ask(node("n1"))
}

/// Why a call was refused.
fn why<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Refused(why)) => why.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

/// Waits until somebody listens to the wakes.
async fn until_heard(server: &RedisServer) {
    let listening = async {
        while server.cli(&["PUBSUB", "NUMSUB", CHANNEL]).lines().nth(1) != Some("1") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, listening).await.expect("somebody listens");
}

/// A replica that leaves something, and the wakes that another one receives.
async fn heard() -> (World, Replica, Replica, mpsc::Receiver<Wake>) {
    let world = World::redis();
    let (a, b) = (world.replica().await, world.replica().await);
    let wakes = b.store.wakes();
    until_heard(world.server()).await;
    (world, a, b, wakes)
}

async fn next(wakes: &mut mpsc::Receiver<Wake>) -> Wake {
    timeout(LIMIT, wakes.recv()).await.expect("in time").expect("the store goes on")
}

#[tokio::test]
async fn a_wake_comes_after_each_text_and_each_line() {
    let (_world, a, b, mut wakes) = heard().await;
    let tell = Slip::Tell(RunId::new());

    a.store.leave(&slip(), "question", TTL).await.expect("left");
    assert_eq!(next(&mut wakes).await, Wake::Slip(slip()));
    assert_eq!(b.store.collect(&slip()).await, Ok(vec!["question".to_owned()]));
    b.store.leave(&tell, "answer", TTL).await.expect("left");
    assert_eq!(next(&mut wakes).await, Wake::Slip(tell));
    for feed in [Feed::Recent, Feed::Acts] {
        a.store.append(feed, "line").await.expect("appended");
        assert_eq!(next(&mut wakes).await, Wake::Feed(feed));
    }

    // What is refused wakes nobody.
    a.store.leave(&slip(), &"x".repeat(SLIP_BYTES), TTL).await.expect("left");
    why(a.store.leave(&slip(), "x", TTL).await);
    a.store.append(Feed::Acts, "last").await.expect("appended");
    assert_eq!(
        [next(&mut wakes).await, next(&mut wakes).await],
        [Wake::Slip(slip()), Wake::Feed(Feed::Acts)]
    );
}

#[tokio::test]
async fn whatever_others_publish_only_wakes() {
    let (world, a, b, mut wakes) = heard().await;
    let (server, other) = (world.server(), Slip::Ask(node("n2")));
    a.store.leave(&slip(), "text", TTL).await.expect("left");
    a.store.append(Feed::Recent, "line").await.expect("appended");
    assert_eq!(
        [next(&mut wakes).await, next(&mut wakes).await],
        [Wake::Slip(slip()), Wake::Feed(Feed::Recent)]
    );

    for forged in
        ["", "ask", "ask ../n1", "tell x", "recent line", "{\"run\":1}", &"ask n1 ".repeat(1_000), "ask n2"]
    {
        server.cli(&["PUBLISH", CHANNEL, forged]);
    }
    assert_eq!(next(&mut wakes).await, Wake::Slip(other.clone()), "all others are none");
    assert_eq!(b.store.collect(&other).await, Ok(Vec::new()), "and this one has no cause");
    // A flood, and messages that are larger than all that may wait: at worst the connection is opened again.
    let flood = "for i = 1, 5000 do redis.call('PUBLISH', KEYS[1], 'tell x') end \
                 redis.call('PUBLISH', KEYS[1], string.rep('x', 3000000))";
    for _ in 0..3 {
        server.cli(&["EVAL", flood, "1", CHANNEL]);
    }

    let woken = async {
        loop {
            a.store.append(Feed::Acts, "act").await.expect("appended");
            if let Ok(Some(wake)) = timeout(Duration::from_millis(100), wakes.recv()).await {
                return wake;
            }
        }
    };
    assert_eq!(timeout(LIMIT, woken).await, Ok(Wake::Feed(Feed::Acts)), "it is heard again");
    assert_eq!(b.store.collect(&slip()).await, Ok(vec!["text".to_owned()]));
    let lines = b.store.newest(Feed::Recent, None, 10).await.expect("a feed");
    assert_eq!(lines.iter().map(|line| line.text.as_deref()).collect::<Vec<_>>(), [Some("line")]);
}

#[tokio::test]
async fn without_the_right_to_publish_texts_and_lines_arrive_all_the_same() {
    let world = World::redis();
    let rights: Vec<_> = LEAST_PRIVILEGE.split_whitespace().filter(|word| *word != "+publish").collect();
    grant(world.server(), &rights.join(" "));
    let url = world.server().url().replace("redis://", "redis://solocron:s3cret@");
    let url = solocron::config::RedisUrl::parse(&url).expect("a good url");
    let store = RedisStore::start(&url, cluster()).expect("a runtime");
    store.ready().await.expect("a store");

    store.leave(&slip(), "text", TTL).await.expect("left");
    store.append(Feed::Acts, "line").await.expect("appended");

    assert_eq!(store.collect(&slip()).await, Ok(vec!["text".to_owned()]));
    assert_eq!(store.newest(Feed::Acts, None, 10).await.expect("a feed").len(), 1);
}

#[tokio::test]
async fn a_slip_never_lacks_its_ttl_and_nothing_stays_once_it_is_collected() {
    let world = World::redis();
    let (replica, key) = (world.replica().await, keys().slip(&slip()));
    let left = |ttl: Duration| {
        let (store, slip) = (replica.store.clone(), slip());
        async move { store.leave(&slip, "text", ttl).await.expect("left") }
    };
    for (ttl, most_ms) in [(TTL, 15_000), (Duration::from_secs(3_600), 60_000), (TTL, 15_000)] {
        left(ttl).await;
        let ms: i64 = world.server().cli(&["PTTL", &key]).parse().expect("a time");
        assert!((most_ms - 10_000..=most_ms).contains(&ms), "{ms} of {ttl:?}");
    }
    assert_eq!(replica.store.collect(&slip()).await.map(|texts| texts.len()), Ok(3));
    assert_eq!(world.server().cli(&["KEYS", "*ask*"]), "");
    // A user who may not set a ttl leaves nothing.
    let rights: Vec<_> = LEAST_PRIVILEGE.split_whitespace().filter(|word| *word != "+pexpire").collect();
    grant(world.server(), &rights.join(" "));
    let url = world.server().url().replace("redis://", "redis://solocron:s3cret@");
    let limited = RedisStore::start(&solocron::config::RedisUrl::parse(&url).expect("a good url"), cluster());
    let limited = limited.expect("a runtime");
    limited.ready().await.expect("a store");
    limited.leave(&slip(), "text", TTL).await.expect_err("it may not");
    assert_eq!(world.server().cli(&["KEYS", "*ask*"]), "");
}

#[tokio::test]
async fn a_full_server_takes_neither_lines_nor_texts_and_still_gives_them_out() {
    let world = World::redis();
    let replica = world.replica().await;
    replica.store.leave(&slip(), "text", TTL).await.expect("left");
    replica.store.append(Feed::Acts, "line").await.expect("appended");
    world.server().cli(&["CONFIG", "SET", "maxmemory", "1"]);

    let refused = [
        why(replica.store.leave(&slip(), "more", TTL).await),
        why(replica.store.append(Feed::Acts, "more").await),
    ];

    assert!(
        refused.iter().all(|why| why.contains("memory is full") && why.contains("maxmemory")),
        "{refused:?}"
    );
    assert_eq!(replica.store.newest(Feed::Acts, None, 10).await.expect("a feed").len(), 1);
    assert_eq!(replica.store.collect(&slip()).await, Ok(vec!["text".to_owned()]));
}

#[tokio::test]
async fn a_feed_of_another_type_is_named_with_the_way_out() {
    let world = World::redis();
    let (replica, acts) = (world.replica().await, keys().feed(Feed::Acts));
    assert_eq!(world.server().cli(&["SET", &acts, "spoilt"]), "OK");
    for why in [
        why(replica.store.append(Feed::Acts, "line").await),
        why(replica.store.newest(Feed::Acts, None, 10).await),
    ] {
        assert!(why.contains(&format!("`{acts}`")) && why.contains("DEL or RENAME"), "{why}");
    }
}

#[tokio::test]
async fn a_slip_of_another_type_is_used_up_and_stops_neither_questions_nor_answers() {
    let world = World::redis();
    let (replica, server) = (world.replica().await, world.server());
    for slip in [slip(), Slip::Tell(RunId::new())] {
        let key = keys().slip(&slip);
        for spoil in [["SET", &key, "spoilt"], ["LPUSH", &key, "spoilt"], ["SADD", &key, "spoilt"]] {
            server.cli(&spoil);
            assert_eq!(replica.store.collect(&slip).await, Ok(Vec::new()), "{spoil:?}");
            assert_eq!(server.cli(&["EXISTS", &key]), "0", "{spoil:?}");

            server.cli(&spoil);
            replica.store.leave(&slip, "text", TTL).await.expect("left");
            assert_eq!(replica.store.collect(&slip).await, Ok(vec!["text".to_owned()]), "{spoil:?}");
        }
    }
}

#[tokio::test]
async fn what_somebody_else_put_into_a_slip_is_removed_unread_with_its_size() {
    let world = World::redis();
    let (replica, server, keys) = (world.replica().await, world.server(), keys());
    let key = keys.slip(&slip());
    // The first call of each teaches the server its script.
    replica.store.leave(&slip(), "text", TTL).await.expect("left");
    assert_eq!(replica.store.collect(&slip()).await, Ok(vec!["text".to_owned()]));
    for (put, words) in [
        ("redis.call('HSET', KEYS[1], '1', string.rep('x', 5000000))", "5000000 bytes of text in 1 fields"),
        ("for i = 1, 300 do redis.call('HSET', KEYS[1], i, '') end", "in 300 fields"),
        ("redis.call('HSET', KEYS[1], string.rep('x', 5000000), 'y')", "0 bytes of text in 1 fields"),
        ("redis.call('HSET', KEYS[1], '1', 'x', '3', 'y')", "in 2 fields"),
    ] {
        server.cli(&["EVAL", put, "1", &key]);
        server.cli(&["CONFIG", "RESETSTAT"]);
        let why = why(replica.store.collect(&slip()).await);
        assert!(why.contains(&format!("`{key}`")) && why.contains(words) && why.contains("removed"), "{why}");
        assert_eq!(calls_of(server, "hgetall"), 0, "{words}");
        replica.store.leave(&slip(), "text", TTL).await.expect("left");
        assert_eq!(replica.store.collect(&slip()).await, Ok(vec!["text".to_owned()]), "{words}");
    }
    server.cli(&["EVAL", "redis.call('HSET', KEYS[1], '1', string.rep('x', 5000000))", "1", &key]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let why = why(replica.store.leave(&slip(), "text", TTL).await);
    assert!(why.contains("full: it holds 5000000 bytes in 1 texts"), "{why}");
    assert_eq!(calls_of(server, "hgetall"), 0, "a text beside it");
}

#[tokio::test]
async fn an_entry_that_somebody_else_put_into_a_feed_hides_no_line() {
    let world = World::redis();
    let (replica, server) = (world.replica().await, world.server());
    for feed in [Feed::Acts, Feed::Recent] {
        let (key, append) = (keys().feed(feed), async |text| replica.store.append(feed, text).await);
        append("one").await.expect("appended");
        let forged: Vec<String> =
            ["'foo', 'bar'", "'text', 'a', 'text', 'b'", "'text', string.rep('x', 70000000)"]
                .map(|fields| format!("return redis.call('XADD', KEYS[1], '*', {fields})"))
                .map(|put| server.cli(&["EVAL", &put, "1", &key]))
                .into();
        append("two").await.expect("appended");

        let lines = replica.store.newest(feed, None, 10).await.expect("a feed");

        let texts: Vec<Option<&str>> = lines.iter().map(|line| line.text.as_deref()).collect();
        assert_eq!(texts, [Some("one"), None, None, None, Some("two")]);
        let ids: Vec<String> = lines.iter().map(|line| line.id.to_string()).collect();
        assert_eq!(ids[1..4], forged, "they can be deleted by their ids");
    }
}

#[tokio::test]
async fn a_record_that_is_larger_than_any_is_named_at_a_glance_and_has_no_standing() {
    let world = World::redis();
    let replica = world.opened().await;
    let (job, state) = (crate::world::job(), keys().state(&crate::world::job()));
    let grow = "redis.call('HSET', KEYS[1], 'owner', string.rep('x', 5000000))";
    world.server().cli(&["EVAL", grow, "1", &state]);

    let glance = replica.store.glance(std::slice::from_ref(&job), 10).await.expect("a glance").remove(0);

    let why = glance.unread.expect("why it is not shown");
    assert!(why.contains(&format!("`{state}` has 5000")) && why.contains("DEL or RENAME"), "{why}");
    assert_eq!(replica.store.standings(&[job]).await, Ok(vec![None]));
}

/// How often this command was called since the server's counters were set to zero.
fn calls_of(server: &RedisServer, command: &str) -> usize {
    let stats = server.cli(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().expect("a number"))
}

/// How often scripts were called since then.
fn calls(server: &RedisServer) -> usize {
    calls_of(server, "evalsha") + calls_of(server, "eval")
}

#[tokio::test]
async fn many_jobs_are_read_in_slices() {
    let world = World::redis();
    let (replica, server) = (world.replica().await, world.server());
    let jobs: Vec<JobName> = (0..10_000).map(|n| JobName::parse(&format!("j{n}")).expect("a name")).collect();
    // The first call of each teaches the server its script.
    replica.store.standings(&jobs[..1]).await.expect("standings");
    replica.store.glance(&jobs[..1], 1).await.expect("a glance");

    server.cli(&["CONFIG", "RESETSTAT"]);
    replica.store.standings(&jobs).await.expect("standings");
    assert_eq!(calls(server), 10_000_usize.div_ceil(256));
    for (newest, together) in [(60, 10), (1_000, 10), (20, 30), (1, 64), (0, 64)] {
        server.cli(&["CONFIG", "RESETSTAT"]);
        replica.store.glance(&jobs[..640], newest).await.expect("a glance");
        assert_eq!(calls(server), 640_usize.div_ceil(together), "{newest}");
    }
}
