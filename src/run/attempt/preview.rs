//! Shows with which user, folder and variables a launch would be started, without starting it: for operators who want
//! to know before.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nix::unistd::{Gid, Group, Uid, User, getegid, geteuid};

use crate::run::error::RunError;

use super::environment::environment;
use super::launch::Launch;
use super::user::Account;

/// The user, group, folder and variables with which a launch would be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The user, or its number where it has no name.
    pub user: String,
    /// The group, or its number where it has no name.
    pub group: String,
    /// The working directory.
    pub folder: PathBuf,
    /// The names of its variables, in order. No value is ever part of it.
    pub variables: Vec<String>,
    /// Whether this process may not become that user or group.
    pub needs_root: bool,
}

impl Preview {
    /// Looks up what the launch names. May query the network for accounts (LDAP).
    ///
    /// # Errors
    ///
    /// Fails if the user or group of the launch does not exist, or cannot be looked up.
    pub fn of(launch: &Launch) -> Result<Self, RunError> {
        let account = Account::of(launch)?;
        let (uid, gid) = match &account.switch {
            Some(switch) => (switch.uid.unwrap_or_else(geteuid), switch.gid),
            None => (geteuid(), getegid()),
        };
        let variables = environment(std::env::vars_os(), &account, launch);
        let home = account.home().map(|home| if home.is_dir() { home.to_owned() } else { "/".into() });
        let own = || std::env::current_dir().unwrap_or_else(|_| ".".into());
        Ok(Self {
            user: user_name(uid),
            group: group_name(gid),
            folder: launch.cwd.clone().or(home).unwrap_or_else(own),
            variables: variables
                .keys()
                .map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned())
                .collect(),
            needs_root: account.switch.is_some() && !geteuid().is_root(),
        })
    }
}

fn user_name(uid: Uid) -> String {
    User::from_uid(uid).ok().flatten().map_or_else(|| uid.to_string(), |user| user.name)
}

fn group_name(gid: Gid) -> String {
    Group::from_gid(gid).ok().flatten().map_or_else(|| gid.to_string(), |group| group.name)
}
