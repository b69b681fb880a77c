//! The end of a replica, whatever clients do.

use std::io::{Read, Write};
use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::http_client::{OpenAnswer, connect, get};
use crate::process::Scene;
use crate::{eventually, start};

use super::clients::{slow, without_reading};

/// A replica ends within this time of its last run.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// The fastest of so many replicas counts: the rest is the machine.
const TRIES: usize = 3;

/// A job that is always running.
const BUSY: &str =
    "cluster.store = \"local\"\n[jobs.busy]\nschedule = \"* * * * * *\"\nshell = \"exec sleep 3\"\n";

/// Drains a replica with open streams and clients of every bad kind; returns how long after its last run it has ended.
fn drained() -> Duration {
    let scene = Scene::new(BUSY);
    let (mut replica, address) = start(&scene, &["--drain", "1m", "--log-level", "debug"]);
    eventually("a page", || (get(address, "/").status == 200).then_some(()));
    // One client may have eight.
    let stream = |(number, path): (usize, &str)| {
        OpenAnswer::open_as(number as u8 / 8 + 1, address, path, &[("Accept", "text/event-stream")])
    };
    let paths = ["/", "/jobs/busy", "/replicas", "/api/v1/events"];
    let mut streams: Vec<OpenAnswer> = paths.into_iter().cycle().take(32).enumerate().map(stream).collect();
    for stream in &mut streams {
        stream.wait_for("\n\n");
    }
    let (stuck, slow) = (without_reading(address, "/metrics", 4), slow(address, 8));
    let mut kept = connect(address);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it listens");
    let mut answer = [0; 12];
    kept.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    replica.wait_for_event("run started");
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("draining: taking no new ticks");
    for stream in &mut streams {
        stream.wait_for("event: bye");
    }
    // Who connects now wants to see the end: the stream stays for as long as the replica.
    let late = stream((32, "/"));
    assert_eq!(get(address, "/healthz").status, 200);
    replica.wait_for_event("run recorded");
    let recorded = SystemClock.boot();
    replica.wait().expect_code(0);
    let took = SystemClock.boot().since(recorded);
    drop((streams, stuck, slow, kept, late));
    took
}

#[test]
fn with_32_streams_and_stuck_clients_a_replica_ends_within_a_second_of_its_last_run() {
    let mut took = Vec::new();
    for _ in 0..TRIES {
        took.push(drained());
        if took.last().is_some_and(|took| *took <= ENDS_WITHIN) {
            return;
        }
    }
    panic!("it took {took:?}");
}
