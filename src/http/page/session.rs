//! Logging in and out. The form sends the token once; the browser gets a cookie for it, and no page contains the token.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

use crate::http::access::cookie::{CookieScope, SessionCookie};
use crate::http::access::origin::RequestOrigin;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::serve::too_many;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::{HttpOptions, HttpState};

use super::answer::{base_of, error_page, html, plain_page, see_other};
use super::shell::{PageTitle, encoded, rendered};

/// The longest token that is looked up, in bytes: longer than any that is accepted.
const LONGEST_TOKEN: usize = 4 << 10;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginForm<'a> {
    base: &'a str,
    next: &'a str,
    /// What is wrong with the last try.
    wrong: &'a str,
    has_tokens: bool,
}

/// Returns the path of the login below the base of links, from where a browser comes back to `next`.
pub(crate) fn login_address(next: &str) -> String {
    if next == "/" { "/login".to_owned() } else { format!("/login?next={}", encoded(next)) }
}

/// Answers with the form.
pub(crate) fn login_form(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    let options = shared.options.borrow().clone();
    let next = own_path(call.query("next"));
    html(StatusCode::OK, form(&options, call, &next, ""))
}

/// Takes the token of the form: logs the browser in, or says that the token is wrong.
pub(crate) async fn log_in(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let options = shared.options.borrow().clone();
    if !RequestOrigin::is_own_form(&call.parts) {
        return error_page(foreign_form(), &options, &call.parts.headers);
    }
    let fields = call.form().await.unwrap_or_default();
    let value = |name: &str| fields.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
    let next = own_path(value("next"));
    let token = value("token").filter(|token| token.len() <= LONGEST_TOKEN).unwrap_or_default();
    let Some(token) = options.tokens.find(token.trim()) else {
        let wait = shared.count_wrong_token(&call.parts).await;
        return match wait {
            Some(wait) => error_page(too_many(wait), &options, &call.parts.headers),
            None => html(
                StatusCode::UNAUTHORIZED,
                form(&options, &call, &next, "This is no token of this cluster."),
            ),
        };
    };
    let now = shared.store_now();
    let scope = CookieScope::of(&options, shared.address, &call.parts.headers);
    let cookie = SessionCookie::begin(token.name.clone(), now).header(token, &scope, now);
    with_cookie(see_other(&format!("{}{next}", base_of(&options, &call.parts.headers))), cookie)
}

/// Makes the browser forget its cookie.
pub(crate) fn log_out(shared: &HttpState, call: &AdmittedRequest) -> Response<Body> {
    let options = shared.options.borrow().clone();
    if !RequestOrigin::is_own_form(&call.parts) {
        return error_page(foreign_form(), &options, &call.parts.headers);
    }
    let scope = CookieScope::of(&options, shared.address, &call.parts.headers);
    let home = format!("{}/login", base_of(&options, &call.parts.headers));
    with_cookie(see_other(&home), scope.clear())
}

fn foreign_form() -> ProblemDetails {
    ProblemDetails::new(StatusCode::FORBIDDEN, "this form comes from no page of this server")
        .help("open the page at this address itself, and log in there")
}

fn with_cookie(mut response: Response<Body>, cookie: Option<HeaderValue>) -> Response<Body> {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn form(options: &HttpOptions, call: &AdmittedRequest, next: &str, wrong: &str) -> String {
    let base = base_of(options, &call.parts.headers);
    let has_tokens = !options.tokens.is_empty();
    let body = rendered(&LoginForm { base, next, wrong, has_tokens });
    plain_page(options, base, PageTitle { text: "Log in", nav: "/login" }, body)
}

/// Returns where a browser goes after the login: a path of this server, and no other address.
pub(crate) fn own_path(next: Option<String>) -> String {
    let is_own = |next: &String| {
        // Browsers take `//` and `/\` for the beginning of another server's address, and ignore tabs and newlines.
        next.starts_with('/')
            && !next.starts_with("//")
            && next.len() <= 2_048
            && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    next.filter(is_own).unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_login_a_browser_stays_on_this_server() {
        for (next, expected) in [
            ("/", "/"),
            ("/jobs/backup?at=02%3A30", "/jobs/backup?at=02%3A30"),
            ("", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("javascript:alert(1)", "/"),
            ("/\t/evil.example", "/"),
            ("/a\r\nset-cookie: x=y", "/"),
            ("jobs", "/"),
        ] {
            assert_eq!(own_path(Some(next.to_owned())), expected, "{next:?}");
        }
        assert_eq!(own_path(None), "/");
        assert_eq!(own_path(Some(format!("/{}", "a".repeat(3_000)))), "/");
        assert_eq!(login_address("/jobs/a?at=1"), "/login?next=%2Fjobs%2Fa%3Fat%3D1");
    }
}
