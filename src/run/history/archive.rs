//! What this node stores of its runs, under the state directory. A run can be found from its first moment to its
//! deletion. No error of a file stops a job: it is logged, and only what the file would have held is lost.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::LOCAL_STORE_FILE;
use crate::config::LogRetention;
use crate::job::{JobName, NodeName, RunId};
use crate::lease::begins;
use crate::run::attempt::Ended;
use crate::run::attempt::launch::Identity;
use crate::run::error::RunError;
use crate::run::history::{paths, running_sign};
use crate::run::output::disk_reserve::DiskReserve;
use crate::time::UtcMillis;

use super::disk::Disk;
use super::journal::Journal;
use super::retention::{plan, short_of};
use super::run_entry::RunEntry;
use super::run_log::RunLog;
use super::running_sign::{OwnSign, Sign, SignState};
use super::warnings::FileWarnings;

/// Reads the wall clock, which stamps lines and entries, and dates logs for their deletion. No lock depends on it.
pub type WallClock = Arc<dyn Fn() -> UtcMillis + Send + Sync>;

/// The least time between two deletions of old logs: listing every run's files is cheap enough once a minute, and
/// logs do not pile up faster than disks can bear.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

/// How long the start of a run waits for the disk. If that takes longer, the run starts without its log and its sign.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// How long each piece of work on the disk after the end of a run is waited for.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// The stored runs of a state directory; shared by all runs of a replica.
pub struct RunLogs {
    state_dir: PathBuf,
    disk: Disk,
    now: WallClock,
    journal: Journal,
    warnings: FileWarnings,
    /// Whether anything is stored at all.
    is_kept: bool,
    pruned: Mutex<Option<UtcMillis>>,
    /// What was found when logs were last pruned.
    found: Arc<PruneFindings>,
    /// Jobs whose folders were created once. If a folder has gone since, the next run of the job creates it.
    folders: Mutex<HashSet<JobName>>,
}

impl fmt::Debug for RunLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLogs").field("state_dir", &self.state_dir).finish_non_exhaustive()
    }
}

impl RunLogs {
    /// Returns the archive under `state_dir`, which is created when the first run begins.
    pub fn new(state_dir: impl Into<PathBuf>, now: WallClock) -> Self {
        let state_dir = state_dir.into();
        let disk = Disk::default();
        let journal = Journal::new(&state_dir, disk.clone());
        Self {
            state_dir,
            disk,
            now,
            journal,
            warnings: FileWarnings::default(),
            is_kept: true,
            pruned: Mutex::default(),
            found: Arc::default(),
            folders: Mutex::default(),
        }
    }

    /// Returns an archive that writes no file: for runs whose output is not read, and which no replica supervises.
    pub fn unkept(now: WallClock) -> Self {
        Self { is_kept: false, ..Self::new(PathBuf::new(), now) }
    }

    /// Begins a run: from here on it is found as running, until `finish`, or until this process and the run's guard
    /// have ended.
    pub async fn begin(&self, identity: &Identity) -> RunLog {
        let started = begins(identity.cause, identity.tick.instant(), (self.now)());
        let entry = RunEntry::running(identity, started);
        let path = self.log_path(&identity.job, identity.run);
        if !self.is_kept {
            return RunLog::unkept(entry, Arc::clone(&self.now));
        }
        let (sign, shown) = (path.with_extension("running"), entry.clone());
        let put_up = move || {
            sign.parent().map_or(Ok(()), paths::create_folder)?;
            OwnSign::put_up(sign, &shown)
        };
        // A sign that is created too late is removed: the run does not know it, and would not remove it at its end.
        let late = |sign: OwnSign| drop(sign.take_down());
        let sign = self.disk.work(START_PATIENCE, put_up, late).await;
        RunLog::new(entry, self.disk.clone(), path, Arc::clone(&self.now), self.warnings.clone(), sign)
    }

    /// Creates the folders of jobs whose runs are about to begin, so that the runs need not wait for this. Errors are
    /// ignored here: a run meets them again, and logs them, when it begins.
    pub async fn expect(&self, jobs: &[JobName]) {
        let made = || self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        for job in jobs.iter().filter(|_| self.is_kept) {
            if made().contains(job) {
                continue;
            }
            let folder = paths::folder(&self.state_dir, job);
            // One at a time: a slow disk must not be treated as a disk that hangs.
            let created = self.disk.work(START_PATIENCE, move || paths::create_folder(&folder), drop);
            if created.await.is_err() {
                return;
            }
            made().insert(job.clone());
        }
    }

    /// Records that the run has ended with this attempt, counted from 1: first in the journal, then by removing its
    /// sign.
    pub async fn finish(&self, log: RunLog, attempt: u32, ended: &Ended) {
        if !self.is_kept {
            return;
        }
        let (entry, marker) = self.close(log).await;
        let entry = entry.ended(attempt, ended);
        let (job, run) = (&entry.job, entry.run);
        if let Err(error) = self.journal.append(&entry).await {
            self.warnings.journal(job, run, &error);
        }
        self.take_down(job, run, marker).await;
    }

    /// Removes the sign of a run for which nothing was started: nothing of it is stored.
    pub async fn forget(&self, log: RunLog) {
        if !self.is_kept {
            return;
        }
        let (entry, marker) = self.close(log).await;
        self.take_down(&entry.job, entry.run, marker).await;
    }

    async fn close(&self, log: RunLog) -> (RunEntry, Option<OwnSign>) {
        let path = log.path().to_owned();
        let is_there = self.disk.work(END_PATIENCE, move || fs::exists(path), drop).await;
        log.close(is_there.unwrap_or(false), &self.state_dir)
    }

    async fn take_down(&self, job: &JobName, run: RunId, marker: Option<OwnSign>) {
        let Some(marker) = marker else { return };
        if let Err(error) = self.disk.work(END_PATIENCE, move || marker.take_down(), drop).await {
            self.warnings.sign(job, run, &error);
        }
    }

    /// Returns the runs of this replica that have a sign: those that are running, and those that an earlier process
    /// of this replica left behind. Blocks on files.
    pub fn marked(&self, node: &NodeName) -> Vec<Sign> {
        let mut signs = self.signs(&paths::jobs(&self.state_dir));
        signs.retain(|sign| sign.entry.node == *node);
        signs
    }

    /// Records how a run ended whose replica could not do so, and removes its sign.
    pub async fn end_orphan(&self, entry: &RunEntry) {
        let (job, run) = (&entry.job, entry.run);
        let journal = Journal::new(&self.state_dir, self.disk.clone());
        // A crash between the two steps of `finish` leaves both the entry and the sign.
        let is_noted = move || Ok(journal.entries().map(|mut entries| entries.any(|entry| entry.run == run)));
        let noted = match self.disk.work(END_PATIENCE, is_noted, drop).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => self.journal.append(entry).await,
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(RunError::file(&self.state_dir, error).into()),
        };
        if let Err(error) = noted {
            self.warnings.journal(job, run, &error);
        }
        let sign = paths::path(&self.state_dir, job, run, "running");
        if let Err(error) = self.disk.work(END_PATIENCE, move || fs::remove_file(sign), drop).await {
            self.warnings.sign(job, run, &error);
        }
    }

    /// Returns the job's newest run on this node, running or ended. Blocks on files.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read.
    pub fn last_run(&self, job: &JobName) -> Result<Option<RunEntry>, RunError> {
        let running = self.signs(std::slice::from_ref(job)).into_iter().map(|sign| sign.entry);
        let ended = self.journal.entries()?.filter(|entry| entry.job == *job);
        // Of equal entries the last one counts: the journal is a better source than the sign for how a run ended.
        Ok(running.chain(ended).max_by_key(|entry| (entry.started, entry.run)))
    }

    /// Returns a run on this node, running or ended; `None` if there is no such run. Blocks on files.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read.
    pub fn find(&self, run: RunId) -> Result<Option<RunEntry>, RunError> {
        Ok(self.find_all(|found| found == run)?.pop())
    }

    /// Returns the runs on this node whose ids are wanted, running or ended, each once. Blocks on files.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read.
    pub fn find_all(&self, is_wanted: impl Fn(RunId) -> bool) -> Result<Vec<RunEntry>, RunError> {
        let running = self.signs(&paths::jobs(&self.state_dir)).into_iter().map(|sign| sign.entry);
        let ended = self.journal.entries()?;
        let found = running.chain(ended).filter(|entry| is_wanted(entry.run));
        // Of equal entries the last one counts: the journal is a better source than the sign for how a run ended.
        Ok(found.map(|entry| (entry.run, entry)).collect::<BTreeMap<_, _>>().into_values().collect())
    }

    /// Whether the run's sign is held, by its replica or its guard on this machine. Tries one lock: cheap enough for
    /// polling.
    pub fn is_running(&self, job: &JobName, run: RunId) -> bool {
        self.sign_state(job, run) == SignState::Held
    }

    /// Returns the state of the run's sign. Tries one lock, too.
    pub fn sign_state(&self, job: &JobName, run: RunId) -> SignState {
        running_sign::state(&paths::path(&self.state_dir, job, run, "running"))
    }

    /// Returns where the output of a run is stored, if it printed any.
    pub fn log_path(&self, job: &JobName, run: RunId) -> PathBuf {
        paths::path(&self.state_dir, job, run, "log")
    }

    /// Writes the entries that could not be written to the journal so far, if that is possible now.
    pub async fn flush(&self) {
        self.journal.flush().await;
    }

    /// Deletes logs and entries that the policy does not keep. To be called at the start and after runs; does
    /// something once a minute at most.
    pub async fn prune(&self, policy: LogRetention) {
        let now = (self.now)();
        if !self.is_prune_due(now) {
            return;
        }
        let (state_dir, found) = (self.state_dir.clone(), Arc::clone(&self.found));
        let pruning = tokio::task::spawn_blocking(move || {
            prune_files(&state_dir, &policy, now);
            found.look_at(&state_dir);
        });
        pruning.await.expect("deleting logs neither panics nor is it aborted");
        if let Err(error) = self.journal.compact(policy, now).await {
            tracing::warn!(%error, "cannot compact runs.jsonl");
        }
    }

    /// Returns the size of all logs, in bytes, as of the last time that they were pruned.
    pub fn log_bytes(&self) -> u64 {
        self.found.bytes.load(Ordering::Relaxed)
    }

    /// Whether the disk answers, and had room for logs the last time that they were pruned.
    pub fn is_disk_ok(&self) -> bool {
        !self.disk.is_hanging() && !self.found.is_full.load(Ordering::Relaxed)
    }

    fn is_prune_due(&self, now: UtcMillis) -> bool {
        let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was stepped back starts a new minute.
        let due = pruned.is_none_or(|last| now < last || now.since(last) >= PRUNE_EVERY);
        if due {
            *pruned = Some(now);
        }
        due
    }

    /// Returns the signs of these jobs' runs: of those that are running, and of those whose replica crashed. To be
    /// read before the journal: a run that finishes in between is then found in both, and never in neither.
    fn signs(&self, jobs: &[JobName]) -> Vec<Sign> {
        let files = jobs.iter().flat_map(|job| paths::list_job(&self.state_dir, job));
        let paths = files.map(|files| paths::path(&self.state_dir, &files.job, files.run, "running"));
        let signs = paths.filter_map(|path| running_sign::read(&path));
        let signs = signs.map(|sign| Sign { entry: self.with_log(sign.entry), ..sign });
        signs.collect()
    }

    /// Adds the log to the entry, if its file exists by now.
    fn with_log(&self, entry: RunEntry) -> RunEntry {
        let path = self.log_path(&entry.job, entry.run);
        let log = path.exists().then(|| path.strip_prefix(&self.state_dir).unwrap_or(&path).to_owned());
        RunEntry { log, ..entry }
    }
}

/// What was found when logs were last pruned.
#[derive(Debug, Default)]
struct PruneFindings {
    bytes: AtomicU64,
    /// Whether so little of the disk was free that no log is written.
    is_full: AtomicBool,
}

impl PruneFindings {
    fn look_at(&self, state_dir: &Path) {
        let bytes = paths::list(state_dir).iter().map(|run| run.bytes).sum();
        self.bytes.store(bytes, Ordering::Relaxed);
        let is_full = DiskReserve::of(state_dir).is_some_and(|reserve| reserve.check().is_err());
        self.is_full.store(is_full, Ordering::Relaxed);
    }
}

/// Returns how many bytes of logs are to be deleted for the embedded store; 0 if that is not on their disk.
fn shortage(state_dir: &Path) -> u64 {
    let device = |path: &Path| fs::metadata(path).map(|file| file.dev()).ok();
    let logs = paths::all(state_dir);
    let is_shared =
        device(&state_dir.join(LOCAL_STORE_FILE)).is_some_and(|store| Some(store) == device(&logs));
    if is_shared { DiskReserve::of(&logs).map_or(0, DiskReserve::shortage) } else { 0 }
}

fn prune_files(state_dir: &Path, policy: &LogRetention, now: UtcMillis) {
    let files = paths::list(state_dir);
    let shortage = shortage(state_dir);
    let policy = short_of(*policy, shortage, &files);
    let doomed = plan(files, &policy, now);
    if shortage > 0 && !doomed.is_empty() {
        let bytes: u64 = doomed.iter().map(|run| run.bytes).sum();
        tracing::warn!(
            logs = doomed.len(),
            bytes,
            "disk is nearly full: old run logs are deleted, as the store needs room"
        );
    }
    let failed: Vec<_> = doomed.iter().filter_map(|files| paths::delete(state_dir, files).err()).collect();
    if let Some(error) = failed.first() {
        tracing::warn!(logs = failed.len(), %error, "old run logs cannot be deleted");
    }
}
