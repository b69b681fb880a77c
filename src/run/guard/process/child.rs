//! The main process of a job, from fork to exec: a clean slate (signals, descriptors, account, folder), tied to its
//! guard. What fails on the way reaches the guard as one number.

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

/// Where a command of another user starts that may not enter its home.
const ROOT_FOLDER: &CStr = c"/";

/// The standard streams of a main process.
pub(crate) struct ChildStreams {
    /// Nothing to read if absent.
    pub(crate) input: Option<OwnedFd>,
    pub(crate) out: OwnedFd,
    pub(crate) err: OwnedFd,
}

/// A main process, which may not have reached its command yet.
pub(crate) struct Child {
    pub(crate) pid: Pid,
    /// Says why the command was not executed, if it was not.
    failure: File,
}

/// A main process that was made ahead of its run: it waits for its command.
pub(crate) struct ReadyChild {
    child: Child,
    line: UnixStream,
}

impl ReadyChild {
    /// Makes one. Whatever ends this process, or drops what is made here, ends it.
    pub(crate) fn make() -> io::Result<Self> {
        let (failure, told) = pipe2(OFlag::O_CLOEXEC)?;
        let (line, childs_end) = UnixStream::pair()?;
        let guard = getpid();
        match syscalls::fork()? {
            ForkResult::Parent { child } => {
                Ok(Self { child: Child { pid: child, failure: failure.into() }, line })
            }
            ForkResult::Child => {
                // Its own copy of the other end would keep it waiting for ever.
                drop(line);
                let _ = set_name(names::JOB);
                rehearse();
                let ready = set_pdeathsig(Signal::SIGKILL).is_ok() && getppid() == guard;
                // A line that ends: it is not needed.
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

    /// Has it become the request's command, if it is still there.
    pub(crate) fn go(self, request: &GuardRequest, streams: &ChildStreams) -> Option<Child> {
        // No guard that waits is asked for more than its line takes at once, and this line takes as much.
        let sent = send(&self.line, Some(&request.encode()), &streams.handed());
        // Without its command it ends when its line does.
        sent.ok().map(|()| self.child)
    }
}

impl ChildStreams {
    /// Those that were handed over with a request, in the order in which they are; nothing if some of them are missing.
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
    /// Starts the request's command as a child of this process, with its output in these pipes.
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

    /// Why the command was not executed; to be asked once the process has ended.
    pub(crate) fn failure(&mut self) -> Option<i32> {
        let mut code = [0; 4];
        self.failure.read_exact(&mut code).ok().map(|()| i32::from_le_bytes(code))
    }
}

/// Goes through what a request takes, up to the exec, without one: what is touched for the first time after a fork costs
/// most of that, and now nobody waits for it.
pub(crate) fn rehearse() {
    let request = GuardRequest::sample();
    let again = GuardRequest::decode(&request.encode()).unwrap_or(request);
    drop(command_of(&again));
}

/// Becomes the command, or tells why it cannot.
fn become_command(request: &GuardRequest, streams: ChildStreams, guard: Pid, told: OwnedFd) -> ! {
    give_up(execute(request, streams, guard), told)
}

/// What is to be executed, with its streams; nothing if some of it is missing.
fn command_in(ReceivedRequest { request, handed }: ReceivedRequest) -> Option<(GuardRequest, ChildStreams)> {
    let request = request?;
    let streams = ChildStreams::of(&request, handed)?;
    Some((request, streams))
}

fn give_up(code: i32, told: OwnedFd) -> ! {
    // Without a reader there is nobody left to care.
    let _ = File::from(told).write_all(&code.to_le_bytes());
    syscalls::exit_now(CANNOT_EXECUTE)
}

/// Comes back only with the number of an error.
fn execute(request: &GuardRequest, ChildStreams { input, out, err }: ChildStreams, guard: Pid) -> i32 {
    if let Some(uid) = request.switch.as_ref().and_then(|switch| switch.uid) {
        [&out, &err].into_iter().for_each(|stream| give_to(uid, stream));
    }
    let mut command = command_of(request);
    command.stdin(input.map_or_else(Stdio::null, Stdio::from)).stdout(out).stderr(err);
    let (switch, folder) = (request.switch.clone(), request.folder.clone());
    let limits = (request.files, request.processes);
    let (no_new_privileges, own_session) = (request.no_new_privileges, request.own_session);
    let takes_terminal = request.input == Input::Terminal;
    syscalls::before_exec(&mut command, move || {
        if own_session {
            // Whoever shares the replica's terminal could type into it, as root.
            setsid()?;
            // The replica may have been given what it needs to change users, and its jobs were not.
            syscalls::clear_ambient();
        }
        become_job(switch.as_ref(), &folder, limits, guard)?;
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
    (files, processes): (Option<(u64, u64)>, Option<u64>),
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
        // Last, as a change of user undoes it. It goes by the guard's one thread.
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != guard {
            syscalls::exit_now(CANNOT_EXECUTE);
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
    let Some(uid) = switch.uid else { return Ok(()) };
    setuid(uid)?;
    // From one user to another the kernel takes no capability away: a replica that is not root has some to change users at all.
    if uid.is_root() { Ok(()) } else { syscalls::drop_capabilities() }
}

/// Programs open /dev/stdout and /dev/stderr anew, and a pipe can be opened by its owner alone. Where the replica may not give
/// it away, that alone fails.
fn give_to(uid: Uid, stream: &OwnedFd) {
    let is_pipe = fstat(stream).is_ok_and(|file| file.st_mode & libc::S_IFMT == libc::S_IFIFO);
    if is_pipe {
        let _ = fchown(stream, Some(uid), None);
    }
}

/// The error's number with the step it happened in.
pub(crate) fn in_step(step: i32, error: io::Error) -> i32 {
    step << STEP_SHIFT | error.raw_os_error().unwrap_or(libc::EINVAL)
}
