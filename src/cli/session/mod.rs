//! What every command begins with: it finds and loads jobs.toml, finds the state folder, and opens the store.

pub(super) mod find_job;
pub(crate) mod known_job;
pub(super) mod target;

use std::ffi::OsStr;
use std::fs::{DirBuilder, Permissions, set_permissions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::unistd::{AccessFlags, eaccess, geteuid};

use crate::config;
use crate::config::source::trust::{BadFolder, Flaw, check_below, check_folder, is_shared, mode_flaw};
use crate::config::{Config, LOCAL_STORE_FILE, Overrides, Problem, Purpose, Source, StoreUrl};
use crate::job::ClusterName;
use crate::store;
use crate::store::{LocalStore, StartLocal, Store, StoreError};

use super::args::global::GlobalArgs;
use super::exit::{Exit, Failure};

/// The state folder of a system service.
const SYSTEM_STATE_DIR: &str = "/var/lib/solocron";

/// How many levels below the state folder are checked: down to the files of `leases/CLUSTER/NODE`.
const STATE_DEPTH: u32 = 4;

/// The names of solocron's own files and folders in the state folder begin with these; other files there are not checked.
const STATE_NAMES: [&str; 4] = ["leases", "replica", "runs", LOCAL_STORE_FILE];

/// The folders and the files that a replica writes in the state folder.
const WRITTEN: [&str; 5] = ["leases", "replicas", "runs", "runs.jsonl", "runs.lock"];

/// A loaded jobs.toml, its warnings, and the state folder.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) source: Source,
    pub(crate) config: Config,
    /// Probable mistakes in the file.
    pub(crate) warnings: Vec<Problem>,
    /// The folder of the run logs and of the local store.
    pub(crate) state_dir: PathBuf,
}

impl Session {
    /// Loads the file and finds the state folder for a replica. `flags` take precedence over the file. The failure's message
    /// has all problems of the file. Fails for a replica of root if another user can change the state folder.
    pub(crate) fn to_run(global: &GlobalArgs, flags: Overrides<'_>) -> Result<Self, Failure> {
        let (source, config, warnings) = load_file(global, flags, Purpose::Run)?;
        let session = Self::of(source, config, warnings, global)?;
        make_writable(&session.state_dir)?;
        Ok(if geteuid().is_root() {
            Self { state_dir: own_folder(session.state_dir)?, ..session }
        } else {
            session
        })
    }

    /// Finds the state folder for a file that is loaded already.
    pub(crate) fn of(
        source: Source,
        config: Config,
        warnings: Vec<Problem>,
        global: &GlobalArgs,
    ) -> Result<Self, Failure> {
        let state_dir = state_dir(global.state_dir.as_deref())?;
        Ok(Self { source, config, warnings, state_dir })
    }

    /// Starts to connect to the store. Needs a running runtime.
    pub(crate) fn open_store(&self) -> Result<Arc<dyn Store>, Failure> {
        open_store(&self.config.store, &self.config.cluster, &self.state_dir, LocalStore::start)
    }

    /// Returns a function that connects to the store once more, on a thread with a runtime of its own.
    pub(crate) fn store_opener(&self) -> impl FnOnce() -> Result<Arc<dyn Store>, StoreError> + Send + use<> {
        let (url, cluster) = (self.config.store.clone(), self.config.cluster.clone());
        let state_dir = self.state_dir.clone();
        move || store::open(&url, &cluster, &state_dir, LocalStore::start)
    }

    /// Fails if the store is a file that stays unusable until an operator acts. A file that is locked, or on a busy disk, may
    /// become usable later.
    pub(crate) async fn refuse_unusable_file(&self, store: &dyn Store) -> Result<(), Failure> {
        if store::file_of(&self.config.store, &self.state_dir).is_none() {
            return Ok(());
        }
        match store.ready().await {
            Err(error) if error.needs_hands() => Err(Failure::store(&store.label(), &error)),
            _ => Ok(()),
        }
    }
}

/// Fails if the store is a file that does not exist yet, or that this user may not access.
pub(crate) fn expect_store_file(store: &StoreUrl, state_dir: &Path) -> Result<(), Failure> {
    let Some(path) = store::file_of(store, state_dir) else { return Ok(()) };
    LocalStore::expect(&path).map_err(|error| Failure::store(&store.to_string(), &error))
}

/// Creates the folder if it is missing. Fails if this user cannot write to it, or to what a replica stores in it.
fn make_writable(folder: &Path) -> Result<(), Failure> {
    let (shown, uid) = (folder.display(), geteuid());
    let denied = |what: &Path, errno: Errno| {
        let place = if what == folder { String::new() } else { format!("{}: ", what.display()) };
        let help = match errno {
            Errno::EACCES | Errno::EPERM => {
                format!("`chown -R {uid} {shown}`, or name another folder with --state-dir")
            }
            _ => "name another folder with --state-dir".to_owned(),
        };
        let what = format!("cannot write to STATE_DIR {shown} (uid {uid}): {place}{}", errno.desc());
        Failure::failed(format!("{what}\n  help: {help}"))
    };
    let made = DirBuilder::new().recursive(true).mode(0o750).create(folder);
    made.map_err(|error| denied(folder, Errno::from_raw(error.raw_os_error().unwrap_or_default())))?;
    eaccess(folder, AccessFlags::W_OK | AccessFlags::X_OK).map_err(|errno| denied(folder, errno))?;
    for path in WRITTEN.map(|name| folder.join(name)) {
        let enters = if path.is_dir() { AccessFlags::X_OK } else { AccessFlags::empty() };
        match eaccess(&path, AccessFlags::W_OK | enters) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(denied(&path, errno)),
        }
    }
    Ok(())
}

/// Returns the folder's path without symbolic links. Fails if another user can change the folder or what is in it.
fn own_folder(folder: PathBuf) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| {
        let message = format!(
            "state folder {}: {error}\n  help: name another folder with --state-dir",
            folder.display()
        );
        Failure::failed(message)
    };
    let real = folder.canonicalize().map_err(failed)?;
    let found = real.metadata().map_err(failed)?;
    if found.uid() == geteuid().as_raw() && mode_flaw(&found).is_some() && !is_shared(found.mode()) {
        // As with a volume that every user may write to. What other users have put there is found below.
        set_permissions(&real, Permissions::from_mode(found.mode() & 0o7755)).map_err(failed)?;
    }
    check_folder(&real).map_err(|bad| untrusted_state(&bad, &real))?;
    let is_ours =
        |name: &OsStr| STATE_NAMES.iter().any(|ours| name.as_encoded_bytes().starts_with(ours.as_bytes()));
    for entry in real.read_dir().map_err(failed)?.flatten().filter(|entry| is_ours(&entry.file_name())) {
        check_below(&entry.path(), STATE_DEPTH).map_err(|bad| untrusted_state(&bad, &real))?;
    }
    Ok(real)
}

fn untrusted_state(bad: &BadFolder, folder: &Path) -> Failure {
    let path = bad.path.display();
    let help = match bad.flaw {
        // Removing the access of other users would lock them out.
        Flaw::Open(mode) if is_shared(mode) => "name another folder with --state-dir".to_owned(),
        _ if !bad.path.starts_with(folder) => "name another folder with --state-dir".to_owned(),
        Flaw::Link | Flaw::NoFile => {
            format!("remove it (`rm {path}`), or name another folder with --state-dir")
        }
        Flaw::Foreign(_) => {
            format!(
                "give it to root (`chown -h root {path}`) if you know who made it, or name another folder with --state-dir"
            )
        }
        Flaw::Open(_) => {
            format!("take it from others (`chmod go-w {path}`), or name another folder with --state-dir")
        }
    };
    let message =
        format!("state folder: {bad}: other users could make root read or write any file\n  help: {help}");
    Failure::failed(message)
}

/// Starts to connect to a store; a local one is started by `start`. Needs a running runtime.
pub(crate) fn open_store(
    url: &StoreUrl,
    cluster: &ClusterName,
    state_dir: &Path,
    start: StartLocal,
) -> Result<Arc<dyn Store>, Failure> {
    store::open(url, cluster, state_dir, start).map_err(|error| match url {
        StoreUrl::Redis(_) | StoreUrl::Postgres(_) => Failure::store(&url.to_string(), &error),
        StoreUrl::Local | StoreUrl::LocalPath(_) => Failure::new(Exit::StoreUnreachable, error.to_string()),
    })
}

/// Finds and loads only the file, and returns it with its warnings. The failure's message has all problems of the file.
pub(crate) fn load_file(
    global: &GlobalArgs,
    flags: Overrides<'_>,
    purpose: Purpose,
) -> Result<(Source, Config, Vec<Problem>), Failure> {
    let source = config::find(global.config.as_deref(), purpose)
        .map_err(|error| Failure::new(Exit::BadConfig, error.to_string()))?;
    let overrides = Overrides { store: global.store.as_deref(), ..flags };
    match config::load(&source, &overrides, &env) {
        Ok((config, warnings)) => Ok((source, config, warnings)),
        Err(problems) => Err(Failure::drawn(config::render(problems.as_slice(), &source, colour()))),
    }
}

/// Returns a variable of the environment.
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether problems are printed in colour on stderr.
pub(crate) fn colour() -> bool {
    std::io::stderr().is_terminal() && env("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the folder of the run logs and of the local store.
pub(crate) fn state_dir(flag: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(folder) = flag {
        return Ok(folder.to_owned());
    }
    // systemd separates several folders by colons.
    if let Some(folders) = env("STATE_DIRECTORY").filter(|folders| !folders.is_empty()) {
        return Ok(folders.split(':').next().unwrap_or_default().into());
    }
    let system = Path::new(SYSTEM_STATE_DIR);
    if nix::unistd::access(system, AccessFlags::W_OK).is_ok() {
        return Ok(system.to_owned());
    }
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".local/state"));
    let state = absolute("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            "no state folder: neither XDG_STATE_HOME nor HOME is set; name one with --state-dir",
        )
    })?;
    Ok(state.join("solocron"))
}
