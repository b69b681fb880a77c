//! Heartbeats: what replicas tell of themselves every second, and what they learn of the store by it.

use serde::{Deserialize, Serialize};

use crate::job::{JobName, NodeName, RunId, UtcMillis};
use crate::lease::Era;

/// What a replica says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// Its name.
    pub node: NodeName,
    /// One life of the replica: two replicas under one name show by it.
    pub life: RunId,
    /// The release it runs.
    pub version: String,
    /// Hash of the jobs.toml it loaded.
    pub file: String,
    /// When it started, by its own clock.
    pub started: UtcMillis,
    /// Whether it takes no new ticks any more.
    pub draining: bool,
    /// What it runs.
    pub running: Vec<BeatRun>,
}

/// A run that a replica is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatRun {
    /// The job.
    pub job: JobName,
    /// The run.
    pub run: RunId,
}

/// A replica as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// When it was last heard from, by the store's clock.
    pub at: UtcMillis,
    /// What it said.
    pub beat: Beat,
}

/// What a heartbeat teaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The store's time.
    pub now: UtcMillis,
    /// The store's present life.
    pub era: Era,
    /// Whether the store did not know the sender's previous heartbeat.
    pub forgot: bool,
    /// Every replica heard from within the last hour, the sender as it was before; by name.
    pub peers: Vec<Peer>,
}
