//! A replica: one `solocron run` process, or one that a program embeds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::config::LogRetention;
use crate::events::config_diff::Changes;
use crate::events::log::Events;
use crate::hold::Stop;
use crate::hold::lease_file::LeaseFile;
use crate::job::{JobName, Label, NodeName};
use crate::run::{Guards, Job, JobOutput, RunLogs};
use crate::store::Store;
use crate::time::Clock;

use super::facts::ReplicaFacts;
use super::runtime::Runtime;
use super::tick::ticker::TickerError;

/// Everything that a replica needs.
#[derive(Debug)]
pub struct Replica {
    /// Its name, unique in the cluster.
    pub node: NodeName,
    /// Every job of jobs.toml, also those that are not enabled.
    pub jobs: BTreeMap<JobName, Job>,
    /// Hash of the jobs.toml they come from.
    pub file: String,
    /// Its labels, for jobs that are `only_on` these.
    pub labels: Vec<Label>,
    /// How many runs may be going at once; `None`: any number.
    pub max_running: Option<u32>,
    /// How many replicas the operator expects; `None`: it is not checked.
    pub expected_replicas: Option<u32>,
    /// How long runs may continue after the order to drain.
    pub drain: Duration,
    /// The store of the cluster.
    pub store: Arc<dyn Store>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Creates the guards of its runs.
    pub guards: Arc<Guards>,
    /// Where output and finished runs are stored.
    pub logs: RunLogs,
    /// Where its locks are noted for a later process of this replica.
    pub lease_file: LeaseFile,
    /// How much of the run logs to retain.
    pub retention: LogRetention,
    /// Where the jobs' output goes.
    pub output: JobOutput,
    /// Where events are logged.
    pub events: Events,
    /// Where the replica reports about itself.
    pub facts: watch::Sender<ReplicaFacts>,
    /// Called at an interval while the replica makes progress.
    pub alive: Option<Alive>,
    /// Brings each jobs.toml that is loaded again.
    pub reloads: Option<mpsc::Receiver<Reload>>,
}

impl Replica {
    /// Runs the replica until it is ordered to stop, and returns when nothing of it runs any more. A store that is
    /// down ends nothing.
    ///
    /// # Errors
    ///
    /// The ticker could not be started.
    pub async fn run(self, stop: Stop) -> Result<(), TickerError> {
        Runtime::build(self).run(stop).await
    }
}

/// A jobs.toml that was loaded while the replica runs.
#[derive(Debug)]
pub struct Reload {
    /// The file.
    pub file: LoadedFile,
    /// Receives the changes once they are in effect; dropped by a replica that drains.
    pub done: oneshot::Sender<Changes>,
}

/// The content of a jobs.toml of the same cluster and store. It takes effect as a whole.
#[derive(Debug)]
pub struct LoadedFile {
    /// Every job, also those that are not enabled.
    pub jobs: BTreeMap<JobName, Job>,
    /// Hash of the file.
    pub hash: String,
    /// How many replicas the operator expects; `None`: it is not checked.
    pub expected_replicas: Option<u32>,
    /// How long runs may continue after the order to drain.
    pub drain: Duration,
    /// The labels of the replica, for jobs that are `only_on` these.
    pub labels: Vec<Label>,
    /// How many runs may be going at once; `None`: any number.
    pub max_running: Option<u32>,
    /// How much of the run logs to retain.
    pub retention: LogRetention,
}

/// A callback by which a replica shows that it makes progress.
pub struct Alive {
    /// The interval between two calls.
    pub every: Duration,
    /// What to call.
    pub tell: Box<dyn Fn() + Send>,
}

impl std::fmt::Debug for Alive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alive").field("every", &self.every).finish_non_exhaustive()
    }
}
