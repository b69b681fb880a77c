//! Makes sure that nothing is left of a run of an earlier process of this replica.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::hold::context::Context;
use crate::hold::lease_file::entry::LeaseNote;
use crate::run::{SignState, sweep};

use super::orphans::Orphan;

/// Processes that SIGKILL does not end within this long hang in the kernel.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// The pause between two checks of a sign that another process has locked: the kernel reports that it is free only to
/// callers that block.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Why a missing sign proves nothing.
const NO_SIGN: &str = "RUN.running is missing or cannot be read: it is unknown whether the run's \
    guard is alive";

/// Why it proves nothing that no process is found, if no guard watched all descendants of the run.
const NO_GUARD: &str = "its guard was killed too, and processes without the run's environment, or of other users, cannot be found \
    without it";

/// Why an orphan may still be running.
#[derive(Debug)]
pub(super) enum StillAlive {
    /// Whether it is running cannot be seen from here: the job's record decides.
    Unseen(&'static str),
    /// Another process has its sign locked.
    Held,
    /// So many of its processes cannot be killed; the first of them.
    Unkilled(usize, nix::unistd::Pid),
    /// Its processes cannot be searched for.
    Hidden(io::Error),
}

impl fmt::Display for StillAlive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen(why) => f.write_str(why),
            Self::Held => f.write_str("its guard, or a second replica of this name, has RUN.running locked"),
            Self::Unkilled(count, pid) => {
                write!(f, "{count} of its processes cannot be killed, process {pid} the first")
            }
            Self::Hidden(error) => write!(f, "its processes cannot be looked for: {error}"),
        }
    }
}

/// Waits until neither an earlier process of this replica nor the run's guard has the sign locked, and kills what is
/// left. If there is no sign, or the guard was killed before it saw the run's end, nothing is certain: processes of
/// the run may have cleared their environment, or belong to another user, so that no search finds them.
pub(super) async fn make_sure(context: &Arc<Context>, orphan: &Orphan) -> Result<(), StillAlive> {
    let is_noted_as_running = matches!(orphan.note, Some(LeaseNote::Running { .. }));
    if is_noted_as_running && orphan.sign.is_none() {
        return Err(StillAlive::Unseen(NO_SIGN));
    }
    let let_go = async {
        loop {
            match sign_state(context, orphan).await {
                SignState::Held => tokio::time::sleep(LOOK_PAUSE).await,
                state => return state,
            }
        }
    };
    let let_go = tokio::time::timeout(orphan.kill_limit(), let_go).await;
    let state = let_go.map_err(|_| StillAlive::Held)?;
    if state == SignState::Missing && is_noted_as_running {
        return Err(StillAlive::Unseen(NO_SIGN));
    }
    if matches!(orphan.note, Some(LeaseNote::Ended(_))) {
        // What a run left behind that ended by itself is not touched.
        return Ok(());
    }
    let left = sweep(orphan.run, SWEEP_LIMIT).await.map_err(StillAlive::Hidden)?;
    match left.first() {
        Some(pid) => Err(StillAlive::Unkilled(left.len(), *pid)),
        None if state == SignState::Free && is_noted_as_running => Err(StillAlive::Unseen(NO_GUARD)),
        None => Ok(()),
    }
}

async fn sign_state(context: &Arc<Context>, orphan: &Orphan) -> SignState {
    let (context, job, run) = (Arc::clone(context), orphan.job.clone(), orphan.run);
    let asking = tokio::task::spawn_blocking(move || context.logs.sign_state(&job, run));
    asking.await.expect("asking for a lock neither panics nor is it aborted")
}
