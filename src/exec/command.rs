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

use super::acquire::{Held, Refusal};
use super::session::Stay;
use super::work::Work;

/// Everything a guest is made of.
#[derive(Debug)]
pub(crate) struct Guest {
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
    pub patience: Duration,
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
pub(crate) enum Visit {
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

impl Guest {
    /// Asks for the lock, runs the command under it, and returns when nothing of it is left and its end is recorded. Needs
    /// a runtime, and inherits the standard streams of this process to the command.
    pub(crate) async fn visit(self, stop: Stop) -> Visit {
        let mut stay = Stay::begin(self);
        let won = tokio::select! {
            biased;
            () = stop.drain.cancelled() => None,
            won = stay.take_lock() => Some(won),
        };
        match won {
            Some(Ok(grant)) => return Visit::Ran(stay.run(grant, &stop).await),
            Some(Err(_)) | None => stay.give_back().await,
        }
        match won {
            Some(Err(Refusal::Held(Held::By(holder)))) => Visit::Held(Some(holder)),
            Some(Err(Refusal::Held(Held::Nobody | Held::ForRerun))) => Visit::Held(None),
            Some(Err(Refusal::Unreachable(why))) => Visit::Unreachable(why),
            Some(Err(Refusal::NewerSchema(schema))) => Visit::NewerSchema(schema),
            Some(Ok(_)) | None => Visit::Stopped,
        }
    }
}
