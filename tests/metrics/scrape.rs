//! A scrape of a replica that has decided no tick yet: its names, types and labels, in both formats.

use std::collections::BTreeMap;

use crate::process::Scene;
use crate::stage::{OPEN_METRICS, Samples, Scraped, eventually};

/// A job that never runs.
const IDLE: &str = "[cluster]\nstore = \"local\"\nreplicas = 1\n\
    [jobs.never]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n";

/// Labels whose values are those of this build, or are listed elsewhere.
const OWN: [&str; 3] = ["version", "file", "route"];

/// Names, types and labels of a scrape: each metric on a line of its own, below it each set of labels. Buckets are on
/// one line.
fn shape(text: &str) -> String {
    let mut metrics = BTreeMap::<&str, (&str, BTreeMap<String, Vec<&str>>)>::new();
    let mut current = "";
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            metrics.insert(name, (kind, BTreeMap::new()));
            current = name;
        } else if !line.starts_with('#') {
            let (series, _) = line.rsplit_once(' ').expect("a sample");
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let suffix = name.strip_prefix(current).expect("samples follow the type of their metric");
            let labels: Vec<&str> = labels.trim_end_matches('}').split(',').collect();
            let (bounds, others): (Vec<&str>, Vec<&str>) = labels
                .into_iter()
                .filter(|label| !label.is_empty())
                .partition(|label| label.starts_with("le="));
            let of = |label: &str| match label.split_once('=') {
                Some((name, _)) if OWN.contains(&name) => format!("{name}=…"),
                _ => label.to_owned(),
            };
            let others: Vec<String> = others.into_iter().map(of).collect();
            let (_, sets) = metrics.get_mut(current).expect("it was put there");
            sets.entry(format!("{suffix}{{{}}}", others.join(","))).or_default().extend(bounds);
        }
    }
    let mut shape = String::new();
    for (name, (kind, sets)) in metrics {
        shape.push_str(&format!("{name} {kind}\n"));
        for (labels, bounds) in sets {
            shape.push_str(&format!("    {labels} {}", bounds.join(" ")).trim_end().to_owned());
            shape.push('\n');
        }
    }
    shape
}

#[test]
fn a_scrape_before_any_tick_has_these_names_types_and_labels() {
    let scene = Scene::new(IDLE);
    let replica = Scraped::start(&scene, "n");
    // The difference of the clocks has a series once the store has answered.
    replica.wait_for("solocron_store_up", |up| up == 1.0);
    insta::assert_snapshot!(shape(&replica.answer("", "").body));
}

#[test]
fn both_formats_have_the_same_series_and_each_client_gets_what_it_prefers() {
    let scene = Scene::new(IDLE);
    let replica = Scraped::start(&scene, "n");
    replica.wait_for("solocron_store_up", |up| up == 1.0);
    let (text, open) = (replica.answer("", "text/plain"), replica.answer("", OPEN_METRICS));
    let series = |body: &str| Samples::of(body).0.into_keys().collect::<Vec<_>>();
    assert_eq!(series(&text.body), series(&open.body));
    for (accept, wanted) in [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("*/*", "text/plain; version=0.0.4; charset=utf-8"),
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (
            "application/openmetrics-text;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.5",
            "text/plain; version=0.0.4; charset=utf-8",
        ),
    ] {
        let answer = replica.answer("", accept);
        assert_eq!(answer.header("content-type"), Some(wanted), "{accept}");
        assert_eq!(answer.body.ends_with("# EOF\n"), wanted.starts_with("application"), "{accept}");
    }
}

#[test]
fn a_client_chooses_which_jobs_have_series_and_a_paused_one_is_among_the_troubled() {
    let scene = Scene::new(&format!("{IDLE}[jobs.other]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n"));
    let replica = Scraped::start(&scene, "n");
    let jobs = |mode: &str| {
        let samples = Samples::of(&replica.answer(&format!("?jobs={mode}"), "").body);
        let has = |job: &str| {
            samples.number(&format!("solocron_job_success_timestamp_seconds{{job_name=\"{job}\"}}")).is_some()
        };
        let told = samples.number(&format!("solocron_job_series{{mode=\"{mode}\"}}"));
        (has("never"), has("other"), told)
    };
    assert_eq!(jobs("all"), (true, true, Some(1.0)));
    assert_eq!(jobs("trouble"), (false, false, Some(1.0)));
    // A job can be paused once a replica has opened its record.
    replica.wait_for("solocron_replica_taking_ticks", |takes| takes == 1.0);
    pause(&scene, "other");
    eventually("the pause is known", || (jobs("trouble") == (false, true, Some(1.0))).then_some(()));
    assert_eq!(jobs("none"), (false, false, Some(1.0)));
    assert_eq!(replica.answer("?jobs=some", "").status, 400);
}

/// Pauses a job.
pub(crate) fn pause(scene: &Scene, job: &str) {
    let mut command = scene.command(&["pause", job]);
    let paused = command.env("SOLOCRON_STATE_DIR", scene.path("state-n")).output().expect("the program runs");
    assert!(paused.status.success(), "{}", String::from_utf8_lossy(&paused.stderr));
}
