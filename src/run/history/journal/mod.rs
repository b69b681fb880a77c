//! `runs.jsonl`: one line per finished run, oldest first. Replicas that share a state directory write it one at a
//! time, and a crash that tears a line loses only that line.

use std::collections::VecDeque;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::config::LogRetention;
use crate::run::error::RunError;
use crate::run::output::log_file;
use crate::run::output::log_file::LogFile;
use crate::time::UtcMillis;

use super::disk::Disk;
use super::paths::create_folder;
use super::retention::kept;
use super::run_entry::RunEntry;

/// Longest wait for another replica's write. A compaction takes well below a second.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// No single step takes longer on a disk that answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause between two tries for the lock: the kernel notifies only processes that block on it.
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// The journal is compacted only if it has grown by this many bytes and a quarter since the last time, so that the
/// cost of compaction per line stays constant.
const GROWTH: u64 = 64 * 1024;

/// How many lines that could not be written are kept in memory for the next write; beyond this, the oldest are lost.
const LATE_LINES: usize = 1_000;

/// The journal of a state directory.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    lock: PathBuf,
    disk: Disk,
    queue: Arc<JournalQueue>,
    /// Its owner writes the lines of all callers that wait.
    turn: tokio::sync::Mutex<()>,
    /// The file's length in bytes after the last compaction by this process.
    compacted: AtomicU64,
}

/// Lines that wait to be written to the journal. The thread that has written a line removes it, even if no caller
/// waits for that thread any more.
#[derive(Debug, Default)]
struct JournalQueue(Mutex<VecDeque<JournalLine>>);

#[derive(Debug)]
struct JournalLine {
    number: u64,
    text: Vec<u8>,
    /// Sends the result to the caller that waits for the line.
    told: Option<oneshot::Sender<Result<(), Arc<RunError>>>>,
}

impl JournalQueue {
    fn lines(&self) -> MutexGuard<'_, VecDeque<JournalLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line at the end. The returned channel receives the result of the first attempt to write it.
    fn push(&self, text: Vec<u8>) -> oneshot::Receiver<Result<(), Arc<RunError>>> {
        let (told, written) = oneshot::channel();
        let mut lines = self.lines();
        let number = lines.back().map_or(0, |last| last.number + 1);
        lines.push_back(JournalLine { number, text, told: Some(told) });
        written
    }

    /// Appends all lines that wait by now to the file.
    fn write_to(&self, path: &Path) -> io::Result<()> {
        let (last, text) = {
            let lines = self.lines();
            let Some(last) = lines.back() else { return Ok(()) };
            (last.number, lines.iter().flat_map(|line| &line.text).copied().collect::<Vec<u8>>())
        };
        LogFile::open(path)?.append_all_or_nothing(&text)?;
        let mut lines = self.lines();
        while lines.front().is_some_and(|line| line.number <= last)
            && let Some(line) = lines.pop_front()
        {
            // No caller waits for a line that is written late, or the caller was cancelled.
            if let Some(told) = line.told {
                let _ = told.send(Ok(()));
            }
        }
        Ok(())
    }

    /// Sends the error to all callers that wait, as nothing could be written; drops the oldest lines beyond
    /// `LATE_LINES`.
    fn failed(&self, error: RunError) {
        let error = Arc::new(error);
        let mut lines = self.lines();
        for line in lines.iter_mut() {
            if let Some(told) = line.told.take() {
                // The caller may have been cancelled.
                let _ = told.send(Err(Arc::clone(&error)));
            }
        }
        while lines.len() > LATE_LINES {
            lines.pop_front();
        }
    }
}

impl Journal {
    pub(super) fn new(state_dir: &Path, disk: Disk) -> Self {
        Self {
            path: state_dir.join("runs.jsonl"),
            lock: state_dir.join("runs.lock"),
            disk,
            queue: Arc::default(),
            turn: tokio::sync::Mutex::default(),
            compacted: AtomicU64::new(0),
        }
    }

    /// Appends an entry. After an error its line is kept in memory, and is written before the next one that can be.
    pub(super) async fn append(&self, entry: &RunEntry) -> Result<(), Arc<RunError>> {
        let mut line = serde_json::to_vec(entry).expect("an entry has string keys and no failing values");
        line.push(b'\n');
        let mut written = self.queue.push(line);
        let told = "who writes tells all that wait";
        // Lines of runs that end together share one lock and one write. A caller that has its result does not write
        // once more.
        let turn = tokio::select! {
            biased;
            written = &mut written => return written.expect(told),
            turn = self.turn.lock() => turn,
        };
        self.write(turn).await;
        written.await.expect(told)
    }

    /// Writes the lines that are left from earlier.
    pub(super) async fn flush(&self) {
        self.write(self.turn.lock().await).await;
    }

    async fn write(&self, _turn: tokio::sync::MutexGuard<'_, ()>) {
        if self.queue.lines().is_empty() {
            return;
        }
        let (queue, path) = (Arc::clone(&self.queue), self.path.clone());
        if let Err(error) = self.under_lock(move || queue.write_to(&path)).await {
            self.queue.failed(error);
        }
    }

    /// Removes the lines that `policy` does not keep.
    pub(super) async fn compact(&self, policy: LogRetention, now: UtcMillis) -> Result<(), RunError> {
        self.flush().await;
        let grown_to = self.compacted.load(Ordering::Relaxed);
        let path = self.path.clone();
        let measured = self.blocking(move || Ok(fs::metadata(path).map_or(0, |metadata| metadata.len())));
        let length = measured.await?;
        if length == 0 || (grown_to > 0 && length < grown_to + grown_to / 4 + GROWTH) {
            return Ok(());
        }
        let path = self.path.clone();
        let left = self.under_lock(move || rewrite(&path, &policy, now)).await?;
        self.compacted.store(left, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the entries that can be read, oldest first. Blocks on the file.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = RunEntry>, RunError> {
        let lines = lines(&self.path).map_err(|error| RunError::file(&self.path, error))?;
        Ok(lines.filter_map(|line| serde_json::from_slice(&line).ok()))
    }

    /// Does this work once, under the lock that all writers take, as soon as that is free.
    async fn under_lock<T: Send + 'static>(
        &self,
        work: impl Fn() -> io::Result<T> + Clone + Send + 'static,
    ) -> Result<T, RunError> {
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            let (lock, work) = (self.lock.clone(), work.clone());
            match self.blocking(move || if_free(&lock, work)).await? {
                Some(done) => return Ok(done),
                None if Instant::now() < deadline => sleep(LOCK_RETRY).await,
                None => {
                    let seconds = LOCK_WAIT.as_secs();
                    return Err(RunError::JournalHeld { path: self.lock.clone(), seconds });
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

/// Does the work under the lock; `None` if another process holds it. The file is unlocked, and not just closed: a
/// child that is being started has a copy of it until its exec.
fn if_free<T>(lock: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<Option<T>> {
    lock.parent().map_or(Ok(()), create_folder)?;
    let file = log_file::options().open(lock)?;
    match file.try_lock() {
        Ok(()) => {
            let done = work();
            file.unlock().and(done).map(Some)
        }
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the journal's lines, whole or torn; none if the file does not exist.
fn lines(path: &Path) -> io::Result<impl Iterator<Item = Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let lines = file.map(|file| BufReader::new(file).split(b'\n').map_while(Result::ok));
    Ok(lines.into_iter().flatten())
}

/// Rewrites the journal without lines that are not kept or cannot be read. Returns its length in bytes.
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
    // Without the sync, a power cut after the rename could leave neither the old lines nor the new.
    file.sync_data()?;
    fs::rename(&new, path)?;
    file.metadata().map(|metadata| metadata.len())
}

#[cfg(test)]
mod tests;
