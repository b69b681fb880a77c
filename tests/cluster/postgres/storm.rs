//! A storm: three replicas on a primary and its standby, and every fault that PostgreSQL and its manager are known for, one after
//! the other. The jobs tell what ran, and of each tick that did not run the history has an entry.
//!
//! `make campaign STORE=postgres DURATION=1h SEED=7` does it for long, with the faults in another order each time.

use serde_json::Value;
use solocron::job::parse_duration;
use solocron::time::{Clock, SystemClock};

use super::servers::{Servers, WAL_SEGMENT};
use crate::PERIOD_MS;
use crate::dice::Dice;
use crate::harness::{Cluster, covers};
use crate::plan::Plan;
use crate::variable::variable;
use crate::witness::{Violation, Witnessed, check};

const REPLICAS: &[i64] = &[0; 3];

/// Runs begin again soon after a loss, and ticks wait for them.
const KEYS: &str = "lease = \"5s\"\nstart_deadline = \"30s\"";

/// How many lines of the replicas' logs a failure prints.
const LINES: usize = 500;

/// What is done to the servers and the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The primary loses power, and is started again.
    Crash,
    /// The primary does not answer for some seconds.
    Freeze,
    /// A client that is idle in its transaction lets nobody write records.
    LockWrites,
    /// A client that is idle in its transaction lets nobody read or write records.
    LockRecords,
    /// All connections are ended.
    DropClients,
    /// The standby takes over without the last writes.
    FailOverWithLoss,
    /// The standby takes over with all writes.
    FailOverWithoutLoss,
    /// The standby takes over from a primary that does not answer, and which later takes it that it still is the primary.
    TwoPrimaries,
    /// The primary is restored from a backup of some seconds before.
    Restore,
    /// No table grows: ends of runs are refused, and most other writes are taken.
    FullDisk,
    /// Nothing is written ahead: the primary ends, and ends again when it is started.
    FullLogDisk,
    /// A replica is killed, and started again.
    KillReplica,
}

const FAULTS: [Fault; 12] = [
    Fault::Crash,
    Fault::Freeze,
    Fault::LockWrites,
    Fault::LockRecords,
    Fault::DropClients,
    Fault::FailOverWithLoss,
    Fault::FailOverWithoutLoss,
    Fault::TwoPrimaries,
    Fault::Restore,
    Fault::FullDisk,
    Fault::FullLogDisk,
    Fault::KillReplica,
];

/// A storm over replicas.
struct Storm {
    servers: Servers,
    cluster: Cluster,
    dice: Dice,
}

impl Storm {
    fn start(seed: u64, off: Option<&str>) -> Self {
        let servers = Servers::start();
        let url = servers.url();
        let plan = Plan { jobs: 4, keys: KEYS, run_ms: 600, skews_ms: REPLICAS, off, ..Plan::on(&url) };
        let mut cluster = Cluster::start(&plan);
        cluster.wait_for_runs(2);
        Self { servers, cluster, dice: Dice::of(seed) }
    }

    /// Does one fault, and waits until all jobs run again.
    fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Crash => {
                self.servers.primary.stop();
                self.cluster.wait_for_message("connection dropped");
                self.servers.primary.start_again();
            }
            Fault::Freeze => {
                self.servers.primary.freeze();
                self.cluster.wait_for_message("tick delayed: the store does not answer");
                self.servers.primary.thaw();
            }
            Fault::LockWrites => self.lock_records("exclusive"),
            Fault::LockRecords => self.lock_records("access exclusive"),
            Fault::DropClients => self.servers.drop_clients(),
            Fault::FailOverWithLoss => {
                self.servers.cut_standby_off();
                self.fail_over();
            }
            Fault::FailOverWithoutLoss => {
                self.servers.commit_on_both();
                self.fail_over();
            }
            Fault::TwoPrimaries => {
                self.servers.primary.freeze();
                self.servers.promote_standby();
                self.run_on();
                self.servers.thaw_former_primary();
                self.run_on();
                self.servers.replace_other();
            }
            Fault::Restore => {
                self.servers.primary.stop();
                let backup = self.servers.primary.backup();
                self.servers.primary.start_again();
                self.run_on();
                self.servers.primary.stop();
                self.servers.primary.restore(&backup);
                self.servers.primary.start_again();
                // The standby has what the primary has lost: it cannot follow.
                self.servers.replace_other();
            }
            Fault::FullDisk => {
                self.servers.make_tables_large();
                self.servers.primary.limit_files(WAL_SEGMENT);
                self.cluster.wait_for_message("run result not recorded yet, trying again");
                self.servers.primary.lift_limit_of_files();
            }
            Fault::FullLogDisk => {
                self.servers.primary.limit_files(WAL_SEGMENT / 16);
                self.cluster.wait_for_message("connection dropped");
                self.servers.primary.stop();
                self.servers.primary.start_again();
            }
            Fault::KillReplica => {
                let node = format!("n{}", self.dice.below(REPLICAS.len()));
                self.cluster.kill_and_start(&node);
            }
        }
        self.run_on();
    }

    /// Lets the standby take over after some more runs, and gives the new primary a standby.
    fn fail_over(&mut self) {
        self.run_on();
        self.servers.primary.stop();
        self.servers.promote_standby();
        self.run_on();
        self.servers.replace_other();
    }

    fn lock_records(&mut self, mode: &str) {
        let mut client = self.servers.lock_records(mode, self.dice.between(1, 7));
        client.wait().expect("it is a child of the test");
    }

    /// Waits until a tick from now on was run of every job.
    fn run_on(&mut self) {
        self.cluster.wait_for_ticks_after(SystemClock.utc().0);
    }
}

/// What must never be. Whether a tick that did not run is one, the history tells.
fn wrong(runs: &[Witnessed], from_ms: i64, history: &[Value]) -> Vec<Violation> {
    let mut found = check(runs, PERIOD_MS);
    found.retain(|violation| match violation {
        Violation::Missed { job, tick_ms } => *tick_ms >= from_ms && !is_told(history, job, *tick_ms),
        // When a job ended that was killed, it could not tell.
        Violation::Overlap { job, tick_ms } => was_on(runs, job, *tick_ms),
        _ => true,
    });
    found
}

/// Whether the history has an entry of this tick.
fn is_told(history: &[Value], job: &str, tick_ms: i64) -> bool {
    history.iter().any(|entry| entry["job"] == job && covers(entry, tick_ms))
}

/// Whether the run before that of this tick ended after it began, by its own record.
fn was_on(runs: &[Witnessed], job: &str, tick_ms: i64) -> bool {
    let of_job = || runs.iter().filter(|run| run.job == job);
    of_job().filter(|run| run.tick_ms == tick_ms).any(|later| {
        of_job().any(|earlier| {
            earlier.start_us < later.start_us && earlier.end_us.is_some_and(|end| end > later.start_us)
        })
    })
}

#[test]
fn no_fault_of_postgresql_makes_a_tick_run_twice_or_go_missing() {
    let seed = variable("CAMPAIGN_SEED", |text| text.parse().ok()).unwrap_or(1);
    let lasts = variable("CAMPAIGN_DURATION", |text| parse_duration(text).ok()).unwrap_or_default();
    let deadline = SystemClock.boot().plus(lasts);
    let mut storm = Storm::start(seed, None);
    let mut faults = 0;
    loop {
        for fault in storm.dice.shuffled(&FAULTS) {
            let begun_ms = SystemClock.utc().0;
            storm.strike(fault);
            faults += 1;
            let found = wrong(&storm.cluster.witnessed(), begun_ms, &storm.cluster.told());
            let lines = storm.cluster.newest_lines(LINES);
            assert_eq!(found, [], "{fault:?}, fault {faults} of seed {seed}\n{lines}");
        }
        if SystemClock.boot() >= deadline {
            break;
        }
    }
    let runs = storm.cluster.stop();
    eprintln!("{faults} faults, {} runs", runs.len());
}

#[test]
fn without_the_version_of_a_swap_claims_that_waited_for_a_lock_are_all_granted() {
    if !cfg!(feature = "test-switches") {
        panic!("built without its switches: run `make test`, or add `--features test-switches`");
    }
    let mut storm = Storm::start(1, Some("swap-version"));
    let is_twice = |violation: &Violation| matches!(violation, Violation::Twice { .. });
    // Only two claims that both wait for the lock are granted both.
    let found = (0..10).any(|_| {
        storm.strike(Fault::LockWrites);
        check(&storm.cluster.witnessed(), PERIOD_MS).iter().any(is_twice)
    });
    let runs = storm.cluster.stop();
    assert!(found, "{} runs, and no tick ran twice", runs.len());
}
