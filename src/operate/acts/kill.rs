//! Stops the current run of a job, wherever it is: a request in the job's record, repeated until the run has
//! ended.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::job::{NodeName, RunId};
use crate::lease::{Act, Answer, HistoryEntry, Holder};
use crate::operate::operator::{Operator, how_it_ended};
use crate::operate::outage::OutageWait;
use crate::operate::wait::ClusterWait;
use crate::operate::{LastSign, OperateError};
use crate::view::text::time_format::span;

/// Time that a run may take to end beyond its `kill_grace`: its holder receives the request within one or two
/// seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The assumed `kill_grace` of a job whose definition is not in the file: few jobs have a longer one.
const UNKNOWN_GRACE: Duration = Duration::from_secs(60);

/// The request is repeated after this many reads of the record, because it, or the notice of it, may have
/// been lost.
const LOOKS_PER_ORDER: u32 = 5;

/// A request to stop a run, and the wait for its end.
#[derive(Debug)]
pub(crate) struct KillOrder {
    operator: Operator,
    /// The holder of the run.
    pub(crate) holder: Holder,
    /// How long the run may take to end, not counting outages of the store.
    limit: Duration,
    began: Instant,
    outage: OutageWait,
    /// How often the record was read.
    looks: u32,
    has_ended: bool,
}

/// What is waited for after the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KillProgress {
    /// The replica of the run.
    pub(crate) node: NodeName,
    /// The time between SIGTERM and SIGKILL, if the job's definition is known.
    pub(crate) kill_grace: Option<Duration>,
    /// How long the run may take to end.
    pub(crate) limit: Duration,
}

/// A run that has ended after the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KilledRun {
    /// The run.
    pub(crate) run: RunId,
    /// Its entry; `None` if the store has lost it.
    pub(crate) entry: Option<HistoryEntry>,
}

impl KillOrder {
    /// Requests that the current run stops; with `run`, only if it is this one.
    ///
    /// # Errors
    ///
    /// Fails if the job, or this run, is not running.
    pub(crate) async fn give(operator: Operator, run: Option<RunId>) -> Result<Self, OperateError> {
        let Answer::Held { by: Some(holder), .. } = operator.act(&Act::Kill { run }).await? else {
            return Err(OperateError::NotRunning(operator.job.name.clone()));
        };
        let grace = operator.spec().map_or(UNKNOWN_GRACE, |spec| spec.kill_grace);
        let (limit, began, outage) = (grace + PATIENCE, Instant::now(), OutageWait::default());
        Ok(Self { operator, holder, limit, began, outage, looks: 0, has_ended: false })
    }

    /// Reads the record, and repeats the request now and then.
    ///
    /// # Errors
    ///
    /// Fails if the run should have ended by now.
    async fn look(&mut self) -> Result<(), OperateError> {
        let run = self.holder.run;
        let record = self.operator.record().await;
        let record = self.outage.wait_out(record, Instant::now())?;
        if record.as_ref().is_some_and(|record| !record.is_running() || record.run != Some(run)) {
            self.has_ended = true;
            return Ok(());
        }
        let now = Instant::now();
        if now.duration_since(self.began) >= self.limit + self.outage.lasted(now) {
            return Err(self.still_running().await?);
        }
        if record.is_some() {
            self.looks += 1;
            if self.looks.is_multiple_of(LOOKS_PER_ORDER) {
                let repeated = self.operator.act(&Act::Kill { run: Some(run) }).await;
                self.outage.wait_out(repeated, Instant::now())?;
            }
        }
        Ok(())
    }

    async fn still_running(&self) -> Result<OperateError, OperateError> {
        let Holder { node, run, .. } = self.holder.clone();
        let sign = LastSign::of(&node, &self.operator.pulse().await?);
        let lease = self.operator.record().await?.lease;
        Ok(OperateError::StillRunning { run, node, within: self.limit, sign, lease })
    }
}

impl ClusterWait for KillOrder {
    type Effect = KilledRun;
    type Progress = KillProgress;

    fn progress(&self, _: Instant) -> KillProgress {
        let kill_grace = self.operator.spec().map(|spec| spec.kill_grace);
        KillProgress { node: self.holder.node.clone(), kill_grace, limit: self.limit }
    }

    fn outage(&self) -> &OutageWait {
        &self.outage
    }

    async fn step(&mut self) -> Result<Option<KilledRun>, OperateError> {
        if !self.has_ended {
            self.look().await?;
        }
        if !self.has_ended {
            return Ok(None);
        }
        let run = self.holder.run;
        let entry = self.operator.entry(run).await;
        let entry = self.outage.wait_out(entry, Instant::now())?;
        Ok(entry.map(|entry| KilledRun { run, entry }))
    }
}

impl fmt::Display for KillOrder {
    /// Writes what was requested: `stopping run … on n1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopping run {} on {}", self.holder.run, self.holder.node)
    }
}

impl fmt::Display for KillProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting for the end of the run on {}:", self.node)?;
        if let Some(grace) = self.kill_grace {
            write!(f, " SIGKILL {} after SIGTERM (kill_grace),", span(grace))?;
        }
        write!(f, " {} at most", span(self.limit))
    }
}

impl fmt::Display for KilledRun {
    /// Writes the run and how it ended: `run …: killed (operator) on n1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = self.entry.as_ref().map_or("it has ended".to_owned(), how_it_ended);
        write!(f, "run {}: {how}", self.run)
    }
}

#[cfg(test)]
#[path = "kill_tests.rs"]
mod tests;
