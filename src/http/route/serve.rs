//! Takes a request from its route through the gate to its handler.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{MethodFilter, on};
use tokio::time::{sleep, timeout};

use crate::http::access::gate::{Refusal, admit};
use crate::http::access::headers::protect;
use crate::http::access::throttle::WRONG_TAKES;
use crate::http::state::Shared;

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

/// Returns the router of all routes.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let filter = MethodFilter::try_from(route.method.clone()).unwrap_or(MethodFilter::GET);
        let (path, route) = (route.path, Arc::new(route));
        let handler = move |State(shared): State<Arc<Shared>>, request: Request| {
            let route = Arc::clone(&route);
            async move {
                let response = serve(&route, Arc::clone(&shared), request).await;
                shared.tally.count_request(route.path, response.status().as_u16());
                response
            }
        };
        router = router.route(path, on(filter, handler));
    }
    let refuse = |status, title| move || async move { ProblemDetails::new(status, title).into_response() };
    router
        .fallback(refuse(StatusCode::NOT_FOUND, "no such page"))
        .method_not_allowed_fallback(refuse(StatusCode::METHOD_NOT_ALLOWED, "this page takes another method"))
        .layer(from_fn_with_state(Arc::clone(&shared), check_and_protect))
        .with_state(shared)
}

/// Refuses malformed requests before any route, and sets the headers of every answer.
async fn check_and_protect(
    State(shared): State<Arc<Shared>>,
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

/// Refuses requests that are too long, and those whose body has no length: a proxy in front of this server could see
/// another end of them than this server does.
fn check_form(parts: &Parts) -> Result<(), ProblemDetails> {
    let refuse = |status, title| Err(ProblemDetails::new(status, title));
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

async fn serve(route: &Route, shared: Arc<Shared>, request: Request) -> Response<Body> {
    let (parts, _body) = request.into_parts();
    let options = shared.options.borrow().clone();
    match admit(route, &parts, &options, shared.address) {
        Ok(()) => {}
        Err(Refusal::Plain(problem)) => return problem.into_response(),
        Err(Refusal::WrongToken(problem)) => {
            sleep(WRONG_TAKES).await;
            shared.tally.count_wrong_token();
            let peer = parts.extensions.get::<ConnectionPeer>().map(|peer| peer.0.ip());
            let wait = peer.and_then(|peer| shared.wrong_tokens.count(peer, shared.clock.boot()));
            return wait.map_or(problem, too_many).into_response();
        }
    }
    match timeout(HANDLED_WITHIN, (route.handler)(shared, AdmittedRequest { parts })).await {
        Ok(response) => response,
        Err(_) => ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "no answer in time")
            .retry_after(1)
            .into_response(),
    }
}

fn too_many(wait: Duration) -> ProblemDetails {
    ProblemDetails::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens")
        .retry_after(wait.as_secs().max(1))
}
