//! How many files the replica may have open: as many as the machine allows, since each run takes several; the jobs get
//! the limit that the replica was started with.

use std::io;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The soft and the hard limit before they were raised.
static STARTED_WITH: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises the soft limit to the hard one. To be called once, before the first run.
pub fn raise_file_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let _ = STARTED_WITH.set((soft, hard));
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

/// Gives a job the limit that the replica was started with. Async-signal-safe.
pub(super) fn restore_file_limit() -> io::Result<()> {
    match STARTED_WITH.get() {
        Some((soft, hard)) => Ok(setrlimit(Resource::RLIMIT_NOFILE, *soft, *hard)?),
        None => Ok(()),
    }
}
