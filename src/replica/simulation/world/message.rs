//! The messages between replicas and the store.

use crate::job::{RunId, Tick};
use crate::lease::{Record, Reply, Request};
use crate::store::{Beat, Marked, Pulse, StoreError};

/// A request of a replica.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// A heartbeat; `None` of one that only listens.
    Pulse(Option<Beat>),
    /// Reads a job's record.
    Look(usize),
    /// A request about a job's record.
    Submit(usize, Request),
    /// Reads how far a job's ticks are decided.
    Mark(usize),
    /// Reads which of these jobs the cluster knows.
    Known(Vec<usize>),
    /// Notes that the cluster knows these jobs.
    Enroll(Vec<usize>),
}

/// What the store answers.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Pulse(Pulse),
    Looked(Option<Box<Record>>),
    Reply(Reply),
    Mark(Option<Marked>),
    Known(Vec<bool>),
    Enrolled,
}

/// The result of a request.
pub(crate) type Answered = Result<Told, StoreError>;

/// A request under way.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    /// Its number, for its sender.
    pub(crate) id: u64,
    pub(crate) ask: Ask,
}

/// What a replica is asked to do apart from its schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish {
    /// Run here and now, as `exec` does.
    Exec,
    /// Obey an order that was put into the record, as `trigger` does.
    Order(RunId),
    /// Claim a tick again, whatever is known of it: only an interrupted one may run once more.
    Again(Tick),
}
