//! What a guard costs: a guarded run of `true` against a plain spawn of it, in turn in one process; and the memory that
//! belongs to a guard alone. Prints a table; nothing is asserted, as machines are noisy.
//!
//! `cargo bench --bench guard`

#![expect(clippy::print_stdout, reason = "a table is all it makes")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use solocron::job::{Cause, Fence, JobName, NodeName, RunId, Tick};
use solocron::run::{
    Guards, Identity, JobOutput, Launch, RunControl, RunLogs, StopOrder, StopReason, Streams, attempt,
};
use solocron::time::{BootInstant, Clock, SystemClock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Enough for a median that hardly moves.
const RUNS: usize = 400;

/// Guards that are measured for their memory, all at work at once.
const GUARDS: usize = 20;

fn launch(words: &[&str]) -> Launch {
    Launch {
        no_new_privileges: false,
        max_processes: None,
        max_output: 64 << 20,
        command: words.iter().map(Into::into).collect(),
        env: BTreeMap::new(),
        withheld: Default::default(),
        cwd: None,
        user: None,
        group: None,
        success_codes: vec![0],
        timeout: None,
        kill_grace: Duration::from_secs(10),
        loss_grace: Duration::from_secs(5),
        streams: Streams::Kept,
        identity: Identity {
            job: JobName::parse("bench").expect("a name"),
            tick: Tick::at_millis(0),
            tick_local: String::new(),
            fence: Fence(1),
            run: RunId::new(),
            attempt: 1,
            cause: Cause::Manual,
            node: NodeName::parse("bench").expect("a name"),
        },
    }
}

struct Bench {
    guards: Arc<Guards>,
    logs: RunLogs,
    stops: watch::Sender<Option<StopOrder>>,
    deadlines: watch::Sender<BootInstant>,
}

impl Bench {
    fn reins(&self) -> RunControl {
        let (stops, deadlines) = (self.stops.subscribe(), self.deadlines.subscribe());
        RunControl { stops, deadlines, born: CancellationToken::new(), clock: Arc::new(SystemClock) }
    }

    async fn guarded(&self) -> Duration {
        let launch = launch(&["/bin/true"]);
        let log = self.logs.begin(&launch.identity).await;
        let start = SystemClock.boot();
        let ended = attempt(&self.guards, &launch, &log, JobOutput::File, self.reins()).await;
        let took = SystemClock.boot().since(start);
        assert_eq!(ended.exit_code, Some(0));
        self.logs.forget(log).await;
        took
    }
}

async fn plain() -> Duration {
    let start = SystemClock.boot();
    let spawning = tokio::task::spawn_blocking(|| {
        let mut command = tokio::process::Command::new("/bin/true");
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped()).process_group(0).spawn()
    });
    let mut child = spawning.await.expect("no panic").expect("there is a `true`");
    assert!(child.wait().await.expect("it is our child").success());
    SystemClock.boot().since(start)
}

fn quantile(times: &mut [Duration], of_hundred: usize) -> f64 {
    times.sort();
    times[(times.len() - 1) * of_hundred / 100].as_secs_f64() * 1e3
}

/// KiB that belong to a process alone.
fn private_kib(pid: &str) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let of = |line: &str| line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    Some(rollup.lines().filter(|line| line.starts_with("Private_")).filter_map(of).sum())
}

/// The private memory of every process of such a name.
fn private_of(is_it: fn(&str) -> bool) -> Vec<u64> {
    let processes = fs::read_dir("/proc").expect("linux").flatten();
    processes
        .filter(|entry| fs::read_to_string(entry.path().join("comm")).is_ok_and(|comm| is_it(comm.trim())))
        .filter_map(|entry| private_kib(entry.file_name().to_str()?))
        .collect()
}

/// Letters that stand for its run follow.
fn is_guard(name: &str) -> bool {
    name.strip_prefix("lease-guard").is_some_and(|rest| !rest.starts_with('-') && rest != "s")
}

async fn memory(bench: &Bench) {
    let mut running = Vec::new();
    for _ in 0..GUARDS {
        let launch = launch(&["/bin/sh", "-c", "echo up; exec sleep 600"]);
        let log = bench.logs.begin(&launch.identity).await;
        let (guards, reins) = (Arc::clone(&bench.guards), bench.reins());
        let path = log.path().to_owned();
        let task = tokio::spawn(async move { attempt(&guards, &launch, &log, JobOutput::File, reins).await });
        while !path.exists() {
            tokio::task::yield_now().await;
        }
        running.push(task);
    }
    let (mut guards, nursery) = (private_of(is_guard), private_of(|name| name == "lease-guards"));
    guards.sort_unstable();
    println!("| private memory of a guard, median of {}, KiB | {} |", guards.len(), guards[guards.len() / 2]);
    println!("| private memory of a guard, largest, KiB | {} |", guards.last().expect("there are guards"));
    println!("| private memory of what makes them, one per replica, KiB | {} |", nursery[0]);
    StopOrder { reason: StopReason::Operator, grace: Duration::ZERO }.give(&bench.stops);
    for task in running {
        task.await.expect("no panic");
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let bench = Bench {
        guards: Arc::new(Guards::made_by(env!("CARGO_BIN_EXE_solocron"))),
        logs: RunLogs::new(folder.path(), Arc::new(|| SystemClock.utc())),
        stops: watch::Sender::new(None),
        deadlines: watch::Sender::new(BootInstant(Duration::MAX)),
    };
    bench.guards.start().expect("a process that makes guards");
    let (mut plains, mut guardeds) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        plains.push(plain().await);
        guardeds.push(bench.guarded().await);
    }
    println!("| start to end of `true` | p50 ms | p90 ms |\n|---|---|---|");
    for (name, times) in [("plain spawn", &mut plains), ("guarded", &mut guardeds)] {
        println!("| {name} | {:.3} | {:.3} |", quantile(times, 50), quantile(times, 90));
    }
    let (plain, guarded) = (quantile(&mut plains, 50), quantile(&mut guardeds, 50));
    println!(
        "| guarded − plain | {:.3} | |\n| guarded ÷ plain | {:.2} | |\n",
        guarded - plain,
        guarded / plain
    );
    println!("| memory | |\n|---|---|");
    memory(&bench).await;
}
