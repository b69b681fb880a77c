//! The table of routes. The router is made from it, so that no path is served that is not in it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use futures_util::future::BoxFuture;

use crate::http::access::visitor::Visitor;
#[cfg(test)]
use crate::http::access::visitor::VisitorProof;
use crate::http::scrape::health;
use crate::http::state::HttpState;
use crate::http::{api, live, page, scrape};

/// The paths of acts for programs: the last part names the act.
const API_ACTS: [&str; 5] = [
    "/api/v1/jobs/{job}/trigger",
    "/api/v1/jobs/{job}/pause",
    "/api/v1/jobs/{job}/resume",
    "/api/v1/jobs/{job}/kill",
    "/api/v1/jobs/{job}/unlock",
];

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteAccess {
    /// Nothing: everybody may send it.
    Open,
    /// The right to read, once there are tokens.
    Metrics,
    /// Nothing, where there is something to log in to.
    Login,
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
    /// Whether people see the answer: then errors are pages too, and who needs a token is sent to the login.
    pub(crate) is_page: bool,
    /// Whether it may name any host: probes and scrapers reach a replica by whatever name they have for it.
    pub(crate) takes_any_host: bool,
    pub(crate) handler: Handler,
}

/// Answers a request that was admitted.
pub(crate) type Handler = fn(Arc<HttpState>, AdmittedRequest) -> BoxFuture<'static, Response<Body>>;

/// A request that was admitted.
#[derive(Debug)]
pub(crate) struct AdmittedRequest {
    /// The path of its route, with `{name}` for its variable parts.
    pub(crate) route: &'static str,
    pub(crate) parts: Parts,
    /// The whole body; empty if there is none.
    pub(crate) body: Bytes,
    /// Who sent it.
    pub(crate) visitor: Visitor,
    /// Whether the answer may contain what jobs print: only who sent a token sees it.
    pub(crate) shows_output: bool,
}

impl AdmittedRequest {
    /// Returns a variable part of the path, as it stands in the address; `None` if the route has none of this name. Names and
    /// ids contain nothing that addresses escape.
    pub(crate) fn path(&self, name: &str) -> Option<&str> {
        part_of_path(self.route, self.parts.uri.path(), name)
    }

    /// Returns the parameters of the address, in their order.
    pub(crate) fn parameters(&self) -> Vec<(String, String)> {
        Query::try_from_uri(&self.parts.uri).map(|Query(pairs)| pairs).unwrap_or_default()
    }

    /// Returns the value of a parameter of the address; `None` if it is absent.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        self.parameters().into_iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Returns the fields of a form; `None` if the body is none.
    pub(crate) async fn form(&self) -> Option<Vec<(String, String)>> {
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = Method::POST;
        let kind = self.parts.headers.get(header::CONTENT_TYPE)?.clone();
        request.headers_mut().insert(header::CONTENT_TYPE, kind);
        let Form(fields) = Form::<Vec<(String, String)>>::from_request(request, &()).await.ok()?;
        Some(fields)
    }

    /// Returns the value of a header; empty if it is absent, or is no text.
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        self.parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Returns a variable part of a path, as it stands there; `None` if the route has none of this name.
pub(crate) fn part_of_path<'p>(route: &str, path: &'p str, name: &str) -> Option<&'p str> {
    let mut parts = route.split('/').zip(path.split('/'));
    let is_it = |part: &str| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) == Some(name);
    parts.find(|(part, _)| is_it(part)).map(|(_, value)| value)
}

/// Every route.
pub(crate) fn routes() -> Vec<Route> {
    let open = |path, handler| Route {
        method: Method::GET,
        path,
        access: RouteAccess::Open,
        is_page: false,
        takes_any_host: true,
        handler,
    };
    let read =
        |path, handler| Route { access: RouteAccess::Read, takes_any_host: false, ..open(path, handler) };
    let mut routes = vec![
        open("/healthz", |shared, _| Box::pin(async move { healthz(&shared) })),
        open("/readyz", |shared, _| Box::pin(async move { readyz(&shared) })),
        Route {
            access: RouteAccess::Metrics,
            ..open("/metrics", |shared, call| Box::pin(async move { scrape::metrics(&shared, &call) }))
        },
        // It holds no data; still, elsewhere than on loopback nothing but health and metrics is served without tokens.
        Route {
            access: RouteAccess::Login,
            takes_any_host: false,
            ..open("/api/v1/openapi.json", |_, _| Box::pin(async { api::openapi() }))
        },
    ];
    routes.extend([
        read("/api/v1/status", |shared, call| Box::pin(async move { api::status(&shared, &call).await })),
        read("/api/v1/replicas", |shared, call| Box::pin(async move { api::replicas(&shared, &call).await })),
        read("/api/v1/jobs", |shared, call| Box::pin(async move { api::jobs(&shared, &call).await })),
        read("/api/v1/jobs/{job}", |shared, call| Box::pin(async move { api::job(&shared, &call).await })),
        read("/api/v1/jobs/{job}/next", |shared, call| {
            Box::pin(async move { api::next_ticks(&shared, &call).await })
        }),
        read("/api/v1/jobs/{job}/why", |shared, call| {
            Box::pin(async move { api::why(&shared, &call).await })
        }),
        read("/api/v1/history", |shared, call| Box::pin(async move { api::history(&shared, &call).await })),
        read("/api/v1/runs/{run}", |shared, call| Box::pin(async move { api::run(&shared, &call).await })),
        read("/api/v1/runs/{run}/log", |shared, call| {
            Box::pin(async move { api::log(&shared, &call).await })
        }),
        read("/api/v1/events", |shared, call| Box::pin(async move { live::events(shared, &call) })),
    ]);
    routes.extend(API_ACTS.map(|path| Route {
        method: Method::POST,
        access: RouteAccess::Act,
        ..read(path, |shared, call| Box::pin(async move { api::act(&shared, &call).await }))
    }));
    routes.extend(page::page_routes());
    routes
}

fn healthz(shared: &HttpState) -> Response<Body> {
    match shared.progress.is_recent(shared.clock.boot()) {
        true => text(StatusCode::OK, "ok\n"),
        false => text(StatusCode::SERVICE_UNAVAILABLE, "the replica's loop does not move\n"),
    }
}

fn readyz(shared: &HttpState) -> Response<Body> {
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
impl AdmittedRequest {
    /// Returns a request of a test to this route, by somebody without a token.
    pub(crate) fn of_test(route: &'static str, address: &str) -> Self {
        let request = Request::builder().uri(address).body(()).expect("a request");
        let visitor = Visitor { may: None, proof: VisitorProof::Nothing };
        Self { route, parts: request.into_parts().0, body: Bytes::new(), visitor, shows_output: false }
    }
}

#[cfg(test)]
impl Route {
    /// Returns an open route of a test, whose handler answers with nothing.
    pub(crate) fn of_test(method: Method, path: &'static str) -> Self {
        let handler: Handler = |_, _| Box::pin(async { Response::new(Body::empty()) });
        Self { method, path, access: RouteAccess::Open, is_page: false, takes_any_host: false, handler }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
