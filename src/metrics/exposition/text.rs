//! The text itself, which grows sample by sample, so that it can be sent in pieces.

use std::fmt::Write;

use crate::metrics::catalogue::{MetricFamily, MetricKind};
use crate::metrics::samples::HistogramSnapshot;
use crate::metrics::samples::{Sample, SampleValue};

use super::format::ExpositionFormat;

/// Text in one of the formats. The formats differ in the lines about a metric and in the last line; the
/// samples are the same.
#[derive(Debug)]
pub(crate) struct Exposition {
    format: ExpositionFormat,
    text: String,
}

impl Exposition {
    /// Returns an empty text.
    pub(crate) fn new(format: ExpositionFormat) -> Self {
        Self { format, text: String::new() }
    }

    /// Returns how many bytes were written since the last piece was taken.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes what was written so far.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Begins a metric: all its samples follow, before any of another one.
    pub(crate) fn begin(&mut self, family: &MetricFamily) {
        let kind = match (family.kind, self.format) {
            (MetricKind::Counter, _) => "counter",
            (MetricKind::Info, ExpositionFormat::OpenMetrics) => "info",
            (MetricKind::Gauge | MetricKind::Info, _) => "gauge",
            (MetricKind::Histogram(_), _) => "histogram",
        };
        let name = match self.format {
            ExpositionFormat::Text => family.name,
            ExpositionFormat::OpenMetrics => family.base(),
        };
        // Writing to a text never fails.
        let _ = writeln!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}", family.help);
        if let (ExpositionFormat::OpenMetrics, Some(unit)) = (self.format, family.unit()) {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
    }

    /// Writes a sample of the metric.
    pub(crate) fn sample(&mut self, family: &MetricFamily, sample: &Sample) {
        let labels = sample.labels.iter().map(AsRef::as_ref);
        match &sample.value {
            SampleValue::Number(value) => self.number(family, labels, *value),
            SampleValue::Histogram(histogram) => self.histogram(family, labels, histogram),
        }
    }

    /// Writes a number of the metric, with these values of its labels.
    pub(crate) fn number<'v>(
        &mut self,
        family: &MetricFamily,
        values: impl Iterator<Item = &'v str>,
        value: f64,
    ) {
        self.line(family, "", values, None, value);
    }

    fn histogram<'v>(
        &mut self,
        family: &MetricFamily,
        values: impl Iterator<Item = &'v str> + Clone,
        histogram: &HistogramSnapshot,
    ) {
        let all = [(f64::INFINITY, histogram.count)];
        for (bound, count) in histogram.buckets.iter().copied().chain(all) {
            self.line(family, "_bucket", values.clone(), Some(bound), count as f64);
        }
        self.line(family, "_sum", values.clone(), None, histogram.sum);
        self.line(family, "_count", values, None, histogram.count as f64);
    }

    /// Writes one line. `bound` is that of a bucket.
    fn line<'v>(
        &mut self,
        family: &MetricFamily,
        suffix: &str,
        values: impl Iterator<Item = &'v str>,
        bound: Option<f64>,
        value: f64,
    ) {
        self.text.push_str(family.name);
        self.text.push_str(suffix);
        let mut before = '{';
        for (label, value) in family.labels.iter().zip(values) {
            self.text.push(before);
            self.text.push_str(label);
            self.text.push_str("=\"");
            push_escaped(&mut self.text, value);
            self.text.push('"');
            before = ',';
        }
        if let Some(bound) = bound {
            self.text.push(before);
            self.text.push_str("le=\"");
            push_bound(&mut self.text, bound);
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
        self.text.push(' ');
        push_number(&mut self.text, value);
        self.text.push('\n');
    }

    /// Ends the text.
    pub(crate) fn end(&mut self) {
        if self.format == ExpositionFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
    }
}

/// Writes the value of a label. Both formats escape the same three characters.
fn push_escaped(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

/// Writes a bound of a bucket, always with a point: OpenMetrics asks for it, and a bound that looks different
/// in the other format would be another series.
fn push_bound(text: &mut String, bound: f64) {
    if bound.is_finite() && bound.fract() == 0.0 {
        let _ = write!(text, "{bound:.1}");
    } else {
        push_number(text, bound);
    }
}

fn push_number(text: &mut String, value: f64) {
    match value {
        f64::INFINITY => text.push_str("+Inf"),
        f64::NEG_INFINITY => text.push_str("-Inf"),
        value if value.is_nan() => text.push_str("NaN"),
        value => {
            let _ = write!(text, "{value}");
        }
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
