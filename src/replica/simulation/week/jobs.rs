//! The jobs of the week, with every policy, and the edits of their definitions.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::config::testing::config;
use crate::job::{JobName, JobSpec};
use crate::replica::simulation::world::rng::Dice;
use crate::run::Job;

/// What one jobs.toml says.
pub(super) type Jobs = Rc<BTreeMap<JobName, Job>>;

/// Each with a lease of a minute. `edited` and `flips` are added to these.
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

/// jobs.toml after so many edits.
pub(super) fn file(edits: usize) -> Jobs {
    let mut text =
        "[cluster]\nname = \"week\"\nstore = \"redis://127.0.0.1\"\n[defaults]\nlease = \"1m\"\n".to_owned();
    let edited = format!("{}\ncatch_up = \"last\"\nstart_deadline = \"2m\"", EDITS[edits % EDITS.len()]);
    let flips = format!("{FLIPS}\nenabled = {}", edits % 3 != 1);
    for (name, keys) in JOBS.iter().copied().chain([("edited", edited.as_str()), ("flips", flips.as_str())]) {
        text += &format!("[jobs.{name}]\ncommand = [\"true\"]\n{keys}\n");
    }
    let job = |(name, spec)| (name, Job { spec, env: BTreeMap::new(), withheld: Arc::default() });
    Rc::new(config(text).jobs.into_iter().map(job).collect())
}

/// How long an attempt takes, in milliseconds: short most often, and now and then longer than a tick lasts.
pub(super) fn length_ms(spec: &Arc<JobSpec>, dice: &mut Dice) -> u64 {
    let longest = match spec.name.as_str() {
        "skips" => 15 * 60_000,
        "waits" => 22 * 60_000,
        "replaces" => 25 * 60_000,
        "retries" => 5 * 60_000,
        _ => 90_000,
    };
    if dice.percent(70) { dice.between(0, 20_000) } else { dice.between(0, longest) }
}
