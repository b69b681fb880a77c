//! The end of what runs printed that failed, as the store keeps it. It never changes, and is read once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::job::{JobName, RunId};
use crate::store::StoreError;

use super::board_view::Board;

/// Of so many runs the end is kept in memory, of the newest.
const MOST: usize = 128;

/// The end of a run's output is looked for in so many of the newest entries of its job.
const NEWEST: usize = 8;

/// A run that has ended, and its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedRun {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
}

/// What was read; `None` for a run whose entry was not found.
#[derive(Debug, Default)]
pub(super) struct KeptTails(Mutex<BTreeMap<RunId, Option<String>>>);

impl KeptTails {
    /// Returns the jobs of which something was not read.
    fn unread(&self, runs: &[EndedRun]) -> Vec<JobName> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unread = runs.iter().filter(|ended| !kept.contains_key(&ended.run));
        unread.map(|ended| ended.job.clone()).collect()
    }

    /// Takes in what was found of runs that were looked for.
    fn take_in(&self, looked_for: &[EndedRun], found: impl Iterator<Item = (RunId, String)>) {
        let found: BTreeMap<RunId, String> = found.collect();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for EndedRun { run, .. } in looked_for {
            kept.entry(*run).or_insert_with(|| found.get(run).cloned());
        }
        // Ids of runs are in the order of time.
        while kept.len() > MOST {
            kept.pop_first();
        }
    }

    /// Returns what is known of these runs.
    fn of(&self, runs: &[EndedRun]) -> BTreeMap<RunId, String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.iter().filter_map(|ended| Some((ended.run, kept.get(&ended.run)?.clone()?))).collect()
    }
}

impl Board {
    /// Returns the end of what these runs printed, as far as the store has it and answers.
    pub(crate) async fn tails(&self, runs: &[EndedRun]) -> BTreeMap<RunId, String> {
        if let Err(error) = self.read_tails(runs).await {
            tracing::debug!(%error, "the end of output not read for HTTP");
        }
        self.tails.of(runs)
    }

    async fn read_tails(&self, runs: &[EndedRun]) -> Result<(), StoreError> {
        let jobs = self.tails.unread(runs);
        if jobs.is_empty() || self.store().is_none() {
            return Ok(());
        }
        let Some(store) = self.turn().await else { return Ok(()) };
        let history = store.history(&jobs, NEWEST).await?;
        drop(store);
        let entries = history.into_iter().flat_map(|(_, entries)| entries);
        self.tails.take_in(runs, entries.filter_map(|entry| entry.run.zip(entry.tail)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended() -> EndedRun {
        EndedRun { job: JobName::parse("backup").expect("a name"), run: RunId::new() }
    }

    #[test]
    fn what_was_looked_for_is_not_looked_for_again_and_the_newest_are_kept() {
        let tails = KeptTails::default();
        let (one, other) = (ended(), ended());
        let both = [one.clone(), other.clone()];
        assert_eq!(tails.unread(&both).len(), 2);
        tails.take_in(&both, [(one.run, "the end\n".to_owned()), (RunId::new(), String::new())].into_iter());
        assert_eq!(tails.unread(&both), []);
        assert_eq!(tails.of(&both), BTreeMap::from([(one.run, "the end\n".to_owned())]));
        let many: Vec<EndedRun> = (0..MOST).map(|_| ended()).collect();
        tails.take_in(&many, std::iter::empty());
        assert_eq!(tails.unread(&both).len(), 2, "they are older than the others");
        assert_eq!(tails.unread(&many), []);
    }
}
