//! The thread of the HTTP server: its priority, and that its connection to the store is none of the replica's.

use std::collections::BTreeSet;

use crate::http_client::get;
use crate::process::Scene;
use crate::redis_server::RedisServer;
use crate::{IDLE, eventually, start};

/// The words in the log of a replica whose work is disturbed.
const DISTURBED: [&str; 4] = ["lock not renewed", "lock lost", "store does not answer", "tick missed"];

#[test]
fn http_has_a_thread_of_its_own_with_a_low_priority() {
    let scene = Scene::new(IDLE);
    let (replica, address) = start(&scene, &[]);
    assert_eq!(get(address, "/healthz").status, 200);
    let threads = std::fs::read_dir(format!("/proc/{}/task", replica.pid())).expect("its threads").flatten();
    let stats = threads.map(|thread| std::fs::read_to_string(thread.path().join("stat")).expect("a thread"));
    let nice = |stat: &str| {
        let after = stat.rsplit_once(')')?.1;
        after.split_whitespace().nth(16)?.parse::<i32>().ok()
    };
    let (http, others): (Vec<String>, Vec<String>) = stats.partition(|stat| stat.contains("(http)"));
    let highest = others.iter().filter_map(|stat| nice(stat)).min().expect("the replica's threads");
    // The tests themselves may run with a low priority.
    let lower = (highest + 10).min(19);
    // A thread that this one has just started has its name for a moment, and its priority for good.
    assert!(!http.is_empty() && http.iter().all(|stat| nice(stat) == Some(lower)), "{http:?}");
}

/// The connections on which something about this job was asked lately.
fn asking_about(redis: &RedisServer, job: &str) -> BTreeSet<String> {
    let log = redis.cli(&["SLOWLOG", "GET", "-1"]);
    let mut connections = BTreeSet::new();
    let mut is_about_it = false;
    // Each entry ends with the address and the name of its client.
    for line in log.lines() {
        is_about_it |= line.contains(&format!("/{job}}}"));
        if line.starts_with("127.0.0.1:") {
            if is_about_it {
                connections.insert(line.trim().to_owned());
            }
            is_about_it = false;
        }
    }
    connections
}

#[test]
fn killing_the_connection_of_http_to_the_store_delays_no_renewal() {
    let redis = RedisServer::start();
    redis.cli(&["CONFIG", "SET", "slowlog-max-len", "1024"]);
    let jobs = "[jobs.long]\nschedule = \"* * * * * *\"\nshell = \"exec sleep 600\"\nlease = \"5s\"\n\
        [jobs.never]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n";
    let scene = Scene::new(&format!("cluster = {{ name = \"t\", store = \"{}\" }}\n{jobs}", redis.url()));
    let (mut replica, address) = start(&scene, &["--log-level", "debug"]);
    replica.wait_for_event("run started");
    eventually("a page", || (get(address, "/").status == 200).then_some(()));
    // From here on, only HTTP asks about the job that never runs.
    redis.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    let mut killed = BTreeSet::new();
    for _ in 0..8 {
        redis.cli(&["SLOWLOG", "RESET"]);
        let connections = eventually("a question of HTTP", || {
            get(address, "/api/v1/jobs/never/why?at=02:30");
            Some(asking_about(&redis, "never")).filter(|found| !found.is_empty())
        });
        assert_eq!(connections.len(), 1, "{connections:?}");
        for connection in connections {
            assert_eq!(redis.cli(&["CLIENT", "KILL", "ADDR", &connection, "TYPE", "normal"]), "1");
            killed.insert(connection);
        }
        replica.wait_for_event("lock renewed");
    }
    // What is asked over a connection of the replica's would have been killed only once.
    assert_eq!(killed.len(), 8, "{killed:?}");
    assert_eq!(get(address, "/healthz").status, 200);
    let disturbed = replica.lines().iter().find(|line| DISTURBED.iter().any(|words| line.contains(words)));
    assert_eq!(disturbed, None);
    assert_eq!(get(address, "/api/v1/jobs/never").status, 200, "HTTP has connected again");
}
