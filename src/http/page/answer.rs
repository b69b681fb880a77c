//! Answers that are pages, and those that send a browser elsewhere.

use askama::Template;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::http::route::problem::ProblemDetails;
use crate::http::state::HttpOptions;

use super::assets::ASSETS;
use super::shell::{HtmlSentence, PageTitle, excerpt, rendered};

/// A page that cannot be shown for now is loaded again after so many seconds.
pub(crate) const LOADED_AGAIN: u32 = 5;

/// The longest path that a page names, in characters.
const LONGEST_PATH: usize = 200;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorBody<'a> {
    base: &'a str,
    title: &'a str,
    detail: &'a str,
    help: &'a str,
    can_log_in: bool,
    /// After how many seconds the page is loaded again.
    again: Option<u32>,
}

#[derive(Template)]
#[template(path = "absent.html")]
struct AbsentBody<'a> {
    base: &'a str,
    path: &'a str,
}

/// A page without anything of the cluster's state.
#[derive(Template)]
#[template(path = "plain.html")]
struct PlainPage<'a> {
    cluster: &'a str,
    base: &'a str,
    title: PageTitle<'a>,
    style: &'a str,
    icon: &'a str,
    body: String,
    /// After how many seconds it is loaded again.
    again: Option<u32>,
}

/// Returns the answer that contains a page.
pub(crate) fn html(status: StatusCode, page: String) -> Response<Body> {
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    // One address has a page and the stream of its changes; and what it shows depends on who looks.
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept, cookie, authorization"));
    response
}

/// Returns the answer that sends a browser to another path of this server.
pub(crate) fn see_other(path: &str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let to = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, to);
    response
}

/// Returns an error as a page, for a request with these headers. It never repeats what the request contained.
pub(crate) fn error_page(
    problem: ProblemDetails,
    options: &HttpOptions,
    headers: &HeaderMap,
) -> Response<Body> {
    error_page_that(None, problem, options, headers)
}

/// Returns an error as a page, at an address that only shows something. While that cannot be shown for now, as without the store,
/// the page is loaded again and again: who has opened it sees by it when all is well again.
pub(crate) fn unshown_page(
    problem: ProblemDetails,
    options: &HttpOptions,
    headers: &HeaderMap,
) -> Response<Body> {
    let is_for_now = problem.status == StatusCode::SERVICE_UNAVAILABLE;
    error_page_that(is_for_now.then_some(LOADED_AGAIN), problem, options, headers)
}

fn error_page_that(
    again: Option<u32>,
    problem: ProblemDetails,
    options: &HttpOptions,
    headers: &HeaderMap,
) -> Response<Body> {
    let (status, retry_after) = (problem.status, problem.retry_after);
    let base = base_of(options, headers);
    // Whoever reads any other error has logged in, or gains nothing by it.
    let asks_for_token = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS);
    let body = ErrorBody {
        base,
        title: problem.title,
        detail: problem.detail.as_deref().unwrap_or_default(),
        help: problem.help.as_deref().unwrap_or_default(),
        can_log_in: !options.tokens.is_empty() && asks_for_token,
        again,
    };
    let title = PageTitle { text: problem.title, nav: "" };
    let page = plain_page_that(again, options, base, title, rendered(&body));
    let mut response = html(status, page);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Returns the page at an address that does not exist. It names the path, and nothing else of the request.
pub(crate) fn absent_page(parts: &Parts, options: &HttpOptions) -> Response<Body> {
    let base = base_of(options, &parts.headers);
    let path = excerpt(parts.uri.path(), LONGEST_PATH);
    let body = rendered(&AbsentBody { base, path: &path });
    let title = PageTitle { text: "No such page", nav: "" };
    html(StatusCode::NOT_FOUND, plain_page(options, base, title, body))
}

/// Returns a page without anything of the cluster's state around this body.
pub(crate) fn plain_page(options: &HttpOptions, base: &str, title: PageTitle<'_>, body: String) -> String {
    plain_page_that(None, options, base, title, body)
}

fn plain_page_that(
    again: Option<u32>,
    options: &HttpOptions,
    base: &str,
    title: PageTitle<'_>,
    body: String,
) -> String {
    let [style, _, icon] = &ASSETS.addresses;
    rendered(&PlainPage { cluster: &options.cluster, base, title, style, icon, body, again })
}

/// Returns the path before every link, for a browser that names the host of `url`; empty for all others.
pub(crate) fn base_of<'o>(options: &'o HttpOptions, headers: &HeaderMap) -> &'o str {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let url = options.url.as_ref().filter(|url| url.authority.eq_ignore_ascii_case(host));
    url.map_or("", |url| url.path.as_str())
}
