//! Only the clock of the store is ahead; that of the replica is right.

use std::time::Duration;

use jiff::Timestamp;
use solocron::time::{Clock, SystemClock};
use tempfile::TempDir;

use crate::process::Program;
use crate::redis_server::RedisServer;
use crate::shim::ShimClock;
use crate::stage::{Stage, start, stop, wait_until};

const HOUR_MS: i64 = 3_600_000;

/// A lease, and what a busy machine may add to it.
const SOON: Duration = Duration::from_secs(5 + 5);

fn file(jobs: &[&str]) -> String {
    let head =
        "[cluster]\nname = \"test\"\nstore = \"local\"\n[defaults]\nlease = \"5s\"\nkill_grace = \"200ms\"\n";
    let job = |name: &&str| format!("[jobs.{name}]\nschedule = \"* * * * * *\"\ncommand = [\"true\"]\n");
    jobs.iter().map(job).fold(head.to_owned(), |text, job| text + &job)
}

/// Waits for the end of a run of the job, whose tick is after this instant.
fn wait_for_run(replica: &mut Program, job: &str, after: Timestamp) {
    replica.wait_for_event_of("run ended", |event| {
        let tick = event["tick"].as_str().and_then(|tick| tick.parse().ok());
        event["job"] == job && tick.is_some_and(|tick: Timestamp| tick > after)
    });
}

fn now() -> Timestamp {
    Timestamp::from_millisecond(SystemClock.utc().0).expect("a time of today")
}

/// Each of these jobs runs within a lease.
fn runs_soon(replica: &mut Program, jobs: &[&str]) {
    let (begun, after) = (SystemClock.boot(), now());
    for job in jobs {
        (0..3).for_each(|_| wait_for_run(replica, job, after));
    }
    let took = SystemClock.boot().since(begun);
    assert!(took < SOON, "{took:?}");
}

/// A server whose clock can be ahead.
struct Ahead {
    clock: ShimClock,
    server: RedisServer,
    _shim: TempDir,
}

impl Ahead {
    fn start() -> Self {
        let shim = TempDir::new().expect("a folder for temporary files");
        let clock = ShimClock::new(shim.path(), "server", &ShimClock::library(shim.path()));
        let server = RedisServer::start_under(&[], &clock.env());
        Self { clock, server, _shim: shim }
    }

    fn wait_for_record_of(&self, job: &str) {
        let key = format!("solocron:{{test/{job}}}:state");
        wait_until("a record", || self.server.cli(&["EXISTS", &key]) == "1");
    }

    /// The clock is right again, and each of these jobs runs within a lease.
    fn is_right(&self, replica: &mut Program, jobs: &[&str]) {
        self.clock.step_to(0);
        runs_soon(replica, jobs);
    }
}

#[test]
fn a_new_cluster_on_a_server_ahead_runs_jobs_within_a_lease_of_a_right_clock() {
    let ahead = Ahead::start();
    ahead.clock.step_to(HOUR_MS);
    let scene = Stage::new(&file(&["first"]));
    let mut replica = start(&scene, &ahead.server.url(), &[]);
    ahead.wait_for_record_of("first");
    ahead.is_right(&mut replica, &["first"]);
    stop(replica);
}

#[test]
fn a_job_that_is_new_while_the_server_is_ahead_runs_within_a_lease_of_a_right_clock() {
    let ahead = Ahead::start();
    let scene = Stage::new(&file(&["first"]));
    let mut replica = start(&scene, &ahead.server.url(), &[]);
    runs_soon(&mut replica, &["first"]);
    ahead.clock.step_to(HOUR_MS);
    replica.wait_for_event("wall clock differs from the store's: check NTP on both machines");
    std::fs::write(scene.path("jobs.toml"), file(&["first", "second"])).expect("a writable folder");
    ahead.wait_for_record_of("second");
    ahead.is_right(&mut replica, &["first", "second"]);
    stop(replica);
}
