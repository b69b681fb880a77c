//! The variables a command sees: where it starts from, then the account's, then the job's, and last the run's identity, which
//! nothing can cover up. A job of the replica's own user starts from the replica's variables without its settings and secrets;
//! one of another user from none, as under cron, sudo and systemd; a command of `exec` from its caller's.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::job::RUN_VARIABLES;

use super::launch::{Identity, Launch};
use super::user::Account;

/// Where another user's commands are looked for: what systemd gives a service.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables of one attempt. `inherited` is the environment of this process.
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

/// Whether a variable of this process does not reach the command: it is between the process and its supervisor, or, where
/// the process is a replica, a setting or a secret of that.
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

/// Whether a variable says in which language, and for which place, programs speak.
fn is_locale(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "LANG" || name == "TZ" || name.starts_with("LC_")
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
        RUN_VARIABLES.into_iter().zip(values)
    }
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
