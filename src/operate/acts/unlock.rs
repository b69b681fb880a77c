//! Releases the lock of a holder that no longer sends heartbeats, for an operator who cannot wait until the
//! lock expires; or ends the wait for a holder that the store forgot.

use std::fmt;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::job::{Cause, JobName, NodeName, OnInterrupt, RunId};
use crate::lease::{Act, Answer, LeaseInstant, Record};
use crate::operate::operator::Operator;
use crate::operate::{LastSign, OperateError};
use crate::store::Pulse;
use crate::time::UtcMillis;
use crate::view::text::time_format::{from_now, span, utc};

/// Replicas send a heartbeat each second.
const TWO_HEARTBEATS: Duration = Duration::from_secs(2);

/// A lock whose holder is silent, or not known.
#[derive(Debug)]
pub(crate) struct SilentLock {
    operator: Operator,
    holder: SilentHolder,
    record: Record,
    /// The heartbeats at the first look.
    pulse: Pulse,
    first_look: Instant,
}

/// Who may hold a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SilentHolder {
    /// This run. Its replica, if the record has it, has sent no heartbeat lately.
    Run { run: RunId, silence: Option<(NodeName, LastSign)> },
    /// Perhaps a holder that the store forgot.
    Forgotten,
}

/// A lock that was released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unlocked {
    /// The lock of this run: the run counts as interrupted.
    OfRun(RunId),
    /// The wait for a holder that the store forgot.
    OfWait,
}

impl SilentLock {
    /// Looks at the lock.
    ///
    /// # Errors
    ///
    /// Fails if the lock is free, or its holder is alive.
    pub(crate) async fn look(operator: Operator) -> Result<Self, OperateError> {
        let (record, pulse) = (operator.record().await?, operator.pulse().await?);
        let holder = SilentHolder::of(&operator.job.name, &record, &pulse)?;
        Ok(Self { operator, holder, record, pulse, first_look: Instant::now() })
    }

    /// Returns the run that holds the lock; `None` for a holder that the store forgot.
    pub(crate) fn run(&self) -> Option<RunId> {
        match self.holder {
            SilentHolder::Run { run, .. } => Some(run),
            SilentHolder::Forgotten => None,
        }
    }

    /// Describes for people who may hold the lock, and what may happen if it is released.
    pub(crate) fn risk(&self) -> String {
        match &self.holder {
            SilentHolder::Run { run, silence } => self.risk_of_run(*run, silence.as_ref()),
            SilentHolder::Forgotten => self.risk_of_wait(),
        }
    }

    /// Returns what an operator confirms.
    pub(crate) fn question(&self) -> &'static str {
        match self.holder {
            SilentHolder::Run { .. } => "release the lock?",
            SilentHolder::Forgotten => "end the wait?",
        }
    }

    /// Describes for people what has to be waited for before the lock is released.
    pub(crate) fn awaits(&self) -> String {
        let at_most = span(TWO_HEARTBEATS);
        match &self.holder {
            SilentHolder::Run { silence, .. } => {
                let holder = silence.as_ref().map_or("its holder".to_owned(), |(node, _)| node.to_string());
                format!("waiting for a heartbeat of {holder}, {at_most} at most")
            }
            SilentHolder::Forgotten => {
                format!("waiting for a holder that takes its lock back, {at_most} at most")
            }
        }
    }

    /// Waits until a live holder would have sent another heartbeat, or put its lock back, since the first
    /// look.
    pub(crate) async fn two_heartbeats(&self) {
        // The store's clock may have been stepped, which makes heartbeats look old.
        sleep_until(self.first_look + TWO_HEARTBEATS).await;
    }

    /// Releases the lock, unless its holder shows within two heartbeats after the first look that it lives.
    ///
    /// # Errors
    ///
    /// Fails if the holder is alive, or the lock is free by now.
    pub(crate) async fn release(&self) -> Result<Unlocked, OperateError> {
        self.two_heartbeats().await;
        match &self.holder {
            SilentHolder::Run { run, silence } => self.release_from(*run, silence.as_ref()).await,
            SilentHolder::Forgotten => match self.operator.act(&Act::Unlock { run: None }).await? {
                Answer::Noted => Ok(Unlocked::OfWait),
                _ => Err(OperateError::NotLocked(self.operator.job.name.clone())),
            },
        }
    }

    async fn release_from(
        &self,
        run: RunId,
        silence: Option<&(NodeName, LastSign)>,
    ) -> Result<Unlocked, OperateError> {
        let job = &self.operator.job.name;
        let pulse = self.operator.pulse().await?;
        if let Some((node, _)) = silence.filter(|(node, _)| has_beaten(node, [&self.pulse, &pulse])) {
            return Err(alive(job, format!("{node}, which holds it, sent a heartbeat just now")));
        }
        match self.operator.act(&Act::Unlock { run: Some(run) }).await? {
            Answer::Noted => Ok(Unlocked::OfRun(run)),
            Answer::Held { .. } => Err(alive(job, "its holder has renewed the lock lately".to_owned())),
            _ => Err(OperateError::EndedMeanwhile(run)),
        }
    }

    fn risk_of_run(&self, run: RunId, silence: Option<&(NodeName, LastSign)>) -> String {
        let silence =
            silence.map_or("its holder is not known".to_owned(), |(node, sign)| format!("{node} {sign}"));
        let frees = self.record.ended.map_or(String::new(), |alive| {
            format!(" Its lock expires {}.", from_now(alive.plus(self.record.lease), self.pulse.now))
        });
        let is_manual = self.record.cause == Some(Cause::Manual);
        let next = match self.operator.spec().map(|spec| spec.on_interrupt).filter(|_| !is_manual) {
            Some(OnInterrupt::Rerun) => {
                "a rerun of the same tick would overlap with it (on_interrupt = \"rerun\")"
            }
            Some(OnInterrupt::Skip) | None => "the next run would overlap with it",
        };
        format!(
            "`{}` is locked by run {run}, and {silence}.{frees}\nIf that machine only lost its network, \
             its run may continue until then, and {next}.",
            self.operator.job.name
        )
    }

    fn risk_of_wait(&self) -> String {
        let until = UtcMillis(self.record.locked_until.0);
        format!(
            "the lock of `{}` has no known holder, but is not free before {} UTC ({}): the store lost its \
             data, and a replica may still have a lease of {}.\nIts run may continue until then, and the \
             next run would overlap with it.",
            self.operator.job.name,
            utc(until),
            from_now(until, self.pulse.now),
            span(self.record.lease)
        )
    }
}

impl SilentHolder {
    /// Returns who may hold the lock. Fails if the lock is free, or its holder is alive.
    fn of(job: &JobName, record: &Record, pulse: &Pulse) -> Result<Self, OperateError> {
        let Some(run) = record.run.filter(|_| record.is_running()) else {
            // An embedded store keeps `until` by the boot clock, so that its wait never passes this check. It
            // waits only for what was lost with its file, and only until that wait is over.
            let is_free = !record.waits_without_holder(LeaseInstant(pulse.now.0));
            return if is_free { Err(OperateError::NotLocked(job.clone())) } else { Ok(Self::Forgotten) };
        };
        let silence = record.owner.clone().map(|node| {
            let sign = LastSign::of(&node, pulse);
            (node, sign)
        });
        match silence {
            Some((node, LastSign::Live)) => {
                Err(alive(job, format!("{node}, which holds it, {}", LastSign::Live)))
            }
            silence => Ok(Self::Run { run, silence }),
        }
    }
}

impl fmt::Display for Unlocked {
    /// Writes what became of the lock.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfRun(run) => write!(f, "its lock is free; run {run} is recorded as interrupted"),
            Self::OfWait => f.write_str("its lock is free; the wait for it is over"),
        }
    }
}

/// Whether the replica sent a heartbeat between the two looks.
fn has_beaten(node: &NodeName, looks: [&Pulse; 2]) -> bool {
    let [before, after] =
        looks.map(|pulse| pulse.peers.iter().find(|peer| peer.beat.node == *node).map(|peer| peer.at));
    after.is_some() && after != before
}

fn alive(job: &JobName, why: String) -> OperateError {
    OperateError::HolderAlive { job: job.clone(), why }
}

#[cfg(test)]
#[path = "unlock_tests.rs"]
mod tests;
