//! An operator at a store: the requests about one job, and what is read of it.

use std::sync::Arc;

use crate::job::{JobSpec, RunId};
use crate::lease::{Act, Answer, HistoryEntry, Operate, Record, Request};
use crate::store::{KEPT_ENTRIES, LIVE_FOR, Pulse, Store, StoreError};
use crate::view::job::{Definition, KnownJob};
use crate::view::snapshot::Snapshot;

use super::OperateError;

/// How often a request is sent that arrives too late, each time with the store's current time. Each try takes
/// as long as one reply.
const TRIES: u32 = 5;

/// Returns how a run ended and where: `succeeded on n1`.
pub(crate) fn how_it_ended(entry: &HistoryEntry) -> String {
    let on = entry.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    format!("{}{on}", entry.verdict())
}

/// An operator who acts on one job.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) job: KnownJob,
    /// The name by which records and logs show the operator: `ann@db1`.
    pub(crate) by: String,
}

impl Operator {
    /// Returns the full definition of the job, if the file has it.
    pub(crate) fn spec(&self) -> Option<&Arc<JobSpec>> {
        self.job.definition.spec()
    }

    /// Whether the file does not name the job.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.job.definition, Definition::Absent)
    }

    /// Whether no live replica can know the job: each of them has loaded the valid file at hand, with the
    /// hash `file`, which does not name it.
    pub(crate) async fn is_unknown_to_replicas(&self, file: Option<&str>) -> Result<bool, OperateError> {
        Ok(self.is_absent() && self.is_loaded_by_all(file).await?)
    }

    /// Fails if no live replica can know the job.
    pub(crate) async fn expect_known_to_replicas(&self, file: Option<&str>) -> Result<(), OperateError> {
        if !self.is_unknown_to_replicas(file).await? {
            return Ok(());
        }
        Err(OperateError::UnknownToReplicas(self.job.name.clone()))
    }

    /// Whether live replicas exist, and each of them has loaded the file at hand.
    async fn is_loaded_by_all(&self, file: Option<&str>) -> Result<bool, OperateError> {
        let Some(file) = file else { return Ok(false) };
        let pulse = self.pulse().await?;
        let mut live = pulse.peers.iter().filter(|peer| pulse.now.since(peer.at) <= LIVE_FOR).peekable();
        Ok(live.peek().is_some() && live.all(|peer| peer.beat.file == file))
    }

    /// Sends the request to the store, and notifies the replicas.
    pub(crate) async fn act(&self, act: &Act) -> Result<Answer, OperateError> {
        for _ in 0..TRIES {
            let expect = self.pulse().await?.now;
            let operate = Operate { expect, by: self.by.clone(), act: act.clone() };
            let reply = self.store.submit(&self.job.name, &Request::Operate(operate)).await;
            match reply.map_err(|error| self.failed(error))?.answer {
                Answer::Unsynced => {}
                Answer::NoRecord => return Err(self.unopened()),
                Answer::NewerSchema(schema) => {
                    return Err(OperateError::NewerRecord { job: self.job.name.clone(), schema });
                }
                answer => {
                    self.announce().await;
                    return Ok(answer);
                }
            }
        }
        Err(OperateError::TooLate { label: self.store.label() })
    }

    /// Sends the replicas a notice that the job's record has changed. If it is lost, they find out later.
    pub(crate) async fn announce(&self) {
        let _ = self.store.announce(&self.job.name).await;
    }

    /// Returns the replicas' heartbeats and the store's time.
    pub(crate) async fn pulse(&self) -> Result<Pulse, OperateError> {
        self.store.pulse(None).await.map_err(|error| self.failed(error))
    }

    /// Returns the job's record. Fails if it has none.
    pub(crate) async fn record(&self) -> Result<Record, OperateError> {
        self.known_record().await?.ok_or_else(|| self.unopened())
    }

    /// Returns the job's record, if it has one.
    pub(crate) async fn known_record(&self) -> Result<Option<Record>, OperateError> {
        self.store.record_of(&self.job.name).await.map_err(|error| self.failed(error))
    }

    /// Returns the newest entry of a run, once it has ended.
    pub(crate) async fn entry(&self, run: RunId) -> Result<Option<HistoryEntry>, OperateError> {
        Ok(self.entries().await?.into_iter().rfind(|entry| entry.run == Some(run)))
    }

    /// Returns the history of the job, oldest first.
    pub(super) async fn entries(&self) -> Result<Vec<HistoryEntry>, OperateError> {
        let entries = self.store.history(std::slice::from_ref(&self.job.name), KEPT_ENTRIES).await;
        let entries = entries.map_err(|error| self.failed(error))?;
        Ok(entries.into_iter().flat_map(|(_, of_job)| of_job).collect())
    }

    /// Returns the replicas' heartbeats, and the job's record with its newest entry.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, OperateError> {
        let taken = Snapshot::take(self.store.as_ref(), vec![self.job.clone()], 1).await;
        taken.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: StoreError) -> OperateError {
        OperateError::Store { label: self.store.label(), error }
    }

    fn unopened(&self) -> OperateError {
        let job = self.job.name.clone();
        if self.spec().is_none_or(|spec| spec.enabled) {
            OperateError::NotOpened(job)
        } else {
            OperateError::Disabled(job)
        }
    }
}

#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;
