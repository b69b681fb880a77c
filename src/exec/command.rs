//! A guest as others build it, and what became of its visit.

use std::sync::Arc;
use std::time::Duration;

use crate::events::log::Events;
use crate::hold::Stop;
use crate::job::{JobName, JobSpec, NodeName};
use crate::lease::Holder;
use crate::run::{Ended, Guards};
use crate::store::{Store, StoreError};
use crate::time::Clock;

use super::acquire::{AcquireError, Held};
use super::session::ExecSession;
use super::work::Work;

/// Everything a guest is made of.
#[derive(Debug)]
pub(crate) struct ExecCommand {
    /// Where its command runs, for people.
    pub node: NodeName,
    /// The lock: a job's, or one that no job has.
    pub lock: JobName,
    /// The job that has it, if there is one.
    pub job: Option<Arc<JobSpec>>,
    /// What it runs.
    pub work: Work,
    /// How long the lock holds without renewal; at least 5 s.
    pub lease: Duration,
    /// Between SIGTERM and SIGKILL of the whole tree.
    pub kill_grace: Duration,
    /// A lock that somebody holds is waited for this long.
    pub max_wait: Duration,
    /// Where the lock is.
    pub store: Arc<dyn Store>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// What makes the guard of its command.
    pub guards: Guards,
    /// Where it tells what happens.
    pub events: Events,
}

/// What became of a guest's visit.
#[derive(Debug)]
pub(crate) enum ExecResult {
    /// It had its lock, and the command has ended, or could not be started.
    Ran(Ended),
    /// Somebody holds the lock, or may do so.
    Held(Option<Holder>),
    /// The store does not answer: why.
    Unreachable(StoreError),
    /// The record was written by a newer release: its schema.
    NewerSchema(u32),
    /// It was told to stop before it had its lock.
    Stopped,
}

impl ExecCommand {
    /// Asks for the lock, runs the command under it, and returns when nothing of it is left and its end is recorded. Needs
    /// a runtime, and inherits the standard streams of this process to the command.
    pub(crate) async fn run(self, stop: Stop) -> ExecResult {
        let mut session = ExecSession::begin(self);
        let won = tokio::select! {
            biased;
            () = stop.drain.cancelled() => None,
            won = session.take_lock() => Some(won),
        };
        match won {
            Some(Ok(grant)) => return ExecResult::Ran(session.run(grant, &stop).await),
            Some(Err(_)) | None => session.give_back().await,
        }
        match won {
            Some(Err(AcquireError::Held(Held::By(holder)))) => ExecResult::Held(Some(holder)),
            Some(Err(AcquireError::Held(Held::Nobody | Held::ForRerun))) => ExecResult::Held(None),
            Some(Err(AcquireError::Unreachable(why))) => ExecResult::Unreachable(why),
            Some(Err(AcquireError::NewerSchema(schema))) => ExecResult::NewerSchema(schema),
            Some(Ok(_)) | None => ExecResult::Stopped,
        }
    }
}
