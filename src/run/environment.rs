//! The variables a job sees. They are the replica's own without its private ones, then the account's, then the job's, and
//! last the run's identity, which nothing can cover up.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use super::account::Person;
use super::launch::{Identity, Launch};

/// The names of the variables that tell a job which run it is.
pub(super) const IDENTITY: [&str; 9] = [
    "SOLOCRON_JOB",
    "SOLOCRON_TICK",
    "SOLOCRON_TICK_MS",
    "SOLOCRON_TICK_LOCAL",
    "SOLOCRON_FENCE",
    "SOLOCRON_RUN",
    "SOLOCRON_ATTEMPT",
    "SOLOCRON_CAUSE",
    "SOLOCRON_NODE",
];

/// The variables of one attempt. `inherited` is the replica's own environment.
pub(super) fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    person: Option<&Person>,
    launch: &Launch,
) -> BTreeMap<OsString, OsString> {
    let mut all: BTreeMap<_, _> = inherited.filter(|(name, _)| !is_private(name)).collect();
    if let Some(person) = person {
        all.extend(person.variables().map(|(name, value)| (name.into(), value)));
    }
    all.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
    all.extend(launch.identity.variables().map(|(name, value)| (name.into(), value.into())));
    all
}

/// Whether a variable is between the replica and its supervisor, or a secret of the replica.
fn is_private(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "NOTIFY_SOCKET"
        || name.starts_with("WATCHDOG_")
        || name.starts_with("LISTEN_")
        || (name.starts_with("SOLOCRON_") && name.contains("TOKEN"))
}

impl Identity {
    /// The identity as variables.
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let values = [
            self.job.to_string(),
            self.tick.to_string(),
            self.tick.as_millis().to_string(),
            self.tick_local.clone(),
            self.fence.to_string(),
            self.run.to_string(),
            self.attempt.to_string(),
            self.cause.to_string(),
            self.node.to_string(),
        ];
        IDENTITY.into_iter().zip(values)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::{Cause, Fence, JobName, NodeName, RunId, Tick};
    use crate::run::Streams;

    fn launch(env: &[(&str, &str)]) -> Launch {
        Launch {
            command: vec!["true".into()],
            env: env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            cwd: None,
            user: None,
            group: None,
            no_new_privileges: false,
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

    fn seen(
        inherited: &[(&str, &str)],
        person: Option<&Person>,
        env: &[(&str, &str)],
    ) -> BTreeMap<String, String> {
        let inherited = inherited.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        environment(inherited, person, &launch(env))
            .into_iter()
            .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
            .collect()
    }

    #[test]
    fn what_is_between_the_replica_and_its_supervisor_is_taken_out_and_the_rest_is_passed_on() {
        let all = seen(
            &[
                ("PATH", "/bin"),
                ("NOTIFY_SOCKET", "/run/x"),
                ("NOTIFY_SOCKETS", "mine"),
                ("WATCHDOG_USEC", "1"),
                ("WATCHDOG_PID", "1"),
                ("LISTEN_FDS", "3"),
                ("SOLOCRON_TOKEN", "secret"),
                ("SOLOCRON_HTTP_TOKEN_FILE", "secret"),
                ("SOLOCRON_STATE_DIR", "/state"),
                ("MY_TOKEN", "the job's"),
            ],
            None,
            &[],
        );
        let names: Vec<_> = all.keys().filter(|name| !name.starts_with("SOLOCRON_")).collect();
        assert_eq!(names, ["MY_TOKEN", "NOTIFY_SOCKETS", "PATH"]);
        assert!(all.contains_key("SOLOCRON_STATE_DIR"));
        assert!(!all.keys().any(|name| name.starts_with("SOLOCRON_") && name.contains("TOKEN")));
    }

    #[test]
    fn a_job_sees_which_run_it_is_whatever_its_own_env_says() {
        let all = seen(&[], None, &[("SOLOCRON_FENCE", "999")]);
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
            assert_eq!(all[name], value, "{name}");
        }
        assert_eq!(all["SOLOCRON_RUN"].len(), 36);
    }

    #[test]
    fn the_accounts_variables_beat_the_replicas_and_the_jobs_beat_both() {
        let person = Person { name: "bob".into(), home: "/home/bob".into(), shell: "/bin/bash".into() };
        let all = seen(
            &[("HOME", "/root"), ("USER", "root"), ("SHELL", "/bin/zsh")],
            Some(&person),
            &[("HOME", "/srv/data")],
        );
        let shown = ["HOME", "USER", "LOGNAME", "SHELL"].map(|name| all[name].as_str());
        assert_eq!(shown, ["/srv/data", "bob", "bob", "/bin/bash"]);
    }
}
