//! `/api/v1/jobs` and what is below it: the list of jobs, one job, its coming ticks, and why a tick ran or did not.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde::Serialize;

use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::JobName;
use crate::store::{KEPT_ENTRIES, StoreError};
use crate::view::explanation::{Unexplained, When};
use crate::view::job::{ComingTick, Definition, JobCondition, JobQuery, KnownJob};
use crate::view::snapshot::Snapshot;
use crate::view::status::{JobView, StatusView};
use crate::view::text::time_format::Rfc3339;

use super::parameters::Parameters;
use super::reply::{ApiResult, job_of, json, of_store, settled, tagged, turn};
use super::status::StatusAnswer;

/// The last page that can be asked for.
const LAST_PAGE: usize = 1_000_000;

/// The most coming ticks of one answer, and how many there are if nothing is said.
const COMING: (usize, usize) = (1_000, 10);

/// A page of the list of jobs.
#[derive(Debug, Serialize)]
struct JobsAnswer {
    /// The instant up to which all of it is known.
    as_of: Rfc3339,
    /// How many jobs match, on all pages.
    matching: usize,
    /// This page, from 1.
    page: usize,
    pages: usize,
    /// How many jobs there are, and how many are in each condition, whatever was asked for.
    counts: BTreeMap<&'static str, usize>,
    /// The jobs, as in `status`.
    jobs: Vec<JobView>,
}

/// What happened to one instant of a job, and why.
#[derive(Debug, Serialize)]
struct WhyAnswer {
    as_of: Rfc3339,
    job: JobName,
    /// In one or a few sentences.
    explanation: String,
}

/// Answers with a page of the list of jobs.
pub(crate) async fn jobs(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(page(shared, call).await)
}

/// Returns which jobs the address asks for.
fn query_of(call: &AdmittedRequest) -> Result<JobQuery, ProblemDetails> {
    let given = Parameters::of(call, &["q", "is", "page"])?;
    let words = JobCondition::ALL.map(JobCondition::as_str).join(", ");
    Ok(JobQuery {
        text: given.text("q").unwrap_or_default().to_owned(),
        conditions: given.words("is", &format!("one of {words}"), JobCondition::parse)?,
        page: given.number("page", 1..=LAST_PAGE, 1)?,
    })
}

async fn page(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    let query = query_of(call)?;
    let listed = shared.board.list().await?;
    let page = listed.list.page(&query);
    let view = shared.board.view(&page.jobs).await?;
    tagged(call, &view.version, || {
        let mut counts: BTreeMap<&'static str, usize> = JobCondition::ALL
            .into_iter()
            .map(|condition| (condition.as_str(), listed.list.count(Some(condition))))
            .collect();
        counts.insert("all", listed.list.count(None));
        let status = shared.board.expecting(|expected| StatusView::of(&view.snapshot, expected));
        json(&JobsAnswer {
            as_of: Rfc3339(view.as_of.min(listed.as_of)),
            matching: page.wanted,
            page: page.page,
            pages: page.pages,
            counts,
            jobs: status.jobs,
        })
    })
}

/// Answers with one job, as `status JOB`.
pub(crate) async fn job(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(one(shared, call).await)
}

async fn one(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    Parameters::of(call, &[])?;
    let view = shared.board.view_one(&job_of(call)?).await?;
    tagged(call, &view.version, || json(&StatusAnswer::of(shared, &view)))
}

/// Answers with the coming ticks of one job, as `next JOB`.
pub(crate) async fn next_ticks(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(coming(shared, call).await)
}

async fn coming(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    let given = Parameters::of(call, &["n"])?;
    let (job, count) = (job_of(call)?, given.number("n", 1..=COMING.0, COMING.1)?);
    let spec = shared.options.borrow().jobs.get(&job).cloned();
    let Some(spec) = spec else {
        // A job that only the store knows has no schedule that this replica knows.
        shared.board.knows(&job).await?;
        return json(&Vec::<ComingTick<'_>>::new());
    };
    let now = shared.store_now();
    let ticks = spec.schedule.ticks_after(now).take(if spec.enabled { count } else { 0 });
    let ticks: Vec<_> = ticks.map(|tick| ComingTick::of(Some(&job), &spec.schedule, tick)).collect();
    json(&ticks)
}

/// Answers why a tick of one job ran or did not, as `why JOB TIME`.
pub(crate) async fn why(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    settled(explained(shared, call).await)
}

async fn explained(shared: &HttpState, call: &AdmittedRequest) -> ApiResult {
    let given = Parameters::of(call, &["at"])?;
    let no_time = ProblemDetails::new(StatusCode::BAD_REQUEST, "`at` is not a time");
    let time = match given.text("at").map(When::read) {
        Some(Ok(time)) => time,
        Some(Err(error)) => return Err(no_time.help(error.help)),
        None => {
            return Err(
                no_time.help("write `?at=02:30` in the job's time zone, or `?at=2026-11-23T02:30:00Z`")
            );
        }
    };
    let job = job_of(call)?;
    let known = known(shared, &job).await?;
    let store = turn(shared).await?;
    let snapshot = async {
        let mut snapshot = Snapshot::take(&*store, vec![known], KEPT_ENTRIES).await?;
        snapshot.ask_why(&*store).await;
        Ok::<_, StoreError>(snapshot)
    };
    let snapshot = snapshot.await.map_err(|error| of_store(&error))?;
    let state = snapshot.jobs.first().expect("one job was asked for");
    let explanation = time.explain(state, &snapshot).map_err(|error| unexplained(&error))?;
    json(&WhyAnswer { as_of: Rfc3339(snapshot.now), job, explanation })
}

/// Returns a job with what the file of this replica says about it.
///
/// # Errors
/// If neither the file nor the store has it.
pub(crate) async fn known(shared: &HttpState, job: &JobName) -> Result<KnownJob, ProblemDetails> {
    let spec = shared.options.borrow().jobs.get(job).cloned();
    if let Some(spec) = spec {
        return Ok(spec.into());
    }
    shared.board.knows(job).await?;
    Ok(KnownJob { name: job.clone(), definition: Definition::Absent })
}

fn unexplained(error: &Unexplained) -> ProblemDetails {
    match error {
        Unexplained::Unread(why) => {
            ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "the store's data of the job cannot be read")
                .detail(why.clone())
        }
        // The message names the time as it was understood, and nothing else of the address.
        Unexplained::NoInstant(error) => ProblemDetails::new(StatusCode::BAD_REQUEST, "no such time")
            .detail(error.message.clone())
            .help(error.help.clone()),
    }
}
