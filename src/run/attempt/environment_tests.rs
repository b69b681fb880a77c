//! Which variables reach a command, and which do not.

use std::time::Duration;

use crate::job::{Cause, Fence, JobName, NodeName, RunId, Tick};
use crate::run::attempt::launch::Streams;
use crate::run::attempt::user::Person;

use super::*;

/// Variables with which a replica may have been started, besides those of every process.
const OF_THE_REPLICA: [(&str, &str); 13] = [
    ("NOTIFY_SOCKET", "/run/x"),
    ("WATCHDOG_USEC", "1"),
    ("WATCHDOG_PID", "1"),
    ("LISTEN_FDS", "3"),
    ("CREDENTIALS_DIRECTORY", "/run/credentials/solocron.service"),
    ("TRACEPARENT", "00-1-1-01"),
    ("SOLOCRON_STORE", "redis://solocron:sesame@h"),
    ("SOLOCRON_HTTP_TOKEN", "secret"),
    ("SOLOCRON_STATE_DIR", "/state"),
    ("SOLOCRON_NODE", "n2"),
    ("SOLOCRON_LISTEN", "0.0.0.0:7070"),
    ("REDIS_PASSWORD", "sesame"),
    ("PG_SECRET", "open"),
];

/// Variables of every process.
const USUAL: [(&str, &str); 6] = [
    ("PATH", "/opt/bin:/bin"),
    ("LANG", "de_DE.UTF-8"),
    ("LC_TIME", "C"),
    ("TZ", "Europe/Berlin"),
    ("HOME", "/root"),
    ("MY_TOKEN", "the job's"),
];

fn launch(env: &[(&str, &str)]) -> Launch {
    Launch {
        command: vec!["true".into()],
        env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        withheld: std::sync::Arc::new(["REDIS_PASSWORD".into(), "PG_SECRET".into()].into()),
        cwd: None,
        user: None,
        group: None,
        no_new_privileges: false,
        max_processes: None,
        max_output: 64 << 20,
        success_codes: vec![0],
        timeout: None,
        kill_grace: Duration::from_secs(10),
        loss_grace: Duration::from_secs(5),
        streams: Streams::Kept,
        identity: Identity {
            job: JobName::parse("backup").unwrap(),
            tick: Tick::at_millis(1_700_000_000_000),
            tick_local: "2023-11-14T23:13:20.000+01:00".into(),
            fence: Fence(7),
            run: RunId::new(),
            attempt: 2,
            cause: Cause::CatchUp,
            node: NodeName::parse("n1").unwrap(),
        },
    }
}

fn own() -> Account {
    Account { user: None, is_another_user: false, switch: None }
}

fn bob(is_another_user: bool) -> Account {
    let person = Person { name: "bob".into(), home: "/home/bob".into(), shell: "/bin/bash".into() };
    Account { user: Some(person), is_another_user, switch: None }
}

/// Returns the variables of a command that starts from a replica's environment, without those of its identity.
fn seen(account: &Account, launch: &Launch) -> BTreeMap<String, String> {
    let inherited = OF_THE_REPLICA.into_iter().chain(USUAL);
    environment(inherited.map(|(name, value)| (name.into(), value.into())), account, launch)
        .into_iter()
        .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
        .filter(|(name, _)| !RUN_VARIABLES.contains(&name.as_str()))
        .collect()
}

fn names(all: &BTreeMap<String, String>) -> Vec<&str> {
    all.keys().map(String::as_str).collect()
}

#[test]
fn neither_the_replicas_settings_nor_what_its_file_refers_to_reach_a_job() {
    let all = seen(&own(), &launch(&[("PGPASSWORD", "open")]));
    assert_eq!(names(&all), ["HOME", "LANG", "LC_TIME", "MY_TOKEN", "PATH", "PGPASSWORD", "TZ"]);
}

#[test]
fn a_job_that_needs_a_setting_of_the_replica_gets_it_by_its_own_env() {
    let all = seen(&own(), &launch(&[("SOLOCRON_STORE", "redis://h"), ("PG_SECRET", "open")]));
    assert_eq!((all["SOLOCRON_STORE"].as_str(), all["PG_SECRET"].as_str()), ("redis://h", "open"));
}

#[test]
fn a_command_of_exec_has_what_its_caller_has() {
    let all = seen(&own(), &Launch { streams: Streams::Inherited, ..launch(&[]) });
    for name in ["SOLOCRON_STORE", "REDIS_PASSWORD", "CREDENTIALS_DIRECTORY", "TRACEPARENT", "PATH"] {
        assert!(all.contains_key(name), "{name}");
    }
    assert!(!all.contains_key("NOTIFY_SOCKET"));
}

#[test]
fn a_job_of_another_user_starts_from_a_clean_environment() {
    let all = seen(&bob(true), &launch(&[("PGUSER", "backup")]));
    assert_eq!(names(&all), ["HOME", "LANG", "LC_TIME", "LOGNAME", "PATH", "PGUSER", "SHELL", "TZ", "USER"]);
    assert_eq!((all["PATH"].as_str(), all["HOME"].as_str()), (SYSTEM_PATH, "/home/bob"));
    let own_path = seen(&bob(true), &launch(&[("PATH", "/opt/bin")]));
    assert_eq!(own_path["PATH"], "/opt/bin");
}

#[test]
fn a_job_sees_which_run_it_is_whatever_its_own_env_says() {
    let launch = launch(&[("SOLOCRON_FENCE", "999")]);
    let all = environment(std::iter::empty(), &own(), &launch);
    for (name, value) in [
        ("SOLOCRON_JOB", "backup"),
        ("SOLOCRON_TICK", "2023-11-14T22:13:20.000Z"),
        ("SOLOCRON_TICK_MS", "1700000000000"),
        ("SOLOCRON_TICK_LOCAL", "2023-11-14T23:13:20.000+01:00"),
        ("SOLOCRON_FENCE", "7"),
        ("SOLOCRON_ATTEMPT", "2"),
        ("SOLOCRON_CAUSE", "catch_up"),
        ("SOLOCRON_NODE", "n1"),
    ] {
        assert_eq!(all[OsStr::new(name)], value, "{name}");
    }
    assert_eq!(all[OsStr::new("SOLOCRON_RUN")].len(), 36);
}

#[test]
fn the_accounts_variables_beat_the_replicas_and_the_jobs_beat_both() {
    let all = seen(&bob(false), &launch(&[("HOME", "/srv/data")]));
    let shown = ["HOME", "USER", "LOGNAME", "SHELL"].map(|name| all[name].as_str());
    assert_eq!(shown, ["/srv/data", "bob", "bob", "/bin/bash"]);
}
