//! One metric with all its labels: what Prometheus calls a family.

/// The units that end the name of a metric.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MetricKind {
    /// A number that only grows, until the replica starts again.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Texts in labels. The number is 1.
    Info,
    /// How many values were at most as large as each of these bounds, which ascend.
    Histogram(&'static [f64]),
}

/// Which values the labels of a metric have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LabelSets {
    /// These, one value for each label. Each set has a sample from the first scrape on.
    Closed(&'static [&'static [&'static str]]),
    /// Names of jobs, of routes, or of this replica; or there is no sample until the number is known.
    Open,
}

impl LabelSets {
    /// One sample without labels.
    pub(crate) const SINGLE: Self = Self::Closed(&[&[]]);
}

/// One metric.
#[derive(Debug, PartialEq)]
pub(crate) struct MetricFamily {
    /// Its name, with `_total` if it is a counter, and `_info` if it has only texts.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: MetricKind,
    /// What it means, in one line without quotes.
    pub(crate) help: &'static str,
    /// The names of its labels.
    pub(crate) labels: &'static [&'static str],
    /// The values of its labels.
    pub(crate) sets: LabelSets,
}

impl MetricFamily {
    /// Returns the name without the suffix that its type asks for, by which OpenMetrics knows it.
    pub(crate) fn base(&self) -> &'static str {
        let suffix = match self.kind {
            MetricKind::Counter => "_total",
            MetricKind::Info => "_info",
            MetricKind::Gauge | MetricKind::Histogram(_) => "",
        };
        self.name.strip_suffix(suffix).unwrap_or(self.name)
    }

    /// Returns the unit of its numbers; `None` if they only count.
    pub(crate) fn unit(&self) -> Option<&'static str> {
        let last = self.base().rsplit('_').next()?;
        UNITS.into_iter().find(|unit| *unit == last)
    }
}
