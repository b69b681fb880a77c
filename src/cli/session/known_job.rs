//! The jobs that a command may name: those of jobs.toml, and those that only the store knows, because they were removed or
//! renamed, or are locks of `exec`. A name that neither knows is refused.

use std::sync::Arc;

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::job::{JobName, nearest};
use crate::store::{FailureCause, Store, StoreError};
use crate::view::job::{Definition, KnownJob, NOT_IN_FILE};

use super::find_job::unknown;
use super::target::ClusterTarget;

/// Prints a note on stderr if the file does not name the job.
pub(crate) fn note_absence(job: &KnownJob, screen: &mut Screen<'_>) {
    if matches!(job.definition, Definition::Absent) {
        screen.say(&format!("note: `{}` is {NOT_IN_FILE}\n", job.name));
    }
}

/// Connects to the store, and finds these jobs in the file or in the store. Notes on stderr which of them the file lacks.
pub(crate) async fn reach_jobs(
    names: &[JobName],
    place: &ClusterTarget,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<(Arc<dyn Store>, Vec<KnownJob>), Failure> {
    let jobs: Vec<KnownJob> = names.iter().map(|name| place.job(name)).collect();
    let is_open = |job: &&KnownJob| matches!(job.definition, Definition::Absent | Definition::Unknown);
    let open: Vec<JobName> = jobs.iter().filter(is_open).map(|job| job.name.clone()).collect();
    let absent = jobs.iter().find(|job| matches!(job.definition, Definition::Absent));
    if let Some(KnownJob { name, .. }) = absent
        && place.expect_store_file(global).is_err()
    {
        return Err(unknown_to_all(name, place, &[]));
    }
    let store = screen.during(FOR_STORE, place.reach(global)).await;
    let store = store.map_err(|failure| noting(failure, place, absent))?;
    if let Some(name) = screen.during(FOR_STORE, first_unknown(&open, &*store)).await? {
        // If the store's names cannot be listed, only those of the file can be suggested.
        let names = store.jobs().await.unwrap_or_default();
        return Err(unknown_to_all(name, place, &names));
    }
    jobs.iter().for_each(|job| note_absence(job, screen));
    Ok((store, jobs))
}

/// The same; without a name, for all jobs of the file and of the store.
pub(crate) async fn reach_jobs_or_all(
    names: &[JobName],
    place: &ClusterTarget,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<(Arc<dyn Store>, Vec<KnownJob>), Failure> {
    if !names.is_empty() {
        return reach_jobs(names, place, global, screen).await;
    }
    let store = screen.during(FOR_STORE, place.reach(global)).await?;
    let jobs = all_jobs(place, &*store, screen).await?;
    Ok((store, jobs))
}

/// Returns every job of the file, and those that only the store knows.
async fn all_jobs(
    place: &ClusterTarget,
    store: &dyn Store,
    screen: &mut Screen<'_>,
) -> Result<Vec<KnownJob>, Failure> {
    let mut jobs = place.jobs();
    match screen.during(FOR_STORE, store.jobs()).await {
        Ok(names) => jobs.extend(names.iter().map(|name| place.job(name))),
        Err(error) if error.cause() == Some(&FailureCause::NoRight) && !jobs.is_empty() => {
            screen.say(&format!("note: jobs that are {NOT_IN_FILE} cannot be listed: {error}\n"));
        }
        Err(error) => return Err(Failure::store(&store.label(), &error)),
    }
    jobs.sort_by(|one, other| one.name.cmp(&other.name));
    jobs.dedup_by(|one, other| one.name == other.name);
    Ok(jobs)
}

/// Returns the first of these names that the store does not know.
async fn first_unknown<'n>(names: &'n [JobName], store: &dyn Store) -> Result<Option<&'n JobName>, Failure> {
    let failed = Failure::of(store);
    let known = store.known(names).await.map_err(&failed)?;
    for (name, _) in names.iter().zip(known).filter(|(_, is_known)| !is_known) {
        match store.record_of(name).await {
            Ok(None) => return Ok(Some(name)),
            // A record that cannot be read exists.
            Ok(Some(_)) | Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(None)
}

/// Returns the failure for a name that is neither in the file nor among those that the store knows.
pub(crate) fn unknown_to_all(name: &JobName, place: &ClusterTarget, stored: &[JobName]) -> Failure {
    let jobs = place.jobs();
    let mut names: Vec<&JobName> = jobs.iter().map(|job| &job.name).chain(stored).collect();
    names.sort();
    names.dedup();
    let whence = match place.file_path() {
        Some(path) if stored.is_empty() => path,
        Some(path) => format!("{path} or the store"),
        None => "the store".to_owned(),
    };
    unknown(name, &whence, &names)
}

/// Returns the failure to connect to the store, with a note of the name that is not in the file, and of the nearest one.
fn noting(failure: Failure, place: &ClusterTarget, absent: Option<&KnownJob>) -> Failure {
    let (Some(absent), Some(path)) = (absent, place.file_path()) else { return failure };
    let jobs = place.jobs();
    let meant = nearest(absent.name.as_str(), jobs.iter().map(|job| job.name.as_str()));
    let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
    let message = format!("{}\n  note: there is no job `{}` in {path}{meant}", failure.message, absent.name);
    Failure::new(Exit::StoreUnreachable, message)
}
