//! What the store knows of a cluster at one moment. Every age in it is by the store's clock.

use std::sync::Arc;

use crate::job::{JobName, JobSpec, RunId, UtcMillis};
use crate::lease::{Entry, Record};
use crate::replica::LIVE_FOR;
use crate::store::{Peer, Store};

use super::exit::Failure;
use super::past::{PastTick, count};

/// Replicas and jobs as the store knows them.
#[derive(Debug)]
pub(crate) struct Survey {
    /// The store's time.
    pub(crate) now: UtcMillis,
    /// Every replica heard from within the last hour, by name.
    pub(crate) peers: Vec<Peer>,
    /// The jobs that were asked for, in their order.
    pub(crate) jobs: Vec<JobState>,
}

/// One job.
#[derive(Debug)]
pub(crate) struct JobState {
    /// What jobs.toml says.
    pub(crate) spec: Arc<JobSpec>,
    /// Its record, once there is one.
    pub(crate) record: Option<Record>,
    /// Its newest entries, oldest first.
    pub(crate) entries: Vec<Entry>,
}

impl Survey {
    /// Asks the store, for at most the `newest` entries of each job.
    pub(crate) async fn take(
        store: &dyn Store,
        jobs: Vec<Arc<JobSpec>>,
        newest: usize,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::store(&store.label(), &error);
        let names: Vec<JobName> = jobs.iter().map(|job| job.name.clone()).collect();
        // Records first: a run that ends meanwhile is then found in both, and never in neither.
        let records = store.records(&names).await.map_err(failed)?;
        let entries = store.history(&names, newest).await.map_err(failed)?;
        let pulse = store.pulse(None).await.map_err(failed)?;
        let states = jobs.into_iter().zip(records).zip(entries);
        let jobs = states.map(|((spec, record), (_, entries))| JobState { spec, record, entries }).collect();
        Ok(Self { now: pulse.now, peers: pulse.peers, jobs })
    }

    /// Asks for more entries of those jobs for which `wanted` says so.
    pub(crate) async fn deepen(
        &mut self,
        store: &dyn Store,
        newest: usize,
        wanted: impl Fn(&JobState) -> bool,
    ) -> Result<(), Failure> {
        let mut wanted: Vec<&mut JobState> = self.jobs.iter_mut().filter(|job| wanted(job)).collect();
        let names: Vec<JobName> = wanted.iter().map(|job| job.spec.name.clone()).collect();
        let entries = store.history(&names, newest).await;
        let entries = entries.map_err(|error| Failure::store(&store.label(), &error))?;
        for (job, (_, entries)) in wanted.iter_mut().zip(entries) {
            job.entries = entries;
        }
        Ok(())
    }

    /// Whether the replica was heard from a moment ago.
    pub(crate) fn is_live(&self, peer: &Peer) -> bool {
        self.now.since(peer.at) <= LIVE_FOR
    }

    /// Whether the holder of a job's lock was heard a moment ago: by its heartbeat, or where it has none that tells of
    /// this run, as with `exec`, by its renewals.
    pub(crate) fn hears_holder(&self, record: &Record) -> bool {
        let of_owner = |peer: &&Peer| Some(&peer.beat.node) == record.owner.as_ref();
        let peer = self.peers.iter().find(of_owner);
        let tells = peer.is_some_and(|peer| peer.beat.running.iter().any(|run| Some(run.run) == record.run));
        if tells { peer.is_some_and(|peer| self.is_live(peer)) } else { record.is_heard(self.now) }
    }
}

impl JobState {
    /// The run that goes on, as far as the store knows.
    pub(crate) fn running(&self) -> Option<PastTick> {
        let running = PastTick::running(&self.spec.name, self.record.as_ref()?)?;
        let has_ended = |run: RunId| self.entries.iter().any(|entry| entry.run == Some(run));
        (!running.run.is_some_and(has_ended)).then_some(running)
    }

    /// The ticks that were decided, oldest first.
    pub(crate) fn decided(&self) -> impl DoubleEndedIterator<Item = PastTick> {
        self.entries.iter().map(move |entry| PastTick {
            count: count(entry, &self.spec.schedule, self.record.as_ref()),
            ..PastTick::decided(&self.spec.name, entry)
        })
    }
}
