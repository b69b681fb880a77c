//! Many ticks of one instant, and two replicas whose line to the store is slow: each tick runs, or has its record why not,
//! in a time that follows from the round trip. `SOLOCRON_SLOW_JOBS` and `SOLOCRON_SLOW_RTT_MS` ask for more of it.

mod line;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use line::SlowLine;
use process::{Program, Scene};
use redis_server::RedisServer;
use solocron::time::{BootInstant, Clock, SystemClock};

/// More than were asked for within the second that a claim is good for, when two calls were under way at a time.
const JOBS: u64 = 600;

/// As far as from one side of the earth to the other, and back, twice.
const ROUND_TRIP_MS: u64 = 500;

/// What starting takes most of the time: two replicas, and the records of so many jobs. A job whose record came later
/// begins with the next tick.
const START_MS: u64 = 12_000;
const START_MS_PER_JOB: u64 = 5;

/// On a machine that is too busy for the first of them.
const TICKS: u64 = 3;
const UNTIL_SECOND_TICK: Duration = Duration::from_secs(120);

/// Within so long after its instant each tick has run, however busy the machine: what the line takes is 3 seconds of it,
/// and the rest is for the processes of the runs.
const DONE_MS: u64 = 20_000;
const DONE_MS_PER_JOB: u64 = 20;

fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Jobs that all have a tick at this instant, and every minute after it.
fn jobs_from(instant: Timestamp, jobs: u64, store: &str) -> String {
    let schedule = format!("{} * * * * *", instant.to_zoned(TimeZone::UTC).second());
    let head = format!("[cluster]\nname = \"test\"\nstore = \"{store}\"\n");
    let keys = format!("schedule = \"{schedule}\"\nstart_deadline = \"10m\"\ncommand = [\"true\"]\n");
    (0..jobs).fold(head, |text, job| text + &format!("[jobs.j{job}]\n{keys}"))
}

/// The records of one instant: how many each job has, and when the first of them was read.
struct Records {
    of_jobs: BTreeMap<String, u64>,
    begun: BootInstant,
}

/// The records of each instant, once there is one of which each job has a record; and how long those took.
fn wait_until_recorded(replicas: &mut Program, jobs: u64) -> (BTreeMap<String, Records>, Duration) {
    let mut instants = BTreeMap::<String, Records>::new();
    for _ in 0..TICKS * jobs {
        let event = replicas.wait_for_event_within(UNTIL_SECOND_TICK, "run recorded");
        let now = SystemClock.boot();
        let none = || Records { of_jobs: BTreeMap::new(), begun: now };
        let records = instants.entry(event["tick"].to_string()).or_insert_with(none);
        *records.of_jobs.entry(event["job"].to_string()).or_default() += 1;
        if records.of_jobs.len() as u64 == jobs {
            let took = now.since(records.begun);
            return (instants, took);
        }
    }
    panic!("no instant of which all {jobs} jobs have a record, after {TICKS} ticks of each");
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
    let scene = Scene::new(&jobs_from(now + ahead, jobs, &line.url()));
    let mut replicas = scene.run(&["--replicas", "2", "--log-level", "debug"]);

    let (instants, took) = wait_until_recorded(&mut replicas, jobs);

    eprintln!("{jobs} ticks over {round_trip:?}: all recorded within {took:?}");
    assert!(took < Duration::from_millis(DONE_MS + DONE_MS_PER_JOB * jobs), "{took:?}");
    for (instant, records) in instants {
        assert!(records.of_jobs.values().all(|count| *count == 1), "{instant}: {:?}", records.of_jobs);
    }
}
