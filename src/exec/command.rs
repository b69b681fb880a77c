//! The `exec` command as the CLI builds it, and its result.

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

/// Everything that an `exec` needs.
#[derive(Debug)]
pub(crate) struct ExecCommand {
    /// The name under which the command runs, shown to operators.
    pub node: NodeName,
    /// The lock: that of a job, or a name that no job has.
    pub lock: JobName,
    /// The job of that name, if it exists.
    pub job: Option<Arc<JobSpec>>,
    /// What it runs.
    pub work: Work,
    /// How long the lock holds without renewal; at least 5 s.
    pub lease: Duration,
    /// Between SIGTERM and SIGKILL of the whole tree.
    pub kill_grace: Duration,
    /// How long to wait for a lock that is held.
    pub max_wait: Duration,
    /// Where the lock is stored.
    pub store: Arc<dyn Store>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Creates the guard of the command.
    pub guards: Guards,
    /// Where events are logged.
    pub events: Events,
}

/// The result of an `exec`.
#[derive(Debug)]
pub(crate) enum ExecResult {
    /// The lock was granted, and the command has ended or could not be started.
    Ran(Ended),
    /// The lock is held, or may be held; the holder if known.
    Held(Option<Holder>),
    /// The store does not answer, for this reason.
    Unreachable(StoreError),
    /// The record was written by a newer release: its schema.
    NewerSchema(u32),
    /// It was ordered to stop before it had the lock.
    Stopped,
}

impl ExecCommand {
    /// Requests the lock and runs the command under it. Returns when nothing of the command is left and its end is
    /// recorded. Needs a runtime; the command inherits the standard streams of this process.
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
            Some(Err(AcquireError::Held(Held::WithoutHolder | Held::ForRerun))) => ExecResult::Held(None),
            Some(Err(AcquireError::Unreachable(why))) => ExecResult::Unreachable(why),
            Some(Err(AcquireError::NewerSchema(schema))) => ExecResult::NewerSchema(schema),
            Some(Ok(_)) | None => ExecResult::Stopped,
        }
    }
}
