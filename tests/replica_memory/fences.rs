//! A clock that was ahead gave out fencing tokens of another year, and then the store forgets: what is granted afterwards has
//! larger ones still.

use crate::redis_server::RedisServer;
use crate::stage::{Stage, start, stop, wait_until};

const RECORD: &str = "solocron:{test/often}:state";

/// A token of the year 2036.
const AHEAD: i64 = 2_110_930_443_429;

const JOBS: &str = "cluster = { name = \"test\", store = \"local\" }\n\
    jobs.often = { schedule = \"* * * * * *\", lease = \"5s\", command = [\"true\"] }";

#[test]
fn fences_rise_for_runs_and_exec_after_a_store_forgot_grants_to_an_earlier_process() {
    let server = RedisServer::start();
    let store = server.url();
    let scene = Stage::new(JOBS);
    let mut replica = start(&scene, &store, &[]);
    replica.wait_for_event("run ended");
    server.cli(&["HSET", RECORD, "fence", &AHEAD.to_string()]);
    let fence_of = |event: &serde_json::Value| {
        event["fence"].to_string().trim_matches('"').parse::<i64>().expect("a fence")
    };
    replica.wait_for_event_of("run ended", |event| fence_of(event) > AHEAD);
    let forget = "local fence = redis.call('HGET', KEYS[1], 'fence') redis.call('DEL', KEYS[1]) return fence";
    let newest: i64 = server.cli(&["EVAL", forget, "1", RECORD]).parse().expect("a fence");
    let is_next = |event: &serde_json::Value| fence_of(event) < AHEAD || fence_of(event) > newest;
    let after = fence_of(&replica.wait_for_event_of("run ended", is_next));
    assert!(after > newest, "{after} came after {newest}");
    stop(replica);

    server.cli(&["FLUSHALL"]);
    let mut replica = start(&scene, &store, &[]);
    let again = fence_of(&replica.wait_for_event("run ended"));
    assert!(again > after, "{again} came after {after}: its own note tells");

    let told = format!("\"largest_fence\":{}", AHEAD / 1_000_000_000);
    wait_until("a heartbeat that tells", || server.cli(&["HVALS", "solocron:{test}:nodes"]).contains(&told));
    let shell = ["--", "sh", "-c", "echo $SOLOCRON_FENCE"];
    let exec = ["--store", &store, "exec", "--cluster", "test", "--lock", "by-hand", "--wait", "30s"];
    let output = scene.command(&[&exec[..], &shell[..]].concat()).output().expect("a program");
    let by_hand: i64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a fence");
    assert!(by_hand > AHEAD, "{by_hand}: it heard what the replica knows");
    stop(replica);
}
