//! `runs.jsonl`: one line per finished run, oldest first. Replicas that share a state directory write it one at a time, and
//! a line torn by a crash costs only itself.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::disk::Disk;
use super::entry::RunEntry;
use super::error::RunError;
use super::log_file::{self, LogFile};
use super::retention::{LogRetention, kept};
use super::run_files::create_folder;
use crate::job::UtcMillis;

/// Longest wait for another replica's write. A compaction takes well below a second.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// No single step takes longer on a disk that answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two tries for the lock; the kernel tells nobody that it is free but those who block.
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// The journal is read through only when it grew by this and a quarter since the last time, so that the cost of
/// compaction per line stays constant.
const GROWTH: u64 = 64 * 1024;

/// The journal of a state directory.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    lock: PathBuf,
    disk: Disk,
    /// Its length after the last compaction of this process.
    compacted: AtomicU64,
}

impl Journal {
    pub(super) fn new(state_dir: &Path, disk: Disk) -> Self {
        Self {
            path: state_dir.join("runs.jsonl"),
            lock: state_dir.join("runs.lock"),
            disk,
            compacted: AtomicU64::new(0),
        }
    }

    /// Appends an entry.
    pub(super) async fn append(&self, entry: &RunEntry) -> Result<(), RunError> {
        let mut line = serde_json::to_vec(entry).expect("an entry has string keys and no failing values");
        line.push(b'\n');
        let lock = self.locked().await?;
        let path = self.path.clone();
        self.blocking(move || {
            let appended = LogFile::open(&path).and_then(|mut file| file.append(&line));
            lock.unlock().and(appended)
        })
        .await
    }

    /// Drops the lines that `policy` does not keep.
    pub(super) async fn compact(&self, policy: LogRetention, now: UtcMillis) -> Result<(), RunError> {
        let grown_to = self.compacted.load(Ordering::Relaxed);
        let path = self.path.clone();
        let measured = self.blocking(move || Ok(fs::metadata(path).map_or(0, |metadata| metadata.len())));
        let length = measured.await?;
        if length == 0 || (grown_to > 0 && length < grown_to + grown_to / 4 + GROWTH) {
            return Ok(());
        }
        let lock = self.locked().await?;
        let path = self.path.clone();
        let left = self.blocking(move || {
            let left = rewrite(&path, &policy, now);
            lock.unlock().and(left)
        });
        self.compacted.store(left.await?, Ordering::Relaxed);
        Ok(())
    }

    /// The entries that can be read, oldest first. Blocks on the file.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = RunEntry>, RunError> {
        let lines = lines(&self.path).map_err(|error| RunError::file(&self.path, error))?;
        Ok(lines.filter_map(|line| serde_json::from_slice(&line).ok()))
    }

    /// Waits for the lock that all writers take. It is to be unlocked, not just closed: a child that is being started has
    /// a copy of the file until its exec.
    async fn locked(&self) -> Result<File, RunError> {
        let path = self.lock.clone();
        let open = move || {
            path.parent().map_or(Ok(()), create_folder)?;
            log_file::options().open(&path)
        };
        let file = self.blocking(open).await?;
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(RunError::file(&self.lock, error)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(LOCK_RETRY).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(RunError::JournalHeld {
                        path: self.lock.clone(),
                        seconds: LOCK_WAIT.as_secs(),
                    });
                }
            }
        }
    }

    async fn blocking<T, F>(&self, work: F) -> Result<T, RunError>
    where
        T: Send + 'static,
        F: FnOnce() -> io::Result<T> + Send + 'static,
    {
        self.disk.work(PATIENCE, work, drop).await.map_err(|error| RunError::file(&self.path, error))
    }
}

/// The journal's lines, whole or torn; none if it is not there.
fn lines(path: &Path) -> io::Result<impl Iterator<Item = Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let lines = file.map(|file| BufReader::new(file).split(b'\n').map_while(Result::ok));
    Ok(lines.into_iter().flatten())
}

/// Writes the journal anew without what is not kept or cannot be read. Returns its length.
fn rewrite(path: &Path, policy: &LogRetention, now: UtcMillis) -> io::Result<u64> {
    let parse = |line: Vec<u8>| serde_json::from_slice::<RunEntry>(&line).ok();
    let facts: Vec<_> =
        lines(path)?.map(|line| parse(line).map(|entry| (entry.job, entry.finished))).collect();
    let readable: Vec<_> =
        facts.iter().flatten().map(|(job, finished)| (job.clone(), finished.unwrap_or_default())).collect();
    let mut verdicts = kept(&readable, policy, now).into_iter();
    let keeps: Vec<bool> =
        facts.iter().map(|fact| fact.is_some() && verdicts.next().unwrap_or(false)).collect();
    if keeps.iter().all(|&keep| keep) {
        return fs::metadata(path).map(|metadata| metadata.len());
    }
    let new = path.with_extension("jsonl-new");
    let mut file = BufWriter::new(log_file::options().append(false).write(true).truncate(true).open(&new)?);
    for (line, _) in lines(path)?.zip(keeps).filter(|(_, keep)| *keep) {
        file.write_all(&line)?;
        file.write_all(b"\n")?;
    }
    let file = file.into_inner()?;
    // Without this, a power cut after the rename could leave neither the old lines nor the new.
    file.sync_data()?;
    fs::rename(&new, path)?;
    file.metadata().map(|metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use super::super::entry::tests::entry;
    use super::*;

    const POLICY: LogRetention =
        LogRetention { keep: Duration::from_secs(100), keep_runs: 2, max_bytes: u64::MAX };

    fn jobs_and_times(journal: &Journal) -> Vec<(String, i64)> {
        let entries = journal.entries().unwrap();
        entries.map(|entry| (entry.job.to_string(), entry.finished.unwrap().0)).collect()
    }

    #[tokio::test]
    async fn a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path(), Disk::default());
        assert_eq!(jobs_and_times(&journal), []);
        journal.append(&entry("a", 1)).await.unwrap();
        let whole = fs::read(&journal.path).unwrap();
        fs::write(&journal.path, [whole.as_slice(), &whole[..whole.len() / 2]].concat()).unwrap();
        journal.append(&entry("b", 2)).await.unwrap();
        assert_eq!(jobs_and_times(&journal), [("a".into(), 1), ("b".into(), 2)]);
    }

    #[tokio::test]
    async fn a_journal_that_another_process_holds_is_given_up_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path(), Disk::default());
        let other = log_file::options().open(&journal.lock).unwrap();
        other.lock().unwrap();
        let error = journal.append(&entry("a", 1)).await.expect_err("it is held");
        assert!(error.to_string().contains("runs.lock` is held by another process for over 2 s"), "{error}");
        other.unlock().unwrap();
        journal.append(&entry("a", 1)).await.unwrap();
    }

    #[tokio::test]
    async fn compaction_keeps_the_newest_runs_of_each_job_and_drops_torn_lines() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path(), Disk::default());
        for (job, finished) in [("a", 1_000), ("b", 150_000), ("a", 160_000), ("a", 170_000), ("a", 180_000)]
        {
            journal.append(&entry(job, finished)).await.unwrap();
        }
        LogFile::open(&journal.path).unwrap().append(b"{\"job\":\n").unwrap();
        journal.compact(POLICY, UtcMillis(200_000)).await.unwrap();
        assert_eq!(
            jobs_and_times(&journal),
            [("b".into(), 150_000), ("a".into(), 170_000), ("a".into(), 180_000)]
        );
        assert_eq!(lines(&journal.path).unwrap().count(), 3);
    }
}
