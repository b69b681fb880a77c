//! The zygote: the process that makes guards. It is small, single-threaded and started by its replica, so that a
//! guard costs next to nothing. When a guard itself is killed, the processes of its run are left to the zygote, which
//! kills them at once.

pub(super) mod family;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_dumpable, set_name};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{ForkResult, Pid, dup2_stdin, getpid};

use crate::lease::Protection;
use crate::run::procs::cgroup::Cgroup;
use crate::run::procs::kill_rounds::KillRounds;
use crate::run::procs::syscalls::Reaped;
use crate::run::procs::{cgroup, syscalls, tree};

use super::fd_passing::{ReceivedRequest, receive};
use super::names::{AFTER_THE_RUN, BEFORE_THE_RUN, ZYGOTE_NAME};
use super::process::child::{STEP_GUARD, in_step};
use super::process::ready::{Handed, Ready};
use super::process::{REAPED_AT_ONCE, guard, tell};
use super::request::GuardRequest;
use super::wire::GuardReport;

/// How long the zygote waits for the rest of a request. If that does not come, the replica is frozen, or the request
/// is torn.
const REST_LIMIT: Duration = Duration::from_secs(5);

/// Pauses between two searches for what a dead guard has left, in milliseconds. Each is twice as long as the last,
/// from the first value to the second: a process that is not gone soon is stuck in the kernel.
const HUNT_PAUSES_MS: (u16, u16) = (5, 500);

/// How often a stopped guard is woken once its replica is gone, in milliseconds.
const WAKE_PAUSE_MS: u16 = 50;

/// A guard that is found stopped more often than this in a row, although it was woken, is killed.
const MOST_WAKES: u32 = 5;

/// A search for the processes that dead guards have left.
struct StraySearch {
    /// The pause before the next round, in milliseconds.
    pause: u16,
    kill_rounds: KillRounds,
}

impl StraySearch {
    fn begin() -> Self {
        Self { pause: HUNT_PAUSES_MS.0, kill_rounds: KillRounds::default() }
    }
}

/// Runs the zygote if this process was started as one, and returns when it is not needed any more; `None` in any
/// other process.
pub fn guards_main() -> Option<ExitCode> {
    let is_it =
        std::env::args_os().next().is_some_and(|name| name.as_encoded_bytes() == ZYGOTE_NAME.to_bytes());
    is_it.then(|| match Zygote::start() {
        Ok(zygote) => {
            zygote.serve();
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    })
}

struct Zygote {
    /// The socket to the replica; `None` once the replica has hung up, and in a guard.
    socket: Option<UnixStream>,
    signals: SignalFd,
    guards: HashSet<Pid>,
    /// Set once the replica is gone: the guards whose runs may continue, and how often in a row each was found
    /// stopped.
    alone: Option<HashMap<Pid, u32>>,
    /// Set while the processes of a killed guard have to be killed.
    stray_search: Option<StraySearch>,
    /// Whether further children may be dead.
    is_reaping: bool,
    /// The control group that was delegated to the replica, if one was.
    cgroup: Option<PathBuf>,
}

impl Zygote {
    /// Starts the zygote. The socket to the replica is its standard input.
    fn start() -> io::Result<Self> {
        // The zygote needs none of the replica's inherited descriptors: a lock of flock(1) would be held for as long
        // as a guard lives.
        syscalls::close_inherited();
        // Jobs of the same user could otherwise read the memory of this process, and take its socket to the replica.
        // The exec of each command resets this.
        set_dumpable(false)?;
        let _ = set_name(ZYGOTE_NAME);
        set_child_subreaper(true)?;
        // Where the replica was started with SIGCHLD ignored, the kernel would reap children before they are seen.
        syscalls::reset_signals()?;
        // Only SIGKILL ends a guard: signals for the replica's group or service are not for it.
        SigSet::all().thread_set_mask()?;
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        let signals = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        socket.set_read_timeout(Some(REST_LIMIT))?;
        // No other copy of the socket may stay open, as a guard would keep it: the replica has to see when this
        // process is gone.
        dup2_stdin(File::open("/dev/null")?)?;
        Ok(Self {
            socket: Some(socket),
            signals,
            guards: HashSet::new(),
            alone: None,
            stray_search: None,
            is_reaping: false,
            cgroup: cgroup::delegated(),
        })
    }

    fn serve(mut self) {
        while !(self.socket.is_none() && self.guards.is_empty() && self.stray_search.is_none()) {
            let is_asked = self.wait();
            self.reap();
            self.wake_guards();
            if self.stray_search.is_some() {
                self.hunt();
            }
            if is_asked {
                self.take_request();
            }
        }
    }

    /// Waits for a request or a dead child. Returns whether it is a request.
    fn wait(&self) -> bool {
        let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = vec![watched(self.signals.as_fd())];
        fds.extend(self.socket.as_ref().map(|socket| watched(socket.as_fd())));
        let wakes = self.alone.as_ref().is_some_and(|guards| !guards.is_empty()).then_some(WAKE_PAUSE_MS);
        let hunt = self.stray_search.as_ref().map(|hunt| hunt.pause);
        let limit = if self.is_reaping { Some(0) } else { hunt.into_iter().chain(wakes).min() };
        let limit = limit.map_or(PollTimeout::NONE, PollTimeout::from);
        // An interrupted wait is only a shorter one.
        let _ = poll(&mut fds, limit);
        let is_asked = fds.get(1).and_then(PollFd::any).unwrap_or(false);
        while matches!(self.signals.read_signal(), Ok(Some(_))) {}
        is_asked
    }

    fn reap(&mut self) {
        self.is_reaping = false;
        for _ in 0..REAPED_AT_ONCE {
            let Reaped::Child(pid, status) = syscalls::reap() else { return };
            // A guard ends with zero when its run has ended, and with anything else before.
            if self.guards.remove(&pid) && status != 0 && Protection::Guard.is_on() {
                self.stray_search = Some(StraySearch::begin());
            }
        }
        self.is_reaping = true;
    }

    /// Wakes stopped guards once the replica is gone, as no other process does: a guard may have been stopped by its
    /// own job. A guard that stays stopped, because it is traced for example, is killed.
    fn wake_guards(&mut self) {
        let Some(alone) = self.alone.as_mut().filter(|_| Protection::Guard.is_on()) else { return };
        // A guard whose run is over has nothing to do but to wait.
        alone
            .retain(|guard, _| self.guards.contains(guard) && tree::name(*guard) != AFTER_THE_RUN.to_bytes());
        for (guard, wakes) in alone {
            if !tree::is_stopped(*guard) {
                *wakes = 0;
                continue;
            }
            *wakes += 1;
            if *wakes <= MOST_WAKES {
                // An error means that it is gone.
                let _ = kill(*guard, Signal::SIGCONT);
                continue;
            }
            // A tracer keeps this process from seeing the guard's end: the search for what it leaves begins at once.
            let _ = kill(*guard, Signal::SIGKILL);
            self.guards.remove(guard);
            self.stray_search = Some(StraySearch::begin());
        }
    }

    /// Kills what dead guards have left: every process that became a descendant of this process without a living
    /// guard between.
    fn hunt(&mut self) {
        let Some(mut hunt) = self.stray_search.take() else { return };
        syscalls::set_realtime(true);
        let guards: Vec<Pid> = self.guards.iter().copied().collect();
        let strays = hunt.kill_rounds.strike(|signal| {
            let found = tree::reach(getpid(), &guards, Some(signal))?;
            if !found.is_empty() {
                return Ok(found);
            }
            let found = tree::descendants(getpid(), &guards)?;
            tree::signal_each(&found, signal);
            Ok(found)
        });
        // If the search failed, it is repeated.
        if strays.is_ok_and(|strays| strays.is_empty()) {
            syscalls::set_realtime(false);
            self.cgroup.as_deref().into_iter().for_each(cgroup::tidy);
            return;
        }
        hunt.pause = match hunt.kill_rounds.press() {
            true => 0,
            false => (hunt.pause * 2).clamp(HUNT_PAUSES_MS.0, HUNT_PAUSES_MS.1),
        };
        self.stray_search = Some(hunt);
    }

    /// Reads a request and makes its guard. If that fails, the socket is closed.
    fn take_request(&mut self) {
        let Some(socket) = &self.socket else { return };
        match receive(socket) {
            Ok(asked) => asked.into_iter().for_each(|asked| self.make(asked)),
            Err(_) => {
                self.socket = None;
                self.alone = Some(self.guards.iter().map(|guard| (*guard, 0)).collect());
            }
        }
    }

    fn make(&mut self, ReceivedRequest { request, handed }: ReceivedRequest) {
        let mut handed = handed.into_iter();
        let Some(socket) = handed.next().map(UnixStream::from) else { return };
        match syscalls::fork() {
            Ok(ForkResult::Child) => {
                self.socket = None;
                self.become_guard(request, socket, handed.collect());
                // The kernel still has to release the memory of this process, and no process waits for that.
                syscalls::lower_priority();
                syscalls::exit_now(0);
            }
            Ok(ForkResult::Parent { child }) => {
                self.guards.insert(child);
                tell(&socket, GuardReport::Made(child));
            }
            Err(errno) => tell(&socket, GuardReport::NotStarted(in_step(STEP_GUARD, errno.into()))),
        }
    }

    /// Runs in a new guard: waits for its request, if the guard was made ahead of it, and guards the run.
    fn become_guard(&self, request: Option<GuardRequest>, socket: UnixStream, handed: Vec<OwnedFd>) {
        let (ready, asked) = match request {
            Some(request) => (Ready::at_once(), Some((request, handed))),
            // With control groups, no main process is made ahead: it has to be in its run's group from its first
            // instruction on.
            None => (Ready::ahead(self.cgroup.is_none()), wait_for_request(&socket)),
        };
        let Some((request, handed)) = asked else { return };
        let Some(handed) = Handed::of(&request, socket, handed) else { return };
        let cgroup = self.cgroup.as_deref().and_then(|parent| Cgroup::create(parent, &request.name));
        guard(&request, handed, ready, cgroup, &self.signals);
    }
}

/// Waits for a request; `None` if the replica is gone, or does not need this guard any more.
fn wait_for_request(socket: &UnixStream) -> Option<(GuardRequest, Vec<OwnedFd>)> {
    let _ = set_name(BEFORE_THE_RUN);
    let ReceivedRequest { request, handed } = receive(socket).ok()??;
    Some((request?, handed))
}
