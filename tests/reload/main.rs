//! Loading jobs.toml again, as it shows to whoever runs a replica: by SIGHUP, by the command `reload`, and by itself.

#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;

mod by_command;
mod by_itself;
mod by_restart;
mod by_signal;
mod different_files;

use process::{Program, Scene};
use serde_json::Value;

/// What a replica says when another file is in effect.
const LOADED: &str = "jobs file loaded again";

/// What it says when the file is bad, after its problems.
const BAD: &str = "invalid jobs.toml: keeping the current jobs";

/// A file of the cluster `test` with these jobs, each by its name and its keys.
fn file(jobs: &[(&str, &str)]) -> String {
    let jobs = jobs.iter().map(|(name, keys)| format!("[jobs.{name}]\n{keys}\n"));
    format!("cluster = {{ name = \"test\", store = \"local\" }}\n{}", jobs.collect::<String>())
}

/// Every second, `echo` this.
fn says(word: &str) -> String {
    format!("schedule = \"* * * * * *\"\nshell = \"echo it says {word}\"")
}

/// Puts another jobs.toml into the scene.
fn write(scene: &Scene, text: &str) {
    scene.edit(text);
}

/// Waits for a run of the job that began with a tick after this instant.
fn run_after(replica: &mut Program, job: &str, after: jiff::Timestamp) -> Value {
    replica.wait_for_event_of("run ended", |event| event["job"] == job && tick(event) > after)
}

fn tick(event: &Value) -> jiff::Timestamp {
    event["tick"].as_str().expect("a tick").parse().expect("RFC 3339")
}

/// When a line of the log was written.
fn said_at(event: &Value) -> jiff::Timestamp {
    event["timestamp"].as_str().expect("a time").parse().expect("RFC 3339")
}
