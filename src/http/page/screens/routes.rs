//! The routes of the page.

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};

use crate::http::page::assets::asset_answer;
use crate::http::page::session::{log_in, log_out, login_form};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::{AdmittedRequest, Handler, Route, RouteAccess};

use super::act::{act, act_form};
use super::screen::{home, job, replicas, run};

/// The paths of acts for people: the last part names the act.
const PAGE_ACTS: [&str; 5] = [
    "/jobs/{job}/trigger",
    "/jobs/{job}/pause",
    "/jobs/{job}/resume",
    "/jobs/{job}/kill",
    "/jobs/{job}/unlock",
];

/// Returns every route of the page.
pub(in crate::http) fn page_routes() -> Vec<Route> {
    let mut routes = vec![
        read("/", |shared, call| Box::pin(async move { home(shared, call).await })),
        read("/jobs/{job}", |shared, call| Box::pin(async move { job(shared, call).await })),
        read("/jobs/{job}/runs/{run}", |shared, call| Box::pin(async move { run(shared, call).await })),
        read("/replicas", |shared, call| Box::pin(async move { replicas(shared, call).await })),
        open(Method::GET, "/login", |shared, call| Box::pin(async move { login_form(&shared, &call) })),
        open(Method::POST, "/login", |shared, call| Box::pin(async move { log_in(shared, call).await })),
        open(Method::POST, "/logout", |shared, call| Box::pin(async move { log_out(&shared, &call) })),
        open(Method::GET, "/assets/{file}", |_, call| Box::pin(async move { asset(&call) })),
    ];
    routes.extend(PAGE_ACTS.into_iter().flat_map(|path| {
        let form: Handler = |shared, call| Box::pin(async move { act_form(shared, call).await });
        let sent: Handler = |shared, call| Box::pin(async move { act(shared, call).await });
        let act = Route { access: RouteAccess::Act, ..open(Method::POST, path, sent) };
        [read(path, form), act]
    }));
    routes
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
