//! A job's process group: started, signalled, looked at. What is started here starts with a clean slate (signals, file
//! descriptors, account, folder), and is killed with its whole group when it is dropped before its end.
#![expect(unsafe_code, reason = "code between fork and exec, and calls that nix has no safe form of")]

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ExitStatus, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, chdir, geteuid, setgid, setgroups, setuid};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::watch;

use super::account::{Account, Switch};
use super::course::{Exit, Group};
use super::environment::environment;
use super::error::RunError;
use super::launch::Launch;
use super::limits::restore_file_limit;
use super::stop::StopOrder;
use crate::job::Command;

/// The numbers of all Linux signals.
const SIGNALS: std::ops::RangeInclusive<libc::c_int> = 1..=64;

/// An error between fork and exec reaches the parent as one number: the step that failed is put above the bits of errno.
const STEP_SHIFT: u32 = 16;
const STEP_SWITCH: i32 = 1;
const STEP_CWD: i32 = 2;

/// A job's main process and the group it leads.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
    reaped: bool,
    /// Nothing of the group is to be killed any more: it is empty, or its main process ended by itself.
    over: bool,
}

/// The reading ends of a job's output.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) out: pipe::Receiver,
    pub(super) err: pipe::Receiver,
}

/// What became of a start.
#[derive(Debug)]
pub(super) enum Spawned {
    /// It runs.
    Running(Box<(Process, Pipes)>),
    /// It was ordered to stop before it was started.
    Ordered(StopOrder),
}

impl Process {
    /// Starts the command, unless an order to stop has come first. Looking up an account or a file can hang on a
    /// network: this happens off the runtime, and may take longer than the lock holds.
    pub(super) async fn spawn(
        launch: &Launch,
        stops: watch::Receiver<Option<StopOrder>>,
    ) -> Result<Spawned, RunError> {
        let launch = launch.clone();
        let spawning = tokio::task::spawn_blocking(move || spawn_blocking(&launch, &stops));
        spawning.await.expect("spawning neither panics nor is it aborted")
    }

    /// The id of the group, which is its main process's.
    pub(super) fn group(&self) -> Pid {
        self.group
    }

    /// Whether the main process has not been reaped yet.
    pub(super) fn unreaped(&self) -> bool {
        !self.reaped
    }

    /// Waits for the main process and reaps it. Cancel-safe.
    pub(super) async fn exited(&mut self) -> Exit {
        let status = self.child.wait().await;
        self.reaped = true;
        // The one error is that somebody else reaped it: it ended, and nobody can say how.
        status.map(Exit::from).unwrap_or_default()
    }

    /// Reaps the main process if it has ended.
    pub(super) fn try_exited(&mut self) -> Option<Exit> {
        let status = self.child.try_wait().transpose()?;
        self.reaped = true;
        Some(status.map(Exit::from).unwrap_or_default())
    }

    /// Sends a signal to the group. Whom it did not reach, the next look will find.
    pub(super) fn signal(&self, signal: Signal) {
        // While the main process is not reaped, or a member is left, nobody else can be given this id; and between the
        // last look and this signal the kernel does not come round to it again.
        let _ = killpg(self.group, signal);
        if signal == Signal::SIGTERM {
            // A stopped process would sleep through its grace.
            let _ = killpg(self.group, Signal::SIGCONT);
        }
    }

    /// Looks whether the group has ended. A `deep` look does not count the dead that nobody reaps, and costs
    /// milliseconds: it walks through all processes.
    pub(super) fn look(&self, deep: bool) -> Group {
        if !self.reaped {
            return Group::Alive;
        }
        reap_orphans(self.group);
        let empty = killpg(self.group, None::<Signal>) == Err(Errno::ESRCH);
        if empty || (deep && is_all_zombies(self.group)) { Group::Empty } else { Group::Alive }
    }

    /// The attempt is over: what is left in the group, if anything, is not to be killed.
    pub(super) fn release(&mut self) {
        self.over = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::SIGKILL);
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

/// Where the replica is process 1 of a container, orphans of the group become its children.
fn reap_orphans(group: Pid) {
    let children = Pid::from_raw(-group.as_raw());
    while waitpid(children, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status != WaitStatus::StillAlive) {
    }
}

/// Whether every member of the group is dead and only waits for a parent that does not reap it.
fn is_all_zombies(group: Pid) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let mut members = processes
        .flatten()
        .filter(|entry| entry.file_name().as_bytes().first().is_some_and(u8::is_ascii_digit))
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
        .filter_map(|stat| member(&stat, group))
        .peekable();
    members.peek().is_some() && members.all(|dead| dead)
}

/// Whether a process is dead, by its line in /proc/PID/stat; `None` if it is not of the group.
fn member(stat: &str, group: Pid) -> Option<bool> {
    // The command's name comes before and may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let (state, in_group, threads) = (fields.first()?, fields.get(2)?, fields.get(17)?);
    if in_group.parse() != Ok(group.as_raw()) {
        return None;
    }
    // The first thread of a process may be a zombie while others run on.
    Some(matches!(*state, "Z" | "X") && matches!(*threads, "0" | "1"))
}

fn spawn_blocking(launch: &Launch, stops: &watch::Receiver<Option<StopOrder>>) -> Result<Spawned, RunError> {
    let account = Account::of(launch)?;
    let start_failed = |source| start_error(launch, &account, source);
    let cwd = launch.cwd.as_ref().map(|cwd| CString::new(cwd.as_os_str().as_bytes())).transpose();
    let cwd = cwd.map_err(|nul| start_failed(in_step(STEP_CWD, io::Error::from(nul))))?;
    let mut command = bare_command(&launch.command);
    command.env_clear().envs(environment(std::env::vars_os(), account.user.as_ref(), launch));
    let (out_end, out) = pipe::pipe().map_err(start_failed)?;
    let (err_end, err) = pipe::pipe().map_err(start_failed)?;
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(out_end.into_blocking_fd().map_err(start_failed)?)
        .stderr(err_end.into_blocking_fd().map_err(start_failed)?);
    let switch = account.switch.clone();
    // SAFETY: between fork and exec only async-signal-safe calls are made: everything that allocates was made before.
    unsafe { command.pre_exec(move || become_job(switch.as_ref(), cwd.as_deref())) };
    if let Some(order) = *stops.borrow() {
        return Ok(Spawned::Ordered(order));
    }
    let child = tokio::process::Command::from(command).kill_on_drop(true).spawn().map_err(start_failed)?;
    let id = child.id().expect("a child that was not waited for has an id");
    let group = Pid::from_raw(id.try_into().expect("process ids are below 2^22"));
    let process = Process { child, group, reaped: false, over: false };
    Ok(Spawned::Running(Box::new((process, Pipes { out, err }))))
}

fn bare_command(command: &Command) -> std::process::Command {
    match command {
        Command::Argv(words) => {
            let mut command = std::process::Command::new(&words[0]);
            command.args(&words[1..]);
            command
        }
        Command::Shell(line) => {
            let mut command = std::process::Command::new("/bin/sh");
            command.arg("-c").arg(line);
            command
        }
    }
}

/// Runs in the child, after fork: makes it what the job expects to be.
fn become_job(switch: Option<&Switch>, cwd: Option<&CStr>) -> io::Result<()> {
    for signal in SIGNALS {
        // SAFETY: signal(2) is async-signal-safe; numbers that cannot be set are refused, which is fine.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    SigSet::empty().thread_set_mask()?;
    // SAFETY: the call takes numbers only and closes nothing before exec. Kernels before 5.11 refuse it; there,
    // descriptors that the replica inherited without the flag stay open, as with any other supervisor.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    restore_file_limit()?;
    if let Some(switch) = switch {
        take_on(switch).map_err(|errno| in_step(STEP_SWITCH, errno.into()))?;
    }
    if let Some(cwd) = cwd {
        // As the job's user: root may enter folders that the user may not, or the reverse on NFS.
        chdir(cwd).map_err(|errno| in_step(STEP_CWD, errno.into()))?;
    }
    Ok(())
}

/// Groups first: who gave up root cannot change them any more.
fn take_on(switch: &Switch) -> nix::Result<()> {
    if let Some(groups) = &switch.groups {
        setgroups(groups)?;
    }
    setgid(switch.gid)?;
    switch.uid.map_or(Ok(()), setuid)
}

/// The error with the step it happened in. Allocates nothing.
fn in_step(step: i32, error: io::Error) -> io::Error {
    let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
    io::Error::from_raw_os_error(step << STEP_SHIFT | errno)
}

/// What the system said when the command could not be started, in our words.
fn start_error(launch: &Launch, account: &Account, source: io::Error) -> RunError {
    let job = launch.identity.job.clone();
    let code = source.raw_os_error().unwrap_or(0);
    let plain = io::Error::from_raw_os_error(code & ((1 << STEP_SHIFT) - 1));
    match (code >> STEP_SHIFT, &launch.cwd) {
        (STEP_SWITCH, _) => RunError::Switch { job, who: who(launch), own: geteuid(), source: plain },
        (STEP_CWD, Some(cwd)) => RunError::Cwd { job, cwd: cwd.clone(), source: plain },
        _ => {
            let program = match &launch.command {
                Command::Argv(words) => words[0].clone(),
                Command::Shell(_) => "/bin/sh".to_owned(),
            };
            let help = way_out(&source, program.contains('/'), account.switch.is_some());
            RunError::Start { job, program, source, help }
        }
    }
}

fn who(launch: &Launch) -> String {
    match (&launch.user, &launch.group) {
        (Some(user), None) => format!("user `{user}`"),
        (Some(user), Some(group)) => format!("user `{user}` and group `{group}`"),
        (None, group) => format!("group `{}`", group.as_deref().unwrap_or_default()),
    }
}

fn way_out(error: &io::Error, has_path: bool, switched: bool) -> &'static str {
    match (error.kind(), has_path, switched) {
        (io::ErrorKind::NotFound, false, _) => "it is not in PATH: give its full path, or set PATH in `env`",
        (io::ErrorKind::NotFound, true, _) => "check the path, and the interpreter in the file's first line",
        (io::ErrorKind::PermissionDenied, false, _) => {
            "in no folder of PATH it is there and executable, or some cannot be searched: give its full path, or set PATH \
             in `env`"
        }
        (io::ErrorKind::PermissionDenied, true, false) => "make it executable for the replica's user",
        (io::ErrorKind::PermissionDenied, true, true) => "make it executable for the job's `user`",
        _ => "check `command`, and the limits of the replica (processes, memory, open files)",
    }
}
