//! The numbers of one metric, and counters with a closed list of labels.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use super::histogram::{AtomicHistogram, HistogramSnapshot};
use crate::metrics::catalogue::{LabelSets, MetricFamily, MetricKind};

/// The value of a label.
type LabelValue = Cow<'static, str>;

/// One number, or one histogram, with the values of its labels in the order of their names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<LabelValue>,
    pub(crate) value: SampleValue,
}

/// What a sample holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SampleValue {
    /// The number of a counter, a gauge or an info.
    Number(f64),
    /// A histogram.
    Histogram(HistogramSnapshot),
}

impl Sample {
    /// Returns a number with these labels.
    pub(crate) fn number(labels: impl IntoIterator<Item = LabelValue>, value: f64) -> Self {
        Self { labels: labels.into_iter().collect(), value: SampleValue::Number(value) }
    }
}

/// A metric with its samples.
pub(crate) type Samples = (&'static MetricFamily, Vec<Sample>);

/// Returns the samples of a metric with a closed list of labels, from its numbers in the order of that list.
pub(crate) fn numbers(family: &'static MetricFamily, values: &[f64]) -> Samples {
    let sets = closed_sets(family).into_iter();
    let samples =
        sets.zip(values).map(|(set, value)| Sample::number(set.into_iter().map(Cow::Borrowed), *value));
    (family, samples.collect())
}

/// Returns the sample of a metric without labels that has no number yet, or does not apply, if this is
/// `None`.
pub(crate) fn number_if_known(family: &'static MetricFamily, value: Option<f64>) -> Samples {
    (family, value.map(|value| Sample::number([], value)).into_iter().collect())
}

/// Returns the closed list of labels; empty if the metric has none.
fn closed_sets(family: &MetricFamily) -> Vec<Vec<&'static str>> {
    match family.sets {
        LabelSets::Closed(sets) => sets.iter().map(|set| set.to_vec()).collect(),
        LabelSets::Open => Vec::new(),
    }
}

/// The counters of one metric, one for each set of labels.
#[derive(Debug)]
pub(crate) struct Counters {
    family: &'static MetricFamily,
    counts: Vec<(Vec<&'static str>, AtomicU64)>,
}

impl Counters {
    /// Returns the counters of the metric's closed list, all zero.
    pub(crate) fn of(family: &'static MetricFamily) -> Self {
        Self::with_sets(family, closed_sets(family))
    }

    /// Returns counters with these sets of labels, all zero.
    pub(crate) fn with_sets(family: &'static MetricFamily, sets: Vec<Vec<&'static str>>) -> Self {
        Self { family, counts: sets.into_iter().map(|set| (set, AtomicU64::new(0))).collect() }
    }

    /// Counts once under these labels. A set that is not in the list counts nowhere.
    pub(crate) fn count(&self, labels: &[&str]) {
        self.add(labels, 1);
    }

    /// Counts so many times under these labels. A set that is not in the list counts nowhere.
    pub(crate) fn add(&self, labels: &[&str], times: u64) {
        if let Some((_, count)) = self.counts.iter().find(|(set, _)| set == labels) {
            count.fetch_add(times, Ordering::Relaxed);
        }
    }

    /// Returns what was counted so far.
    pub(crate) fn samples(&self) -> Samples {
        let sample = |(set, count): &(Vec<&'static str>, AtomicU64)| {
            Sample::number(set.iter().copied().map(Cow::Borrowed), count.load(Ordering::Relaxed) as f64)
        };
        (self.family, self.counts.iter().map(sample).collect())
    }
}

/// The histograms of one metric, one for each set of labels.
#[derive(Debug)]
pub(crate) struct Histograms {
    family: &'static MetricFamily,
    counted: Vec<(Vec<&'static str>, AtomicHistogram)>,
}

impl Histograms {
    /// Returns the histograms of the metric's closed list, all empty.
    pub(crate) fn of(family: &'static MetricFamily) -> Self {
        let bounds = match family.kind {
            MetricKind::Histogram(bounds) => bounds,
            MetricKind::Counter | MetricKind::Gauge | MetricKind::Info => &[],
        };
        let counted = closed_sets(family).into_iter().map(|set| (set, AtomicHistogram::of(bounds)));
        Self { family, counted: counted.collect() }
    }

    /// Returns the histogram with these labels; `None` if they are not in the list.
    pub(crate) fn with(&self, labels: &[&str]) -> Option<&AtomicHistogram> {
        self.counted.iter().find(|(set, _)| set == labels).map(|(_, histogram)| histogram)
    }

    /// Returns what was counted so far.
    pub(crate) fn samples(&self) -> Samples {
        let sample = |(set, histogram): &(Vec<&'static str>, AtomicHistogram)| Sample {
            labels: set.iter().copied().map(Cow::Borrowed).collect(),
            value: SampleValue::Histogram(histogram.snapshot()),
        };
        (self.family, self.counted.iter().map(sample).collect())
    }
}
