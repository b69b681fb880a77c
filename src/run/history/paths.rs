//! The files of all runs in the state directory. Other replicas may add and delete files during a listing.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::job::{JobName, RunId};
use crate::run::history::running_sign;
use crate::run::output::log_parts;
use crate::time::UtcMillis;

/// What one run has left on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFiles {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
    /// When any of them was last written.
    pub(crate) modified: UtcMillis,
    pub(crate) bytes: u64,
    /// Whether the run is running.
    pub(crate) running: bool,
}

/// Returns the path of a run's file with this extension.
pub(crate) fn path(state_dir: &Path, job: &JobName, run: RunId, extension: &str) -> PathBuf {
    folder(state_dir, job).join(format!("{run}.{extension}"))
}

/// Returns the folder of all runs.
pub(crate) fn all(state_dir: &Path) -> PathBuf {
    state_dir.join("runs")
}

/// Returns the folder of a job's runs.
pub(crate) fn folder(state_dir: &Path, job: &JobName) -> PathBuf {
    all(state_dir).join(job.as_str())
}

/// Creates a folder and those above it, closed to other users.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o750).create(path)
}

/// Lists the runs that have files. Skips what cannot be read.
pub(crate) fn list(state_dir: &Path) -> Vec<RunFiles> {
    jobs(state_dir).into_iter().flat_map(|job| list_job(state_dir, &job)).collect()
}

/// Lists the jobs that have a folder.
pub(crate) fn jobs(state_dir: &Path) -> Vec<JobName> {
    let names = entries(&all(state_dir)).filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| JobName::parse(&name).ok()).collect()
}

/// Lists the runs of one job that have files.
pub(crate) fn list_job(state_dir: &Path, job: &JobName) -> Vec<RunFiles> {
    let mut runs: BTreeMap<RunId, RunFiles> = BTreeMap::new();
    for entry in entries(&folder(state_dir, job)) {
        let (path, name) = (entry.path(), entry.file_name());
        let Some((run, kind)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        let is_log = kind == "log" || kind.starts_with("log.");
        let (Ok(run), Ok(metadata)) = (run.parse(), entry.metadata()) else { continue };
        let none =
            RunFiles { job: job.clone(), run, modified: UtcMillis(i64::MIN), bytes: 0, running: false };
        let files = runs.entry(run).or_insert(none);
        files.modified = files.modified.max(modified(&metadata));
        files.bytes += if is_log { metadata.len() } else { 0 };
        files.running |= !is_log && running_sign::is_live(&path);
    }
    runs.into_values().collect()
}

/// Deletes the files of a run, unless it is running after all.
pub(crate) fn delete(state_dir: &Path, files: &RunFiles) -> io::Result<()> {
    let of = |extension| path(state_dir, &files.job, files.run, extension);
    if running_sign::is_live(&of("running")) {
        return Ok(());
    }
    log_parts::remove(&of("log"))?;
    ["running", "running-new"].into_iter().try_for_each(|extension| remove_file(&of(extension)))
}

/// Removes a file, if it exists: another replica that shares the directory may have removed it first.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn modified(metadata: &Metadata) -> UtcMillis {
    let at = metadata.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
    UtcMillis::from_timestamp(at.unwrap_or(Timestamp::MIN))
}
