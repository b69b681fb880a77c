//! `POST /api/v1/jobs/JOB/trigger` and the other acts, for programs.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};

use crate::http::acts::{ActAnswer, ActFields, AdmittedAct, WantedAct, act_of, perform};
use crate::http::page::base_of;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::RunId;
use crate::operate::audit::ActKind;

use super::jobs::known;
use super::reply::{ApiResult, job_of, json, settled};

/// The header by which a client repeats a request to run a job without running it twice.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Does what a request wants of a job.
pub(crate) async fn act(shared: &Arc<HttpState>, call: &AdmittedRequest) -> Response<Body> {
    settled(acted(shared, call).await)
}

async fn acted(shared: &Arc<HttpState>, call: &AdmittedRequest) -> ApiResult {
    let act = act_of(call.route)
        .ok_or_else(|| ProblemDetails::new(StatusCode::NOT_FOUND, "there is no such act"))?;
    let (fields, order) = (ActFields::of_json(call)?, order_of(call)?);
    let job = known(shared, &job_of(call)?).await?;
    let wanted = WantedAct::read(act, &fields, &job, order, shared.store_now())?;
    let wanted = AdmittedAct::of(call, job, wanted)
        .ok_or_else(|| ProblemDetails::new(StatusCode::UNAUTHORIZED, "token needed"))?;
    let answer = perform(shared, wanted).await?;
    let mut response = json(&answer)?;
    *response.status_mut() = answer.status();
    if let Some(run) = run_address(shared, call, &answer) {
        response.headers_mut().insert(header::LOCATION, run);
    }
    Ok(response)
}

/// Returns the id of an order: that of the client, so that it may send the request again, or a new one.
fn order_of(call: &AdmittedRequest) -> Result<RunId, ProblemDetails> {
    let mut keys = call.parts.headers.get_all(KEY).iter();
    let Some(key) = keys.next() else { return Ok(RunId::new()) };
    let key = key.to_str().ok().filter(|_| keys.next().is_none()).and_then(|key| key.parse().ok());
    key.ok_or_else(|| {
        ProblemDetails::new(StatusCode::BAD_REQUEST, "bad `Idempotency-Key`")
            .help("send one UUID: a new one for each run that is wanted, the same one to try again")
    })
}

/// Returns the address of the run that a trigger has started.
fn run_address(shared: &HttpState, call: &AdmittedRequest, answer: &ActAnswer) -> Option<HeaderValue> {
    let run = answer.run.filter(|_| answer.act == ActKind::Trigger)?;
    let options = shared.options.borrow();
    let base = base_of(&options, &call.parts.headers);
    HeaderValue::from_str(&format!("{base}/api/v1/runs/{run}?job={}", answer.job)).ok()
}
