//! The words for what is told.

use serde::{Deserialize, Serialize};

/// What happened, in one word. A word keeps its meaning in later releases, which may have more of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventWord {
    /// A run began.
    RunStarted,
    /// An attempt failed, and another follows.
    AttemptFailed,
    /// A run ended.
    RunEnded,
    /// The run of a replica that is down was recorded as interrupted.
    RunInterrupted,
    /// A lock was released, and nothing was started under it.
    RunNotStarted,
    /// It was decided that a tick does not run.
    TickNotRun,
    /// A job was paused.
    JobPaused,
    /// A job was resumed.
    JobResumed,
    /// An operator ordered to stop a run.
    KillOrdered,
    /// A run may have lost its lock, and is stopped.
    LockLost,
    /// The store does not answer any more.
    StoreLost,
    /// The store answers, for the first time or again.
    StoreReached,
    /// The store is in a new era, it lost data, or its clock was stepped or is slewed.
    StoreChanged,
    /// The wall clock of the replica's machine was stepped.
    ClockStepped,
    /// Another replica sends no heartbeats any more.
    ReplicaDown,
    /// Another replica sends heartbeats again.
    ReplicaBack,
    /// A changed jobs.toml is in effect.
    FileLoaded,
    /// The replica takes no new ticks.
    Draining,
    /// The replica has stopped.
    Stopped,
}

impl EventWord {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RunStarted => "run_started",
            Self::AttemptFailed => "attempt_failed",
            Self::RunEnded => "run_ended",
            Self::RunInterrupted => "run_interrupted",
            Self::RunNotStarted => "run_not_started",
            Self::TickNotRun => "tick_not_run",
            Self::JobPaused => "job_paused",
            Self::JobResumed => "job_resumed",
            Self::KillOrdered => "kill_ordered",
            Self::LockLost => "lock_lost",
            Self::StoreLost => "store_lost",
            Self::StoreReached => "store_reached",
            Self::StoreChanged => "store_changed",
            Self::ClockStepped => "clock_stepped",
            Self::ReplicaDown => "replica_down",
            Self::ReplicaBack => "replica_back",
            Self::FileLoaded => "file_loaded",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }
}
