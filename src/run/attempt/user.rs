//! The user and group that a job runs as. Names are looked up on each start, so that a changed account needs no restart.

use std::ffi::{CString, OsString};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, getegid, geteuid, getgrouplist};

use crate::run::error::RunError;

use super::launch::Launch;

/// The shell of an account that names none, as in login(1).
const DEFAULT_SHELL: &str = "/bin/sh";

/// The account that a job runs as.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// The user, if jobs.toml names one: the job gets its name and folders as variables.
    pub(crate) user: Option<Person>,
    /// Whether this is another user than the replica's.
    pub(crate) is_another_user: bool,
    /// What has to be changed before the command starts; `None` if the replica is that user and group already.
    pub(crate) switch: Option<Switch>,
}

/// What a job that runs as a named user gets as variables.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) home: PathBuf,
    pub(crate) shell: PathBuf,
}

/// The ids that a command takes on. `None` keeps the replica's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) uid: Option<Uid>,
    pub(crate) gid: Gid,
    pub(crate) groups: Option<Vec<Gid>>,
}

/// Whether this machine has a user of this name; also true if the lookup fails. May query the network (LDAP).
pub fn has_user(name: &str) -> bool {
    !matches!(User::from_name(name), Ok(None))
}

impl Account {
    /// Returns the folder in which a job of another user starts, unless the job names one.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.user.as_ref().filter(|_| self.is_another_user).map(|person| person.home.as_path())
    }

    /// Looks up the launch's user and group. May query the network (LDAP): to be called off the runtime.
    pub(crate) fn of(launch: &Launch) -> Result<Self, RunError> {
        let user =
            launch.user.as_deref().map(|name| find(launch, "user", name, User::from_name)).transpose()?;
        let group =
            launch.group.as_deref().map(|name| find(launch, "group", name, Group::from_name)).transpose()?;
        let gid = group.map(|group| group.gid).or(user.as_ref().map(|user| user.gid));
        let uid = user.as_ref().map(|user| user.uid);
        let is_another_user = uid.is_some_and(|uid| uid != geteuid());
        // Also if the ids are the replica's: a replica that is root may have groups that the account does not have.
        let is_same = !is_another_user && gid.is_none_or(|gid| gid == getegid()) && !geteuid().is_root();
        let switch = match gid {
            Some(gid) if !is_same => {
                Some(Switch { uid, gid, groups: groups_of(launch, user.as_ref(), gid)? })
            }
            _ => None,
        };
        Ok(Self { user: user.map(Person::from), is_another_user, switch })
    }
}

/// Returns the supplementary groups of `user`, or of the replica's own user if the job names only a group; `None` if
/// these are not known, or may not be changed.
fn groups_of(launch: &Launch, user: Option<&User>, gid: Gid) -> Result<Option<Vec<Gid>>, RunError> {
    let own = match user {
        None if geteuid().is_root() => User::from_uid(geteuid()).ok().flatten(),
        _ => None,
    };
    let Some(user) = user.or(own.as_ref()) else { return Ok(None) };
    let listed = CString::new(user.name.as_str()).map_err(|_| Errno::EINVAL);
    match listed.and_then(|name| getgrouplist(&name, gid)) {
        Ok(groups) => Ok(Some(groups)),
        Err(source) => Err(lookup_failed(launch, "user", &user.name, source)),
    }
}

fn find<T>(
    launch: &Launch,
    kind: &'static str,
    name: &str,
    look_up: impl FnOnce(&str) -> nix::Result<Option<T>>,
) -> Result<T, RunError> {
    // No account has such a name, and the C library cannot look it up.
    let found = if name.contains('\0') { Ok(None) } else { look_up(name) };
    match found {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            Err(RunError::UnknownAccount { job: launch.identity.job.clone(), kind, name: name.to_owned() })
        }
        Err(source) => Err(lookup_failed(launch, kind, name, source)),
    }
}

fn lookup_failed(launch: &Launch, kind: &'static str, name: &str, source: Errno) -> RunError {
    RunError::Lookup { job: launch.identity.job.clone(), kind, name: name.to_owned(), source }
}

impl Person {
    /// Returns its variables, as login(1) sets them.
    pub(crate) fn variables(&self) -> [(&'static str, OsString); 4] {
        [
            ("HOME", self.home.clone().into()),
            ("USER", self.name.clone().into()),
            ("LOGNAME", self.name.clone().into()),
            ("SHELL", self.shell.clone().into()),
        ]
    }
}

impl From<User> for Person {
    fn from(user: User) -> Self {
        let shell = if user.shell.as_os_str().is_empty() { DEFAULT_SHELL.into() } else { user.shell };
        Self { name: user.name, home: user.dir, shell }
    }
}
