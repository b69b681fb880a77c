//! Why a run was started, how a tick ended and why, with the words for them in logs, records and output.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $type {
            /// All values, in the order of the docs.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns its word in logs, records and output.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = String;
            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!("`{word}` is none of: {}", [$($word),+].join(" "))),
                }
            }
        }
    };
}

words! {
    /// Why a run was started.
    Cause {
        /// Its tick came.
        Schedule = "schedule",
        /// Its tick was the newest of those that were missed in an outage.
        CatchUp = "catch_up",
        /// The first run of its tick was interrupted.
        Rerun = "rerun",
        /// It was requested by `trigger` or `exec`.
        Manual = "manual",
    }
}

words! {
    /// How a tick ended, or that its run has not ended yet.
    Outcome {
        /// The run has not ended.
        Running = "running",
        /// The command ended with a success code.
        Succeeded = "succeeded",
        /// The command ended otherwise, or could not be started.
        Failed = "failed",
        /// The command was stopped because it ran longer than its `timeout`.
        TimedOut = "timed_out",
        /// The command was stopped by an operator or a newer tick.
        Killed = "killed",
        /// The run was interrupted by its replica, or by the replica's end.
        Interrupted = "interrupted",
        /// It was decided that the tick does not run.
        Skipped = "skipped",
        /// No replica started it in time.
        Missed = "missed",
        /// It is not known how it ended: the store forgot whether it ran, or a process of it could not be stopped.
        Unknown = "unknown",
    }
}

impl Outcome {
    /// Whether the run may have been stopped before it had done its work, by no one's order.
    pub(crate) const fn was_cut_short(self) -> bool {
        matches!(self, Self::Interrupted | Self::Unknown)
    }
}

words! {
    /// Why a tick ended as it did, where the outcome alone does not explain it.
    Reason {
        /// The previous run had not ended.
        Overlap = "overlap",
        /// The job was paused.
        Paused = "paused",
        /// The tick was older than `start_deadline`.
        Late = "late",
        /// The schedule was changed before the tick ran.
        Edited = "edited",
        /// The store could not be reached.
        StoreUnreachable = "store_unreachable",
        /// The store lost its data.
        StoreReset = "store_reset",
        /// Every replica that could run it already ran as many jobs as it may.
        Capacity = "capacity",
        /// No replica that could run it was up.
        NoReplica = "no_replica",
        /// The command could not be started.
        SpawnFailed = "spawn_failed",
        /// An operator stopped it.
        Operator = "operator",
        /// A newer tick replaced it.
        Replaced = "replaced",
        /// Its replica was shut down.
        Shutdown = "shutdown",
        /// Its replica lost the lock.
        LockLost = "lock_lost",
        /// Its replica died or hung.
        NodeLost = "node_lost",
        /// It was claimed, but certainly never started.
        Abandoned = "abandoned",
        /// A process of the run could not be killed, and outlived the lock.
        LeftBehind = "left_behind",
    }
}

/// An outcome with its reason, as logs and records show it: `failed (spawn_failed)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// How the tick ended.
    pub outcome: Outcome,
    /// Why, where the outcome alone does not explain it.
    pub reason: Option<Reason>,
}

impl Verdict {
    /// Returns an outcome without a reason.
    pub const fn plain(outcome: Outcome) -> Self {
        Self { outcome, reason: None }
    }

    /// Returns an outcome with its reason.
    pub const fn because(outcome: Outcome, reason: Reason) -> Self {
        Self { outcome, reason: Some(reason) }
    }

    /// Whether the tick was skipped because another run of the job had not ended.
    pub fn is_overlap(self) -> bool {
        self == Self::because(Outcome::Skipped, Reason::Overlap)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            None => f.pad(self.outcome.as_str()),
            Some(reason) => f.pad(&format!("{} ({reason})", self.outcome)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_contracts_and_read_back() {
        for &outcome in Outcome::ALL {
            assert_eq!(outcome.as_str().parse(), Ok(outcome));
            assert_eq!(serde_json::to_value(outcome).expect("json"), outcome.as_str());
        }
        assert_eq!(Outcome::TimedOut.as_str(), "timed_out");
        assert!("done".parse::<Outcome>().expect_err("no such word").contains("succeeded"));
    }

    #[test]
    fn a_verdict_names_its_reason() {
        assert_eq!(Verdict::plain(Outcome::Succeeded).to_string(), "succeeded");
        assert_eq!(
            Verdict::because(Outcome::Failed, Reason::SpawnFailed).to_string(),
            "failed (spawn_failed)"
        );
    }
}
