//! Both formats, read back by a small parser.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::metrics::catalogue::{self, CATALOGUE, MetricFamily, MetricKind};
use crate::metrics::samples::AtomicHistogram;

use super::*;

/// A line of samples: name, labels, number.
type Line = (String, BTreeMap<String, String>, f64);

/// What was read of a text.
#[derive(Debug, Default)]
struct Read {
    samples: Vec<Line>,
    /// Per metric: its type, and whether it has a unit.
    types: BTreeMap<String, (String, bool)>,
    has_end: bool,
}

/// Reads a text, and panics where it is malformed.
fn read(text: &str) -> Read {
    let mut read = Read::default();
    assert!(text.is_empty() || text.ends_with('\n'));
    for line in text.lines() {
        assert!(!read.has_end, "nothing follows the end");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["#", "EOF"] => read.has_end = true,
            ["#", "HELP", _, _, ..] => {}
            ["#", "TYPE", name, kind] => {
                let before = read.types.insert(name.to_owned(), (kind.to_owned(), false));
                assert!(before.is_none(), "{name} is one metric");
            }
            ["#", "UNIT", name, unit] => {
                assert!(name.ends_with(&format!("_{unit}")), "{name}: {unit}");
                read.types.get_mut(name).expect("its type came first").1 = true;
            }
            _ => read.samples.push(sample(line)),
        }
    }
    read
}

fn sample(line: &str) -> Line {
    let (before, value) = line.rsplit_once(' ').expect("a number");
    let value = match value {
        "+Inf" => f64::INFINITY,
        value => value.parse().expect("a number"),
    };
    let (name, labels) = match before.split_once('{') {
        None => (before, BTreeMap::new()),
        Some((name, rest)) => (name, labels(rest.strip_suffix('}').expect("it ends"))),
    };
    (name.to_owned(), labels, value)
}

fn labels(mut text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").expect("a value");
        let (mut value, mut characters) = (String::new(), rest.char_indices());
        let end = loop {
            match characters.next().expect("a quote ends it") {
                (at, '"') => break at,
                (_, '\\') => match characters.next().expect("something is escaped").1 {
                    'n' => value.push('\n'),
                    c => value.push(c),
                },
                (_, c) => value.push(c),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "a label stands once");
        text = rest[end + 1..].strip_prefix(',').unwrap_or(&rest[end + 1..]);
    }
    labels
}

fn written(format: ExpositionFormat, samples: &[(&'static MetricFamily, Vec<Sample>)]) -> String {
    let mut exposition = Exposition::new(format);
    for (family, samples) in samples {
        exposition.begin(family);
        samples.iter().for_each(|sample| exposition.sample(family, sample));
    }
    exposition.end();
    exposition.take()
}

fn both(samples: &[(&'static MetricFamily, Vec<Sample>)]) -> [Read; 2] {
    [ExpositionFormat::Text, ExpositionFormat::OpenMetrics].map(|format| read(&written(format, samples)))
}

/// A sample of this metric, with these labels and this number.
fn any_sample(family: &MetricFamily, labels: &[String], value: f64) -> Sample {
    let labels = labels.iter().cycle().take(family.labels.len()).cloned().map(Cow::Owned).collect();
    let value = match family.kind {
        MetricKind::Histogram(bounds) => {
            let histogram = AtomicHistogram::of(bounds);
            histogram.observe(value);
            SampleValue::Histogram(histogram.snapshot())
        }
        MetricKind::Counter | MetricKind::Gauge | MetricKind::Info => SampleValue::Number(value),
    };
    Sample { labels, value }
}

proptest! {
    #[test]
    fn both_formats_are_read_back_to_the_same_samples(
        labels in prop::collection::vec(any::<String>(), 1..5),
        value in 0.0..1e12_f64,
    ) {
        let samples: Vec<_> =
            CATALOGUE.iter().map(|family| (*family, vec![any_sample(family, &labels, value)])).collect();
        let [text, open] = both(&samples);
        prop_assert_eq!(&text.samples, &open.samples);
        prop_assert!(!text.has_end && open.has_end);
        prop_assert_eq!(text.types.len(), CATALOGUE.len());
        for family in CATALOGUE {
            let numbers = text.samples.iter().filter(|(name, ..)| name == family.name);
            let expected: BTreeMap<String, String> = family
                .labels
                .iter()
                .map(|label| (*label).to_owned())
                .zip(labels.iter().cycle().cloned())
                .collect();
            for (_, read, number) in numbers {
                prop_assert_eq!((read, *number), (&expected, value));
            }
            let (kind, has_unit) = &open.types[family.base()];
            prop_assert_eq!(*has_unit, family.unit().is_some());
            prop_assert!(!text.types[family.name].1, "the text format knows no units");
            let of_info = family.kind == MetricKind::Info;
            prop_assert_eq!(kind == "info", of_info);
            prop_assert_eq!(kind == &text.types[family.name].0, !of_info);
        }
    }
}

#[test]
fn the_formats_differ_in_the_lines_about_a_metric_and_at_the_end() {
    let counted = Sample::number(["node \"a\"\\".into()], 3.0);
    let info = Sample::number(["a", "1", "f", "redis"].map(Cow::from), 1.0);
    let samples = [(&catalogue::INFO, vec![info]), (&catalogue::JOB_RUN_SECONDS, vec![counted])];
    assert_eq!(
        written(ExpositionFormat::Text, &samples),
        "# HELP solocron_info Name, release, hash of jobs.toml and kind of store of this replica\n\
         # TYPE solocron_info gauge\n\
         solocron_info{node=\"a\",version=\"1\",file=\"f\",store_kind=\"redis\"} 1\n\
         # HELP solocron_job_run_seconds_total Time spent in runs of the job that this replica recorded\n\
         # TYPE solocron_job_run_seconds_total counter\n\
         solocron_job_run_seconds_total{job_name=\"node \\\"a\\\"\\\\\"} 3\n"
    );
    assert_eq!(
        written(ExpositionFormat::OpenMetrics, &samples),
        "# HELP solocron Name, release, hash of jobs.toml and kind of store of this replica\n\
         # TYPE solocron info\n\
         solocron_info{node=\"a\",version=\"1\",file=\"f\",store_kind=\"redis\"} 1\n\
         # HELP solocron_job_run_seconds Time spent in runs of the job that this replica recorded\n\
         # TYPE solocron_job_run_seconds counter\n\
         # UNIT solocron_job_run_seconds seconds\n\
         solocron_job_run_seconds_total{job_name=\"node \\\"a\\\"\\\\\"} 3\n\
         # EOF\n"
    );
}

#[test]
fn a_histogram_has_cumulative_buckets_up_to_infinity_then_sum_and_count() {
    let histogram = AtomicHistogram::of(&[0.0, 0.1, 2.0]);
    [0.05, 1.0, 9.5].iter().for_each(|value| histogram.observe(*value));
    let sample = Sample { labels: Vec::new(), value: SampleValue::Histogram(histogram.snapshot()) };
    let text = written(ExpositionFormat::Text, &[(&catalogue::RENEWAL_SLACK, vec![sample])]);
    let lines: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "solocron_renewal_slack_ratio_bucket{le=\"0.0\"} 0",
            "solocron_renewal_slack_ratio_bucket{le=\"0.1\"} 1",
            "solocron_renewal_slack_ratio_bucket{le=\"2.0\"} 2",
            "solocron_renewal_slack_ratio_bucket{le=\"+Inf\"} 3",
            "solocron_renewal_slack_ratio_sum 10.55",
            "solocron_renewal_slack_ratio_count 3",
        ]
    );
}

#[test]
fn instants_keep_their_milliseconds_and_numbers_have_no_exponent() {
    let gauge =
        |value| written(ExpositionFormat::Text, &[(&catalogue::FILE_LOAD, vec![Sample::number([], value)])]);
    for (value, shown) in [
        (0.0, "0"),
        (1_764_000_000.123, "1764000000.123"),
        (1e15, "1000000000000000"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Inf"),
    ] {
        let text = gauge(value);
        assert_eq!(
            text.lines().last(),
            Some(format!("solocron_file_load_timestamp_seconds {shown}").as_str())
        );
    }
}
