//! A granted lock, as its holder knows it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::{Cause, Fence, NodeName, RunId, Tick};
use crate::lease::ScheduleHash;
use crate::time::{UtcMillis, millis};

/// A lock that was granted: everything that a store which forgot it needs in order to put it back. Notes on disk have
/// these fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// The run that the lock was granted to.
    pub run: RunId,
    /// The fencing token that the lock was granted with.
    pub fence: Fence,
    /// The tick of the run.
    pub tick: Tick,
    /// The lease that the lock was granted for.
    #[serde(rename = "lease_ms", with = "millis")]
    pub length: Duration,
    /// The replica that the lock was granted to.
    pub node: NodeName,
    /// Why the run was started.
    pub cause: Cause,
    /// The number of this grant of the tick, from 1.
    pub tries: u32,
    /// When the run began, by the store's clock: when it was granted, or at the tick's instant if that is later.
    pub started: UtcMillis,
    /// Hash of the job's schedule and time zone.
    #[serde(rename = "sched")]
    pub schedule_hash: ScheduleHash,
    /// The job's mark as the grant left it.
    pub mark: UtcMillis,
    /// The tick right before `tick` by that schedule; `None` if there is none. Missing in notes of earlier releases.
    #[serde(default)]
    pub prev: Option<Tick>,
}
