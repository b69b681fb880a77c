//! The process of a guard: single-threaded, parent of the job's main process and reaper of everything that descends
//! from it. It performs the actions of its `GuardState`, and ends with the last process of its run.

pub(super) mod child;
mod clock;
pub(super) mod ready;
mod state;
mod timer;

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use child::{Child, STEP_GUARD, STEP_OVERDUE, STEP_SHIFT, in_step};
use clock::GuardClock;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_name;
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, getpgid, getpid};
use ready::{Handed, Ready};
use state::{GuardAction, GuardEvent, GuardState};
use timer::Alarm;

use crate::lease::Protection;
use crate::run::history::running_sign;
use crate::run::procs::cgroup::Cgroup;
use crate::run::procs::kill_rounds::KillRounds;
use crate::run::procs::syscalls::Reaped;
use crate::run::procs::{syscalls, tree};
use crate::time::{Clock, SystemClock};

use super::names::{AFTER_THE_RUN, guard_name};
use super::request::GuardRequest;
use super::wire::{GuardOrder, GuardReport, Inbox, LENGTH};

/// The most children reaped in a row: processes that die as fast as they are reaped must not keep the reaping process
/// from its other work.
pub(super) const REAPED_AT_ONCE: usize = 100;

/// A guard whose run has been started.
struct Guard {
    socket: UnixStream,
    inbox: Inbox,
    is_hung_up: bool,
    main: Child,
    status: Option<i32>,
    /// Whether further children may be dead.
    is_reaping: bool,
    state: GuardState,
    clock: GuardClock,
    kill_rounds: KillRounds,
    cgroup: Option<Cgroup>,
    sign: Option<OwnedFd>,
    alarm: Alarm,
}

/// Guards one run until no process of it is left. `signals` reports dead children.
pub(super) fn guard(
    request: &GuardRequest,
    handed: Handed,
    ready: Ready,
    cgroup: Option<Cgroup>,
    signals: &SignalFd,
) {
    let _ = set_name(&guard_name(&request.name));
    match Guard::start(request, handed, ready, cgroup) {
        Ok(mut guard) => guard.watch(signals),
        Err((socket, code)) => tell(&socket, GuardReport::NotStarted(code)),
    }
}

pub(super) fn tell(mut socket: &UnixStream, report: GuardReport) {
    // The replica may be gone, or frozen with a full socket: the run is stopped all the same.
    let _ = socket.write_all(&report.encode());
}

impl Guard {
    fn start(
        request: &GuardRequest,
        Handed { socket, streams, sign }: Handed,
        ready: Ready,
        cgroup: Option<Cgroup>,
    ) -> Result<Self, (UnixStream, i32)> {
        // Everything that can fail comes first.
        let alarm = match socket.set_nonblocking(true).and(ready.alarm) {
            Ok(alarm) => alarm,
            Err(error) => return Err((socket, in_step(STEP_GUARD, error))),
        };
        let clock = GuardClock::start();
        // A request may have waited in a frozen zygote or a frozen replica until it was no longer valid.
        if SystemClock.boot() >= request.deadline && Protection::Guard.is_on() || is_abandoned(&socket) {
            return Err((socket, STEP_OVERDUE << STEP_SHIFT));
        }
        let ahead = ready.child.and_then(|ahead| ahead.go(request, &streams));
        let started = ahead.map_or_else(|| Child::start(request, streams, cgroup.as_ref()), Ok);
        match started {
            Err(code) => Err((socket, code)),
            Ok(main) => {
                tell(&socket, GuardReport::Started { guard: getpid(), main: main.pid });
                let state = GuardState::new(request.deadline, request.loss_grace);
                let (inbox, kill_rounds) = (Inbox::default(), KillRounds::default());
                let (is_hung_up, is_reaping, status) = (false, false, None);
                Ok(Self {
                    socket,
                    inbox,
                    is_hung_up,
                    main,
                    status,
                    is_reaping,
                    state,
                    clock,
                    kill_rounds,
                    cgroup,
                    sign,
                    alarm,
                })
            }
        }
    }

    fn watch(&mut self, signals: &SignalFd) {
        loop {
            self.alarm.set(self.state.wake_at().map(|at| self.clock.timer_for(at)));
            self.wait(signals);
            // Dead children first: a run that ended by itself was not stopped.
            if self.reap() || self.hear() || self.event(GuardEvent::Clock) {
                return;
            }
        }
    }

    /// Waits for an order of the replica, a dead child, or the alarm.
    fn wait(&self, signals: &SignalFd) {
        let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds = vec![watched(self.alarm.as_fd()), watched(signals.as_fd())];
        if !self.is_hung_up {
            fds.push(watched(self.socket.as_fd()));
        }
        let limit = if self.is_reaping { PollTimeout::ZERO } else { PollTimeout::NONE };
        // An interrupted wait is just shorter.
        let _ = poll(&mut fds, limit);
        while matches!(signals.read_signal(), Ok(Some(_))) {}
    }

    /// Reaps dead children, `REAPED_AT_ONCE` at most. Returns true when the guard is done.
    fn reap(&mut self) -> bool {
        self.is_reaping = false;
        for _ in 0..REAPED_AT_ONCE {
            match syscalls::reap() {
                Reaped::Child(pid, status) if pid == self.main.pid && self.status.is_none() => {
                    self.status = Some(status);
                    if self.event(GuardEvent::MainEnded) {
                        return true;
                    }
                }
                Reaped::Child(..) => {}
                Reaped::None => return false,
                Reaped::Childless => return self.event(GuardEvent::Childless),
            }
        }
        self.is_reaping = true;
        false
    }

    /// Reads and handles the orders of the replica. Returns true when the guard is done.
    fn hear(&mut self) -> bool {
        let mut bytes = [0; 16 * LENGTH];
        while !self.is_hung_up {
            match self.socket.read(&mut bytes) {
                Ok(0) => self.is_hung_up = true,
                Ok(count) => self.inbox.take(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_hung_up = true,
            }
            while let Some(order) = self.inbox.next().and_then(|word| GuardOrder::decode(&word)) {
                let event = match order {
                    GuardOrder::Deadline(at) => {
                        self.clock = GuardClock::start();
                        GuardEvent::Deadline(at)
                    }
                    GuardOrder::Stop(grace) => GuardEvent::Stop(grace),
                };
                if self.event(event) {
                    return true;
                }
            }
            if self.is_hung_up {
                return self.event(GuardEvent::Hangup);
            }
        }
        false
    }

    fn event(&mut self, event: GuardEvent) -> bool {
        let action = self.state.step(event, self.clock.now());
        self.perform(action)
    }

    /// Performs the action. Returns true when the guard is done.
    fn perform(&mut self, action: GuardAction) -> bool {
        match action {
            GuardAction::Wait => {}
            GuardAction::Terminate => self.terminate(),
            GuardAction::Kill => {
                let begun = SystemClock.boot();
                self.kill();
                let took = SystemClock.boot().since(begun);
                return self.event(GuardEvent::Struck { took, press: self.kill_rounds.press() });
            }
            GuardAction::ReportExited => {
                let status = self.status.unwrap_or_default();
                let report = self.main.failure().map_or(GuardReport::Exited(status), GuardReport::NotStarted);
                // The run is over: a process that it left behind neither keeps its sign nor is stopped with it. A
                // replica that has received this report hangs up.
                self.let_go();
                tell(&self.socket, GuardReport::At(SystemClock.boot()));
                tell(&self.socket, report);
                let _ = set_name(AFTER_THE_RUN);
            }
            GuardAction::ReportStopped => {
                tell(&self.socket, GuardReport::Stopped(self.status.unwrap_or_default()))
            }
            GuardAction::ReportEmpty => {
                self.let_go();
                tell(&self.socket, GuardReport::At(SystemClock.boot()));
                tell(&self.socket, GuardReport::Empty);
                return true;
            }
            GuardAction::Leave => return true,
        }
        false
    }

    /// Releases the sign: the run is over. If the replica is gone, the guard records the end in the sign, where the
    /// replica's next process reads it.
    fn let_go(&mut self) {
        if let Some(sign) = self.sign.take()
            && is_abandoned(&self.socket)
        {
            running_sign::note_end(&sign);
        }
    }

    /// Asks every process of the run to end. SIGCONT follows, as a stopped process would sleep through its grace.
    fn terminate(&self) {
        // Among very many processes, this one might be scheduled too late.
        syscalls::set_realtime(true);
        // Before any process ends: the children of an ended process move to another parent during the search.
        let others = self.outside();
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            self.signal_group(signal);
            tree::signal_each(&others, signal);
        }
    }

    /// Kills every process of the run. The next kill round searches again for those that this one did not find.
    fn kill(&mut self) {
        syscalls::set_realtime(true);
        // The control group first: it needs no search, and all of it is reached at once.
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        let group = self.group();
        // If the search fails now, the next kill round repeats it.
        let _ = self.kill_rounds.strike(|signal| {
            group.map(|group| tree::signal_group(group, signal));
            tree::reach(getpid(), &[], Some(signal))
        });
    }

    /// Returns the main process's group; `None` once the main process is reaped, as its number may then be reused.
    fn group(&self) -> Option<Pid> {
        Some(self.main.pid).filter(|_| self.status.is_none())
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = self.group() {
            tree::signal_group(group, signal);
        }
    }

    /// Returns the descendants of this guard that are not in the main process's group.
    fn outside(&self) -> Vec<Pid> {
        let group = self.group();
        let is_outside = |pid: &Pid| group.is_none() || getpgid(Some(*pid)).ok() != group;
        tree::reach(getpid(), &[], None).unwrap_or_default().into_iter().filter(is_outside).collect()
    }
}

/// Whether the replica has closed its end of the socket.
fn is_abandoned(socket: &UnixStream) -> bool {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
    let polled = poll(&mut fds, PollTimeout::ZERO);
    polled.is_ok() && fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP))
}
