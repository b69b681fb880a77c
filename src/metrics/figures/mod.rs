//! What is read at the moment of a scrape: the state of the replica, and of its process.

mod process;
mod replica_part;

pub(crate) use process::ProcessFigures;
pub use replica_part::{JobCounts, ReplicaCounts, ReplicaFigures, TroubleCounts, WaitingCounts};
