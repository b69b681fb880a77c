//! All that a replica counts, in one place: what is told, what the store answers.

use std::sync::Arc;

use crate::events::EventCounter;
use crate::job::JobName;
use crate::store::Store;
use crate::time::{Clock, UtcMillis};

use super::figures::{ProcessFigures, ReplicaFigures};
use super::http_tally::HttpTally;
use super::job::JobPart;
use super::measured_store::{MeasuredStore, StoreTally};
use super::scrape::Scrape;
use super::tally::Tally;

/// The metrics of a replica. A scrape reads memory and /proc only, never the store.
#[derive(Debug, Clone)]
pub struct Metrics {
    tally: Arc<Tally>,
    store_tally: Arc<StoreTally>,
    clock: Arc<dyn Clock>,
    started: UtcMillis,
}

impl Metrics {
    /// Returns the metrics of a replica that starts now with these jobs, enabled or not.
    pub fn new(jobs: impl IntoIterator<Item = JobName>, clock: Arc<dyn Clock>) -> Self {
        let tally = Arc::new(Tally::of(jobs, Arc::clone(&clock)));
        Self { tally, store_tally: Arc::default(), started: clock.utc(), clock }
    }

    /// Returns what the events of the replica count.
    pub fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    /// Returns what counts the events of the replica.
    pub fn counter(&self) -> Arc<dyn EventCounter> {
        Arc::clone(&self.tally) as Arc<dyn EventCounter>
    }

    /// Returns this store with its requests measured.
    pub fn measured(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(MeasuredStore::new(store, Arc::clone(&self.store_tally), Arc::clone(&self.clock)))
    }

    /// Returns all samples at this moment.
    pub fn scrape(&self, figures: &ReplicaFigures, http: &HttpTally, jobs: JobPart) -> Scrape {
        let mut samples = figures.samples();
        samples.extend(self.tally.samples());
        samples.extend(self.store_tally.samples());
        samples.extend(http.samples());
        samples.extend(ProcessFigures::read(self.started).samples());
        Scrape::of(samples, jobs)
    }
}
