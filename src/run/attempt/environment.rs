//! The environment variables of a command. Later sources win: the initial variables, the account's, the job's, and
//! last the run's identity. A job of the replica's own user starts with the replica's variables without its settings
//! and secrets; a job of another user with a standard PATH and the locale, as under cron, sudo and systemd; a command
//! of `exec` with its caller's.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::job::RUN_VARIABLES;

use super::launch::{Identity, Launch};
use super::user::Account;

/// PATH of another user's commands: the one that systemd gives a service.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the variables of one attempt. `inherited` is the environment of this process.
pub(super) fn environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    account: &Account,
    launch: &Launch,
) -> BTreeMap<OsString, OsString> {
    let mut all = BTreeMap::new();
    if account.is_another_user {
        all.insert("PATH".into(), SYSTEM_PATH.into());
        all.extend(inherited.filter(|(name, _)| is_locale(name)));
    } else {
        all.extend(inherited.filter(|(name, _)| !is_kept_back(name, launch)));
    }
    if let Some(person) = &account.user {
        all.extend(person.variables().map(|(name, value)| (name.into(), value)));
    }
    all.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
    all.extend(launch.identity.variables().map(|(name, value)| (name.into(), value.into())));
    all
}

/// Whether a variable of this process is withheld from the command: it belongs to the protocol with the supervisor,
/// or, if this process is a replica, is one of its settings or secrets.
fn is_kept_back(name: &OsStr, launch: &Launch) -> bool {
    let name = name.to_string_lossy();
    let is_of_supervisor =
        name == "NOTIFY_SOCKET" || name.starts_with("WATCHDOG_") || name.starts_with("LISTEN_");
    let is_of_replica = name.starts_with("SOLOCRON_")
        || name == "CREDENTIALS_DIRECTORY"
        || name == "TRACEPARENT"
        || launch.withheld.contains(name.as_ref());
    is_of_supervisor || is_of_replica && !launch.streams.are_the_callers()
}

/// Whether a variable sets the language, the locale or the time zone of programs.
fn is_locale(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "LANG" || name == "TZ" || name.starts_with("LC_")
}

impl Identity {
    /// Returns the identity as variables.
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
        RUN_VARIABLES.into_iter().zip(values)
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
