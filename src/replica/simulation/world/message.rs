//! The messages between replicas and the store.

use crate::job::Tick;
use crate::lease::{HistoryEntry, Record, Reply, Request, Server, Swap, Version};
use crate::store::{Beat, Marked, Pulse, StoreError};
use crate::time::UtcMillis;

/// A request of a replica. Jobs are named by their numbers.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    /// A heartbeat; `None` of one that only listens.
    Pulse(Option<Box<Beat>>),
    /// Reads the records of these jobs.
    Records(Vec<usize>),
    /// A request about a job's record, which the store decides.
    Submit(usize, Box<Request>),
    /// Reads a job's record, to decide a request.
    Read(usize),
    /// Writes what was decided about a job.
    Swap(usize, Box<Decided>),
    /// Reads how far the ticks of these jobs are decided.
    Marks(Vec<usize>),
    /// Reads a job's newest entries.
    History(usize),
    /// Reads which of these jobs the cluster knows.
    Known(Vec<usize>),
    /// Notes that the cluster knows these jobs.
    Enroll(Vec<usize>),
    /// Makes all replicas read a job's record.
    Announce(usize),
}

/// A request that its sender has decided.
#[derive(Debug, Clone)]
pub(crate) struct Decided {
    pub(crate) request: Request,
    pub(crate) swap: Swap,
}

/// What the store answers.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Pulse(Box<Pulse>),
    Records(Vec<Option<Record>>),
    /// The reply to a request.
    Reply(Box<Reply>),
    Cell(Box<Cell>),
    /// When a swap was written, and the version that it made; `None` if its conditions did not hold.
    Swapped(Option<(UtcMillis, Version)>),
    Marks(Vec<Option<Marked>>),
    History(Vec<HistoryEntry>),
    Known(Vec<bool>),
    Done,
}

/// A record as the store has it, and the state of the store.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) record: Option<Record>,
    pub(crate) version: Option<Version>,
    pub(crate) server: Server,
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

/// An order to a replica.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// Claim a tick of this job again, whatever is known of it: only an interrupted one may run once more.
    ClaimAgain(usize, Tick),
    /// Load the file of this number.
    Reload(usize),
    /// Drain, and end.
    Drain,
    /// End at once.
    StopAtOnce,
}
