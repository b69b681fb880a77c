//! The main process of a job, from fork to exec: a clean slate (signals, descriptors, account, folder), tied to its
//! guard. What fails on the way reaches the guard as one number.

use std::ffi::CStr;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::libc;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, chdir, getppid, pipe2, setgid, setgroups, setuid};

use super::request::{Input, Request};
use crate::lease::Protection;
use crate::run::account::Switch;
use crate::run::cgroup::Cgroup;
use crate::run::system;

/// An error on the way to exec is one number: the step that failed is put above the bits of errno.
pub(in crate::run) const STEP_SHIFT: u32 = 16;
pub(in crate::run) const STEP_SWITCH: i32 = 1;
pub(in crate::run) const STEP_CWD: i32 = 2;
/// The guard found the deadline over before it started anything.
pub(in crate::run) const STEP_OVERDUE: i32 = 3;
/// The guard itself could not be made.
pub(in crate::run) const STEP_GUARD: i32 = 4;

/// What a shell says of a command that it could not execute; nobody sees it.
const CANNOT_EXECUTE: i32 = 127;

/// The standard streams of a main process.
pub(super) struct Streams {
    /// Nothing to read if absent.
    pub(super) input: Option<OwnedFd>,
    pub(super) out: OwnedFd,
    pub(super) err: OwnedFd,
}

/// A main process, which may not have reached its command yet.
pub(super) struct Child {
    pub(super) pid: Pid,
    /// Says why the command was not executed, if it was not.
    failure: std::fs::File,
}

impl Child {
    /// Starts the request's command as a child of this process, with its output in these pipes.
    pub(super) fn start(request: &Request, streams: Streams, cgroup: Option<&Cgroup>) -> Result<Self, i32> {
        let failed = |errno: nix::errno::Errno| in_step(STEP_GUARD, errno.into());
        let (failure, told) = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(failed)?;
        let guard = nix::unistd::getpid();
        let forked = match cgroup {
            Some(cgroup) => system::fork_into(cgroup.folder()).or_else(|_| system::fork()),
            None => system::fork(),
        };
        match forked.map_err(failed)? {
            ForkResult::Parent { child } => Ok(Self { pid: child, failure: failure.into() }),
            ForkResult::Child => {
                let code = execute(request, streams, guard);
                // Without a reader there is nobody left to care.
                let _ = std::fs::File::from(told).write_all(&code.to_le_bytes());
                system::exit_now(CANNOT_EXECUTE)
            }
        }
    }

    /// Why the command was not executed; to be asked once the process has ended.
    pub(super) fn failure(&mut self) -> Option<i32> {
        let mut code = [0; 4];
        self.failure.read_exact(&mut code).ok().map(|()| i32::from_le_bytes(code))
    }
}

/// Becomes the command. Comes back only with the number of an error.
fn execute(request: &Request, Streams { input, out, err }: Streams, guard: Pid) -> i32 {
    let mut command = Command::new(&request.words[0]);
    command
        .args(&request.words[1..])
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(out)
        .stderr(err);
    let (switch, cwd, files) = (request.switch.clone(), request.cwd.clone(), request.files);
    let takes_terminal = request.input == Input::Terminal;
    system::before_exec(&mut command, move || {
        become_job(switch.as_ref(), cwd.as_deref(), files, guard)?;
        if takes_terminal {
            system::take_terminal();
        }
        Ok(())
    });
    let error = command.exec();
    error.raw_os_error().unwrap_or(libc::EINVAL)
}

fn become_job(
    switch: Option<&Switch>,
    cwd: Option<&CStr>,
    files: Option<(u64, u64)>,
    guard: Pid,
) -> io::Result<()> {
    system::reset_signals()?;
    system::close_others_on_exec();
    if let Some((soft, hard)) = files {
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    }
    if let Some(switch) = switch {
        take_on(switch).map_err(|errno| io::Error::from_raw_os_error(in_step(STEP_SWITCH, errno.into())))?;
    }
    if let Some(cwd) = cwd {
        // As the job's user: root may enter folders that the user may not, or the reverse on NFS.
        chdir(cwd).map_err(|errno| io::Error::from_raw_os_error(in_step(STEP_CWD, errno.into())))?;
    }
    if Protection::Guard.is_on() {
        // Last, as a change of user undoes it. It goes by the guard's one thread.
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != guard {
            system::exit_now(CANNOT_EXECUTE);
        }
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

/// The error's number with the step it happened in.
pub(super) fn in_step(step: i32, error: io::Error) -> i32 {
    step << STEP_SHIFT | error.raw_os_error().unwrap_or(libc::EINVAL)
}
