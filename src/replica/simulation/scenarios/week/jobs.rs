//! The jobs of the week, with every policy, and the edits of their definitions.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::config::testing::config;
use crate::job::{JobSpec, NodeName};
use crate::lease::Memory;
use crate::replica::simulation::world::clock::Clock;
use crate::replica::simulation::world::scenario::{File, Length, Scenario};

/// The lease of each job, as in the text below.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// The jobs; `edited` and `flips` are added to these.
const JOBS: [(&str, &str); 6] = [
    ("skips", "schedule = \"*/10 * * * *\""),
    ("waits", "schedule = \"*/15 * * * *\"\noverlap = \"wait\"\nstart_deadline = \"40m\""),
    ("replaces", "schedule = \"*/20 * * * *\"\noverlap = \"replace\""),
    ("catches-up", "schedule = \"0 * * * *\"\ncatch_up = \"last\"\nstart_deadline = \"10m\""),
    ("retries", "schedule = \"20 */2 * * *\"\nretries = 2\nretry_delay = \"1m\""),
    ("labelled", "schedule = \"*/30 * * * *\"\nonly_on = [\"gpu\"]"),
];

/// What `edited` is like, one after the other.
const EDITS: [&str; 6] = [
    "schedule = \"*/7 * * * *\"",
    "schedule = \"*/7 * * * *\"\nenabled = false",
    "schedule = \"*/11 * * * *\"\ntimezone = \"Europe/Berlin\"",
    "schedule = \"*/11 * * * *\"\ntimezone = \"Asia/Kathmandu\"",
    "schedule = \"*/11 * * * *\"\ntimezone = \"Asia/Kathmandu\"\nkill_grace = \"3s\"",
    "schedule = [\"H * * * *\", \"@every 9m\"]",
];

/// `flips` is enabled, except after one of every three edits.
const FLIPS: &str = "schedule = \"*/13 * * * *\"\ncatch_up = \"last\"";

/// The replicas, and the labels of each.
const REPLICAS: [(&str, &[&str]); 3] = [("a", &["gpu"]), ("b", &[]), ("c", &["gpu", "eu"])];

/// The jobs of jobs.toml after so many edits.
pub(super) fn file(edits: usize) -> Rc<[Arc<JobSpec>]> {
    let mut text =
        "[cluster]\nname = \"week\"\nstore = \"redis://127.0.0.1\"\n[defaults]\nlease = \"1m\"\n".to_owned();
    let edited = format!("{}\ncatch_up = \"last\"\nstart_deadline = \"2m\"", EDITS[edits % EDITS.len()]);
    let flips = format!("{FLIPS}\nenabled = {}", edits % 3 != 1);
    for (name, keys) in JOBS.iter().copied().chain([("edited", edited.as_str()), ("flips", flips.as_str())]) {
        text += &format!("[jobs.{name}]\ncommand = [\"true\"]\n{keys}\n");
    }
    config(text).jobs.into_values().collect()
}

/// Three replicas with clocks that are right, and the first file.
pub(super) fn scenario() -> Scenario {
    let jobs = file(0);
    let of_replica = |(_, labels): &(_, &[&str])| File {
        jobs: Rc::clone(&jobs),
        hash: String::new(),
        drain: Duration::from_secs(20),
        max_running: None,
        labels: labels.iter().map(|label| label.parse().expect("a label")).collect(),
    };
    let files: Vec<File> = REPLICAS.iter().map(of_replica).collect();
    Scenario {
        memory: Memory::Forgetful,
        replicas: REPLICAS.len(),
        names: REPLICAS.iter().map(|(name, _)| NodeName::parse(name).expect("a name")).collect(),
        long_file: files[0].clone(),
        files,
        is_limited: false,
        is_stretched: false,
        lengths: jobs.iter().map(length).collect(),
        clocks: (0..=REPLICAS.len()).map(|_| Clock::new(0, false)).collect(),
    }
}

/// How long an attempt takes: now and then longer than a tick lasts.
fn length(spec: &Arc<JobSpec>) -> Length {
    let longest = match spec.name.as_str() {
        "skips" => 15 * 60_000,
        "waits" => 22 * 60_000,
        "replaces" => 25 * 60_000,
        "retries" => 5 * 60_000,
        _ => 90_000,
    };
    Length::MostlyShort(longest)
}
