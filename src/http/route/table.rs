//! The table of routes. The router is made from it, so that no path is served that is not in it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Query;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use futures_util::future::BoxFuture;

use crate::http::state::Shared;
use crate::http::{health, scrape};

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// Nothing: everybody may send it.
    Open,
    /// The right to read, once there are tokens.
    Metrics,
    /// The right to read.
    Read,
    /// The right to act.
    Act,
}

/// One kind of request.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    /// The path, with `{name}` for its variable parts.
    pub(crate) path: &'static str,
    pub(crate) access: RouteAccess,
    /// Whether it may name any host: probes and scrapers reach a replica by whatever name they have for it.
    pub(crate) takes_any_host: bool,
    pub(crate) handler: Handler,
}

/// Answers a request that was admitted.
pub(crate) type Handler = fn(Arc<Shared>, AdmittedRequest) -> BoxFuture<'static, Response<Body>>;

/// A request that was admitted.
#[derive(Debug)]
pub(crate) struct AdmittedRequest {
    pub(crate) parts: Parts,
}

impl AdmittedRequest {
    /// Returns the value of a parameter of the address; `None` if it is absent.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&self.parts.uri).ok()?;
        pairs.into_iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Returns the value of a header; empty if it is absent, or is no text.
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Every route.
pub(crate) fn routes() -> Vec<Route> {
    let open = |path, handler| Route {
        method: Method::GET,
        path,
        access: RouteAccess::Open,
        takes_any_host: true,
        handler,
    };
    vec![
        open("/healthz", |shared, _| Box::pin(async move { healthz(&shared) })),
        open("/readyz", |shared, _| Box::pin(async move { readyz(&shared) })),
        Route {
            access: RouteAccess::Metrics,
            ..open("/metrics", |shared, call| Box::pin(async move { scrape::metrics(&shared, &call) }))
        },
    ]
}

fn healthz(shared: &Shared) -> Response<Body> {
    match shared.progress.is_recent(shared.clock.boot()) {
        true => text(StatusCode::OK, "ok\n"),
        false => text(StatusCode::SERVICE_UNAVAILABLE, "the replica's loop does not move\n"),
    }
}

fn readyz(shared: &Shared) -> Response<Body> {
    let reasons = health::not_ready(&shared.facts.borrow(), shared.clock.boot());
    match reasons.is_empty() {
        true => text(StatusCode::OK, "ok\n"),
        false => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{}\n", reasons.join(" "))),
    }
}

fn text(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
impl Route {
    /// Returns an open route of a test, whose handler answers with nothing.
    pub(crate) fn of_test(method: Method, path: &'static str) -> Self {
        let handler: Handler = |_, _| Box::pin(async { Response::new(Body::empty()) });
        Self { method, path, access: RouteAccess::Open, takes_any_host: false, handler }
    }
}
