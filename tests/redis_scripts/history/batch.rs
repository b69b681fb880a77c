//! Several requests of one kind for a few jobs, as replicas make them by one call.

use proptest::prelude::RngExt;
use solocron::lease::{Record, Request};
use solocron::time::UtcMillis;

use super::History;

/// Requests of one call, at the most.
const MOST: usize = 6;

/// A kind that comes seldom is drawn in fewer than this.
const DRAWS: usize = 40;

impl History {
    /// Requests of one kind, each with the number of its job, expected at `now`. Each is made for the record from before
    /// all of them: the second one for a job may come too late.
    pub(crate) fn batch(&mut self, records: &[Option<Record>], now: UtcMillis) -> Vec<(usize, Request)> {
        let size = self.rng.random_range(2..=MOST);
        let mut batch: Vec<(usize, Request)> = Vec::with_capacity(size);
        for _ in 0..DRAWS {
            let job = self.rng.random_range(0..records.len());
            let request = self.request(records[job].as_ref(), now);
            let kind = std::mem::discriminant(&request);
            if batch.first().is_none_or(|(_, first)| std::mem::discriminant(first) == kind) {
                batch.push((job, request));
            }
            if batch.len() == size {
                break;
            }
        }
        batch
    }

    /// A job whose record cannot be read meanwhile, now and then.
    pub(crate) fn unreadable(&mut self, jobs: usize) -> Option<usize> {
        let job = self.rng.random_range(0..jobs);
        self.one_in(4).then_some(job)
    }
}
