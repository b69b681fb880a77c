//! What a server gives whose cells are swapped. Everything above it is the same for all of them.

use std::fmt;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::job::{JobName, NodeName};
use crate::lease::{Era, LeaseInstant, Memory, Server};
use crate::store::{Answered, Concern, Feed, FeedId, FeedLine, Marker, Slip, SlipLoad, StoreError};
use crate::time::UtcMillis;

use super::{CellSwap, Channel, JobCell, NumberedEntry};

/// Which of its connections an engine uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestLane {
    /// For renewals only, so that nothing can delay them.
    Renewals,
    /// For everything else.
    Others,
}

/// The state of the server when it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerMoment {
    /// Its time.
    pub(crate) now: UtcMillis,
    /// Its era.
    pub(crate) era: Era,
}

impl ServerMoment {
    /// Returns the state by which requests are decided.
    pub(crate) fn server(&self) -> Server {
        Server {
            now: self.now,
            lease_now: LeaseInstant(self.now.0),
            era: self.era.clone(),
            memory: Memory::Forgetful,
        }
    }
}

/// Short texts of one kind, each under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// The heartbeats, by the names of the replicas.
    Nodes,
    /// The notices, by the names of the jobs.
    Notices,
    /// The jobs that the cluster has ever known, by name; the texts are empty.
    Jobs,
    /// One text: the marker, by which a store is found to have lost data.
    Marker,
}

impl NoteKind {
    /// Returns its name in tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Notices => "notices",
            Self::Jobs => "jobs",
            Self::Marker => "marker",
        }
    }
}

/// A text to store under a name, in place of the one that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Put {
    /// Where.
    pub(crate) folder: NoteKind,
    /// Its name.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// Its number, if it is a heartbeat.
    pub(crate) number: Option<u64>,
}

/// A heartbeat that the server has confirmed. A server that does not have it, or a later one under the same name, went back to
/// an older state, even if its era is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfirmedBeat {
    /// The replica's name.
    pub(crate) node: NodeName,
    /// The number of the heartbeat.
    pub(crate) count: u64,
}

/// A stored text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    /// Its name.
    pub(crate) name: String,
    /// When it was stored, by the server's clock.
    pub(crate) at: UtcMillis,
    /// The text.
    pub(crate) text: String,
}

/// What was stored in each of the folders that were asked for, in their order, before anything of this call was, and the state
/// of the server.
pub(crate) type Exchanged = (Vec<Vec<Note>>, ServerMoment);

/// Cells in the order in which they were asked for, and the state of the server when it read them. A cell that cannot be parsed
/// is an error of its job alone.
pub(crate) type ReadCells = (Vec<Result<Option<JobCell>, StoreError>>, ServerMoment);

/// A server that keeps cells, and what replicas leave for each other. Every call ends within a few seconds; an error says
/// whether it may have been applied.
pub(crate) trait Engine: Send + Sync + fmt::Debug + 'static {
    /// Waits until the server accepts requests, at most a few seconds.
    fn ready(&self) -> Answered<'_, ()>;

    /// Returns the newest committed cells of these jobs.
    fn read<'a>(&'a self, lane: RequestLane, jobs: &'a [JobName]) -> Answered<'a, ReadCells>;

    /// Writes each cell by itself, in one atomic step, if its conditions hold then, and the server has this heartbeat of the
    /// caller, or a later one. Returns for each the server's time at which it was written, or `None` if it was not. No two are
    /// of one job.
    fn swap<'a>(
        &'a self,
        lane: RequestLane,
        swaps: &'a [CellSwap],
        beat: Option<&'a ConfirmedBeat>,
    ) -> Answered<'a, Vec<Option<UtcMillis>>>;

    /// Returns at most the `newest` entries of each of these jobs, in their order, oldest first. An entry that cannot be parsed
    /// is an error of its job alone.
    fn entries<'a>(
        &'a self,
        lane: RequestLane,
        jobs: &'a [JobName],
        newest: usize,
    ) -> Answered<'a, Vec<Result<Vec<NumberedEntry>, StoreError>>>;

    /// Stores texts, and returns what these folders held before. Texts that belong to a time of the server are not stored more
    /// than a second later: that is an error.
    fn exchange<'a>(
        &'a self,
        puts: &'a [Put],
        of_time: Option<UtcMillis>,
        folders: &'a [NoteKind],
    ) -> Answered<'a, Exchanged>;

    /// Stores a marker if the server's marker is the former one, or if it has none. If it has another one, nothing changes.
    fn replace_marker<'a>(&'a self, former: Option<&'a Marker>, marker: &'a Marker) -> Answered<'a, ()>;

    /// Appends a line to a feed, removes those beyond the newest that are kept, and publishes a wake.
    fn append<'a>(&'a self, feed: Feed, line: &'a str, wake: &'a str) -> Answered<'a, ()>;

    /// Returns at most `count` of the newest lines of a feed after this one, oldest first.
    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>>;

    /// Leaves a text in a slip that lasts for `ttl` from now on, and publishes a wake. If it does not fit, returns what the
    /// slip holds.
    fn leave<'a>(
        &'a self,
        slip: &'a Slip,
        text: &'a str,
        ttl: Duration,
        wake: &'a str,
    ) -> Answered<'a, Option<SlipLoad>>;

    /// Returns and removes what was left in a slip, oldest first.
    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>>;

    /// Receives what is published to this cluster on a channel and can be parsed, until the receiver is dropped. An engine
    /// without channels closes the receiver at once.
    fn listen<T: Send + 'static>(&self, channel: Channel, parse: fn(&str) -> Option<T>) -> mpsc::Receiver<T>;

    /// Returns all findings about how the server is set up; without `rights` only those that do not concern this client.
    fn inspect(&self, rights: bool) -> Answered<'_, Vec<Concern>>;

    /// Returns the address of the server for people, without secrets.
    fn label(&self) -> String;
}
