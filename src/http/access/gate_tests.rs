//! Every kind of visitor at every kind of route.

use axum::http::{Method, Request};

use crate::http::access::token::{TokenBook, TokenText};

use super::*;

/// 2026-11-20T12:00:00Z.
const NOW: UtcMillis = UtcMillis(1_795_176_000_000);

const READ: &str = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr";
const ACT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn options(with_tokens: bool) -> HttpOptions {
    let named = |name: &str, may, text| {
        let name = TokenName::parse(name).expect("a name");
        TokenText::parse(text).unwrap_or_else(|error| panic!("{}", error.what)).named(name, may)
    };
    let tokens = match with_tokens {
        true => vec![named("grafana", TokenRight::Read, READ), named("maria", TokenRight::Act, ACT)],
        false => Vec::new(),
    };
    HttpOptions { tokens: TokenBook::new(tokens).expect("they differ"), ..HttpOptions::default() }
}

/// Returns the status that a request gets; 200 if it reaches its handler.
fn status(access: RouteAccess, token: Option<&str>, with_tokens: bool, own: &str) -> u16 {
    let route = Route { access, takes_any_host: false, ..Route::of_test(Method::GET, "/") };
    let mut request = Request::get("/").header("host", "localhost");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    let own = own.parse().expect("an address");
    status_of(admit(&route, &parts, &options(with_tokens), own, NOW))
}

fn status_of(admitted: Result<Visitor, Refusal>) -> u16 {
    match admitted {
        Ok(_) => 200,
        Err(
            Refusal::Plain(problem)
            | Refusal::NoToken(problem)
            | Refusal::MayNotAct(problem, _)
            | Refusal::WrongToken(problem),
        ) => problem.status.as_u16(),
    }
}

#[test]
fn each_visitor_reaches_the_routes_that_the_token_and_the_address_allow() {
    const LOCAL: &str = "127.0.0.1:7070";
    const ANY: &str = "0.0.0.0:7070";
    // Statuses for routes that are open, metrics, logging in, reading and acting.
    for (token, with_tokens, own, expected) in [
        (None, false, LOCAL, [200, 200, 200, 200, 403]),
        (None, false, ANY, [200, 200, 403, 403, 403]),
        (None, false, "[::1]:7070", [200, 200, 200, 200, 403]),
        (None, true, LOCAL, [200, 401, 200, 401, 401]),
        (None, true, ANY, [200, 401, 200, 401, 401]),
        (Some(READ), true, LOCAL, [200, 200, 200, 200, 403]),
        (Some(READ), true, ANY, [200, 200, 200, 200, 403]),
        (Some(ACT), true, LOCAL, [200, 200, 200, 200, 200]),
        (Some(ACT), true, ANY, [200, 200, 200, 200, 200]),
        (Some("wrong"), true, LOCAL, [401, 401, 401, 401, 401]),
        (Some("wrong"), false, LOCAL, [401, 401, 401, 401, 401]),
    ] {
        let found = [
            RouteAccess::Open,
            RouteAccess::Metrics,
            RouteAccess::Login,
            RouteAccess::Read,
            RouteAccess::Act,
        ]
        .map(|access| status(access, token, with_tokens, own));
        assert_eq!(found, expected, "{token:?} with tokens: {with_tokens} at {own}");
    }
}

#[test]
fn a_foreign_host_is_refused_except_where_any_host_is_taken() {
    for (takes_any_host, expected) in [(true, true), (false, false)] {
        let route = Route { takes_any_host, ..Route::of_test(Method::GET, "/healthz") };
        let request = Request::get("/healthz").header("host", "evil.example").body(()).expect("a request");
        let (parts, ()) = request.into_parts();
        let own = "127.0.0.1:7070".parse().expect("an address");
        assert_eq!(admit(&route, &parts, &options(false), own, NOW).is_ok(), expected);
    }
}

#[test]
fn two_tokens_or_another_scheme_are_a_wrong_token() {
    let route = Route { access: RouteAccess::Read, ..Route::of_test(Method::GET, "/") };
    for values in [
        vec![format!("Bearer {READ}"), format!("Bearer {READ}")],
        vec![format!("Basic {READ}")],
        vec![READ.to_owned()],
    ] {
        let mut request = Request::get("/").header("host", "localhost");
        for value in values {
            request = request.header("authorization", value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let own = "127.0.0.1:7070".parse().expect("an address");
        let refused = admit(&route, &parts, &options(true), own, NOW).expect_err("refused");
        assert!(matches!(refused, Refusal::WrongToken(_)), "{refused:?}");
    }
}

/// Returns the status that a request by the cookie of this token gets, if its browser says that it comes from there.
fn status_by_cookie(access: RouteAccess, name: &str, site: Option<&str>, now: UtcMillis) -> u16 {
    let (options, own) = (options(true), "127.0.0.1:7070".parse().expect("an address"));
    let token = options.tokens.named(&TokenName::parse(name).expect("a name")).expect("a token");
    let mut request = Request::get("/").header("host", "localhost:7070");
    let scope = CookieScope::of(&options, own, request.headers_ref().expect("headers"));
    let set = SessionCookie::begin(token.name.clone(), NOW).header(token, &scope, NOW).expect("a header");
    let sent = set.to_str().expect("a text").split(';').next().expect("a value").to_owned();
    request = request.header("cookie", sent);
    if let Some(site) = site {
        request = request.header("sec-fetch-site", site);
    }
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    let route = Route { access, takes_any_host: false, ..Route::of_test(Method::GET, "/") };
    status_of(admit(&route, &parts, &options, own, now))
}

#[test]
fn a_cookie_allows_what_its_token_does_and_acts_only_from_own_pages() {
    for (access, name, site, expected) in [
        (RouteAccess::Read, "grafana", Some("same-origin"), 200),
        (RouteAccess::Read, "grafana", Some("none"), 200),
        (RouteAccess::Read, "grafana", None, 200),
        (RouteAccess::Read, "grafana", Some("cross-site"), 403),
        (RouteAccess::Read, "grafana", Some("same-site"), 403),
        (RouteAccess::Act, "grafana", Some("same-origin"), 403),
        (RouteAccess::Act, "maria", Some("same-origin"), 200),
        (RouteAccess::Act, "maria", Some("same-site"), 403),
        (RouteAccess::Act, "maria", Some("cross-site"), 403),
        (RouteAccess::Act, "maria", Some("none"), 403),
        (RouteAccess::Act, "maria", None, 403),
    ] {
        assert_eq!(status_by_cookie(access, name, site, NOW), expected, "{access:?} {name} {site:?}");
    }
    let tomorrow = UtcMillis(NOW.0 + 86_400_000);
    assert_eq!(status_by_cookie(RouteAccess::Read, "maria", Some("same-origin"), tomorrow), 401, "it is old");
}

#[test]
fn an_act_by_token_passes_unless_another_page_sends_it() {
    for (site, expected) in [(None, 200), (Some("same-origin"), 200), (Some("cross-site"), 403)] {
        let mut request = Request::post("/").header("host", "localhost");
        request = request.header("authorization", format!("Bearer {ACT}"));
        if let Some(site) = site {
            request = request.header("sec-fetch-site", site);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let route = Route { access: RouteAccess::Act, ..Route::of_test(Method::POST, "/") };
        let own = "127.0.0.1:7070".parse().expect("an address");
        assert_eq!(status_of(admit(&route, &parts, &options(true), own, NOW)), expected, "{site:?}");
    }
}

#[test]
fn only_a_token_shows_what_jobs_print() {
    let own = "127.0.0.1:7070".parse().expect("an address");
    let route = Route { access: RouteAccess::Read, ..Route::of_test(Method::GET, "/") };
    let plain = Request::get("/").header("host", "localhost").body(()).expect("a request").into_parts().0;
    let local = admit(&route, &plain, &options(false), own, NOW).expect("admitted");
    assert!(!local.sees_output() && local.name().is_none());
    let request = Request::get("/").header("host", "localhost");
    let request = request.header("authorization", format!("Bearer {READ}"));
    let parts = request.body(()).expect("a request").into_parts().0;
    let grafana = admit(&route, &parts, &options(true), own, NOW).expect("admitted");
    assert!(grafana.sees_output());
    assert_eq!(grafana.name().map(TokenName::as_str), Some("grafana"));
}
