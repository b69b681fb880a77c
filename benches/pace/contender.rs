//! Who is measured, and how each is started and ended.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::unistd::Pid;

use crate::descendants::descendants;
use crate::load::Load;
use crate::workload::{Coming, Workload};

/// One program under one workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contender {
    /// No lock: one process that sleeps to each instant and spawns.
    Floor,
    /// solocron on Redis, with so many replicas.
    Redis(usize),
    /// solocron on the embedded store, with so many replicas.
    Local(usize),
    /// tokio-cron-scheduler and a Redis lock, with so many processes.
    Obvious(usize),
}

impl Contender {
    /// What they are called by who asks for some of them.
    pub(crate) const KINDS: [&str; 4] = ["floor", "redis", "embedded", "obvious"];

    /// Which of these kinds it is.
    pub(crate) const fn kind(self) -> &'static str {
        let [floor, redis, embedded, obvious] = Self::KINDS;
        match self {
            Self::Floor => floor,
            Self::Redis(_) => redis,
            Self::Local(_) => embedded,
            Self::Obvious(_) => obvious,
        }
    }

    /// How many processes compete.
    pub(crate) const fn replicas(self) -> usize {
        match self {
            Self::Floor => 1,
            Self::Redis(count) | Self::Local(count) | Self::Obvious(count) => count,
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor => write!(f, "floor"),
            Self::Redis(count) => write!(f, "solocron, Redis, {count}"),
            Self::Local(count) => write!(f, "solocron, embedded, {count}"),
            Self::Obvious(count) => write!(f, "obvious program, {count}"),
        }
    }
}

/// Where everything of one measurement is.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a Path,
    /// The command of every job, and where it writes.
    pub(crate) program: PathBuf,
    pub(crate) records: PathBuf,
    /// Redis, as a url.
    pub(crate) redis: &'a str,
    /// When jobs that come once do so, in seconds since the epoch.
    pub(crate) once_s: i64,
}

/// Processes at work, which end with the value.
pub(crate) struct AtWork {
    children: Vec<Child>,
    /// Where each of them serves HTTP, if they do.
    addresses: Vec<SocketAddr>,
}

impl AtWork {
    /// Starts a contender.
    pub(crate) fn start(contender: Contender, workload: &Workload, place: &Place<'_>) -> Self {
        // Once, before any of them reads it.
        let text = workload.jobs_toml(place.once_s, &place.program, &place.records);
        std::fs::write(place.folder.join("jobs.toml"), text).expect("a writable folder");
        let is_served = workload.load != Load::Nothing;
        let addresses: Vec<SocketAddr> =
            (0..contender.replicas()).filter(|_| is_served).map(|_| free_address()).collect();
        let children = (0..contender.replicas()).map(|number| {
            let address = addresses.get(number).copied();
            start(contender, number, (workload, address), place)
        });
        Self { children: children.collect(), addresses }
    }

    /// Where the first of them serves HTTP.
    pub(crate) fn address(&self) -> SocketAddr {
        *self.addresses.first().expect("the workload is one with HTTP")
    }

    /// What is measured of fewer than were started means nothing.
    pub(crate) fn expect_all_alive(&mut self) {
        for child in &mut self.children {
            let ended = child.try_wait().expect("it is a child of this process");
            assert!(ended.is_none(), "one of the programs has ended: {ended:?}");
        }
    }

    /// Their process ids, each with those of what it has started and keeps: a replica's maker of guards.
    pub(crate) fn families(&self) -> Vec<Vec<Pid>> {
        let pid = |child: &Child| Pid::from_raw(i32::try_from(child.id()).expect("process ids are small"));
        let family = |pid: Pid| [vec![pid], descendants(pid)].concat();
        self.children.iter().map(pid).map(family).collect()
    }

    /// Ends one of them without a chance to do anything.
    pub(crate) fn kill_first(&mut self) {
        let mut child = self.children.remove(0);
        child.kill().expect("it is a child of this process");
        child.wait().expect("it is a child of this process");
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        for child in &mut self.children {
            // An error says that it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An address on which nobody listened a moment ago.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound")
}

fn start(
    contender: Contender,
    number: usize,
    (workload, address): (&Workload, Option<SocketAddr>),
    place: &Place<'_>,
) -> Child {
    let this = std::env::current_exe().expect("a program has a file");
    let mut command = match contender {
        Contender::Floor => {
            let mut command = Command::new(this);
            command.arg("be-floor").args(plan(workload, place));
            command
        }
        Contender::Obvious(_) => {
            let mut command = Command::new(this);
            command.args(["be-obvious", place.redis]).args(plan(workload, place));
            command
        }
        Contender::Redis(_) | Contender::Local(_) => solocron(contender, number, address, place),
    };
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().expect("the program was built")
}

fn solocron(contender: Contender, number: usize, address: Option<SocketAddr>, place: &Place<'_>) -> Command {
    let mut command = of_solocron(contender, number, place);
    command.args(["run", "--node", &format!("n{number}")]);
    match address {
        Some(address) => command.args(["--listen", &address.to_string()]),
        None => command.arg("--no-http"),
    };
    command
}

/// A command about the jobs of this place.
fn of_solocron(contender: Contender, number: usize, place: &Place<'_>) -> Command {
    let (store, state) = match contender {
        Contender::Local(_) => ("local", place.folder.join("state")),
        _ => (place.redis, place.folder.join(format!("n{number}"))),
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
    command.args(["--store", store, "--config"]).arg(place.folder.join("jobs.toml"));
    command.arg("--state-dir").arg(state);
    command
}

/// What `status` says, as JSON.
pub(crate) fn status(contender: Contender, place: &Place<'_>) -> serde_json::Value {
    let output = of_solocron(contender, 0, place).args(["status", "--format", "json"]).output();
    serde_json::from_slice(&output.expect("the program was built").stdout).unwrap_or_default()
}

/// What the other two need to know: how many jobs, every how many seconds, or 0 and when, the command and its file.
fn plan(workload: &Workload, place: &Place<'_>) -> [String; 5] {
    let every = match workload.coming {
        Coming::Every(seconds) => seconds,
        Coming::Once | Coming::Never | Coming::First => 0,
    };
    let path = |path: &Path| path.display().to_string();
    [
        workload.jobs.to_string(),
        every.to_string(),
        place.once_s.to_string(),
        path(&place.program),
        path(&place.records),
    ]
}

/// A plan, as a process reads it from its arguments.
pub(crate) struct Plan {
    pub(crate) jobs: usize,
    pub(crate) every_s: i64,
    pub(crate) once_s: i64,
    pub(crate) program: String,
    pub(crate) records: String,
}

impl Plan {
    pub(crate) fn of(words: &[&str]) -> Self {
        let number = |at: usize| words[at].parse::<i64>().expect("a number");
        Self {
            jobs: usize::try_from(number(0)).expect("some jobs"),
            every_s: number(1),
            once_s: number(2),
            program: words[3].to_owned(),
            records: words[4].to_owned(),
        }
    }
}
