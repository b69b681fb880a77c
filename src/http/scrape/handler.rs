//! Answers a scrape.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use futures_util::stream;

use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::metrics::{ExpositionFormat, SeriesMode};

use super::figures::figures_of;

/// Answers a scrape. `?jobs=all`, `trouble` or `none` says which jobs have series.
pub(crate) fn metrics(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    if call.parameters().iter().filter(|(name, _)| name == "jobs").count() > 1 {
        return ProblemDetails::new(StatusCode::BAD_REQUEST, "`jobs` is given more than once")
            .help("write it once")
            .into_response();
    }
    let mode = match call.query("jobs").map(|word| SeriesMode::parse(&word)) {
        None => None,
        Some(Some(mode)) => Some(mode),
        Some(None) => {
            return ProblemDetails::new(StatusCode::BAD_REQUEST, "no such mode of series")
                .help("write `jobs=all`, `jobs=trouble` or `jobs=none`")
                .into_response();
        }
    };
    shared.note_scrape();
    let format = ExpositionFormat::accepted(call.header(header::ACCEPT));
    let scrape = shared.metrics.scrape(&figures_of(shared), &shared.tally, shared.job_part(mode));
    let pieces = scrape.into_pieces(format).map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(stream::iter(pieces)));
    let content_type = HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}
