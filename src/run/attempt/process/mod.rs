//! A run's processes, as the replica sees them: it talks with their guard, and where the guard does not do what it was
//! told in time, or is gone, it strikes by itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use crate::job::RunId;
use crate::run::error::RunError;
use crate::run::guard::{GuardOrder, GuardReport, Guards, Inbox, LENGTH};
use crate::run::procs::kill_rounds::KillRounds;
use crate::run::procs::tree;
use crate::time::{BootInstant, Clock, SystemClock};

use super::launch::Launch;
use super::spawn::{SpawnReply, ask};
use super::state::ChildExit;
use super::stop::{RunControl, StopOrder};

/// What was told longer ago than this was told to a replica that was frozen.
const HEARING: Duration = Duration::from_secs(1);

/// A job's processes under their guard.
#[derive(Debug)]
pub(crate) struct Process {
    line: UnixStream,
    inbox: Inbox,
    run: RunId,
    /// Whether the job runs as somebody else than the replica.
    pub(crate) is_switched: bool,
    /// The guard, once it is made.
    made: Option<Pid>,
    /// The guard and the main process, once they are there.
    started: Option<(Pid, Pid)>,
    /// The guard is gone.
    lost: bool,
    /// The guard has said how it ended: nothing more is to come, and nothing to be done.
    over: bool,
    /// The main process's group, as long as its number can be nobody else's.
    group: Option<Pid>,
    /// The replica has struck: how the main process ends from now on is no choice of its own.
    struck: bool,
    /// With what force.
    kill_rounds: KillRounds,
    /// When that happened which the guard told last.
    happened: Option<BootInstant>,
}

/// The reading ends of a job's output, where it is kept.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) out: pipe::Receiver,
    pub(crate) err: pipe::Receiver,
}

/// What became of a start.
#[derive(Debug)]
pub(crate) enum Spawned {
    /// Its guard was asked for, and will tell.
    Asked(Box<(Process, Option<Pipes>)>),
    /// It was ordered to stop before it was started.
    Ordered(StopOrder),
}

/// What the guard says of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The main process is there.
    Started,
    /// Nothing was started; errno, and the step above its bits.
    NotStarted(i32),
    /// The main process ended by itself.
    Exited(ChildExit),
    /// The main process was stopped.
    Stopped(ChildExit),
    /// Nothing is left.
    Empty,
    /// The guard is gone without a word.
    Lost,
}

impl Process {
    /// Asks for the command to be started, unless an order to stop has come first. May take longer than the lock holds.
    pub(crate) async fn spawn(
        guards: &Arc<Guards>,
        launch: &Launch,
        sign: Option<OwnedFd>,
        control: &RunControl,
    ) -> Result<Spawned, RunError> {
        Ok(match ask(guards, launch, sign, control).await? {
            SpawnReply::Ordered(order) => Spawned::Ordered(order),
            SpawnReply::Guard { line, pipes, is_switched } => {
                Spawned::Asked(Box::new((Self::new(line, launch.identity.run, is_switched), pipes)))
            }
        })
    }

    fn new(line: UnixStream, run: RunId, is_switched: bool) -> Self {
        let (inbox, started, group) = (Inbox::default(), None, None);
        Self {
            line,
            inbox,
            run,
            is_switched,
            made: None,
            started,
            lost: false,
            over: false,
            group,
            struck: false,
            kill_rounds: KillRounds::default(),
            happened: None,
        }
    }

    /// The main process, once it is there.
    pub(crate) fn main(&self) -> Option<Pid> {
        self.started.map(|(_, main)| main)
    }

    /// Whether the guard is gone without a word.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether nothing was heard of the guard yet.
    pub(crate) fn is_unborn(&self) -> bool {
        self.started.is_none() && !self.lost && !self.over
    }

    /// Waits for what the guard says next; for ever once there is nothing more to come. Cancel-safe.
    pub(crate) async fn said(&mut self) -> Said {
        loop {
            if let Some(said) = self.said_so_far() {
                return said;
            }
            if self.lost || self.over {
                return std::future::pending().await;
            }
            // An error shows again in the read that follows.
            let _ = self.line.readable().await;
        }
    }

    /// What the guard has said and nobody has heard. The kernel is asked itself: the runtime may not have heard yet.
    pub(crate) fn said_so_far(&mut self) -> Option<Said> {
        if let Some(said) = self.next_in_box() {
            return Some(said);
        }
        if self.lost || self.over {
            return None;
        }
        let mut bytes = [0; 4 * LENGTH];
        match self.line.try_read(&mut bytes) {
            Ok(0) => self.lost = true,
            Ok(count) => self.inbox.take(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match nix::unistd::read(self.line.as_fd(), &mut bytes) {
                    Ok(0) => self.lost = true,
                    Ok(count) => self.inbox.take(&bytes[..count]),
                    Err(Errno::EAGAIN | Errno::EINTR) => return None,
                    Err(_) => self.lost = true,
                }
            }
            Err(_) => self.lost = true,
        }
        if self.lost { Some(Said::Lost) } else { self.next_in_box() }
    }

    /// How long ago that happened which was heard last.
    pub(crate) fn ago(&self) -> Duration {
        let ago = self.happened.map(|at| SystemClock.boot().since(at)).unwrap_or_default();
        // Below that it is the time that hearing takes, and the guard's clock tells nothing that ours does not.
        if ago > HEARING { ago } else { Duration::ZERO }
    }

    fn next_in_box(&mut self) -> Option<Said> {
        let report = match GuardReport::decode(&self.inbox.next()?)? {
            GuardReport::At(at) => {
                self.happened = Some(at);
                return self.next_in_box();
            }
            GuardReport::Made(guard) => {
                self.made = Some(guard);
                return self.next_in_box();
            }
            // A guard that was frozen when the replica struck takes that end for the main process's own. It does nothing
            // more about the rest, which the replica goes on with.
            GuardReport::Exited(status) if self.struck => GuardReport::Stopped(status),
            report => report,
        };
        self.over =
            matches!(report, GuardReport::NotStarted(_) | GuardReport::Exited(_) | GuardReport::Empty);
        Some(match report {
            GuardReport::Started { guard, main } => {
                self.started = Some((guard, main));
                self.group = Some(main);
                Said::Started
            }
            GuardReport::NotStarted(code) => Said::NotStarted(code),
            GuardReport::Exited(status) => Said::Exited(ChildExit::from(ExitStatus::from_raw(status))),
            GuardReport::Stopped(status) => {
                // It is reaped, and its number free.
                self.group = None;
                Said::Stopped(ChildExit::from(ExitStatus::from_raw(status)))
            }
            GuardReport::Empty | GuardReport::At(_) | GuardReport::Made(_) => Said::Empty,
        })
    }

    /// Gives the guard an order. One that cannot hear it any more, or does not, is made up for by `strike`. The kernel
    /// is asked itself: the runtime may not have heard yet that the line can be written to.
    pub(crate) fn tell(&self, order: GuardOrder) {
        let _ = nix::unistd::write(&self.line, &order.encode());
    }

    /// Wakes a guard that has not heard of the end of its run, or has not even come to say that it began: somebody has
    /// stopped it, perhaps the job itself.
    pub(crate) fn wake_guard(&self) {
        let stopped = match self.started {
            Some((guard, main)) => Some(guard).filter(|_| tree::is_zombie(main)),
            None => self.made,
        };
        if let Some(guard) = stopped.filter(|_| !self.over && !self.lost) {
            let _ = kill(guard, Signal::SIGCONT);
        }
    }

    /// Kills a guard that was made, and has said nothing; whether there is one.
    pub(crate) fn kill_unborn(&self) -> bool {
        let guard = self.made.filter(|_| self.is_unborn());
        // An error says that it is gone, which is heard before long.
        guard.map(|guard| kill(guard, Signal::SIGKILL)).is_some()
    }

    /// The attempt is over: what is left of the run, if anything, is not to be killed. A guard that never said so is
    /// frozen, and has nothing left to guard.
    pub(crate) fn release(&mut self) {
        if let Some((guard, _)) = self.started.filter(|_| !self.over && !self.lost) {
            let _ = kill(guard, Signal::SIGKILL);
        }
        self.over = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.over {
            self.tell(GuardOrder::Stop(Duration::ZERO));
        }
    }
}

impl From<ExitStatus> for ChildExit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

mod strike;
#[cfg(test)]
mod tests;
