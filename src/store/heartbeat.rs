//! Heartbeats: what replicas tell of themselves every second, and what they learn of the store by it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::{Fence, JobName, Label, NodeName, RunId};
use crate::lease::Era;
use crate::time::UtcMillis;

/// A replica that has missed this many seconds of heartbeats is taken for dead.
pub const LIVE_FOR: Duration = Duration::from_secs(4);

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
    /// What it is told apart from others by.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Whether it runs as much as it may at once.
    #[serde(default)]
    pub full: bool,
    /// Whether another replica of this name sends heartbeats, which take the place of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_taken: bool,
    /// How far its wall clock is ahead of the store's, in milliseconds, while they differ by too much.
    #[serde(default)]
    pub ahead_ms: Option<i64>,
    /// How the store's clock is slewed, while it is, as far as this replica can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slewed: Option<Slewed>,
    /// How long it has taken to start what it was granted since it began, stage by stage; nothing if it started nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTimes>,
    /// The largest fencing token of any job that it knows of; 0 if none.
    #[serde(default)]
    pub largest_fence: Fence,
    /// Which heartbeat it is, from 1, of all that the store knows to have taken; the store counts them.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub count: u64,
    /// What the store told when it took the last heartbeat of this life; for the store alone.
    #[serde(skip)]
    pub told: Option<Told>,
}

impl Beat {
    /// The first heartbeat of a replica that has begun nothing yet.
    pub fn of(node: NodeName, life: RunId, file: String, started: UtcMillis) -> Self {
        Self {
            node,
            life,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            file,
            started,
            draining: false,
            running: Vec::new(),
            labels: Vec::new(),
            full: false,
            name_taken: false,
            ahead_ms: None,
            slewed: None,
            stages: Vec::new(),
            largest_fence: Fence(0),
            count: 0,
            told: None,
        }
    }
}

/// A heartbeat that no store has taken is not counted.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none_yet(count: &u64) -> bool {
    *count == 0
}

/// What a store told when it took a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Which heartbeat it was.
    pub count: u64,
    /// The store's life.
    pub era: Era,
    /// What its memory was known by.
    pub marker: Marker,
}

impl Told {
    /// Whether a store went back to an older state: it is in the same life, and has an older heartbeat of this replica. Where it has
    /// none, others may have removed it, and then all that it has are older.
    pub(crate) fn is_forgotten(&self, by: (&Era, Option<&Marker>), own: Option<u64>, newest: u64) -> bool {
        by == (&self.era, Some(&self.marker)) && own.unwrap_or(newest) < self.count
    }
}

/// A store's clock that runs too fast or too slow for leases to be counted by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slewed {
    /// Since when, by that clock.
    pub since: UtcMillis,
    /// By how many millionths it is faster than the replica's; below zero, slower.
    pub faster_ppm: i64,
}

/// How long one stage of a start takes: half of all starts took no longer than the first, 99 of 100 than the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTimes {
    /// The stage; `late` is all of them together.
    pub stage: String,
    /// Microseconds.
    pub p50_us: u64,
    /// Microseconds.
    pub p99_us: u64,
}

/// A run that a replica is at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatRun {
    /// The job.
    pub job: JobName,
    /// The run.
    pub run: RunId,
    /// The lease that it holds, in milliseconds; 0 where the replica does not tell.
    #[serde(default)]
    pub lease_ms: u64,
}

/// A replica as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// When it was last heard from, by the store's clock.
    pub at: UtcMillis,
    /// What it said.
    pub beat: Beat,
}

/// Word that an operator has changed a job's record: a hint to look at it, on which nothing rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The job.
    pub job: JobName,
    /// Tells the notice from earlier ones about the job.
    pub stamp: i64,
}

/// What the first heartbeat leaves in a store that knows nothing: where another one is found, the store has forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker(pub String);

impl Marker {
    /// One that no store has had.
    pub(super) fn fresh() -> Self {
        Self(RunId::new().to_string())
    }
}

/// What a heartbeat teaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The store's time.
    pub now: UtcMillis,
    /// The store's present life.
    pub era: Era,
    /// What tells this memory of the store from the next; nothing before the first heartbeat.
    pub marker: Option<Marker>,
    /// Which heartbeat the store has taken; 0 where it took none.
    pub count: u64,
    /// Every replica heard from within the last hour, the sender as it was before; by name.
    pub peers: Vec<Peer>,
    /// The newest notice about each job that had one within the last minute, in no order.
    pub notices: Vec<Notice>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_of_an_earlier_release_tells_of_no_fence() {
        let node = NodeName::parse("a").expect("a name");
        let beat = Beat { largest_fence: Fence(7), ..Beat::of(node, RunId::new(), "f".into(), UtcMillis(1)) };
        let mut said = serde_json::to_value(&beat).expect("a beat is plain JSON");
        assert_eq!(serde_json::from_value::<Beat>(said.clone()).expect("a beat"), beat);
        said.as_object_mut().expect("an object").remove("largest_fence").expect("it is told");
        assert_eq!(serde_json::from_value::<Beat>(said).expect("a beat").largest_fence, Fence(0));
    }
}
