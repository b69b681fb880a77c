//! A replica as a process that is killed, frozen and started again on the same folder.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::pause::pause;
use crate::processes::MARK;
use crate::shim::ShimClock;

/// A replica that drains has ended by then: it is told to wait for its runs for 2 s.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

/// How a replica is started, each time.
#[derive(Debug, Clone)]
pub(crate) struct ReplicaPlan {
    pub(crate) node: String,
    /// Everything of the campaign is here; marks all processes of the replica.
    pub(crate) folder: PathBuf,
    pub(crate) jobs_toml: PathBuf,
    pub(crate) store: String,
    pub(crate) clock: ShimClock,
    /// A protection that is switched off.
    pub(crate) off: Option<&'static str>,
}

/// A replica, running or not.
pub(crate) struct Replica {
    plan: ReplicaPlan,
    child: Option<Child>,
    lines: Sender<Value>,
}

impl Replica {
    /// A replica that is not started yet; its lines go to `lines`, and to its log.
    pub(crate) fn new(plan: ReplicaPlan, lines: Sender<Value>) -> Self {
        Self { plan, child: None, lines }
    }

    pub(crate) fn node(&self) -> &str {
        &self.plan.node
    }

    pub(crate) fn clock(&self) -> &ShimClock {
        &self.plan.clock
    }

    /// Starts it, on what its former life left behind.
    pub(crate) fn start(&mut self) {
        let plan = &self.plan;
        let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SOLOCRON_") {
                command.env_remove(name);
            }
        }
        command
            .args([
                "run",
                "--log-format",
                "json",
                "--log-level",
                "debug",
                "--no-http",
                "--drain",
                "2s",
                "--node",
                &plan.node,
            ])
            .arg("--config")
            .arg(&plan.jobs_toml)
            .args(["--store", &plan.store])
            .arg("--state-dir")
            .arg(plan.folder.join(&plan.node))
            .env(MARK, &plan.folder)
            .envs(plan.clock.env());
        if let Some(off) = plan.off {
            command.env("SOLOCRON_SWITCH_OFF", off);
        }
        let errors = append(&plan.folder.join(format!("{}.errors", plan.node)));
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
        let mut child = spawned.expect("the program was built");
        pass_lines(&mut child, append(&log_of(&plan.folder, &plan.node)), self.lines.clone());
        self.child = Some(child);
    }

    /// Its process, while it is started.
    pub(crate) fn pid(&self) -> Option<Pid> {
        let child = self.child.as_ref()?;
        Some(Pid::from_raw(i32::try_from(child.id()).expect("process ids are small")))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // An error says that it is gone already.
            let _ = kill(pid, signal);
        }
    }

    /// Ends it without a chance to do anything.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // An error says that it is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits for the end of a replica that was told to drain; whether it ended well, and in time.
    pub(crate) fn wait(&mut self) -> bool {
        let deadline = SystemClock.boot().plus(DRAIN_LIMIT);
        while self.child.is_some() && !self.has_ended() && SystemClock.boot() < deadline {
            pause(Duration::from_millis(20));
        }
        let ended = self.child.as_mut().map(Child::try_wait);
        let is_well =
            ended.is_none_or(|ended| ended.is_ok_and(|status| status.is_some_and(|it| it.success())));
        self.kill();
        is_well
    }

    /// Whether it ended although nobody killed it.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }
}

/// Where a replica's lines are kept.
pub(crate) fn log_of(folder: &Path, node: &str) -> PathBuf {
    folder.join(format!("{node}.log"))
}

fn append(path: &Path) -> std::fs::File {
    OpenOptions::new().create(true).append(true).open(path).expect("a writable folder")
}

fn pass_lines(child: &mut Child, mut log: std::fs::File, to: Sender<Value>) {
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            writeln!(log, "{line}").expect("a disk with room");
            // The test may have heard enough.
            let _ = to.send(serde_json::from_str(&line).unwrap_or_default());
        }
    });
}
