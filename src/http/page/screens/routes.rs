//! The routes of the page.

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};

use crate::http::page::assets::asset_answer;
use crate::http::page::session::{log_in, log_out, login_form};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::{AdmittedRequest, Handler, Route, RouteAccess};

use super::screen::{home, job, replicas, run};

/// Returns every route of the page.
pub(in crate::http) fn page_routes() -> Vec<Route> {
    vec![
        read("/", |shared, call| Box::pin(async move { home(shared, call).await })),
        read("/jobs/{job}", |shared, call| Box::pin(async move { job(shared, call).await })),
        read("/jobs/{job}/runs/{run}", |shared, call| Box::pin(async move { run(shared, call).await })),
        read("/replicas", |shared, call| Box::pin(async move { replicas(shared, call).await })),
        open(Method::GET, "/login", |shared, call| Box::pin(async move { login_form(&shared, &call) })),
        open(Method::POST, "/login", |shared, call| Box::pin(async move { log_in(shared, call).await })),
        open(Method::POST, "/logout", |shared, call| Box::pin(async move { log_out(&shared, &call) })),
        open(Method::GET, "/assets/{file}", |_, call| Box::pin(async move { asset(&call) })),
    ]
}

fn read(path: &'static str, handler: Handler) -> Route {
    Route { access: RouteAccess::Read, ..open(Method::GET, path, handler) }
}

fn open(method: Method, path: &'static str, handler: Handler) -> Route {
    Route { method, path, access: RouteAccess::Login, is_page: true, takes_any_host: false, handler }
}

fn asset(call: &AdmittedRequest) -> Response<Body> {
    let found = call.path("file").and_then(|name| asset_answer(name, &call.parts.headers));
    found.unwrap_or_else(|| ProblemDetails::new(StatusCode::NOT_FOUND, "no such file").into_response())
}
