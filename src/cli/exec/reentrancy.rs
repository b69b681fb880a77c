//! Locks that are held already, by the job or the `exec` that this process runs within.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::job::JobName;
use crate::lease::Record;
use crate::run::{Enclosing, enclosing_runs};
use crate::store::{Store, StoreError};

/// Returns the enclosing run that holds the lock, if one does: its command may start at once. Two conditions must hold: this
/// process is stopped together with that run, and the store's record names the run as the holder. One alone would not do:
/// variables are copied to other machines, and a run may have lost its lock.
pub(crate) async fn holder_around(
    store: &dyn Store,
    lock: &JobName,
) -> Result<Option<Enclosing>, StoreError> {
    let around: Vec<Enclosing> = enclosing_runs().into_iter().filter(|run| run.job == *lock).collect();
    if around.is_empty() {
        return Ok(None);
    }
    store.ready().await?;
    let record = store.record_of(lock).await?;
    Ok(record.and_then(|record| around.into_iter().find(|run| is_holder(run, &record))))
}

fn is_holder(run: &Enclosing, record: &Record) -> bool {
    record.is_running() && record.run == Some(run.run) && record.fence == run.fence
}

/// Replaces this process by the command, which therefore stays a part of the run, and whose exit code is this process's.
/// Returns only with an error.
pub(crate) fn become_command(within: &Enclosing, words: &[OsString]) -> io::Error {
    let variables = within.variables.iter().map(|(name, value)| (name, value));
    Command::new(&words[0]).args(&words[1..]).envs(variables).exec()
}

#[cfg(test)]
mod tests {
    use crate::job::{Fence, RunId};
    use crate::lease::{Era, Phase};

    use super::*;

    #[test]
    fn only_the_run_that_holds_the_lock_now_lends_it() {
        let run = RunId::new();
        let within = |run, fence| Enclosing {
            job: JobName::parse("a").expect("name"),
            run,
            fence: Fence(fence),
            variables: Vec::new(),
        };
        let empty = Record::empty(Era::default());
        let held = Record { phase: Phase::Running, run: Some(run), fence: Fence(7), ..empty };
        assert!(is_holder(&within(run, 7), &held));
        assert!(!is_holder(&within(run, 6), &held));
        assert!(!is_holder(&within(RunId::new(), 7), &held));
        assert!(!is_holder(&within(run, 7), &Record { phase: Phase::Idle, ..held }));
    }
}
