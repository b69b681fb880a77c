//! A flood: whatever clients do together, no lock is lost, no tick is missed, and health is answered.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::http_client::{OpenAnswer, connect, get};
use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::{eventually, start};

use super::clients::{read_to_end, slow, without_reading};

/// How long it lasts.
const LASTS: Duration = Duration::from_secs(6);

/// A probe that takes longer than this is a failure, as for most supervisors.
const PROBED_WITHIN: Duration = Duration::from_secs(5);

/// Every kind of page and answer.
const PATHS: [&str; 8] = [
    "/",
    "/?q=job&is=running",
    "/jobs/job1",
    "/replicas",
    "/metrics?jobs=all",
    "/api/v1/status",
    "/api/v1/history?job=job2&n=50",
    "/nothing",
];

/// Requests one after the other until the flag is set; counts the answers.
fn ask(address: SocketAddr, client: usize, is_over: &AtomicBool, answered: &AtomicUsize) {
    for path in PATHS.into_iter().cycle().skip(client) {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let mut stream = connect(address);
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(request.as_bytes());
        let (answer, _) = read_to_end(&mut stream);
        match answer.get(9..12) {
            // Among hundreds of slow clients, it was closed to make room.
            None => {}
            Some(status) => {
                assert!(matches!(status, "200" | "404" | "503"), "{path}: {status}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Floods a replica for a while, and returns how long the slowest probe took.
fn flood(address: SocketAddr) -> Duration {
    let is_over = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    // One client may have eight.
    let stream = |(number, path): (usize, &str)| {
        OpenAnswer::open_as(number as u8 / 8 + 1, address, path, &[("Accept", "text/event-stream")])
    };
    let paths = ["/", "/jobs/job1", "/api/v1/events", "/?by=job"];
    let mut streams: Vec<OpenAnswer> = paths.into_iter().cycle().take(32).enumerate().map(stream).collect();
    for stream in &mut streams {
        stream.wait_for("\n\n");
    }
    let stuck = without_reading(address, "/metrics", 16);
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (is_over, answered) = (Arc::clone(&is_over), Arc::clone(&answered));
            std::thread::spawn(move || ask(address, client, &is_over, &answered))
        })
        .collect();
    let (began, mut slowest, mut loris) = (SystemClock.boot(), Duration::ZERO, Vec::new());
    while SystemClock.boot().since(began) < LASTS {
        // The server closes them as it needs room, and they come again.
        loris.extend(slow(address, 20));
        if loris.len() > 200 {
            loris.drain(..20);
        }
        let asked = SystemClock.boot();
        assert_eq!(get(address, "/healthz").status, 200);
        slowest = slowest.max(SystemClock.boot().since(asked));
    }
    is_over.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().expect("it ends"));
    assert!(answered.load(Ordering::Relaxed) > 0);
    drop((streams, stuck, loris));
    slowest
}

/// The second of each tick that ran, of one job, in order.
fn ran(scene: &Scene, job: &str) -> Vec<(i64, String)> {
    let printed = Program::start(&mut scene.command(&["history", job, "-n", "1000", "--format", "json"]));
    let ticks: Value = serde_json::from_str(&printed.wait().expect_code(0).log).expect("JSON");
    let mut ran: Vec<(i64, String)> = ticks
        .as_array()
        .expect("ticks")
        .iter()
        .map(|tick| {
            let at: jiff::Timestamp = tick["tick"].as_str().and_then(|at| at.parse().ok()).expect("a tick");
            (at.as_second(), tick["outcome"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    ran.sort();
    ran
}

#[test]
fn a_flood_makes_no_replica_lose_a_lock_or_miss_a_tick_and_health_is_answered() {
    let redis = RedisServer::start();
    let jobs: String = (0..5)
        .map(|job| format!("[jobs.job{job}]\nschedule = \"* * * * * *\"\nshell = \"true\"\n"))
        .collect();
    let long = "[jobs.long]\nschedule = \"* * * * * *\"\nshell = \"exec sleep 600\"\nlease = \"5s\"\n";
    let cluster = format!("cluster = {{ name = \"t\", store = \"{}\" }}\n", redis.url());
    let scene = Scene::new(&format!("{cluster}{jobs}{long}"));
    let (mut replica, address) = start(&scene, &["--drain", "1s"]);
    replica.wait_for_event("run started");
    eventually("a page", || (get(address, "/").status == 200).then_some(()));
    let begun = SystemClock.utc().0 / 1_000;
    let slowest = flood(address);
    assert!(slowest < PROBED_WITHIN, "{slowest:?}");
    let history: Vec<_> = (0..5).map(|job| ran(&scene, &format!("job{job}"))).collect();
    replica.signal(Signal::SIGTERM);
    let log = replica.wait().expect_code(0).log;
    for words in ["lock not renewed", "lock lost", "store does not answer", "tick missed"] {
        assert!(!log.contains(words), "{words}:\n{log}");
    }
    for mut ticks in history {
        // Ticks before the flood may have come before the replica had opened its records.
        ticks.retain(|(tick, _)| *tick >= begun);
        // A tick is skipped if the run before it took longer than a second: the machine is busy.
        let outcomes = ["succeeded", "running", "skipped"];
        let all_ran = ticks.iter().all(|(_, outcome)| outcomes.contains(&outcome.as_str()));
        let in_a_row = ticks.windows(2).all(|pair| pair[1].0 - pair[0].0 == 1);
        assert!(ticks.len() > 4 && all_ran && in_a_row, "{ticks:?}");
    }
}
