//! Heartbeats: what each replica sends to the store every second, and what the store returns.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::{Fence, JobName, Label, NodeName, RunId};
use crate::lease::{Era, LiveRuns};
use crate::time::UtcMillis;

/// A replica is live while its last heartbeat is no older than this.
pub const LIVE_FOR: Duration = Duration::from_secs(4);

/// No cluster has had more heartbeats: a larger number was not written by solocron.
pub(crate) const MOST_BEATS: u64 = 999_999_999_999_999;

/// A heartbeat: what a replica reports about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// The replica's name.
    pub node: NodeName,
    /// Id of the process. Two replicas under one name are told apart by it.
    pub life: RunId,
    /// The release of solocron that it runs.
    pub version: String,
    /// Hash of the jobs.toml it loaded.
    pub file: String,
    /// When it started, by its own clock.
    pub started: UtcMillis,
    /// Whether it is draining: it takes no new ticks.
    pub draining: bool,
    /// Its current runs.
    pub running: Vec<BeatRun>,
    /// Its labels, by which a job's `only_on` selects replicas.
    #[serde(default)]
    pub labels: Vec<Label>,
    /// Whether it runs as many jobs as `max_running` allows.
    #[serde(default)]
    pub full: bool,
    /// Whether another replica sends heartbeats under the same name. Each of the two then overwrites the other's heartbeat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name_taken: bool,
    /// How far its wall clock is ahead of the store's, in milliseconds; negative if it is behind, `None` while the two
    /// agree.
    #[serde(default)]
    pub ahead_ms: Option<i64>,
    /// How the store's clock is slewed, as measured by this replica; `None` while it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slewed: Option<Slewed>,
    /// How long the starts of its runs have taken since the replica started, per stage; empty if it has started none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTimes>,
    /// The largest fencing token of any job that it knows; 0 if none.
    #[serde(default)]
    pub largest_fence: Fence,
    /// Its number among all heartbeats that the store has taken, from 1. The store assigns it; 0 until then.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub count: u64,
    /// What the store returned for the last heartbeat of this process. It is sent along, but not stored: by it the store
    /// notices that it went back to an older state.
    #[serde(skip)]
    pub told: Option<Told>,
}

impl Beat {
    /// Returns the first heartbeat of a replica that has started no run yet.
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

/// Whether no store has numbered the heartbeat: then the number is not serialized.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none_yet(count: &u64) -> bool {
    *count == 0
}

/// What a store returned when it took a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The number of the heartbeat.
    pub count: u64,
    /// The store's era.
    pub era: Era,
    /// The store's marker.
    pub marker: Marker,
}

impl Told {
    /// Whether the store went back to an older state: its era and marker are the same, but it knows only an older
    /// heartbeat of this replica, with the number `own`. If it knows none, another program may have removed it; then
    /// `newest`, the largest number that the store knows, is compared instead.
    pub(crate) fn is_forgotten(
        &self,
        era: &Era,
        marker: Option<&Marker>,
        own: Option<u64>,
        newest: u64,
    ) -> bool {
        *era == self.era && marker == Some(&self.marker) && own.unwrap_or(newest) < self.count
    }
}

/// A store's clock that runs too fast or too slow for leases to be measured by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slewed {
    /// Since when, by the store's clock.
    pub since: UtcMillis,
    /// How much faster than the replica's clock it runs, in millionths; negative if it is slower.
    pub faster_ppm: i64,
}

/// How long one stage of a start takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTimes {
    /// The stage; `late` covers the whole start.
    pub stage: String,
    /// The median, in microseconds.
    pub p50_us: u64,
    /// The 99th percentile, in microseconds.
    pub p99_us: u64,
}

/// A current run of a replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatRun {
    /// The job.
    pub job: JobName,
    /// The run.
    pub run: RunId,
    /// The lease of its lock, in milliseconds; 0 if the replica did not send it.
    #[serde(default)]
    pub lease_ms: u64,
    /// How it ended, if its end is not recorded yet; `None` while it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<UnrecordedEnd>,
}

impl BeatRun {
    /// Adds the run to those of its job, unless it was cut short.
    pub(crate) fn add_to(&self, live: &mut LiveRuns) {
        match self.end {
            None => live.running.push(self.run),
            Some(UnrecordedEnd::ByItself) => live.ended.push(self.run),
            Some(UnrecordedEnd::CutShort) => {}
        }
    }
}

/// How a run ended whose end is not recorded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnrecordedEnd {
    /// By itself.
    ByItself,
    /// It was interrupted, or it is unknown how it ended, or nothing was started.
    CutShort,
}

/// A replica as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// When its last heartbeat arrived, by the store's clock.
    pub at: UtcMillis,
    /// Its last heartbeat.
    pub beat: Beat,
}

/// A message that an operator has changed a job's record, so that replicas read it. Nothing depends on its arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The job.
    pub job: JobName,
    /// Tells the notice apart from earlier ones about the job.
    pub stamp: i64,
}

/// An id that the first heartbeat writes into an empty store. A replica that finds another marker than before knows that
/// the store has lost data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker(pub String);

impl Marker {
    /// Returns a marker that no store has had.
    pub(crate) fn fresh() -> Self {
        Self(RunId::new().to_string())
    }
}

/// What the store returns for a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The store's time.
    pub now: UtcMillis,
    /// The store's era.
    pub era: Era,
    /// The store's marker; `None` before the first heartbeat.
    pub marker: Option<Marker>,
    /// The number of the heartbeat that the store took; 0 if it took none.
    pub count: u64,
    /// Every replica with a heartbeat within the last hour, by name. The sender appears as it was before this heartbeat.
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
