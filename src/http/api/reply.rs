//! Answers of the API: JSON, and errors in the words of the commands.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::http::board::{StoreTurn, Unread};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::JobName;
use crate::store::StoreError;

/// The description of the API, for programs.
pub(crate) const OPENAPI: &str = include_str!("openapi.json");

/// An answer, or what is wrong.
pub(super) type ApiResult = Result<Response<Body>, ProblemDetails>;

/// Returns the answer for the client.
pub(super) fn settled(answer: ApiResult) -> Response<Body> {
    answer.unwrap_or_else(ProblemDetails::into_response)
}

/// Returns the description of the API.
pub(crate) fn openapi() -> Response<Body> {
    of_json(OPENAPI.to_owned())
}

/// Returns a value as JSON.
pub(super) fn json(value: &impl Serialize) -> ApiResult {
    let text = serde_json::to_string(value);
    let failed = |_| ProblemDetails::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer cannot be written");
    text.map(|text| of_json(text + "\n")).map_err(failed)
}

/// Returns a value as JSON with this version, or that the client has it already.
pub(super) fn tagged(call: &AdmittedRequest, version: &str, value: impl FnOnce() -> ApiResult) -> ApiResult {
    let tag = format!("\"{version}\"");
    let mut response = if has_it(call.header(header::IF_NONE_MATCH), &tag) {
        let mut unchanged = Response::new(Body::empty());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        value()?
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    // It may be kept, and is asked about each time.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response)
}

/// Whether `If-None-Match` names this tag.
fn has_it(named: &str, tag: &str) -> bool {
    named.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
}

fn of_json(text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the job that the path names.
///
/// # Errors
/// If it is no name.
pub(super) fn job_of(call: &AdmittedRequest) -> Result<JobName, ProblemDetails> {
    call.path("job").and_then(|name| JobName::parse(name).ok()).ok_or_else(|| no_such_job(None))
}

/// Returns the error for a job that nobody knows; with the nearest name.
fn no_such_job(nearest: Option<&JobName>) -> ProblemDetails {
    let problem = ProblemDetails::new(StatusCode::NOT_FOUND, "no such job");
    match nearest {
        Some(nearest) => problem.help(format!("did you mean `{nearest}`?")),
        None => problem.help("`/api/v1/jobs` and `solocron status` list the jobs"),
    }
}

impl From<Unread> for ProblemDetails {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::NoSuchJob(nearest) => no_such_job(nearest.as_ref()),
            Unread::Store => no_store(),
        }
    }
}

/// Waits for a turn to read the store.
///
/// # Errors
/// If the store does not answer.
pub(super) async fn turn(shared: &HttpState) -> Result<StoreTurn<'_>, ProblemDetails> {
    if shared.facts.borrow().is_store_away {
        return Err(no_store());
    }
    shared.board.turn().await.ok_or_else(no_store)
}

/// Returns the error while nothing was read from the store.
fn no_store() -> ProblemDetails {
    ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer")
        .help("`/readyz` says whether this replica reaches it, and the replica's log says why not")
        .retry_after(1)
}

/// Returns the error for a request that the store did not answer, or refused.
pub(super) fn of_store(error: &StoreError) -> ProblemDetails {
    let problem = ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer")
        .detail(error.to_string())
        .retry_after(1);
    match error.help() {
        Some(help) => problem.help(help),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_an_answer_if_it_names_its_tag() {
        for (named, expected) in [
            ("", false),
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("\"b\"", false),
            ("a", false),
            ("*", true),
        ] {
            assert_eq!(has_it(named, "\"a\""), expected, "{named}");
        }
    }
}
