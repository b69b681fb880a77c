//! The limit of open files. The replica raises it as far as the machine allows, since each run takes several files;
//! jobs get the limit with which the replica was started.

use std::io;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The soft and the hard limit before they were raised.
static STARTED_WITH: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises the soft limit to the hard one. To be called once, before the first run.
///
/// # Errors
///
/// Fails if the system does not return or set the limit.
pub fn raise_file_limit() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let _ = STARTED_WITH.set((soft, hard));
    Ok(setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?)
}

/// Returns the soft and the hard limit with which the replica was started; `None` if they were not raised since.
pub(crate) fn file_limit_at_start() -> Option<(u64, u64)> {
    STARTED_WITH.get().copied()
}
