//! What the store knows of a cluster at one moment. Every age in it is by the store's clock.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use tokio::time::timeout;

use crate::job::{JobName, JobSpec, RunId, Tick};
use crate::lease::{HistoryEntry, Record};
use crate::store::{Concern, FailureCause, Grade, JobEntries, LIVE_FOR, Peer, Store, StoreError};
use crate::time::UtcMillis;
use crate::view::job_definition::{Definition, KnownJob};

use super::history::{TickView, count};

/// Replicas and jobs as the store knows them.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The store's time.
    pub(crate) now: UtcMillis,
    /// Every replica with a heartbeat within the last hour, by name.
    pub(crate) peers: Vec<Peer>,
    /// The requested jobs, in their order.
    pub(crate) jobs: Vec<JobState>,
    /// Why no job can run, as far as the store's settings show; read only if something waits.
    pub(crate) concerns: Vec<Concern>,
    /// The process that keeps all others from writing, for people.
    pub(crate) blocked: Option<String>,
}

/// One job.
#[derive(Debug)]
pub(crate) struct JobState {
    /// Its name.
    pub(crate) name: JobName,
    /// What jobs.toml says about it.
    pub(crate) definition: Definition,
    /// Its record, if it has one.
    pub(crate) record: Option<Record>,
    /// Its newest entries, oldest first.
    pub(crate) entries: Vec<HistoryEntry>,
    /// Why its record, or its entries, cannot be read.
    pub(crate) unread: Option<String>,
}

/// The data of a job, or why it cannot be read.
type Readable<T> = Result<T, String>;

/// This many jobs are read at a time if each is read by itself.
const AT_A_TIME: usize = 64;

/// A tick that has not been decided for this long waits for something.
const WAITS_AFTER: Duration = Duration::from_secs(3);

/// Reading the store's settings may take this long.
const INSPECTION_LIMIT: Duration = Duration::from_secs(5);

/// Reads all jobs at once. If one of them cannot be read, reads each by itself, so that the others are returned.
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

impl Snapshot {
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
        let states = jobs.into_iter().zip(records).zip(entries);
        let jobs = states.map(|((job, record), entries)| JobState::of(job, record, entries)).collect();
        // If that cannot be found out, the rest is still worth showing.
        let blocked = store.blocked().await.unwrap_or_default();
        Ok(Self { now: pulse.now, peers: pulse.peers, jobs, concerns: Vec::new(), blocked })
    }

    /// Reads how the store is set up, if a job that should have a record has none, a tick waits, or all replicas are
    /// silent.
    pub(crate) async fn ask_why(&mut self, store: &dyn Store) {
        let is_up = self.peers.iter().any(|peer| self.is_live(peer));
        let lacks_record = is_up && self.jobs.iter().any(JobState::lacks_record);
        let are_silent = !is_up && !self.peers.is_empty();
        if lacks_record || are_silent || self.jobs.iter().any(|job| job.waits(self.now)) {
            let asked = timeout(INSPECTION_LIMIT, store.settings()).await;
            // If the settings cannot be read, the replicas' logs say why.
            let found = asked.ok().and_then(Result::ok).unwrap_or_default();
            self.concerns = found.into_iter().filter(|concern| concern.grade == Grade::Error).collect();
        }
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

    /// Whether the holder of a job's lock has shown lately that it lives: by its heartbeat, or, if no heartbeat lists this
    /// run, as with `exec`, by its renewals.
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

impl JobState {
    fn of(job: KnownJob, record: Readable<Option<Record>>, entries: Readable<JobEntries>) -> Self {
        let unread = record.as_ref().err().or(entries.as_ref().err()).cloned();
        let entries = entries.map(|(_, entries)| entries).unwrap_or_default();
        let KnownJob { name, definition } = job;
        Self { name, definition, record: record.unwrap_or_default(), entries, unread }
    }

    /// Returns the whole definition; `None` if the file has no valid one.
    pub(crate) fn spec(&self) -> Option<&Arc<JobSpec>> {
        self.definition.spec()
    }

    /// Whether it has no record, though replicas open one for every job that is enabled.
    pub(crate) fn lacks_record(&self) -> bool {
        self.spec().is_some_and(|spec| spec.enabled) && self.record.is_none() && self.unread.is_none()
    }

    /// Returns the oldest tick that is not decided, which may not have come yet; `None` unless the replicas use the
    /// schedule of the local jobs.toml.
    pub(crate) fn undecided(&self, now: UtcMillis) -> Option<(&JobSpec, Tick)> {
        let record = self.record.as_ref()?;
        let spec = self.by_this_schedule(record)?;
        // Ticks below a mark that a wrong clock set may be open again: these are not decided.
        let decided = record.decided_by(now).max(record.schedule_since.min(now));
        Some((spec, spec.schedule.next_after(decided)?))
    }

    /// Whether a tick should have started by now, and no run is in its way.
    fn waits(&self, now: UtcMillis) -> bool {
        let is_due = |(_, tick): (&JobSpec, Tick)| now.since(tick.instant()) > WAITS_AFTER;
        self.running().is_none() && self.undecided(now).is_some_and(is_due)
    }

    /// Returns the definition, if the job is enabled and the replicas use the schedule of the local jobs.toml.
    pub(crate) fn by_this_schedule(&self, record: &Record) -> Option<&JobSpec> {
        let spec = self.spec()?;
        (spec.enabled && record.schedule_hash.0 == spec.schedule.fingerprint()).then_some(spec)
    }

    /// Returns the decided ticks, and then the current run.
    pub(crate) fn past(&self) -> impl Iterator<Item = TickView> {
        self.decided().chain(self.running())
    }

    /// Returns the current run, as far as the store knows.
    pub(crate) fn running(&self) -> Option<TickView> {
        let running = TickView::running(&self.name, self.record.as_ref()?)?;
        let has_ended = |run: RunId| self.entries.iter().any(|entry| entry.run == Some(run));
        (!running.run.is_some_and(has_ended)).then_some(running)
    }

    /// Returns the decided ticks, oldest first.
    pub(crate) fn decided(&self) -> impl DoubleEndedIterator<Item = TickView> {
        self.entries.iter().map(move |entry| TickView {
            count: count(entry, self.spec().map(|spec| &spec.schedule), self.record.as_ref()),
            ..TickView::decided(&self.name, entry)
        })
    }
}
