//! The main process of a job, from fork to exec: it resets signals, descriptors, account and folder, and ties itself
//! to its guard. The guard receives any failure on the way as one number.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::prctl::{set_name, set_no_new_privs, set_pdeathsig};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::stat::fstat;
use nix::unistd::{
    ForkResult, Pid, Uid, chdir, fchown, getpid, getppid, pipe2, setgid, setgroups, setsid, setuid,
};

use crate::lease::Protection;
use crate::run::attempt::user::Switch;
use crate::run::guard::fd_passing::{ReceivedRequest, receive, send};
use crate::run::guard::names;
use crate::run::guard::request::{Folder, GuardRequest, Input};
use crate::run::procs::cgroup::Cgroup;
use crate::run::procs::syscalls;

/// An error on the way to exec is one number: the step that failed is stored above the bits of errno.
pub(in crate::run) const STEP_SHIFT: u32 = 16;
pub(in crate::run) const STEP_SWITCH: i32 = 1;
pub(in crate::run) const STEP_CWD: i32 = 2;
/// Before the guard started anything, the deadline had passed or the replica was gone.
pub(in crate::run) const STEP_OVERDUE: i32 = 3;
/// The guard itself could not be made.
pub(in crate::run) const STEP_GUARD: i32 = 4;

/// A shell's exit code for a command that it could not execute. It is not reported: the error number is.
const CANNOT_EXECUTE: i32 = 127;

/// The folder in which a command of another user starts if that user may not enter its home.
const ROOT_FOLDER: &CStr = c"/";

/// The standard streams of a main process.
pub(crate) struct ChildStreams {
    /// `None` if there is nothing to read.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) out: OwnedFd,
    pub(crate) err: OwnedFd,
}

/// A main process, which may not have executed its command yet.
pub(crate) struct Child {
    pub(crate) pid: Pid,
    /// Delivers the error number if the command was not executed.
    failure: File,
}

/// A main process made ahead of its run: it waits for its command.
pub(crate) struct ReadyChild {
    child: Child,
    socket: UnixStream,
}

impl ReadyChild {
    /// Makes one. It ends when this process ends, or when the returned value is dropped.
    pub(crate) fn make() -> io::Result<Self> {
        let (failure, told) = pipe2(OFlag::O_CLOEXEC)?;
        let (socket, childs_end) = UnixStream::pair()?;
        let guard = getpid();
        match syscalls::fork()? {
            ForkResult::Parent { child } => {
                Ok(Self { child: Child { pid: child, failure: failure.into() }, socket })
            }
            ForkResult::Child => {
                // With its own copy of the other end open, it would wait without end.
                drop(socket);
                let _ = set_name(names::JOB);
                let ready = set_pdeathsig(Signal::SIGKILL).is_ok() && getppid() == guard;
                // If the socket is closed, this process is not needed.
                let Some(asked) = ready.then(|| receive(&childs_end).ok()).flatten() else {
                    syscalls::exit_now(0)
                };
                match asked.and_then(command_in) {
                    Some((request, streams)) => become_command(&request, streams, guard, told),
                    None => give_up(in_step(STEP_GUARD, io::ErrorKind::InvalidData.into()), told),
                }
            }
        }
    }

    /// Has the process execute the request's command. Returns `None` if the process is gone.
    pub(crate) fn go(self, request: &GuardRequest, streams: &ChildStreams) -> Option<Child> {
        // A guard made ahead gets no request that exceeds the buffer of its socket, and this socket's buffer is as
        // large.
        let sent = send(&self.socket, Some(&request.encode()), &streams.handed());
        // A process that did not receive its command ends when its socket is closed.
        sent.ok().map(|()| self.child)
    }
}

impl ChildStreams {
    /// Returns the streams from the descriptors that came with a request, in the order in which they came; `None` if
    /// one is missing.
    pub(crate) fn of(request: &GuardRequest, handed: impl IntoIterator<Item = OwnedFd>) -> Option<Self> {
        let mut handed = handed.into_iter();
        let (out, err) = (handed.next()?, handed.next()?);
        let input = if request.input == Input::Nothing { None } else { Some(handed.next()?) };
        Some(Self { input, out, err })
    }

    fn handed(&self) -> Vec<BorrowedFd<'_>> {
        [&self.out, &self.err].into_iter().chain(&self.input).map(AsFd::as_fd).collect()
    }
}

impl Child {
    /// Starts the request's command as a child of this process, with these streams. The error is a number as of
    /// `in_step`.
    pub(crate) fn start(
        request: &GuardRequest,
        streams: ChildStreams,
        cgroup: Option<&Cgroup>,
    ) -> Result<Self, i32> {
        let failed = |errno: nix::errno::Errno| in_step(STEP_GUARD, errno.into());
        let (failure, told) = pipe2(OFlag::O_CLOEXEC).map_err(failed)?;
        let guard = getpid();
        let forked = match cgroup {
            Some(cgroup) => syscalls::fork_into(cgroup.folder()).or_else(|_| syscalls::fork()),
            None => syscalls::fork(),
        };
        match forked.map_err(failed)? {
            ForkResult::Parent { child } => Ok(Self { pid: child, failure: failure.into() }),
            ForkResult::Child => become_command(request, streams, guard, told),
        }
    }

    /// Returns the error number if the command was not executed. To be called once the process has ended.
    pub(crate) fn failure(&mut self) -> Option<i32> {
        let mut code = [0; 4];
        self.failure.read_exact(&mut code).ok().map(|()| i32::from_le_bytes(code))
    }
}

/// Executes the command, or writes the error number to `told` and exits.
fn become_command(request: &GuardRequest, streams: ChildStreams, guard: Pid, told: OwnedFd) -> ! {
    give_up(execute(request, streams, guard), told)
}

/// Returns the command and its streams; `None` if a part is missing.
fn command_in(ReceivedRequest { request, handed }: ReceivedRequest) -> Option<(GuardRequest, ChildStreams)> {
    let request = request?;
    let streams = ChildStreams::of(&request, handed)?;
    Some((request, streams))
}

fn give_up(code: i32, told: OwnedFd) -> ! {
    // The write fails only if no reader is left, and then no process needs the number.
    let _ = File::from(told).write_all(&code.to_le_bytes());
    syscalls::exit_now(CANNOT_EXECUTE)
}

/// Returns only on failure, with an error number.
fn execute(request: &GuardRequest, ChildStreams { input, out, err }: ChildStreams, guard: Pid) -> i32 {
    if let Some(uid) = request.switch.as_ref().and_then(|switch| switch.uid) {
        [&out, &err].into_iter().for_each(|stream| give_to(uid, stream));
    }
    let mut command = command_of(request);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(out).stderr(err);
    let (switch, folder) = (request.switch.clone(), request.folder.clone());
    let (files, processes) = (request.files, request.processes);
    let (no_new_privileges, own_session) = (request.no_new_privileges, request.own_session);
    let takes_terminal = request.input == Input::Terminal;
    syscalls::before_exec(&mut command, move || {
        if own_session {
            // A job that shared the replica's terminal could type into it, as root.
            setsid()?;
            // The replica may have been given capabilities for changing users, and its jobs were not.
            syscalls::clear_ambient();
        }
        become_job(switch.as_ref(), &folder, files, processes, guard)?;
        if no_new_privileges {
            set_no_new_privs()?;
        }
        if takes_terminal {
            syscalls::take_terminal();
        }
        Ok(())
    });
    let error = command.exec();
    error.raw_os_error().unwrap_or(libc::EINVAL)
}

fn command_of(request: &GuardRequest) -> Command {
    let mut command = Command::new(&request.words[0]);
    command.args(&request.words[1..]).env_clear().envs(request.env.iter().map(|(name, value)| (name, value)));
    if !request.own_session {
        command.process_group(0);
    }
    command
}

fn become_job(
    switch: Option<&Switch>,
    folder: &Folder,
    files: Option<(u64, u64)>,
    processes: Option<u64>,
    guard: Pid,
) -> io::Result<()> {
    syscalls::reset_signals()?;
    syscalls::close_others_on_exec();
    if let Some((soft, hard)) = files {
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    }
    if let Some(most) = processes {
        setrlimit(Resource::RLIMIT_NPROC, most, most)?;
    }
    if let Some(switch) = switch {
        if switch.uid.is_some() {
            syscalls::leave_keyring();
        }
        take_on(switch).map_err(|errno| io::Error::from_raw_os_error(in_step(STEP_SWITCH, errno.into())))?;
    }
    // As the job's user: root may enter folders that the user may not, or the reverse on NFS.
    let entered = match folder {
        Folder::Inherited => Ok(()),
        Folder::At(path) => chdir(path.as_c_str()),
        Folder::Home(path) => chdir(path.as_c_str()).or_else(|_| chdir(ROOT_FOLDER)),
    };
    entered.map_err(|errno| io::Error::from_raw_os_error(in_step(STEP_CWD, errno.into())))?;
    if Protection::Guard.is_on() {
        // Last, as a change of user undoes it. It is bound to the thread of the guard, which has only one.
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != guard {
            syscalls::exit_now(CANNOT_EXECUTE);
        }
    }
    Ok(())
}

/// Groups first: a process that gave up root cannot change them any more.
fn take_on(switch: &Switch) -> nix::Result<()> {
    if let Some(groups) = &switch.groups {
        setgroups(groups)?;
    }
    setgid(switch.gid)?;
    let Some(uid) = switch.uid else { return Ok(()) };
    setuid(uid)?;
    // The kernel drops no capability when a process changes from one non-root user to another, and a replica that is
    // not root needs capabilities to change users at all.
    if uid.is_root() { Ok(()) } else { syscalls::drop_capabilities() }
}

/// Makes the job's user the owner of an output pipe: programs open /dev/stdout and /dev/stderr anew, and only its
/// owner can open a pipe. If the replica may not change the owner, only that open fails.
fn give_to(uid: Uid, stream: &OwnedFd) {
    let is_pipe = fstat(stream).is_ok_and(|file| file.st_mode & libc::S_IFMT == libc::S_IFIFO);
    if is_pipe {
        let _ = fchown(stream, Some(uid), None);
    }
}

/// Returns the errno of an error, with the step that failed in the bits above.
pub(crate) fn in_step(step: i32, error: io::Error) -> i32 {
    step << STEP_SHIFT | error.raw_os_error().unwrap_or(libc::EINVAL)
}
