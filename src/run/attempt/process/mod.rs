//! The processes of a run, from the replica's side: it sends orders to their guard, and kills the processes itself if
//! the guard does not act in time or is gone.

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
use crate::time::BootInstant;

use super::launch::Launch;
use super::spawn::{SpawnReply, ask};
use super::state::ChildExit;
use super::stop::{RunControl, StopOrder};

/// If a report is read later than this after its event, the replica was frozen in between.
pub(crate) const HEARING: Duration = Duration::from_secs(1);

/// The processes of a run under their guard.
#[derive(Debug)]
pub(crate) struct Process {
    socket: UnixStream,
    inbox: Inbox,
    run: RunId,
    /// Whether the job runs as another user or group than the replica.
    pub(crate) is_switched: bool,
    /// The guard, once the zygote has reported it.
    made: Option<Pid>,
    /// The guard and the main process, once the guard has reported them.
    started: Option<(Pid, Pid)>,
    /// Whether the guard is gone.
    lost: bool,
    /// Whether the guard has reported the end: no report follows, and nothing is left to do.
    over: bool,
    /// The main process's group, until its number may be reused.
    group: Option<Pid>,
    /// Whether the replica has killed processes itself: from then on, the main process does not count as ended by
    /// itself.
    struck: bool,
    /// The kill rounds of the replica itself.
    kill_rounds: KillRounds,
    /// When the last event that the guard reported happened.
    happened: Option<BootInstant>,
}

/// The reading ends of a job's output, if it is stored.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) out: pipe::Receiver,
    pub(crate) err: pipe::Receiver,
}

/// The result of a start.
#[derive(Debug)]
pub(crate) enum Spawned {
    /// Its guard was requested, and will report.
    Asked(Box<(Process, Option<Pipes>)>),
    /// A stop was ordered before the start.
    Ordered(StopOrder),
}

/// A report of the guard about its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunReport {
    /// The main process exists.
    Started,
    /// Nothing was started: errno, and in the bits above it the step that failed.
    NotStarted(i32),
    /// The main process ended by itself.
    Exited(ChildExit),
    /// The main process was stopped.
    Stopped(ChildExit),
    /// No process is left.
    Empty,
    /// The guard is gone without a final report.
    Lost,
}

impl Process {
    /// Requests a guard that starts the command, unless a stop order came first. May take longer than the lock holds.
    pub(crate) async fn spawn(
        guards: &Arc<Guards>,
        launch: &Launch,
        sign: Option<OwnedFd>,
        control: &RunControl,
    ) -> Result<Spawned, RunError> {
        Ok(match ask(guards, launch, sign, control).await? {
            SpawnReply::Ordered(order) => Spawned::Ordered(order),
            SpawnReply::Guard { socket, pipes, is_switched } => {
                Spawned::Asked(Box::new((Self::new(socket, launch.identity.run, is_switched), pipes)))
            }
        })
    }

    fn new(socket: UnixStream, run: RunId, is_switched: bool) -> Self {
        let (inbox, started, group) = (Inbox::default(), None, None);
        Self {
            socket,
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

    /// Returns the main process, once the guard has reported it.
    pub(crate) fn main(&self) -> Option<Pid> {
        self.started.map(|(_, main)| main)
    }

    /// Whether the guard is gone without a final report.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether the guard has reported nothing yet, and is not known to be gone.
    pub(crate) fn is_unborn(&self) -> bool {
        self.started.is_none() && !self.lost && !self.over
    }

    /// Waits for the guard's next report; waits without end once no more can come. Cancel-safe.
    pub(crate) async fn next_report(&mut self) -> RunReport {
        loop {
            if let Some(report) = self.try_next_report() {
                return report;
            }
            if self.lost || self.over {
                return std::future::pending().await;
            }
            // An error shows again in the read that follows.
            let _ = self.socket.readable().await;
        }
    }

    /// Returns a report that the guard has sent and the replica has not read. Reads the socket directly, as the
    /// runtime may not have noticed the data yet.
    pub(crate) fn try_next_report(&mut self) -> Option<RunReport> {
        if let Some(report) = self.next_in_box() {
            return Some(report);
        }
        if self.lost || self.over {
            return None;
        }
        let mut bytes = [0; 4 * LENGTH];
        match self.socket.try_read(&mut bytes) {
            Ok(0) => self.lost = true,
            Ok(count) => self.inbox.take(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match nix::unistd::read(self.socket.as_fd(), &mut bytes) {
                    Ok(0) => self.lost = true,
                    Ok(count) => self.inbox.take(&bytes[..count]),
                    Err(Errno::EAGAIN | Errno::EINTR) => return None,
                    Err(_) => self.lost = true,
                }
            }
            Err(_) => self.lost = true,
        }
        if self.lost { Some(RunReport::Lost) } else { self.next_in_box() }
    }

    /// Returns how long ago the event of the last report happened; zero if that is no more than `HEARING`. `now`: what the
    /// machine's boot clock shows.
    pub(crate) fn ago(&self, now: BootInstant) -> Duration {
        let ago = self.happened.map(|at| now.since(at)).unwrap_or_default();
        // A shorter time is the delay of the report itself, and the guard's clock shows nothing that the replica's
        // does not.
        if ago > HEARING { ago } else { Duration::ZERO }
    }

    fn next_in_box(&mut self) -> Option<RunReport> {
        let report = match GuardReport::decode(&self.inbox.next()?)? {
            GuardReport::At(at) => {
                self.happened = Some(at);
                return self.next_in_box();
            }
            GuardReport::Made(guard) => {
                self.made = Some(guard);
                return self.next_in_box();
            }
            // A guard that was frozen when the replica killed the run takes that for an end of the main process by
            // itself. It does nothing more about the rest of the run, which the replica continues to kill.
            GuardReport::Exited(status) if self.struck => GuardReport::Stopped(status),
            report => report,
        };
        self.over =
            matches!(report, GuardReport::NotStarted(_) | GuardReport::Exited(_) | GuardReport::Empty);
        Some(match report {
            GuardReport::Started { guard, main } => {
                self.started = Some((guard, main));
                self.group = Some(main);
                RunReport::Started
            }
            GuardReport::NotStarted(code) => RunReport::NotStarted(code),
            GuardReport::Exited(status) => RunReport::Exited(ChildExit::from(ExitStatus::from_raw(status))),
            GuardReport::Stopped(status) => {
                // The main process is reaped, and its number is free.
                self.group = None;
                RunReport::Stopped(ChildExit::from(ExitStatus::from_raw(status)))
            }
            GuardReport::Empty | GuardReport::At(_) | GuardReport::Made(_) => RunReport::Empty,
        })
    }

    /// Sends the guard an order. If the guard cannot read it any more, or does not, `strike` does its work. Writes to
    /// the socket directly, as the runtime may not have noticed yet that it is writable.
    pub(crate) fn tell(&self, order: GuardOrder) {
        let _ = nix::unistd::write(&self.socket, &order.encode());
    }

    /// Wakes a guard that has not noticed the end of its main process, or has not even reported the start: it was
    /// stopped by another process, perhaps by the job itself.
    pub(crate) fn wake_guard(&self) {
        let stopped = match self.started {
            Some((guard, main)) => Some(guard).filter(|_| tree::is_zombie(main)),
            None => self.made,
        };
        if let Some(guard) = stopped.filter(|_| !self.over && !self.lost) {
            let _ = kill(guard, Signal::SIGCONT);
        }
    }

    /// Kills a guard that was made and has reported nothing. Returns whether there is one.
    pub(crate) fn kill_unborn(&self) -> bool {
        let guard = self.made.filter(|_| self.is_unborn());
        // An error means that it is gone, which the socket shows before long.
        guard.map(|guard| kill(guard, Signal::SIGKILL)).is_some()
    }

    /// Ends the supervision: the attempt is over, and processes of the run that are left are not killed. A guard that
    /// has not reported the end is frozen, and has nothing left to guard: it is killed.
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
