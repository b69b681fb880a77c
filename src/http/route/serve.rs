//! Takes a request from its route through the gate to its handler.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{MethodFilter, on};
use tokio::time::timeout;

use crate::http::access::cookie::CookieScope;
use crate::http::access::gate::{Refusal, admit};
use crate::http::access::headers::protect;
use crate::http::access::visitor::{Visitor, VisitorProof};
use crate::http::acts::{RefusedAct, note_refused};
use crate::http::page::{absent_page, base_of, error_page, login_address, see_other};
use crate::http::state::{HttpOptions, HttpState};

use super::lasting::LastingRequest;
use super::problem::ProblemDetails;
use super::table::{AdmittedRequest, Route, routes};

/// The longest address in a request line, in bytes; the whole head is bounded by the connection.
const LONGEST_URI: usize = 4 << 10;

/// The longest body, in bytes.
const LONGEST_BODY: u64 = 16 << 10;

/// How long a handler may take.
const HANDLED_WITHIN: Duration = Duration::from_secs(10);

/// The address of the client at the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionPeer(pub(crate) SocketAddr);

/// Marks a request on a connection beyond the usual ones, all of which are taken: only probes are answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpareConnection;

/// The paths of probes.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The first segments of paths for programs. Below them, an unknown address is answered with a problem, also to a browser.
const FOR_PROGRAMS: [&str; 4] = ["api", "metrics", "healthz", "readyz"];

/// The way out of an address that does not exist.
const PAGES: &str =
    "the jobs are at `/`, the replicas at `/replicas`, the API below `/api/v1` (see `/api/v1/openapi.json`)";

/// The way out of a request with the wrong method.
const METHODS: &str = "read with GET; acts, log in and log out take POST";

/// Returns the router of all routes.
pub(crate) fn router(shared: Arc<HttpState>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let filter = MethodFilter::try_from(route.method.clone()).unwrap_or(MethodFilter::GET);
        let (path, route) = (route.path, Arc::new(route));
        let handler = move |State(shared): State<Arc<HttpState>>, request: Request| {
            let route = Arc::clone(&route);
            async move {
                let response = serve(Arc::clone(&route), Arc::clone(&shared), request).await;
                shared.tally.count_request(route.path, response.status().as_u16());
                response
            }
        };
        router = router.route(path, on(filter, handler));
    }
    let absent = |State(shared): State<Arc<HttpState>>, request: Request| async move {
        absent(&request.into_parts().0, &shared.options.borrow())
    };
    let other_method = || async {
        ProblemDetails::new(StatusCode::METHOD_NOT_ALLOWED, "this page takes another method")
            .help(METHODS)
            .into_response()
    };
    router
        .fallback(absent)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(Arc::clone(&shared), check_and_protect))
        .with_state(shared)
}

/// Answers at an address that no route has: with a page for a browser, with a problem for a program. Everybody gets the same
/// answer, which holds nothing of the cluster but its name.
fn absent(parts: &Parts, options: &HttpOptions) -> Response<Body> {
    let first = parts.uri.path().split('/').nth(1).unwrap_or_default();
    if accepts(parts, "text/html") && !FOR_PROGRAMS.contains(&first) {
        return absent_page(parts, options);
    }
    ProblemDetails::new(StatusCode::NOT_FOUND, "no such page").help(PAGES).into_response()
}

/// Refuses malformed requests before any route, and sets the headers of every answer.
async fn check_and_protect(
    State(shared): State<Arc<HttpState>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let mut response = match check_form(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => {
            shared.tally.count_refused();
            problem.into_response()
        }
    };
    protect(response.headers_mut());
    response
}

/// Refuses requests for which there is no connection to spare, those that are too long, and those whose body has no length: a
/// proxy in front of this server could see another end of them than this server does.
fn check_form(parts: &Parts) -> Result<(), ProblemDetails> {
    let refuse = |status, title| Err(ProblemDetails::new(status, title));
    if parts.extensions.get::<SpareConnection>().is_some() && !PROBES.contains(&parts.uri.path()) {
        let problem = ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "too many connections");
        return Err(problem.retry_after(1));
    }
    if parts.uri.to_string().len() > LONGEST_URI {
        return refuse(StatusCode::URI_TOO_LONG, "address too long");
    }
    if parts.headers.contains_key(header::TRANSFER_ENCODING) {
        return refuse(StatusCode::LENGTH_REQUIRED, "body without a length");
    }
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0);
    let longest = if parts.method == Method::POST { LONGEST_BODY } else { 0 };
    if length > longest {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "body too long");
    }
    Ok(())
}

async fn serve(route: Arc<Route>, shared: Arc<HttpState>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let (options, now) = (shared.options.borrow().clone(), shared.store_now());
    let visitor = match admit(&route, &parts, &options, shared.address, now) {
        Ok(visitor) => visitor,
        Err(Refusal::Plain(problem)) => return refused(&route, problem, &options, &parts.headers),
        Err(Refusal::NoToken(_)) if route.is_page && !accepts(&parts, "text/event-stream") => {
            return to_login(&parts, &options);
        }
        Err(Refusal::NoToken(problem)) => return problem.into_response(),
        Err(Refusal::MayNotAct(problem, by)) => {
            note_refused(
                &shared,
                RefusedAct { route: route.path, parts: &parts, by: &by, problem: &problem },
            )
            .await;
            return refused(&route, problem, &options, &parts.headers);
        }
        Err(Refusal::WrongToken(problem)) => {
            let wait = shared.count_wrong_token(&parts).await;
            return refused(&route, wait.map_or(problem, too_many), &options, &parts.headers);
        }
    };
    // What does not come in time, or is longer than it said, is no request.
    let Ok(Ok(body)) = timeout(HANDLED_WITHIN, to_bytes(body, LONGEST_BODY as usize)).await else {
        return ProblemDetails::new(StatusCode::REQUEST_TIMEOUT, "no whole body in time").into_response();
    };
    let renewed = route.is_page.then(|| renewed_cookie(&visitor, &parts, &options, &shared)).flatten();
    let shows_output = visitor.sees_output();
    let lasting = LastingRequest::of(&route, &parts, &visitor, &shared);
    let call = AdmittedRequest { route: route.path, parts, body, visitor, shows_output };
    let handled = async {
        let large = shared.large_answers.take(route.path, options.jobs.len()).await;
        let response = (route.handler)(Arc::clone(&shared), call).await;
        match large {
            Some(slot) => slot.kept_by(response),
            None => response,
        }
    };
    let mut response = match timeout(HANDLED_WITHIN, handled).await {
        Ok(response) => lasting.limit(response, Arc::clone(&shared)),
        Err(_) => {
            let problem =
                ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "no answer in time").retry_after(1);
            refused(&route, problem, &options, lasting.headers())
        }
    };
    if let Some(cookie) = renewed {
        response.headers_mut().entry(header::SET_COOKIE).or_insert(cookie);
    }
    response
}

/// Returns an error as people or programs read it.
fn refused(
    route: &Route,
    problem: ProblemDetails,
    options: &HttpOptions,
    headers: &HeaderMap,
) -> Response<Body> {
    if route.is_page { error_page(problem, options, headers) } else { problem.into_response() }
}

/// Whether a request names this kind of answer: `text/html` by a browser that opens an address, `text/event-stream` for the
/// changes of a page.
pub(crate) fn accepts(parts: &Parts, kind: &str) -> bool {
    let accept = parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains(kind))
}

/// Sends a browser to the login, from where it comes back.
fn to_login(parts: &Parts, options: &HttpOptions) -> Response<Body> {
    let next = parts.uri.path_and_query().map_or("/", |own| own.as_str());
    see_other(&format!("{}{}", base_of(options, &parts.headers), login_address(next)))
}

/// Returns the header that renews the login of a browser, if it is time for that.
fn renewed_cookie(
    visitor: &Visitor,
    parts: &Parts,
    options: &HttpOptions,
    shared: &HttpState,
) -> Option<HeaderValue> {
    let VisitorProof::Cookie(cookie) = &visitor.proof else { return None };
    let now = shared.store_now();
    let renewed = cookie.renewed(now)?;
    let scope = CookieScope::of(options, shared.address, &parts.headers);
    renewed.header(options.tokens.named(&renewed.name)?, &scope, now)
}

/// Returns the error for an address that has sent too many wrong tokens.
pub(crate) fn too_many(wait: Duration) -> ProblemDetails {
    ProblemDetails::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens")
        .retry_after(wait.as_secs().max(1))
}
