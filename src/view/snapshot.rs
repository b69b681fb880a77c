//! What the store knows of a cluster at one moment. Every age in it is by the store's clock.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use tokio::time::timeout;

use crate::job::{JobName, RunId};
use crate::lease::Record;
use crate::store::{Concern, FailureCause, Grade, LIVE_FOR, Peer, Store, StoreError};
use crate::time::UtcMillis;

use super::job::{JobState, KnownJob, Readable};

/// Replicas and jobs as the store knows them.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The store's time.
    pub(crate) now: UtcMillis,
    /// The time to which ages are counted. While the store does not answer, `now` stands still and this goes on.
    pub(crate) ages_to: UtcMillis,
    /// Every replica with a heartbeat within the last hour, by name.
    pub(crate) peers: Vec<Peer>,
    /// The requested jobs, in their order.
    pub(crate) jobs: Vec<JobState>,
    /// Why no job can run, as far as the store's settings show; read only if something waits.
    pub(crate) concerns: Vec<Concern>,
    /// The process that keeps all others from writing, for people.
    pub(crate) blocked: Option<String>,
}

/// This many jobs are read at a time if each is read by itself.
const AT_A_TIME: usize = 64;

/// Reading the store's settings may take this long.
const INSPECTION_LIMIT: Duration = Duration::from_secs(5);

/// Reads all jobs at once. If one of them cannot be read, reads each by itself, so that the others are
/// returned.
async fn read_each<'a, T, F>(
    jobs: &'a [JobName],
    read: impl Fn(&'a [JobName]) -> F,
) -> Result<Vec<Readable<T>>, StoreError>
where
    F: Future<Output = Result<Vec<T>, StoreError>> + 'a,
{
    match read(jobs).await {
        Ok(all) => return Ok(all.into_iter().map(Ok).collect()),
        // Only a damaged job is worth another try; any other error concerns all jobs.
        Err(error) if matches!(error.cause(), Some(FailureCause::DamagedJob(_))) => {}
        Err(error) => return Err(error),
    }
    let read_one = |job: &'a JobName| {
        let reading = read(std::slice::from_ref(job));
        async move {
            match reading.await {
                Ok(found) => Ok(Ok(found.into_iter().next().expect("one was asked for"))),
                Err(error) if matches!(error.cause(), Some(FailureCause::DamagedJob(of)) if of == job) => {
                    Ok(Err(error.to_string()))
                }
                Err(error) => Err(error),
            }
        }
    };
    // Collected first: the compiler does not see that a stream which makes them by and by may go to another thread.
    let readings: Vec<_> = jobs.iter().map(read_one).collect();
    futures_util::stream::iter(readings).buffered(AT_A_TIME).try_collect().await
}

/// Reads what is wrong with how the store is set up.
pub(crate) async fn errors_of(store: &dyn Store) -> Vec<Concern> {
    let asked = timeout(INSPECTION_LIMIT, store.settings()).await;
    // If the settings cannot be read, the replicas' logs say why.
    let found = asked.ok().and_then(Result::ok).unwrap_or_default();
    found.into_iter().filter(|concern| concern.grade == Grade::Error).collect()
}

impl Snapshot {
    /// Returns a snapshot of what was read before: the store's time, the replicas, and the jobs in the order
    /// in which they are shown. It says nothing about the store's settings.
    pub(crate) fn of(now: UtcMillis, peers: Vec<Peer>, jobs: Vec<JobState>) -> Self {
        Self { now, ages_to: now, peers, jobs, concerns: Vec::new(), blocked: None }
    }

    /// Reads the store, with at most the `newest` entries of each job.
    pub(crate) async fn take(
        store: &dyn Store,
        jobs: Vec<KnownJob>,
        newest: usize,
    ) -> Result<Self, StoreError> {
        let names: Vec<JobName> = jobs.iter().map(|job| job.name.clone()).collect();
        // Records first: a run that ends between the two reads is found in both, and never in neither.
        let records = read_each(&names, |names| store.records(names)).await?;
        let entries = read_each(&names, |names| store.history(names, newest)).await?;
        let pulse = store.pulse(None).await?;
        let entries = entries.into_iter().map(|read| read.map(|(_, entries)| entries));
        let states = jobs.into_iter().zip(records).zip(entries);
        let jobs = states.map(|((job, record), entries)| JobState::of(job, record, entries)).collect();
        // If that cannot be found out, the rest is still worth showing.
        let blocked = store.blocked().await.unwrap_or_default();
        Ok(Self { blocked, ..Self::of(pulse.now, pulse.peers, jobs) })
    }

    /// Whether a job that should have a record has none, a tick waits, or all replicas are silent: how the store is set up may
    /// say why.
    pub(crate) fn asks_why(&self) -> bool {
        let is_up = self.peers.iter().any(|peer| self.is_live(peer));
        let lacks_record = is_up && self.jobs.iter().any(JobState::lacks_record);
        let are_silent = !is_up && !self.peers.is_empty();
        lacks_record || are_silent || self.jobs.iter().any(|job| job.waits(self.now))
    }

    /// Reads what is wrong with how the store is set up, if that may say why something waits.
    pub(crate) async fn ask_why(&mut self, store: &dyn Store) {
        if self.asks_why() {
            self.concerns = errors_of(store).await;
        }
    }

    /// Reads the newest entries of all jobs, without their output.
    pub(crate) async fn glance(&mut self, store: &dyn Store, newest: usize) -> Result<(), StoreError> {
        let names: Vec<JobName> = self.jobs.iter().map(|job| job.name.clone()).collect();
        let glances = store.glance(&names, newest).await?;
        for (job, glance) in self.jobs.iter_mut().zip(glances) {
            match glance.unread {
                None => job.entries = glance.entries,
                Some(why) => job.unread = Some(why),
            }
        }
        Ok(())
    }

    /// Reads more entries of those jobs that `wanted` selects.
    pub(crate) async fn deepen(
        &mut self,
        store: &dyn Store,
        newest: usize,
        wanted: impl Fn(&JobState) -> bool,
    ) -> Result<(), StoreError> {
        let mut selected: Vec<&mut JobState> = self.jobs.iter_mut().filter(|job| wanted(job)).collect();
        let names: Vec<JobName> = selected.iter().map(|job| job.name.clone()).collect();
        let entries = read_each(&names, |names| store.history(names, newest)).await?;
        for (job, entries) in selected.iter_mut().zip(entries) {
            match entries {
                Ok((_, entries)) => job.entries = entries,
                Err(why) => job.unread = Some(why),
            }
        }
        Ok(())
    }

    /// Whether the replica has sent a heartbeat lately.
    pub(crate) fn is_live(&self, peer: &Peer) -> bool {
        self.now.since(peer.at) <= LIVE_FOR
    }

    /// Whether the end of this run is not recorded yet, as far as the requested jobs show.
    pub(crate) fn is_open(&self, run: RunId) -> bool {
        let mut records = self.jobs.iter().filter_map(|job| job.record.as_ref());
        records.any(|record| record.is_running() && record.run == Some(run))
    }

    /// Whether the holder of a job's lock has shown lately that it lives: by its heartbeat, or, if no
    /// heartbeat lists this run, as with `exec`, by its renewals.
    pub(crate) fn is_holder_alive(&self, record: &Record) -> bool {
        let of_owner = |peer: &&Peer| Some(&peer.beat.node) == record.owner.as_ref();
        let peer = self.peers.iter().find(of_owner);
        let is_listed =
            peer.is_some_and(|peer| peer.beat.running.iter().any(|run| Some(run.run) == record.run));
        if is_listed {
            peer.is_some_and(|peer| self.is_live(peer))
        } else {
            record.has_renewed_lately(self.now)
        }
    }
}
