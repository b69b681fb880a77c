//! The process that makes guards: small, single-threaded and started by its replica, so that a guard costs next to
//! nothing. When a guard itself is killed, what it guarded is left to this process, and killed at once.

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
use super::names::{AFTER_THE_RUN, BEFORE_THE_RUN, MAKER};
use super::process::child::{STEP_GUARD, in_step};
use super::process::ready::{Handed, Ready};
use super::process::{REAPED_AT_ONCE, guard, tell};
use super::request::GuardRequest;
use super::wire::GuardReport;

/// A request that does not come whole within this long came from a replica that is frozen or torn.
const REST_LIMIT: Duration = Duration::from_secs(5);

/// Between two looks for what a dead guard has left, in milliseconds: twice as long each time, as what is not gone soon
/// is stuck in the kernel.
const HUNT_PAUSES_MS: (u16, u16) = (5, 500);

/// Without its replica, a guard that is stopped is woken this often, in milliseconds.
const WAKE_PAUSE_MS: u16 = 50;

/// A guard that is found stopped so often in a row, although it was woken, is done without.
const MOST_WAKES: u32 = 5;

/// A hunt for what dead guards have left.
struct Hunt {
    /// The next look is after so many milliseconds.
    pause: u16,
    kill_rounds: KillRounds,
}

impl Hunt {
    fn begin() -> Self {
        Self { pause: HUNT_PAUSES_MS.0, kill_rounds: KillRounds::default() }
    }
}

/// Takes over if this process was started to make guards, and returns when it is not needed any more.
pub fn guards_main() -> Option<ExitCode> {
    let is_it = std::env::args_os().next().is_some_and(|name| name.as_encoded_bytes() == MAKER.to_bytes());
    is_it.then(|| match Zygote::start() {
        Ok(zygote) => {
            zygote.serve();
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    })
}

struct Zygote {
    /// The line to the replica; nothing once it is hung up, and in a guard.
    line: Option<UnixStream>,
    signals: SignalFd,
    guards: HashSet<Pid>,
    /// Where the replica is gone: the guards whose runs may go on, and how often in a row each was found stopped.
    alone: Option<HashMap<Pid, u32>>,
    /// A guard was killed, and what it guarded has to be.
    hunting: Option<Hunt>,
    /// Further children may be dead.
    is_reaping: bool,
    /// The control group that was delegated to the replica, if one was.
    cgroup: Option<PathBuf>,
}

impl Zygote {
    /// The line to the replica comes as standard input.
    fn start() -> io::Result<Self> {
        // What the replica was started with is none of its: a lock of flock(1) would be held for as long as a guard lives.
        syscalls::close_inherited();
        // Jobs of the same user could read its memory, and take its line to the replica. Each command is executed without that.
        set_dumpable(false)?;
        let _ = set_name(MAKER);
        set_child_subreaper(true)?;
        // Where the replica was started with SIGCHLD ignored, the kernel would reap children before they are seen.
        syscalls::reset_signals()?;
        // Nothing but SIGKILL ends a guard: signals for the replica's group or service are not for it.
        SigSet::all().thread_set_mask()?;
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        let signals = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        line.set_read_timeout(Some(REST_LIMIT))?;
        // No other copy of it, which a guard would keep: the replica is to see when this process is gone.
        dup2_stdin(File::open("/dev/null")?)?;
        Ok(Self {
            line: Some(line),
            signals,
            guards: HashSet::new(),
            alone: None,
            hunting: None,
            is_reaping: false,
            cgroup: cgroup::delegated(),
        })
    }

    fn serve(mut self) {
        while !(self.line.is_none() && self.guards.is_empty() && self.hunting.is_none()) {
            let is_asked = self.wait();
            self.reap();
            self.wake_guards();
            if self.hunting.is_some() {
                self.hunt();
            }
            if is_asked {
                self.take_request();
            }
        }
    }

    /// Waits for a request or a dead child; whether it is a request.
    fn wait(&self) -> bool {
        let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = vec![watched(self.signals.as_fd())];
        fds.extend(self.line.as_ref().map(|line| watched(line.as_fd())));
        let wakes = self.alone.as_ref().is_some_and(|guards| !guards.is_empty()).then_some(WAKE_PAUSE_MS);
        let hunt = self.hunting.as_ref().map(|hunt| hunt.pause);
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
                self.hunting = Some(Hunt::begin());
            }
        }
        self.is_reaping = true;
    }

    /// Once the replica is gone, nobody else does anything about a guard that somebody has stopped, perhaps its own job: it
    /// is woken, and killed if that does not help, as where it is traced.
    fn wake_guards(&mut self) {
        let Some(alone) = self.alone.as_mut().filter(|_| Protection::Guard.is_on()) else { return };
        // One whose run is over has nothing to do but to wait.
        alone
            .retain(|guard, _| self.guards.contains(guard) && tree::name(*guard) != AFTER_THE_RUN.to_bytes());
        for (guard, wakes) in alone {
            if !tree::is_stopped(*guard) {
                *wakes = 0;
                continue;
            }
            *wakes += 1;
            if *wakes <= MOST_WAKES {
                // An error says that it is gone.
                let _ = kill(*guard, Signal::SIGCONT);
                continue;
            }
            // Who traces it keeps its end from being heard of: what it leaves is looked for at once.
            let _ = kill(*guard, Signal::SIGKILL);
            self.guards.remove(guard);
            self.hunting = Some(Hunt::begin());
        }
    }

    /// Kills what dead guards have left: everything that came down to this process and is no guard.
    fn hunt(&mut self) {
        let Some(mut hunt) = self.hunting.take() else { return };
        syscalls::go_first(true);
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
        // Who cannot be seen now is looked for again.
        if strays.is_ok_and(|strays| strays.is_empty()) {
            syscalls::go_first(false);
            self.cgroup.as_deref().into_iter().for_each(cgroup::tidy);
            return;
        }
        hunt.pause = match hunt.kill_rounds.press() {
            true => 0,
            false => (hunt.pause * 2).clamp(HUNT_PAUSES_MS.0, HUNT_PAUSES_MS.1),
        };
        self.hunting = Some(hunt);
    }

    /// Makes the guard that is asked for. A line that breaks is hung up.
    fn take_request(&mut self) {
        let Some(line) = &self.line else { return };
        match receive(line) {
            Ok(asked) => asked.into_iter().for_each(|asked| self.make(asked)),
            Err(_) => {
                self.line = None;
                self.alone = Some(self.guards.iter().map(|guard| (*guard, 0)).collect());
            }
        }
    }

    fn make(&mut self, ReceivedRequest { request, handed }: ReceivedRequest) {
        let mut handed = handed.into_iter();
        let Some(line) = handed.next().map(UnixStream::from) else { return };
        match syscalls::fork() {
            Ok(ForkResult::Child) => {
                self.line = None;
                self.become_guard(request, line, handed.collect());
                // What is left is to be taken apart by the kernel, and nobody waits for that.
                syscalls::step_back();
                syscalls::exit_now(0);
            }
            Ok(ForkResult::Parent { child }) => {
                self.guards.insert(child);
                tell(&line, GuardReport::Made(child));
            }
            Err(errno) => tell(&line, GuardReport::NotStarted(in_step(STEP_GUARD, errno.into()))),
        }
    }

    /// What a guard does, once it is a process: waits for its request if it came before that, and guards.
    fn become_guard(&self, request: Option<GuardRequest>, line: UnixStream, handed: Vec<OwnedFd>) {
        let (ready, asked) = match request {
            Some(request) => (Ready::at_once(), Some((request, handed))),
            // A process is in its control group from its first instruction on, and that is its run's.
            None => (Ready::ahead(self.cgroup.is_none()), wait_for_request(&line)),
        };
        let Some((request, handed)) = asked else { return };
        let Some(handed) = Handed::of(&request, line, handed) else { return };
        let cgroup = self.cgroup.as_deref().and_then(|parent| Cgroup::create(parent, &request.name));
        guard(&request, handed, ready, cgroup, &self.signals);
    }
}

/// Waits for as long as the replica is there; nothing if it is gone, or does not need this guard any more.
fn wait_for_request(line: &UnixStream) -> Option<(GuardRequest, Vec<OwnedFd>)> {
    let _ = set_name(BEFORE_THE_RUN);
    let ReceivedRequest { request, handed } = receive(line).ok()??;
    Some((request?, handed))
}
