//! `/api/v1/runs/RUN`: one run, as an element of `history --format json`.

use axum::body::Body;
use axum::http::{Response, StatusCode};

use crate::http::board::Unread;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::{JobName, RunId};
use crate::store::KEPT_ENTRIES;
use crate::view::history::TickView;
use crate::view::job::{JobState, KnownJob};
use crate::view::snapshot::Snapshot;

use super::jobs::known;
use super::parameters::Parameters;
use super::reply::{ApiResult, json, of_store, settled, turn};

/// Answers with one run.
pub(crate) async fn run(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(found(shared, call).await)
}

async fn found(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    let given = Parameters::of(call, &["job"])?;
    let (job, run) = named_run(shared, call, &given).await?;
    let job = known(shared, &job).await?;
    let tick = tick_of(shared, job, run).await?.ok_or_else(no_such_run)?;
    json(&if call.shows_output { tick } else { tick.without_output() })
}

/// Returns the run that the path names, and its job, which may be a parameter.
///
/// # Errors
/// If there is none, as far as is known without reading the store.
pub(super) async fn named_run(
    shared: &HttpState,
    call: &AdmittedRequest,
    given: &Parameters,
) -> Result<(JobName, RunId), ProblemDetails> {
    let run: RunId = call.path("run").and_then(|id| id.parse().ok()).ok_or_else(no_run_id)?;
    let job = match given.text("job") {
        Some(name) => JobName::parse(name).map_err(|_| Unread::NoSuchJob(None))?,
        None => shared.board.job_of_run(run).await?.ok_or_else(not_found_without_job)?,
    };
    Ok((job, run))
}

/// Reads the run from the history of its job, or from its record.
pub(super) async fn tick_of(
    shared: &HttpState,
    job: KnownJob,
    run: RunId,
) -> Result<Option<TickView>, ProblemDetails> {
    let store = turn(shared).await?;
    let snapshot = Snapshot::take(&*store, vec![job], KEPT_ENTRIES).await;
    let snapshot = snapshot.map_err(|error| of_store(&error))?;
    Ok(snapshot.jobs.iter().flat_map(JobState::past).find(|tick| tick.run == Some(run)))
}

pub(super) fn no_such_run() -> ProblemDetails {
    ProblemDetails::new(StatusCode::NOT_FOUND, "no such run")
        .help(format!("the store keeps the newest {KEPT_ENTRIES} ticks of each job"))
}

fn no_run_id() -> ProblemDetails {
    ProblemDetails::new(StatusCode::NOT_FOUND, "no such run")
        .help("write the whole id, as `/api/v1/history` and `solocron history --format json` have it")
}

fn not_found_without_job() -> ProblemDetails {
    ProblemDetails::new(StatusCode::NOT_FOUND, "no such run is known here")
        .help("this replica knows the newest runs of all jobs: name the job of an older one with `?job=`")
}
