//! Every name in the docs, the rules and the dashboard is in a scrape of a cluster that has run, failed, missed and
//! paused.

use std::collections::BTreeSet;
use std::path::Path;

use crate::process::Scene;
use crate::scrape::pause;
use crate::stage::{Scraped, settled};

/// A job for each thing that can become of a tick.
const BUSY: &str = "[cluster]\nstore = \"local\"\nreplicas = 1\n[replica]\nmax_running = 8\n\
    [jobs.good]\nschedule = \"* * * * * *\"\nshell = \"true\"\n\
    [jobs.bad]\nschedule = \"* * * * * *\"\nshell = \"exit 3\"\n\
    [jobs.slow]\nschedule = \"*/2 * * * * *\"\nshell = \"sleep 4.5\"\noverlap = \"wait\"\n\
    start_deadline = \"3s\"\nlease = \"5s\"\n\
    [jobs.rest]\nschedule = \"* * * * * *\"\nshell = \"true\"\n";

/// Every file in which metrics are named, with its text.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).expect("the folder is there");
    let mut paths: Vec<_> = docs.map(|entry| entry.expect("readable").path()).collect();
    paths.push(root.join("README.md"));
    let is_text = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| ["md", "yml", "json"].contains(&extension))
    };
    paths.retain(|path| is_text(path));
    let read = |path: &Path| std::fs::read_to_string(path).expect("it is there");
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

/// The names of metrics in a text; those that end with `_` stand for several.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    words.filter(|word| word.starts_with("solocron_") && !word.ends_with('_')).collect()
}

#[test]
fn every_name_in_docs_rules_and_dashboard_is_in_a_scrape_of_a_busy_cluster() {
    let texts = texts();
    let has = |end: &str| texts.iter().any(|(path, text)| path.ends_with(end) && named(text).len() > 5);
    assert!(has("alerts.yml") && has("alerts_test.yml") && has("grafana.json") && has("alerts.md"));
    let scene = Scene::new(BUSY);
    let replica = Scraped::start(&scene, "n");
    for result in ["good\",result=\"ok", "bad\",result=\"failed", "slow\",result=\"missed"] {
        replica.wait_for(&format!("solocron_job_ticks_total{{job_name=\"{result}\"}}"), |ticks| ticks > 0.0);
    }
    pause(&scene, "rest");
    replica.wait_for("solocron_job_paused{job_name=\"rest\"}", |paused| paused == 1.0);
    // Some series are there only while a job runs.
    let mut seen = BTreeSet::new();
    settled(|| {
        seen.extend(replica.samples().names().map(str::to_owned));
        let unseen = |(path, text): &(String, String)| -> Vec<String> {
            let names = named(text).into_iter().filter(|name| !seen.contains(*name));
            names.map(|name| format!("{path}: {name}")).collect()
        };
        let missing: Vec<String> = texts.iter().flat_map(unseen).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("these are in no scrape: {missing:#?}")) }
    });
}
