//! What replicas and the store write to each other.

use crate::job::{RunId, Tick};
use crate::lease::{Record, Reply, Request};
use crate::store::{Beat, Marked, Pulse, StoreError};

/// What a replica asks.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// A heartbeat; who listens only has none.
    Pulse(Option<Beat>),
    /// A job's record.
    Look(usize),
    /// A request about a job's record.
    Submit(usize, Request),
    /// How far a job's ticks are decided.
    Mark(usize),
    /// Which of these jobs the cluster knows.
    Known(Vec<usize>),
    /// That the cluster knows these jobs.
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

/// What came of a question.
pub(crate) type Answered = Result<Told, StoreError>;

/// A question under way.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    /// Its number, for its sender.
    pub(crate) id: u64,
    pub(crate) ask: Ask,
}

/// What somebody wants a replica to do besides.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wish {
    /// Run here and now, as `exec` does.
    Exec,
    /// Obey an order that was put into the record, as `trigger` does.
    Order(RunId),
    /// Ask for a tick again, whatever is known of it: only what was cut short may run once more.
    Again(Tick),
}
