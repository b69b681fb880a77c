//! What a valid file is read as, key by key, and that no broken file makes the reader panic.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::config::{Config, Overrides, Problems, Source, StoreUrl, load, render, resolve_env};
use crate::job::{CatchUp, Command, JobName, JobSpec, Label, OnInterrupt, Overlap};

/// Every key of the docs that this release supports.
const FULL: &str = r#"
[cluster]
name = "billing"
store = "redis://:${REDIS_PASSWORD}@redis.internal:6379/2"
replicas = 3

[defaults]
timezone = "Europe/Berlin"
env = { PGHOST = "db", PGUSER = "app" }
lease = "1m"
cwd = "/srv"

[jobs.nightly-backup]
schedule = ["30 2 * * *", "0 12 * * *"]
timezone = "UTC"
command = ["pg_dump", "app"]
env = { PGUSER = "backup", PGPASSWORD = "${file:/run/pw}" }
cwd = "/backups"
user = "backup"
group = "disk"
lease = "45s"
timeout = "1h30m"
kill_grace = "0s"
overlap = "skip"
start_deadline = "10m"
catch_up = "none"
on_interrupt = "skip"
retries = 0
retry_delay = "1s"
no_new_privileges = true
success_codes = [0, 3]
only_on = ["gpu", "eu-1"]
enabled = false
description = "every night"

[jobs."report.v2"]
schedule = "@hourly"
shell = "report"

[replica]
drain = "0s"
labels = ["eu-1", "gpu"]
max_running = 4

[logs]
keep = "7d"
keep_runs = 10
max_bytes = "500MB"
"#;

const MINIMAL: &str = "cluster.store = 'local'\n[jobs.a]\nschedule = '@daily'\ncommand = ['x']\n";

fn read(text: &str, overrides: &Overrides<'_>) -> Result<(Config, usize), Problems> {
    let source = Source::new("jobs.toml", text);
    let env = |name: &str| (name == "REDIS_PASSWORD").then(|| "hunter2".to_owned());
    load(&source, overrides, &env).map(|(config, warnings)| (config, warnings.len()))
}

fn config(text: &str) -> Config {
    let (config, warnings) = read(text, &Overrides::default()).expect("a good file");
    assert_eq!(warnings, 0);
    config
}

fn job<'c>(config: &'c Config, name: &str) -> &'c JobSpec {
    &config.jobs[&JobName::parse(name).expect("a good name")]
}

fn label(label: &str) -> Label {
    Label::parse(label).expect("a good label")
}

fn pairs(env: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[test]
fn every_key_of_the_sections_arrives() {
    let config = config(FULL);
    assert_eq!(config.cluster.as_str(), "billing");
    assert_eq!(config.store.to_string(), "redis://:***@redis.internal:6379/2");
    let StoreUrl::Redis(url) = &config.store else { panic!("{:?}", config.store) };
    assert_eq!(url.reveal(), "redis://:hunter2@redis.internal:6379/2");
    assert_eq!(config.expected_replicas, Some(3));
    assert_eq!(config.replica.drain, Duration::ZERO);
    assert_eq!(config.replica.labels, [label("eu-1"), label("gpu")]);
    assert_eq!(config.replica.max_running, Some(4));
    assert_eq!(config.logs.keep, Duration::from_secs(7 * 86_400));
    assert_eq!(config.logs.keep_runs, 10);
    assert_eq!(config.logs.max_bytes, 500_000_000);
    assert_eq!(config.jobs.keys().map(JobName::as_str).collect::<Vec<_>>(), ["nightly-backup", "report.v2"]);
}

#[test]
fn every_key_of_a_job_arrives_and_beats_the_default() {
    let config = config(FULL);
    let spec = job(&config, "nightly-backup");
    assert_eq!(spec.name.as_str(), "nightly-backup");
    assert_eq!(spec.command, Command::Argv(vec!["pg_dump".into(), "app".into()]));
    let env = [("PGHOST", "db"), ("PGPASSWORD", "${file:/run/pw}"), ("PGUSER", "backup")];
    assert_eq!(pairs(&spec.env), env);
    assert_eq!(spec.cwd, Some(PathBuf::from("/backups")));
    assert_eq!((spec.user.as_deref(), spec.group.as_deref()), (Some("backup"), Some("disk")));
    assert_eq!(spec.lease, Duration::from_secs(45));
    assert_eq!(spec.timeout, Some(Duration::from_secs(5_400)));
    assert_eq!(spec.kill_grace, Duration::ZERO);
    assert_eq!(spec.start_deadline, Some(Duration::from_secs(600)));
    assert_eq!((spec.overlap, spec.catch_up), (Overlap::Skip, CatchUp::None));
    assert_eq!((spec.on_interrupt, spec.retries), (OnInterrupt::Skip, 0));
    assert_eq!(spec.retry_delay, Duration::from_secs(1));
    assert!(spec.no_new_privileges);
    assert_eq!(spec.success_codes, [0, 3]);
    assert_eq!(spec.only_on, [label("gpu"), label("eu-1")]);
    assert!(!spec.enabled);
    assert_eq!(spec.description.as_deref(), Some("every night"));
}

#[test]
fn what_a_job_does_not_say_comes_from_the_defaults_section() {
    let config = config(FULL);
    let spec = job(&config, "report.v2");
    assert_eq!(spec.command, Command::Shell("report".into()));
    assert_eq!(pairs(&spec.env), [("PGHOST", "db"), ("PGUSER", "app")]);
    assert_eq!(spec.cwd, Some(PathBuf::from("/srv")));
    assert_eq!(spec.lease, Duration::from_secs(60));
    assert!(spec.enabled);
}

#[test]
fn what_nobody_says_has_the_default_of_the_contract() {
    let config = config(MINIMAL);
    assert_eq!((config.cluster.as_str(), &config.store), ("local", &StoreUrl::Local));
    assert_eq!((config.expected_replicas, config.replica.drain), (None, Duration::from_secs(20)));
    assert_eq!(config.logs.keep, Duration::from_secs(14 * 86_400));
    assert_eq!((config.logs.keep_runs, config.logs.max_bytes), (200, 1_073_741_824));
    let spec = job(&config, "a");
    assert_eq!(spec.schedule.zone_name(), "UTC");
    assert!(spec.env.is_empty() && spec.only_on.is_empty() && spec.enabled && !spec.no_new_privileges);
    assert_eq!((&spec.cwd, &spec.user, &spec.group, &spec.description), (&None, &None, &None, &None));
    assert_eq!((spec.lease, spec.timeout), (Duration::from_secs(30), None));
    assert_eq!((spec.kill_grace, spec.start_deadline), (Duration::from_secs(10), None));
    assert_eq!((spec.overlap, spec.catch_up), (Overlap::Skip, CatchUp::None));
    assert_eq!((spec.on_interrupt, spec.retries), (OnInterrupt::Skip, 0));
    assert_eq!((spec.retry_delay, &spec.success_codes), (Duration::from_secs(10), &vec![0]));
}

#[test]
fn flags_beat_the_file() {
    let flagged = [label("other")];
    let overrides = Overrides {
        store: Some("redis://h/1"),
        drain: Some(Duration::from_secs(5)),
        labels: Some(&flagged),
        max_running: Some(9),
        ..Overrides::default()
    };
    let (config, _) =
        read(&FULL.replace("REDIS_PASSWORD", "NOT_SET"), &overrides).expect("the file's store is not asked");
    assert_eq!(config.store.to_string(), "redis://h:6379/1");
    assert_eq!(config.replica.drain, Duration::from_secs(5));
    assert_eq!((config.replica.labels.as_slice(), config.replica.max_running), (&flagged[..], Some(9)));
    let problems = read(MINIMAL, &overrides).expect_err("a Redis store needs a name");
    assert!(problems.to_string().contains("`name` is missing"), "{problems}");
}

#[test]
fn the_password_is_in_no_debug_output() {
    let config = config(FULL);
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn the_fingerprint_is_the_start_of_the_sha_256_of_the_text() {
    let whole: String = Sha256::digest(MINIMAL.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(config(MINIMAL).fingerprint, whole[..16]);
    assert_ne!(config(MINIMAL).fingerprint, config(FULL).fingerprint);
}

#[test]
fn a_jobs_environment_is_resolved_only_when_asked() {
    let config = config(FULL);
    let spec = job(&config, "nightly-backup");
    let absent = |_: &std::path::Path| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let error = resolve_env(spec, &|_| None, &absent).expect_err("the file is not there").to_string();
    assert!(
        error.starts_with("job `nightly-backup`: variable `PGPASSWORD` in `env` refers to the file /run/pw"),
        "{error}"
    );
    let present = |_: &std::path::Path| Ok("secret\n".to_owned());
    let env = resolve_env(spec, &|_| None, &present).expect("the file is there");
    assert_eq!(pairs(&env), [("PGHOST", "db"), ("PGPASSWORD", "secret"), ("PGUSER", "backup")]);
}

/// Generates the file with a piece removed, doubled, or replaced by something else.
fn mutated() -> impl Strategy<Value = String> {
    let noise = prop_oneof![
        "[\\[\\]{}\"'=.,#$\\\\\n a-z0-9é-]{0,12}",
        Just("\"\"\"".to_owned()),
        Just("[[jobs]]\n".to_owned()),
        Just("[jobs.x.env]\n".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("\r".to_owned()),
    ];
    let edit = (0..FULL.len(), 0..40_usize, noise, any::<bool>());
    proptest::collection::vec(edit, 1..6).prop_map(|edits| {
        edits.into_iter().fold(FULL.to_owned(), |text, (at, length, noise, twice)| {
            let letters: Vec<char> = text.chars().collect();
            let at = at.min(letters.len());
            let end = (at + length).min(letters.len());
            let (before, middle, after) = (&letters[..at], &letters[at..end], &letters[end..]);
            let middle: &[char] = if twice { middle } else { &[] };
            before
                .iter()
                .chain(middle)
                .copied()
                .chain(noise.chars())
                .chain(middle.iter().chain(after).copied())
                .collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_however_broken_brings_the_reader_down(text in mutated()) {
        let source = Source::new("jobs.toml", text);
        let problems = match load(&source, &Overrides::default(), &|_| Some("hunter2".to_owned())) {
            Ok((_, warnings)) => warnings,
            Err(problems) => problems.as_slice().to_vec(),
        };
        for span in problems.iter().filter_map(|problem| problem.span.clone()) {
            prop_assert!(source.text.get(span.clone()).is_some(), "{span:?}");
        }
        for problem in &problems {
            prop_assert!(problem.help.is_some(), "no way out: {problem:?}");
        }
        prop_assert!(!render(&problems, &source, false).contains("hunter2"));
    }
}

#[test]
fn a_jobs_env_may_name_a_store_but_not_change_the_variables_of_its_run() {
    let file = |name: &str| {
        format!(
            "cluster.store = \"local\"\n[jobs.a]\nschedule = \"@daily\"\nshell = \"x\"\nenv = {{ {name} = \"${{X}}\" }}\n"
        )
    };
    let load = |name: &str| load(&Source::new("jobs.toml", file(name)), &Overrides::default(), &|_| None);
    for name in ["SOLOCRON_STORE", "SOLOCRON_CLUSTER", "SOLOCRON_CONFIG", "SOLOCRON_STATE_DIR"] {
        assert!(load(name).is_ok(), "{name}");
    }
    assert!(load("SOLOCRON_FENCE").is_err());
}
