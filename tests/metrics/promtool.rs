//! Prometheus' own checker of rules and expositions.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use solocron::config::{Overrides, Source, load};
use solocron::job::JobSpec;
use solocron::metrics::{ExpositionFormat, HttpTally, JobSeries, Metrics, ReplicaFigures, SeriesMode};
use solocron::time::{Clock, SystemClock};

use crate::process::Scene;
use crate::stage::Scraped;

/// Names that an exposition has to escape, or must not take for its own.
const FILE: &str = "[cluster]\nstore = \"local\"\n\
    [jobs.backup]\nschedule = \"@daily\"\nshell = \"x\"\n\
    [jobs.\"a.b-c_d\"]\nschedule = \"* * * * * *\"\nshell = \"x\"\n";

/// A job that succeeds every second, and one that fails.
const BUSY: &str = "[cluster]\nstore = \"local\"\n[jobs.good]\nschedule = \"* * * * * *\"\nshell = \"true\"\n\
    [jobs.bad]\nschedule = \"* * * * * *\"\nshell = \"exit 3\"\n";

/// Runs `promtool` with these arguments in the folder of the docs, and this text as its input.
fn promtool(arguments: &[&str], input: &str) -> Output {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(docs);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool is there after `make tools`");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("promtool reads it");
    child.wait_with_output().expect("our child")
}

/// Expects success, and returns all that was said.
fn said(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let said = said.concat();
    assert!(output.status.success(), "{said}");
    said
}

/// The text of a scrape of a replica that has just started.
fn exposition() -> String {
    let (config, _) =
        load(&Source::new("jobs.toml", FILE), &Overrides::default(), &|_| None).expect("a file");
    let specs: Vec<Arc<JobSpec>> = config.jobs.values().cloned().collect();
    let metrics = Metrics::new(config.jobs.into_keys(), Arc::new(SystemClock));
    let now = SystemClock.utc();
    let jobs = JobSeries::of(&specs, now).part(Some(SeriesMode::All), metrics.tally(), now);
    let figures = ReplicaFigures {
        node: "node \"a\" \\ b".into(),
        store_kind: "local",
        runs_limit: Some(8),
        clock_difference: Some(-0.25),
        ..ReplicaFigures::default()
    };
    let scrape = metrics.scrape(&figures, &HttpTally::of(&["/metrics", "/jobs/{job}"]), jobs);
    scrape.into_pieces(ExpositionFormat::Text).collect()
}

#[test]
fn the_rules_are_valid_and_each_fires_when_it_should_and_not_otherwise() {
    let checked = said(&promtool(&["check", "rules", "alerts.yml"], ""));
    assert!(checked.contains("15 rules found"), "{checked}");
    let tested = said(&promtool(&["test", "rules", "alerts_test.yml"], ""));
    assert!(tested.contains("SUCCESS"), "{tested}");
}

#[test]
fn the_checker_finds_no_fault_with_a_scrape_of_a_busy_replica() {
    let scene = Scene::new(BUSY);
    let replica = Scraped::start(&scene, "n");
    for (job, result) in [("good", "ok"), ("bad", "failed")] {
        let series = format!("solocron_job_ticks_total{{job_name=\"{job}\",result=\"{result}\"}}");
        replica.wait_for(&series, |ticks| ticks > 0.0);
    }
    assert_eq!(said(&promtool(&["check", "metrics"], &replica.answer("", "").body)), "");
}

#[test]
fn a_scrape_has_nothing_that_the_checker_finds_fault_with() {
    let text = exposition();
    assert!(text.contains("solocron_info{node=\"node \\\"a\\\" \\\\ b\""), "{text}");
    assert_eq!(said(&promtool(&["check", "metrics"], &text)), "");
}
