//! A state directory of its own, a clock that stands still, and jobs on it. Dropping what goes on kills it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use solocron::job::{Cause, Command, Fence, JobName, NodeName, RunId, Tick};
use solocron::run::{
    Ended, Guards, Identity, JobOutput, Launch, RunControl, RunLogs, StopOrder, StopReason, Streams, attempt,
};
use solocron::time::{BootInstant, SystemClock, UtcMillis};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// 2026-11-20T12:00:00.123Z, when all tests take place.
pub(crate) const NOON: i64 = 1_795_176_000_123;

/// Far more than anything here takes, also on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A grace that no test waits for.
pub(crate) const LONG: Duration = Duration::from_secs(600);

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) logs: Arc<RunLogs>,
    pub(crate) clock: Arc<AtomicI64>,
}

/// An attempt that goes on.
pub(crate) struct Going {
    pub(crate) log: PathBuf,
    stops: watch::Sender<Option<StopOrder>>,
    task: JoinHandle<Ended>,
}

/// A process that outlives its job by intent, and not its test.
pub(crate) struct Stray(pub(crate) Pid);

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(NOON));
        Self { logs: Arc::new(logs_at(folder.path(), &clock)), folder, clock }
    }

    /// A path in a folder that any user may write to.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs one attempt to its end, as the replica would.
    pub(crate) async fn run(&self, launch: &Launch) -> Ended {
        let (_stops, orders) = watch::channel(None);
        run(&self.logs, launch, JobOutput::File, orders).await
    }

    /// Starts an attempt.
    pub(crate) fn start(&self, launch: &Launch) -> Going {
        let (stops, orders) = watch::channel(None);
        let (logs, launch) = (Arc::clone(&self.logs), launch.clone());
        let log = logs.log_path(&launch.identity.job, launch.identity.run);
        let task = tokio::spawn(async move { run(&logs, &launch, JobOutput::File, orders).await });
        Going { log, stops, task }
    }

    pub(crate) fn log_of(&self, launch: &Launch) -> String {
        let path = self.logs.log_path(&launch.identity.job, launch.identity.run);
        fs::read(path).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }
}

pub(crate) fn logs_at(state_dir: &Path, clock: &Arc<AtomicI64>) -> RunLogs {
    let clock = Arc::clone(clock);
    RunLogs::new(state_dir.join("state"), Arc::new(move || UtcMillis(clock.load(Ordering::Relaxed))))
}

pub(crate) async fn run(
    logs: &RunLogs,
    launch: &Launch,
    output: JobOutput,
    orders: watch::Receiver<Option<StopOrder>>,
) -> Ended {
    let log = logs.begin(&launch.identity).await;
    let guards = guards();
    let running = attempt(&guards, launch, &log, output, free(orders));
    let ended = tokio::time::timeout(PATIENCE, running).await.expect("the attempt hangs");
    logs.finish(log, launch.identity.attempt, &ended).await;
    ended
}

/// Guards as the program makes them: a process of tests for each process of its own.
pub(crate) fn guards() -> Arc<Guards> {
    static GUARDS: LazyLock<Arc<Guards>> =
        LazyLock::new(|| Arc::new(Guards::made_by(env!("CARGO_BIN_EXE_solocron"))));
    Arc::clone(&GUARDS)
}

/// No deadline, and these orders.
pub(crate) fn free(stops: watch::Receiver<Option<StopOrder>>) -> RunControl {
    let deadlines = watch::Sender::new(BootInstant(Duration::MAX)).subscribe();
    RunControl { stops, deadlines, born: CancellationToken::new(), clock: Arc::new(SystemClock) }
}

impl Going {
    pub(crate) fn stop(&self, reason: StopReason, grace: Duration) {
        StopOrder { reason, grace }.give(&self.stops);
    }

    pub(crate) async fn end(self) -> Ended {
        self.task.await.unwrap()
    }

    /// Drops the attempt where it stands.
    pub(crate) async fn abort(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    /// Waits until the job has printed this, and returns what follows it on the line.
    pub(crate) async fn printed(&self, text: &str) -> String {
        let what = format!("`{text}` in the log");
        eventually(&what, || {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            log.lines().find_map(|line| line.split_once(text).map(|(_, rest)| rest.trim().to_owned()))
        })
        .await
    }

    /// Waits until the job has printed this and a process id.
    pub(crate) async fn printed_pid(&self, text: &str) -> Pid {
        Pid::from_raw(self.printed(text).await.parse().unwrap())
    }
}

impl Drop for Stray {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
    }
}

/// Waits for an event that cannot be subscribed to.
pub(crate) async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let looking = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(2));
        loop {
            ticks.tick().await;
            if let Some(found) = look() {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

/// Whether a process runs; the dead that wait for their parent do not.
pub(crate) fn is_alive(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn shell(line: &str) -> Launch {
    launch(Command::Shell(line.into()))
}

pub(crate) fn argv(words: &[&str]) -> Launch {
    launch(Command::Argv(words.iter().map(|word| (*word).into()).collect()))
}

fn launch(command: Command) -> Launch {
    Launch {
        no_new_privileges: false,
        max_processes: None,
        max_output: 64 << 20,
        command: command.words(),
        env: BTreeMap::new(),
        withheld: Default::default(),
        cwd: None,
        user: None,
        group: None,
        success_codes: vec![0],
        timeout: None,
        kill_grace: LONG,
        loss_grace: LONG,
        streams: Streams::Kept,
        identity: Identity {
            job: JobName::parse("backup").unwrap(),
            tick: Tick::at_millis(1_700_000_000_000),
            tick_local: "2023-11-14T23:13:20.000+01:00".into(),
            fence: Fence(7),
            run: RunId::new(),
            attempt: 1,
            cause: Cause::Schedule,
            node: NodeName::parse("n1").unwrap(),
        },
    }
}
