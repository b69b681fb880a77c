//! Every kind of visitor at every kind of route.

use axum::http::{Method, Request};

use crate::http::access::token::{TokenBook, TokenText};
use crate::job::TokenName;

use super::*;

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
    match admit(&route, &parts, &options(with_tokens), own.parse().expect("an address")) {
        Ok(()) => 200,
        Err(Refusal::Plain(problem) | Refusal::WrongToken(problem)) => problem.status.as_u16(),
    }
}

#[test]
fn each_visitor_reaches_the_routes_that_the_token_and_the_address_allow() {
    const LOCAL: &str = "127.0.0.1:7070";
    const ANY: &str = "0.0.0.0:7070";
    // Statuses for routes that are open, metrics, reading and acting.
    for (token, with_tokens, own, expected) in [
        (None, false, LOCAL, [200, 200, 200, 403]),
        (None, false, ANY, [200, 200, 403, 403]),
        (None, false, "[::1]:7070", [200, 200, 200, 403]),
        (None, true, LOCAL, [200, 401, 401, 401]),
        (None, true, ANY, [200, 401, 401, 401]),
        (Some(READ), true, LOCAL, [200, 200, 200, 403]),
        (Some(READ), true, ANY, [200, 200, 200, 403]),
        (Some(ACT), true, LOCAL, [200, 200, 200, 200]),
        (Some(ACT), true, ANY, [200, 200, 200, 200]),
        (Some("wrong"), true, LOCAL, [401, 401, 401, 401]),
        (Some("wrong"), false, LOCAL, [401, 401, 401, 401]),
    ] {
        let found = [RouteAccess::Open, RouteAccess::Metrics, RouteAccess::Read, RouteAccess::Act]
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
        assert_eq!(admit(&route, &parts, &options(false), own).is_ok(), expected);
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
        let refused = admit(&route, &parts, &options(true), own).expect_err("refused");
        assert!(matches!(refused, Refusal::WrongToken(_)), "{refused:?}");
    }
}
