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

/// The soft and the hard limit that the replica was started with, if they were raised since.
pub(crate) fn file_limit_at_start() -> Option<(u64, u64)> {
    STARTED_WITH.get().copied()
}
