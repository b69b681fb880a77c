//! Many ticks of one instant, and two replicas whose line to the store is slow: each tick runs, or has its record why not,
//! in a time that follows from the round trip. `SOLOCRON_SLOW_JOBS` and `SOLOCRON_SLOW_RTT_MS` ask for more of it.

mod line;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use line::SlowLine;
use process::{Program, Scene};
use redis_server::RedisServer;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

/// More than were asked for within the second that a claim is good for, when two calls were under way at a time.
const JOBS: u64 = 600;

/// As far as from one side of the earth to the other, and back, twice.
const ROUND_TRIP_MS: u64 = 500;

/// What starting takes: two replicas, and the records of so many jobs.
const START_MS: u64 = 12_000;
const START_MS_PER_JOB: u64 = 5;

/// Within so long after its instant each tick has run, however busy the machine: what the line takes is 3 seconds of it,
/// and the rest is for the processes of the runs.
const DONE_MS: u64 = 20_000;
const DONE_MS_PER_JOB: u64 = 20;

fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Jobs that all come once, at this instant.
fn jobs_at(instant: Timestamp, jobs: u64, store: &str) -> String {
    let at = instant.to_zoned(TimeZone::UTC);
    let schedule = format!("{} {} {} {} {} *", at.second(), at.minute(), at.hour(), at.day(), at.month());
    let head = format!("[cluster]\nname = \"test\"\nstore = \"{store}\"\n");
    let keys = format!("schedule = \"{schedule}\"\nstart_deadline = \"10m\"\ncommand = [\"true\"]\n");
    (0..jobs).fold(head, |text, job| text + &format!("[jobs.j{job}]\n{keys}"))
}

/// How often each job's run was recorded, once each of them was, and how long that took from the first of them.
fn wait_until_recorded(replicas: &mut Program, jobs: u64) -> (BTreeMap<String, u64>, Duration) {
    let seen = RefCell::new((BTreeMap::<String, u64>::new(), SystemClock.boot()));
    replicas.wait_for("of the last run's record", |line| {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let (recorded, begun) = &mut *seen.borrow_mut();
        if event["message"] == "run recorded" {
            if recorded.is_empty() {
                *begun = SystemClock.boot();
            }
            *recorded.entry(event["job"].to_string()).or_default() += 1;
        }
        recorded.len() as u64 == jobs
    });
    let (recorded, begun) = seen.into_inner();
    (recorded, SystemClock.boot().since(begun))
}

#[test]
fn all_ticks_of_an_instant_run_once_over_a_slow_line() {
    let jobs = asked("SOLOCRON_SLOW_JOBS", JOBS);
    let round_trip = Duration::from_millis(asked("SOLOCRON_SLOW_RTT_MS", ROUND_TRIP_MS));
    let redis = RedisServer::start();
    let line = SlowLine::to(redis.port(), round_trip);
    let ahead =
        SignedDuration::from_millis(i64::try_from(START_MS + START_MS_PER_JOB * jobs).expect("small"));
    let now = Timestamp::from_millisecond(SystemClock.utc().0).expect("a time of today");
    let instant = now + ahead;
    let scene = Scene::new(&jobs_at(instant, jobs, &line.url()));
    let mut replicas = scene.run(&["--replicas", "2", "--log-level", "debug"]);

    let (recorded, took) = wait_until_recorded(&mut replicas, jobs);

    eprintln!("{jobs} ticks over {round_trip:?}: all recorded within {took:?}");
    assert!(took < Duration::from_millis(DONE_MS + DONE_MS_PER_JOB * jobs), "{took:?}");
    assert!(recorded.values().all(|count| *count == 1), "{recorded:?}");
}
