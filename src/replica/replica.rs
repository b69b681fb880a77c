//! A replica: one `solocron run` process, or one that a program embeds. It takes part until it is told to stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::config::LogRetention;
use crate::events::config_diff::Changes;
use crate::events::log::Events;
use crate::hold::Stop;
use crate::hold::lease_file::LeaseFile;
use crate::job::{JobName, Label, NodeName};
use crate::run::{Guards, Job, JobOutput, RunLogs};
use crate::store::Store;
use crate::time::Clock;

use super::driver::Driver;
use super::tick::ticker::TickerError;

/// Everything a replica is made of.
#[derive(Debug)]
pub struct Replica {
    /// Its name, unique in the cluster.
    pub node: NodeName,
    /// Every job of jobs.toml, also those that are not enabled.
    pub jobs: BTreeMap<JobName, Job>,
    /// Hash of the jobs.toml they come from.
    pub file: String,
    /// What it is told apart from others by.
    pub labels: Vec<Label>,
    /// How many runs may go on at once; any number if absent.
    pub max_running: Option<u32>,
    /// How many replicas there should be.
    pub expected_replicas: Option<u32>,
    /// How long runs may go on after the order to drain.
    pub drain: Duration,
    /// Where the replicas meet.
    pub store: Arc<dyn Store>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// What makes the guards of its runs.
    pub guards: Arc<Guards>,
    /// Where output and finished runs are kept.
    pub logs: RunLogs,
    /// Where its locks are noted for a later life of it.
    pub lease_file: LeaseFile,
    /// How much of the logs is kept.
    pub retention: LogRetention,
    /// Where the jobs' output goes.
    pub output: JobOutput,
    /// Where it tells what happens.
    pub events: Events,
    /// Told while the replica makes progress, this often.
    pub alive: Option<Alive>,
    /// Where it gets a jobs.toml that was loaded again.
    pub reloads: Option<mpsc::Receiver<Reload>>,
}

impl Replica {
    /// Takes part until it is told to stop, and returns when nothing of it runs any more. A store that is down ends
    /// nothing.
    pub async fn run(self, stop: Stop) -> Result<(), TickerError> {
        Driver::build(self).run(stop).await
    }
}

/// A jobs.toml that was loaded while the replica runs, of the same cluster and store. It takes effect as a whole.
#[derive(Debug)]
pub struct Reload {
    /// Every job, also those that are not enabled.
    pub jobs: BTreeMap<JobName, Job>,
    /// Hash of the file.
    pub file: String,
    /// How many replicas there should be.
    pub expected_replicas: Option<u32>,
    /// How long runs may go on after the order to drain.
    pub drain: Duration,
    /// What it carries for jobs that are `only_on` these.
    pub labels: Vec<Label>,
    /// How many runs may go on at once; any number if absent.
    pub max_running: Option<u32>,
    /// How much of the logs is kept.
    pub retention: LogRetention,
    /// Told what changed, once it is in effect; dropped by a replica that drains.
    pub done: oneshot::Sender<Changes>,
}

/// Somebody who wants to hear that the replica makes progress.
pub struct Alive {
    /// How often.
    pub every: Duration,
    /// How.
    pub tell: Box<dyn Fn() + Send>,
}

impl std::fmt::Debug for Alive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alive").field("every", &self.every).finish_non_exhaustive()
    }
}
