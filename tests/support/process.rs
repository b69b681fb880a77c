//! The program as a process of a test's own: its lines are the events that the test waits for, and nothing of it outlives
//! the value. Nothing here waits for ever.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};
use tempfile::TempDir;

#[path = "descendants.rs"]
mod descendants;

pub(crate) use descendants::descendants;

/// No single thing that a test waits for takes longer than this, however busy the machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A setting of the program, as far as that can tell: so no job has it.
const MARK: &str = "SOLOCRON_TEST_PROGRAM";

/// From one look at all processes to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A folder with a jobs.toml, and what the program leaves there.
pub(crate) struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A folder with this jobs.toml.
    pub(crate) fn new(jobs: &str) -> Self {
        let folder = TempDir::new().expect("a folder for temporary files");
        std::fs::write(folder.path().join("jobs.toml"), jobs).expect("a writable folder");
        Self { folder }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Gives the folder to a user, with a copy of the program: not every user may enter the folder in which it was built.
    pub(crate) fn give_to(&self, user: u32) -> PathBuf {
        let program = self.path("solocron");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_solocron"), &program).expect("room for the program");
        }
        std::os::unix::fs::chown(self.path(""), Some(user), None).expect("root may");
        program
    }

    /// Puts another jobs.toml into the folder as editors do it: it is never seen half written.
    pub(crate) fn edit(&self, text: &str) {
        let new = self.path("jobs.toml.new");
        std::fs::write(&new, text).expect("a writable folder");
        std::fs::rename(new, self.path("jobs.toml")).expect("the same folder");
    }

    /// The program in this folder, with its state there and nothing of this environment's SOLOCRON_ variables.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
        self.equip(&mut command).args(args);
        command
    }

    /// Makes a command run in this folder; a replica without HTTP, as all would have the same port.
    pub(crate) fn equip<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SOLOCRON_") {
                command.env_remove(name);
            }
        }
        let command = command.current_dir(self.folder.path()).env("SOLOCRON_STATE_DIR", self.path("state"));
        command.env("SOLOCRON_NO_HTTP", "1")
    }

    /// `run` with JSON lines, and further arguments.
    pub(crate) fn run(&self, args: &[&str]) -> Program {
        Program::start(self.command(&["run", "--log-format", "json", "--node", "n"]).args(args))
    }
}

/// A running program.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<String>,
    log: Vec<String>,
    /// A variable of the program and of what it starts, as it stands in an environment.
    mark: String,
}

impl Program {
    /// Starts a command in a process group of its own; its stdout and stderr become one list of lines.
    pub(crate) fn start(command: &mut Command) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = format!("{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let spawned = command
            .env(MARK, &number)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (heard, lines) = mpsc::channel();
        pass_lines(child.stdout.take().expect("it is piped"), heard.clone());
        pass_lines(child.stderr.take().expect("it is piped"), heard);
        Self { child, lines, log: Vec::new(), mark: format!("{MARK}={number}") }
    }

    /// The id of the process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("process ids are small"))
    }

    /// Sends a signal to the process alone.
    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("the process is our child");
    }

    /// Kills the process alone and waits for its end: its guards and their jobs outlive it.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.wait().expect("the process is our child");
    }

    /// Waits until the process has a handler for a signal.
    pub(crate) fn wait_until_it_catches(&self, signal: Signal) {
        let deadline = SystemClock.boot().plus(DEADLINE);
        let catches = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
            Some(caught & 1 << (signal as i32 - 1) != 0)
        };
        while catches() != Some(true) {
            assert!(SystemClock.boot() < deadline, "no handler for {signal} within {DEADLINE:?}");
            std::thread::yield_now();
        }
    }

    /// Waits for a line, and gives it back.
    pub(crate) fn wait_for(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        self.wait_for_within(DEADLINE, what, wanted)
    }

    /// Waits no longer than this for a line, and gives it back.
    fn wait_for_within(&mut self, limit: Duration, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = SystemClock.boot().plus(limit);
        loop {
            match self.lines.recv_timeout(deadline.since(SystemClock.boot())) {
                Ok(line) => {
                    self.log.push(line.clone());
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no line {what} within {limit:?}:\n{}", self.said())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without a line {what}:\n{}", self.said())
                }
            }
        }
    }

    /// The lines up to the last one that was waited for.
    pub(crate) fn lines(&self) -> &[String] {
        &self.log
    }

    /// Waits for a JSON line with this message.
    pub(crate) fn wait_for_event(&mut self, message: &str) -> Value {
        self.wait_for_event_of(message, |_| true)
    }

    /// Waits for a JSON line with this message that is the wanted one.
    pub(crate) fn wait_for_event_of(&mut self, message: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_event_of_within(DEADLINE, message, wanted)
    }

    /// Waits no longer than this for a JSON line with this message.
    pub(crate) fn wait_for_event_within(&mut self, limit: Duration, message: &str) -> Value {
        self.wait_for_event_of_within(limit, message, |_| true)
    }

    fn wait_for_event_of_within(
        &mut self,
        limit: Duration,
        message: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let is_it = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            event["message"] == message && wanted(&event)
        };
        let line = self.wait_for_within(limit, &format!("`{message}`"), is_it);
        serde_json::from_str(&line).expect("it was parsed before")
    }

    /// Waits for the end of the process and of its output.
    pub(crate) fn wait(mut self) -> Ended {
        let deadline = SystemClock.boot().plus(DEADLINE);
        loop {
            match self.lines.recv_timeout(deadline.since(SystemClock.boot())) {
                Ok(line) => self.log.push(line),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it did not end within {DEADLINE:?}:\n{}", self.said())
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait().expect("the process is our child");
        Ended { status, log: self.said() }
    }

    /// Waits until every process that the program started is gone, but for its jobs.
    #[expect(clippy::disallowed_methods, reason = "nobody tells of the end of somebody else's child")]
    pub(crate) fn wait_until_all_gone(&self) {
        let deadline = SystemClock.boot().plus(DEADLINE);
        let is_its = |process: &std::fs::DirEntry| {
            // Who is gone by now, or dead, has no variables.
            let variables = std::fs::read(process.path().join("environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == self.mark.as_bytes())
        };
        while std::fs::read_dir("/proc").expect("Linux").flatten().any(|process| is_its(&process)) {
            assert!(SystemClock.boot() < deadline, "a process of it is left after {DEADLINE:?}");
            // Whoever is to end them needs the processors.
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    fn said(&self) -> String {
        self.log.join("\n")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Jobs have process groups of their own and outlive a killed replica: they are looked up before it is gone.
        let jobs = descendants(self.pid());
        // Errors say that it is gone already.
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.child.wait();
        for job in jobs {
            let _ = kill(job, Signal::SIGKILL);
        }
    }
}

/// How a program ended.
pub(crate) struct Ended {
    /// Its exit status.
    pub(crate) status: ExitStatus,
    /// Everything it said.
    pub(crate) log: String,
}

impl Ended {
    /// Asserts the exit code.
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}:\n{}", self.status, self.log);
        self
    }
}

/// Makes a FIFO: a job that reads it goes on when a test writes to it.
pub(crate) fn make_fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).expect("a folder that holds FIFOs");
}

/// Says this to whoever reads the FIFO, or will before long.
pub(crate) fn say_to(fifo: &Path, text: &str) {
    let deadline = SystemClock.boot().plus(DEADLINE);
    let mut options = OpenOptions::new();
    // With nobody to read, this fails, where it would wait for ever otherwise.
    options.write(true).custom_flags(nix::libc::O_NONBLOCK);
    let mut open = loop {
        match options.open(fifo) {
            Ok(open) => break open,
            Err(error) => assert!(SystemClock.boot() < deadline, "nobody reads {}: {error}", fifo.display()),
        }
        std::thread::yield_now();
    };
    open.write_all(text.as_bytes()).expect("it is read");
}

fn pass_lines(from: impl Read + Send + 'static, to: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // The test may have heard enough.
            let _ = to.send(line);
        }
    });
}
