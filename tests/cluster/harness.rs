//! Several replica processes on one machine, whose jobs write down what they see. Their logs are the events that the
//! tests wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};
use tempfile::TempDir;

use crate::c_program::compile;
use crate::plan::Plan;
use crate::process::descendants;
use crate::shim::ShimClock;
use crate::witness;
use crate::witness::{Violation, Witnessed, check};

/// No single thing that these tests wait for takes longer than this, however busy the machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// Ticks of the first two seconds are left out.
const WARM_UP_MS: i64 = 2_000;

/// A replica, and how it is started again.
struct Replica {
    command: Command,
    child: Child,
}

/// Running replicas.
pub(crate) struct Cluster {
    /// By their numbers.
    replicas: BTreeMap<usize, Replica>,
    lines: Receiver<String>,
    /// For the log of a replica that is started again; none any more once all of them are to end.
    heard: Option<Sender<String>>,
    log: String,
    /// The clock of replicas whose clocks are off.
    pub(crate) clock: ShimClock,
    folder: TempDir,
    jobs: usize,
}

impl Cluster {
    /// Starts the replicas.
    pub(crate) fn start(plan: &Plan<'_>) -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        let witness = compile(folder.path(), "witness", &[]);
        let clock = ShimClock::new(folder.path(), "replicas", &ShimClock::library(folder.path()));
        let file = folder.path().join("jobs.toml");
        std::fs::write(&file, jobs_toml(plan, &witness, &records(&folder))).expect("a writable folder");
        let (heard, lines) = mpsc::channel();
        let replica = |(number, skew): (usize, &i64)| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
            command.args([
                "run",
                "--log-format",
                "json",
                "--log-level",
                "debug",
                "--no-http",
                "--node",
                &format!("n{number}"),
            ]);
            command.arg("--config").arg(&file).arg("--state-dir").arg(folder.path().join("state"));
            if *skew != 0 {
                command.envs(clock.env()).env("CLOCK_SKEW_MS", skew.to_string());
            }
            let flags = plan.flags.get(number).copied().unwrap_or_default();
            if !flags.contains("--drain") {
                command.args(["--drain", "5s"]);
            }
            command.args(flags.split_whitespace());
            if let Some(off) = plan.off {
                command.env("SOLOCRON_SWITCH_OFF", off);
            }
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            let child = spawn(&mut command, &heard);
            Replica { command, child }
        };
        let replicas = plan
            .skews_ms
            .iter()
            .enumerate()
            .map(|(number, skew)| (number, replica((number, skew))))
            .collect();
        Self { replicas, lines, heard: Some(heard), log: String::new(), clock, folder, jobs: plan.jobs }
    }

    /// Drains a replica, named by its number, and starts it again as soon as it has ended.
    pub(crate) fn restart(&mut self, number: usize) {
        signal(&self.replicas[&number].child, Signal::SIGTERM);
        let node = format!("n{number}");
        self.wait_for("a drained replica", |event| {
            event["message"] == "replica stopped" && event["node"] == *node
        });
        let replica = self.replicas.get_mut(&number).expect("it was not killed before");
        let status = replica.child.wait().expect("the replica is our child");
        assert!(status.success(), "a drained replica ends well: {status}\n{}", self.log);
        replica.child = spawn(&mut replica.command, self.heard.as_ref().expect("it is not the end yet"));
    }

    /// The newest lines of the replicas' logs.
    pub(crate) fn newest_lines(&self, count: usize) -> String {
        let mut newest: Vec<&str> = self.log.lines().rev().take(count).collect();
        newest.reverse();
        newest.join("\n")
    }

    /// What the replicas have said so far, each in its own order.
    pub(crate) fn said(&self) -> impl Iterator<Item = Value> {
        self.log.lines().map(|line| serde_json::from_str(line).unwrap_or_default())
    }

    /// Waits until every job has ended so many runs.
    pub(crate) fn wait_for_runs(&mut self, runs: usize) {
        let mut ended = BTreeMap::<String, usize>::new();
        while ended.len() < self.jobs || ended.values().any(|&count| count < runs) {
            let event =
                self.wait_for(&format!("every job's {runs} runs"), |event| event["message"] == "run ended");
            *ended.entry(event["job"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }

    /// Waits until a tick after this instant was run of every job.
    pub(crate) fn wait_for_ticks_after(&mut self, at_ms: i64) {
        let mut jobs = BTreeSet::new();
        while jobs.len() < self.jobs {
            let ended = self.wait_for("a later tick of every job", |event| {
                event["message"] == "run ended" && millis_of(event, "tick") > at_ms
            });
            jobs.insert(ended["job"].to_string());
        }
    }

    /// Waits until every replica has ended one more run.
    pub(crate) fn wait_for_each_replica(&mut self) {
        let mut missing: BTreeSet<usize> = self.replicas.keys().copied().collect();
        while !missing.is_empty() {
            let event = self
                .wait_for(&format!("a run of each of {missing:?}"), |event| event["message"] == "run ended");
            missing.remove(&number_of(event["node"].as_str().expect("every line has its node")));
        }
    }

    /// Waits for a line of any replica's log.
    pub(crate) fn wait_for(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = SystemClock.boot().plus(DEADLINE);
        loop {
            let Ok(line) = self.lines.recv_timeout(deadline.since(SystemClock.boot())) else {
                panic!("waited in vain for {what}\n{}", self.log);
            };
            self.log += &line;
            self.log.push('\n');
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if is_it(&event) {
                return event;
            }
        }
    }

    /// Waits for all of these messages, in whatever order they come.
    pub(crate) fn wait_for_messages(&mut self, messages: &[&str]) {
        let mut missing = messages.to_vec();
        while !missing.is_empty() {
            let what = format!("{missing:?}");
            let is_missing = |event: &Value| missing.iter().any(|message| event["message"] == *message);
            let event = self.wait_for(&what, is_missing);
            missing.retain(|message| event["message"] != *message);
        }
    }

    /// Waits for this message, and tells when it was logged.
    pub(crate) fn wait_for_message(&mut self, message: &str) -> (Timestamp, Value) {
        let event = self.wait_for(message, |event| event["message"] == message);
        (time_of(&event), event)
    }

    /// How ticks ended, oldest first, as `history` tells. A replica logs that a run has ended before the store is told:
    /// this waits until the store knows of all that were logged.
    pub(crate) fn history(&self) -> Vec<Value> {
        let is_end = |event: &Value| event["message"] == "run ended";
        let ended: Vec<Value> = self.said().filter(is_end).map(|event| event["run"].clone()).collect();
        let deadline = SystemClock.boot().plus(DEADLINE);
        loop {
            let history = self.told();
            if !history.iter().any(|entry| entry["outcome"] == "running" && ended.contains(&entry["run"])) {
                return history;
            }
            assert!(SystemClock.boot() < deadline, "runs that have ended: {history:#?}\n{}", self.log);
        }
    }

    /// Orders a run by hand, and waits until a replica has started it.
    pub(crate) fn trigger(&mut self, job: &str) -> Value {
        let output = self.output_of(&["trigger", job]);
        assert!(output.status.success(), "{output:?}");
        self.wait_for_message("run started").1
    }

    /// How ticks ended, oldest first, as `history` tells now.
    pub(crate) fn told(&self) -> Vec<Value> {
        let output = self.output_of(&["history", "--format", "json", "-n", "2000"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// What a command of the program prints about this cluster.
    fn output_of(&self, words: &[&str]) -> Output {
        let folder = self.folder.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
        command.args(words).arg("--config").arg(folder.join("jobs.toml"));
        command.arg("--state-dir").arg(folder.join("state"));
        command.stdin(Stdio::null()).output().expect("the program was built")
    }

    /// Kills a replica, named n0, n1, and so on.
    pub(crate) fn kill(&mut self, node: &str) {
        self.killed(node);
    }

    fn killed(&mut self, node: &str) -> Replica {
        let mut replica = self.replicas.remove(&number_of(node)).expect("it was not killed before");
        replica.child.kill().expect("the replica is our child");
        replica.child.wait().expect("the replica is our child");
        replica
    }

    /// Kills a replica, and starts it again at once.
    pub(crate) fn kill_and_start(&mut self, node: &str) {
        let replica = self.killed(node);
        self.start_again(node, replica);
    }

    /// Kills a replica, and starts it again at once by the same name as if on another machine: it knows nothing of its former life.
    pub(crate) fn kill_and_start_elsewhere(&mut self, node: &str) {
        let replica = self.killed(node);
        let state = self.folder.path().join("state");
        for folder in [state.join("leases/test").join(node), state.join("runs")] {
            std::fs::remove_dir_all(folder).expect("it has run something");
        }
        self.start_again(node, replica);
    }

    fn start_again(&mut self, node: &str, mut replica: Replica) {
        replica.child = spawn(&mut replica.command, self.heard.as_ref().expect("it is not the end yet"));
        self.replicas.insert(number_of(node), replica);
    }

    /// Kills a replica and its guards.
    pub(crate) fn kill_with_guards(&mut self, node: &str) {
        let id = i32::try_from(self.replicas[&number_of(node)].child.id()).expect("process ids are small");
        let guards: Vec<Pid> = descendants(Pid::from_raw(id)).into_iter().filter(is_guard).collect();
        assert!(!guards.is_empty(), "every run has its guard");
        self.kill(node);
        for guard in guards {
            // It may have gone with its replica already.
            let _ = kill(guard, Signal::SIGKILL);
        }
    }

    /// Tells a replica to drain.
    pub(crate) fn drain_one(&self, node: &str) {
        signal(&self.replicas[&number_of(node)].child, Signal::SIGTERM);
    }

    /// What the jobs have written down so far.
    pub(crate) fn witnessed(&self) -> Vec<Witnessed> {
        witness::read(&records(&self.folder))
    }

    /// Drains all replicas, and finds nothing wrong in what the jobs of this period wrote down.
    pub(crate) fn stop_and_check(mut self, period_ms: i64) -> Vec<Witnessed> {
        let mut runs = self.drain();
        // First starts wait two seconds, and so may cover the tick after them: that one is skipped by right.
        let settled_ms = runs.iter().map(|run| run.tick_ms).min().unwrap_or_default() + WARM_UP_MS;
        runs.retain(|run| run.tick_ms >= settled_ms);
        let mut found = check(&runs, period_ms);
        found.retain(|violation| !self.came_during_a_run(violation));
        assert_eq!(found, [], "{}", self.log);
        runs
    }

    /// Whether it is a tick that was skipped, as it came while the one before was still being run: on a busy machine a short
    /// run may take longer than until the next tick, and one that waited for the store may begin just before that. The store
    /// decided it, so its own clock and record of that run tell.
    fn came_during_a_run(&self, violation: &Violation) -> bool {
        let Violation::Missed { job, tick_ms } = violation else { return false };
        let of_job: Vec<Value> =
            self.told().into_iter().filter(|entry| entry["job"] == job.as_str()).collect();
        let instant = |entry: &Value, key| {
            let at = entry[key].as_str().and_then(|at| at.parse::<Timestamp>().ok());
            at.map(Timestamp::as_millisecond)
        };
        let was_skipped = of_job.iter().any(|entry| {
            (&entry["outcome"], &entry["reason"]) == (&"skipped".into(), &"overlap".into())
                && entry["tick_ms"] == *tick_ms
        });
        let covers = |entry: &Value| match (instant(entry, "started"), instant(entry, "finished")) {
            (Some(started), Some(finished)) => (started..=finished).contains(tick_ms),
            _ => false,
        };
        was_skipped && of_job.iter().any(covers)
    }

    /// Drains all replicas, and reads what the jobs wrote down.
    pub(crate) fn stop(mut self) -> Vec<Witnessed> {
        self.drain()
    }

    fn drain(&mut self) -> Vec<Witnessed> {
        self.heard = None;
        for replica in self.replicas.values() {
            signal(&replica.child, Signal::SIGTERM);
        }
        // The lines end when the last replica does.
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            self.log += &line;
            self.log.push('\n');
        }
        for replica in self.replicas.values_mut() {
            let status = replica.child.wait().expect("replicas are our children");
            assert!(status.success(), "a drained replica ends well: {status}\n{}", self.log);
        }
        witness::read(&records(&self.folder))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for replica in self.replicas.values_mut() {
            // An error says that it is gone already.
            let _ = replica.child.kill();
            let _ = replica.child.wait();
        }
        // The jobs of a replica that was killed.
        for orphan in witness::read(&records(&self.folder)).iter().filter(|run| run.end_us.is_none()) {
            let _ = kill(Pid::from_raw(orphan.pid), Signal::SIGKILL);
        }
    }
}

/// An instant of an event, in milliseconds.
pub(crate) fn millis_of(event: &Value, field: &str) -> i64 {
    let text = event[field].as_str().unwrap_or_else(|| panic!("no {field} in {event}"));
    text.parse::<Timestamp>().expect("an instant").as_millisecond()
}

/// Whether an entry of a history stands for this tick.
pub(crate) fn covers(entry: &Value, tick_ms: i64) -> bool {
    let to_ms = millis_of(entry, "tick");
    let after_ms = if entry["after"].is_string() { millis_of(entry, "after") } else { to_ms - 1 };
    after_ms < tick_ms && tick_ms <= to_ms
}

/// When a line was logged.
pub(crate) fn time_of(event: &Value) -> Timestamp {
    event["timestamp"].as_str().and_then(|at| at.parse().ok()).expect("every line has its time")
}

/// The number of n0, n1, and so on.
pub(crate) fn number_of(node: &str) -> usize {
    node.trim_start_matches('n').parse().expect("a replica's name")
}

fn is_guard(pid: &Pid) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.starts_with("lease-guard")
}

fn signal(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id()).expect("process ids are small");
    kill(Pid::from_raw(id), signal).expect("the replica is our child");
}

fn records(folder: &TempDir) -> PathBuf {
    folder.path().join("witnessed")
}

/// Starts a replica, and listens to its log.
fn spawn(command: &mut Command, heard: &Sender<String>) -> Child {
    let mut child = command.spawn().expect("the program was built");
    pass_lines(&mut child, heard.clone());
    child
}

/// Passes a replica's log on, line by line, until it ends.
fn pass_lines(child: &mut Child, to: Sender<String>) {
    let log = BufReader::new(child.stdout.take().expect("it is piped"));
    std::thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|line| to.send(line)));
}

fn jobs_toml(plan: &Plan<'_>, witness: &Path, records: &Path) -> String {
    let mut text = format!("[cluster]\nname = \"test\"\nstore = \"{}\"\n", plan.store);
    for job in 0..plan.jobs {
        let (witness, records) = (witness.display(), records.display());
        let Plan { schedule, keys, run_ms, .. } = plan;
        write!(
            text,
            "[jobs.job{job}]\nschedule = \"{schedule}\"\n{keys}\n\
             command = [\"{witness}\", \"{records}\", \"{run_ms}\"]\n"
        )
        .expect("text can be written to");
    }
    text
}
