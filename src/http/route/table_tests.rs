//! Every route for every kind of visitor, from every origin, by every kind of host. The table names each route, so that one
//! that was forgotten fails.

use std::net::SocketAddr;

use crate::config::TokenRight;
use crate::http::access::cookie::{CookieScope, SessionCookie};
use crate::http::access::gate::{Refusal, admit};
use crate::http::access::token::{TokenBook, TokenText};
use crate::http::state::HttpOptions;
use crate::job::TokenName;
use crate::time::UtcMillis;

use super::*;

/// What each route needs: nothing (`o`), the right to read once there are tokens (`m`), something to log in to (`l`), the right
/// to read (`r`), the right to act (`a`).
const ROUTES: [(&str, &str); 37] = [
    ("o", "GET /healthz"),
    ("o", "GET /readyz"),
    ("m", "GET /metrics"),
    ("l", "GET /api/v1/openapi.json"),
    ("r", "GET /api/v1/status"),
    ("r", "GET /api/v1/replicas"),
    ("r", "GET /api/v1/jobs"),
    ("r", "GET /api/v1/jobs/{job}"),
    ("r", "GET /api/v1/jobs/{job}/next"),
    ("r", "GET /api/v1/jobs/{job}/why"),
    ("r", "GET /api/v1/history"),
    ("r", "GET /api/v1/runs/{run}"),
    ("r", "GET /api/v1/runs/{run}/log"),
    ("r", "GET /api/v1/events"),
    ("a", "POST /api/v1/jobs/{job}/trigger"),
    ("a", "POST /api/v1/jobs/{job}/pause"),
    ("a", "POST /api/v1/jobs/{job}/resume"),
    ("a", "POST /api/v1/jobs/{job}/kill"),
    ("a", "POST /api/v1/jobs/{job}/unlock"),
    ("r", "GET /"),
    ("r", "GET /jobs/{job}"),
    ("r", "GET /jobs/{job}/runs/{run}"),
    ("r", "GET /replicas"),
    ("l", "GET /login"),
    ("l", "POST /login"),
    ("l", "POST /logout"),
    ("l", "GET /assets/{file}"),
    ("r", "GET /jobs/{job}/trigger"),
    ("a", "POST /jobs/{job}/trigger"),
    ("r", "GET /jobs/{job}/pause"),
    ("a", "POST /jobs/{job}/pause"),
    ("r", "GET /jobs/{job}/resume"),
    ("a", "POST /jobs/{job}/resume"),
    ("r", "GET /jobs/{job}/kill"),
    ("a", "POST /jobs/{job}/kill"),
    ("r", "GET /jobs/{job}/unlock"),
    ("a", "POST /jobs/{job}/unlock"),
];

/// Routes that probes and scrapers reach by any host, and whatever page they come from.
const ANY_HOST: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// 2026-11-20T12:00:00Z.
const NOW: UtcMillis = UtcMillis(1_795_176_000_000);

const READ: &str = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr";
const ACT: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Who sends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Nobody,
    Wrong,
    Token(&'static str),
    Cookie(&'static str),
}

/// A request of the table.
#[derive(Debug, Clone, Copy)]
struct Asked {
    sender: Sender,
    /// The value of `Sec-Fetch-Site`.
    site: Option<&'static str>,
    host: &'static str,
    with_tokens: bool,
    own: &'static str,
}

fn options(with_tokens: bool) -> HttpOptions {
    let named = |name: &str, may, text| {
        let name = TokenName::parse(name).expect("a name");
        TokenText::parse(text).unwrap_or_else(|error| panic!("{}", error.what)).named(name, may)
    };
    let tokens = vec![named("grafana", TokenRight::Read, READ), named("maria", TokenRight::Act, ACT)];
    let tokens = if with_tokens { tokens } else { Vec::new() };
    HttpOptions { tokens: TokenBook::new(tokens).expect("they differ"), ..HttpOptions::default() }
}

/// Returns the status with which the request is refused; `None` if it reaches its handler.
fn refusal(route: &Route, asked: Asked) -> Option<u16> {
    let (options, own): (_, SocketAddr) =
        (options(asked.with_tokens), asked.own.parse().expect("an address"));
    let mut request = Request::builder().method(route.method.clone()).uri("/").header("host", asked.host);
    if let Some(site) = asked.site {
        request = request.header("sec-fetch-site", site);
    }
    request = match asked.sender {
        Sender::Nobody => request,
        Sender::Wrong => request.header("authorization", "Bearer wrong"),
        Sender::Token(token) => request.header("authorization", format!("Bearer {token}")),
        Sender::Cookie(name) => {
            let of_all = self::options(true);
            let token = of_all.tokens.named(&TokenName::parse(name).expect("a name")).expect("a token");
            let scope = CookieScope::of(&of_all, own, request.headers_ref().expect("headers"));
            let set = SessionCookie::begin(token.name.clone(), NOW).header(token, &scope, NOW);
            let set = set.expect("a header");
            let value = set.to_str().expect("a text").split(';').next().expect("a value").to_owned();
            request.header("cookie", value)
        }
    };
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    match admit(route, &parts, &options, own, NOW) {
        Ok(_) => None,
        Err(
            Refusal::Plain(problem)
            | Refusal::NoToken(problem)
            | Refusal::MayNotAct(problem, _)
            | Refusal::WrongToken(problem),
        ) => Some(problem.status.as_u16()),
    }
}

/// Returns what should become of a request to a route that needs this.
fn expected(needs: &str, path: &str, asked: Asked) -> Option<u16> {
    let Asked { sender, site, host, with_tokens, own } = asked;
    let takes_all = ANY_HOST.contains(&path);
    if !takes_all && host != "localhost:7070" {
        return Some(421);
    }
    if !takes_all && matches!(site, Some("same-site" | "cross-site")) {
        return Some(403);
    }
    if sender == Sender::Wrong {
        return Some(401);
    }
    let is_local = own.starts_with("127.");
    // Who has the right to read, and to act.
    let (reads, acts) = match sender {
        _ if !with_tokens && matches!(sender, Sender::Token(_)) => return Some(401),
        Sender::Token(READ) | Sender::Cookie("grafana") if with_tokens => (true, false),
        Sender::Token(ACT) => (true, true),
        Sender::Cookie("maria") if with_tokens => (true, site == Some("same-origin")),
        _ => (!with_tokens && is_local, false),
    };
    let is_known = with_tokens && sender != Sender::Nobody;
    let refused = if with_tokens && !is_known { 401 } else { 403 };
    let is_admitted = match needs {
        "o" => true,
        "m" => !with_tokens || reads,
        "l" => with_tokens || is_local,
        "r" => reads,
        _ => acts,
    };
    (!is_admitted).then_some(refused)
}

#[test]
fn every_route_is_in_the_table_once() {
    let served: Vec<String> =
        routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    let named: Vec<String> = ROUTES.iter().map(|(_, route)| (*route).to_owned()).collect();
    let [served, named] = [served, named].map(|mut names| {
        names.sort();
        names
    });
    assert_eq!(served, named);
}

#[test]
fn each_route_admits_whom_the_table_says_from_where_it_says() {
    let senders = [
        Sender::Nobody,
        Sender::Wrong,
        Sender::Token(READ),
        Sender::Token(ACT),
        Sender::Cookie("grafana"),
        Sender::Cookie("maria"),
    ];
    let sites = [None, Some("same-origin"), Some("none"), Some("same-site"), Some("cross-site")];
    let mut count = 0;
    for route in routes() {
        let name = format!("{} {}", route.method, route.path);
        let needs = ROUTES.iter().find(|(_, own)| *own == name).map(|(needs, _)| *needs);
        let needs = needs.unwrap_or_else(|| panic!("{name} is not in the table"));
        for sender in senders {
            for site in sites {
                for host in ["localhost:7070", "evil.example"] {
                    for (with_tokens, own) in [
                        (true, "127.0.0.1:7070"),
                        (true, "0.0.0.0:7070"),
                        (false, "127.0.0.1:7070"),
                        (false, "0.0.0.0:7070"),
                    ] {
                        let asked = Asked { sender, site, host, with_tokens, own };
                        assert_eq!(
                            refusal(&route, asked),
                            expected(needs, route.path, asked),
                            "{name} {asked:?}"
                        );
                        count += 1;
                    }
                }
            }
        }
    }
    assert_eq!(count, routes().len() * 6 * 5 * 2 * 4);
}
