//! Histograms that several threads count in without waiting for each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The sum is kept in millionths.
const SUM_UNIT: f64 = 1e6;

/// Counts how many values were at most as large as each bound.
#[derive(Debug)]
pub(crate) struct AtomicHistogram {
    bounds: &'static [f64],
    /// How many values fell between one bound and the next; the last are above all bounds.
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

/// What a histogram held at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HistogramSnapshot {
    /// Each bound with the number of values up to it.
    pub(crate) buckets: Vec<(f64, u64)>,
    /// The sum of all values.
    pub(crate) sum: f64,
    /// The number of all values.
    pub(crate) count: u64,
}

impl AtomicHistogram {
    /// Returns a histogram with these bounds, which ascend.
    pub(crate) fn of(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Counts a value, which is not below zero.
    pub(crate) fn observe(&self, value: f64) {
        let at = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        if let Some(count) = self.counts.get(at) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        // The conversion saturates.
        self.sum.fetch_add((value * SUM_UNIT).round() as u64, Ordering::Relaxed);
    }

    /// Counts a time, in seconds.
    pub(crate) fn observe_time(&self, took: Duration) {
        self.observe(took.as_secs_f64());
    }

    /// Returns what was counted so far. The count is that of the buckets; the sum may be a value ahead or
    /// behind.
    pub(crate) fn snapshot(&self) -> HistogramSnapshot {
        let mut count = 0;
        let mut up_to = |counted: &AtomicU64| {
            count += counted.load(Ordering::Relaxed);
            count
        };
        let counts: Vec<u64> = self.counts.iter().map(&mut up_to).collect();
        let buckets = self.bounds.iter().copied().zip(counts).collect();
        HistogramSnapshot { buckets, sum: self.sum.load(Ordering::Relaxed) as f64 / SUM_UNIT, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_in_every_bucket_whose_bound_it_does_not_exceed() {
        let histogram = AtomicHistogram::of(&[0.0, 0.5, 1.0]);
        for value in [0.0, 0.2, 0.5, 1.0, 7.25] {
            histogram.observe(value);
        }
        let HistogramSnapshot { buckets, sum, count } = histogram.snapshot();
        assert_eq!(buckets, [(0.0, 1), (0.5, 3), (1.0, 4)]);
        assert_eq!((sum, count), (8.95, 5));
    }

    #[test]
    fn times_count_in_seconds() {
        let histogram = AtomicHistogram::of(&[0.001, 1.0]);
        histogram.observe_time(Duration::from_micros(900));
        histogram.observe_time(Duration::from_millis(1_001));
        let snapshot = histogram.snapshot();
        assert_eq!(snapshot.buckets, [(0.001, 1), (1.0, 1)]);
        assert_eq!((snapshot.sum, snapshot.count), (1.0019, 2));
    }

    #[test]
    fn without_values_every_bucket_is_there_with_zero() {
        let snapshot = AtomicHistogram::of(&[1.0]).snapshot();
        assert_eq!(snapshot, HistogramSnapshot { buckets: vec![(1.0, 0)], sum: 0.0, count: 0 });
    }
}
