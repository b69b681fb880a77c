//! A whole scrape, before anything has happened and with many jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::testing::config;
use crate::job::JobSpec;
use crate::metrics::catalogue::{CATALOGUE, LabelSets, MetricKind};
use crate::metrics::exposition::ExpositionFormat;
use crate::metrics::job::SeriesMode;
use crate::metrics::{HttpTally, JobSeries, Metrics, ReplicaFigures};
use crate::time::{SystemClock, UtcMillis};

use super::pieces::{PIECE, Scrape};

const NOW: UtcMillis = UtcMillis(1_800_000_000_000);

/// A scrape of a replica that has just started with so many jobs.
fn scrape(count: usize, mode: Option<SeriesMode>) -> Scrape {
    let jobs: String =
        (0..count).map(|n| format!("[jobs.j{n}]\nschedule = \"@hourly\"\ncommand = [\"true\"]\n")).collect();
    let jobs = config(format!("[cluster]\nstore = \"local\"\n{jobs}")).jobs;
    let metrics = Metrics::new(jobs.keys().cloned(), Arc::new(SystemClock));
    let specs: Vec<Arc<JobSpec>> = jobs.into_values().collect();
    let part = JobSeries::of(&specs, NOW).part(mode, metrics.tally(), NOW);
    let figures = ReplicaFigures { node: "a".into(), store_kind: "redis", ..ReplicaFigures::default() };
    metrics.scrape(&figures, &HttpTally::of(&["/metrics"]), part)
}

fn text(scrape: Scrape) -> String {
    scrape.into_pieces(ExpositionFormat::Text).collect()
}

/// Returns how many samples each metric has. Those of a histogram count together.
fn counts(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        *counts.entry(of_histogram.unwrap_or(name)).or_default() += 1;
    }
    counts
}

#[test]
fn every_sample_with_a_closed_list_of_labels_is_there_before_anything_has_happened() {
    let text = text(scrape(3, None));
    let counts = counts(&text);
    for family in CATALOGUE {
        let LabelSets::Closed(sets) = family.sets else { continue };
        let per_set = match family.kind {
            MetricKind::Histogram(bounds) => bounds.len() + 3,
            MetricKind::Counter | MetricKind::Gauge | MetricKind::Info => 1,
        };
        assert_eq!(counts.get(family.name), Some(&(sets.len() * per_set)), "{}", family.name);
    }
    for (name, count) in [
        ("solocron_info", 1),
        ("solocron_http_requests_total", 4),
        ("solocron_job_decision_due_timestamp_seconds", 3),
        ("solocron_job_success_due_timestamp_seconds", 3),
        ("solocron_job_success_timestamp_seconds", 3),
        ("solocron_job_failure_timestamp_seconds", 3),
        ("solocron_job_ticks_total", 12),
        ("solocron_job_run_seconds_total", 3),
    ] {
        assert_eq!(counts.get(name), Some(&count), "{name}");
    }
    assert!(
        text.contains("\nsolocron_job_series{mode=\"all\"} 1\nsolocron_job_series{mode=\"trouble\"} 0\n")
    );
}

#[test]
fn metrics_come_once_and_in_the_order_of_the_catalogue() {
    let text = text(scrape(1, None));
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let names: Vec<&str> = names.iter().filter_map(|line| line.split(' ').next()).collect();
    let expected: Vec<&str> = CATALOGUE.iter().map(|family| family.name).collect();
    assert_eq!(names, expected);
}

#[test]
fn many_jobs_come_in_pieces_of_which_none_is_much_longer_than_the_others() {
    let pieces: Vec<String> =
        scrape(2_000, Some(SeriesMode::All)).into_pieces(ExpositionFormat::OpenMetrics).collect();
    let longest = pieces.iter().map(String::len).max().unwrap_or_default();
    assert!(pieces.len() > 10 && longest < PIECE + (32 << 10), "{} pieces up to {longest}", pieces.len());
    let text = pieces.concat();
    assert!(text.ends_with("# EOF\n"));
    assert_eq!(counts(&text).get("solocron_job_ticks_total"), Some(&8_000));
    assert_eq!(text.matches("# TYPE solocron_job_ticks counter\n").count(), 1);
}

#[test]
fn without_jobs_in_trouble_their_metrics_have_names_and_no_samples() {
    let text = text(scrape(2_000, None));
    assert!(text.contains("solocron_job_series{mode=\"trouble\"} 1\n"));
    assert!(text.contains("# TYPE solocron_job_ticks_total counter\n"));
    assert!(!counts(&text).keys().any(|name| name.starts_with("solocron_job_ticks")));
}
