//! The store on one machine: decides requests with the Rust code of the lease protocol, inside a transaction.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::job::{ClusterName, JobName};
use crate::lease::{Era, Record, Reply, Request};
use crate::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, LONGEST_TTL, Marker, Pulse, Replied,
    Slip, Store, StoreError, Told, Wake, fail_from,
};
use crate::time::{Clock, boot_clock_lead, boot_id};

use super::access;
use super::blocker::Blocker;
use super::file::Patience;
use super::inspect::inspect;
use super::worker::{Access, Desk, Worker};

/// At most this many requests of one call share a transaction: it takes some 10 ms, for which other replicas wait.
const BATCH: usize = 1_000;

/// A cluster's records in one SQLite file.
pub struct LocalStore {
    path: PathBuf,
    worker: Worker,
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl LocalStore {
    /// Starts without waiting for the file: the first request that succeeds opens or creates it. Leases are measured by
    /// `clock`'s boot time, converted to the machine's own boot clock.
    ///
    /// # Errors
    ///
    /// If the boot id or the machine's boot clock is not known, or the store's thread cannot be started.
    pub fn start(path: &Path, cluster: ClusterName, clock: Box<dyn Clock>) -> Result<Self, StoreError> {
        Self::start_with(Patience::OF_REPLICAS, path, cluster, clock)
    }

    /// Does the same as [`LocalStore::start`] for a command: waits longer for a busy disk and for other processes.
    ///
    /// # Errors
    ///
    /// As for [`LocalStore::start`].
    pub fn start_patient(
        path: &Path,
        cluster: ClusterName,
        clock: Box<dyn Clock>,
    ) -> Result<Self, StoreError> {
        Self::start_with(Patience::OF_PEOPLE, path, cluster, clock)
    }

    /// Checks that the file exists.
    ///
    /// # Errors
    ///
    /// If no replica has created the file yet, or this user may not read its metadata.
    pub fn expect(path: &Path) -> Result<(), StoreError> {
        access::expect(path)
    }

    fn start_with(
        patience: Patience,
        path: &Path,
        cluster: ClusterName,
        clock: Box<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let failed = |what: &str, error: std::io::Error| {
            StoreError::NotSent(format!("local store: {what}: {error}").into())
        };
        let era = Era(boot_id().map_err(|error| failed("no boot id", error))?);
        let lead =
            boot_clock_lead().map_err(|error| failed("the machine's boot clock is not known", error))?;
        let worker = Worker::start(Desk { path: path.to_owned(), cluster, clock, lead, era, patience })?;
        Ok(Self { path: path.to_owned(), worker })
    }
}

impl LocalStore {
    /// Inspects the file on another thread than the one that decides: a disk that hangs delays no request.
    fn look<T: Send + 'static>(&self, look: impl FnOnce(&Path) -> T + Send + 'static) -> Answered<'_, T> {
        let path = self.path.clone();
        let looked = tokio::task::spawn_blocking(move || look(&path));
        Box::pin(async {
            looked.await.map_err(|error| StoreError::NotSent(format!("local store: {error}").into()))
        })
    }
}

impl Store for LocalStore {
    fn ready(&self) -> Answered<'_, ()> {
        Box::pin(self.worker.read(|_, _| Ok(())))
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        let (job, request) = (job.clone(), request.clone());
        let limit = match &request {
            Request::Renew(renew) => renew.answer_limit().min(self.worker.patience),
            _ => self.worker.patience,
        };
        Box::pin(
            self.worker.ask_within(limit, Access::Write, move |tables, server| {
                tables.decide(&job, &request, server)
            }),
        )
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        Box::pin(async move {
            let mut replies = Vec::with_capacity(requests.len());
            for batch in requests.chunks(BATCH) {
                let asked = batch.to_vec();
                match self.worker.write(move |tables, server| tables.decide_all(&asked, server)).await {
                    Ok(decided) => replies.extend(decided),
                    Err(error) => {
                        fail_from(&mut replies, batch.len(), requests.len(), &error);
                        break;
                    }
                }
            }
            replies
        })
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        let beat = beat.cloned();
        let access = if beat.is_some() { Access::Write } else { Access::Read };
        Box::pin(self.worker.ask_within(self.worker.patience, access, move |tables, server| {
            let peers = tables.peers(server.now)?;
            let mut count = 0;
            if let Some(beat) = beat {
                let (marker, newest) = (tables.marker()?, tables.newest_beat()?);
                let own = peers.iter().find(|peer| peer.beat.node == beat.node).map(|peer| peer.beat.count);
                let own = own.filter(|count| *count > 0);
                let is_forgotten = |told: &Told| told.is_forgotten(&server.era, marker.as_ref(), own, newest);
                if marker.is_none() || beat.told.as_ref().is_some_and(is_forgotten) {
                    tables.mark(&Marker::fresh())?;
                }
                count = newest + 1;
                tables.beat(&Beat { count, ..beat }, server.now)?;
            }
            let notices = tables.notices(server.now)?;
            let marker = tables.marker()?;
            Ok(Pulse { now: server.now, era: server.era.clone(), marker, count, peers, notices })
        }))
    }

    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()> {
        let job = job.clone();
        Box::pin(self.worker.write(move |tables, server| tables.announce(&job, server.now)))
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        let jobs = jobs.to_vec();
        Box::pin(self.worker.read(move |tables, _| jobs.iter().map(|job| tables.knows(job)).collect()))
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        Box::pin(self.worker.read(|tables, _| tables.jobs()))
    }

    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()> {
        let jobs = jobs.to_vec();
        Box::pin(self.worker.write(move |tables, _| jobs.iter().try_for_each(|job| tables.enroll(job))))
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        let jobs = jobs.to_vec();
        Box::pin(self.worker.read(move |tables, _| jobs.iter().map(|job| tables.record(job)).collect()))
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        let jobs = jobs.to_vec();
        Box::pin(self.worker.read(move |tables, _| {
            jobs.into_iter().map(|job| Ok((job.clone(), tables.entries(&job, newest)?))).collect()
        }))
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        // There are none: the replicas of one machine read its file instead.
        mpsc::channel(1).1
    }

    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()> {
        let line = text.to_owned();
        Box::pin(async move {
            feed.check(&line)?;
            self.worker.write(move |tables, _| tables.append_line(feed, &line)).await
        })
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        let count = count.min(feed.kept());
        Box::pin(self.worker.read(move |tables, _| tables.newest_lines(feed, after, count)))
    }

    fn leave<'a>(&'a self, slip: &'a Slip, text: &'a str, ttl: Duration) -> Answered<'a, ()> {
        let ttl = ttl.clamp(Duration::from_millis(1), LONGEST_TTL);
        Box::pin(async move {
            slip.check(text)?;
            let (name, left) = (slip.to_string(), text.to_owned());
            let held =
                self.worker.write(move |tables, server| tables.leave(&name, &left, ttl, server.lease_now));
            held.await?.map_or(Ok(()), |held| Err(slip.full(held, text)))
        })
    }

    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>> {
        Box::pin(async move {
            let name = slip.to_string();
            let wanted = name.clone();
            // Whoever waits looks every second: an empty slip costs no write.
            let held = self.worker.read(move |tables, server| tables.held(&wanted, server.lease_now)).await?;
            if held.texts == 0 {
                return Ok(Vec::new());
            }
            self.worker.write(move |tables, server| tables.collect(&name, server.lease_now)).await
        })
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        // There are none: whoever waits looks into the file.
        mpsc::channel(1).1
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        self.look(inspect)
    }

    fn blocked(&self) -> Answered<'_, Option<String>> {
        self.look(|path| Blocker::that_lasts(path).map(|blocker| blocker.to_string()))
    }

    fn label(&self) -> String {
        format!("local:{}", self.path.display())
    }
}
