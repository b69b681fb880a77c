//! Decides whether a request may reach its handler. The one place where rights are judged.

use std::net::{IpAddr, SocketAddr};

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};

use crate::config::TokenRight;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::{Route, RouteAccess};
use crate::http::state::HttpOptions;

use super::host::{BadHost, HostRule};
use super::token::NamedToken;

/// What a request presents to prove who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Presented<'b> {
    Nothing,
    Right(&'b NamedToken),
    Wrong,
}

/// Why a request does not reach its handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is answered at once.
    Plain(ProblemDetails),
    /// It carries a wrong token: answered after a while, and counted.
    WrongToken(ProblemDetails),
}

/// Refuses a request that may not reach its handler. `own` is the address that this server listens on.
pub(crate) fn admit(
    route: &Route,
    parts: &Parts,
    options: &HttpOptions,
    own: SocketAddr,
) -> Result<(), Refusal> {
    if !route.takes_any_host {
        let admitted = HostRule::of(options).admit(&parts.uri, &parts.headers);
        admitted.map_err(|bad| Refusal::Plain(of_host(&bad)))?;
    }
    let is_local = own.ip().to_canonical().is_loopback();
    let may = match presented(&parts.headers, options) {
        Presented::Wrong => return Err(Refusal::WrongToken(wrong_token())),
        Presented::Right(token) => Some(token.may),
        Presented::Nothing => (options.tokens.is_empty() && is_local).then_some(TokenRight::Read),
    };
    let needed = match route.access {
        RouteAccess::Open => return Ok(()),
        // Metrics contain nothing that jobs print: without tokens everybody may scrape them.
        RouteAccess::Metrics if options.tokens.is_empty() => return Ok(()),
        RouteAccess::Metrics | RouteAccess::Read => TokenRight::Read,
        RouteAccess::Act => TokenRight::Act,
    };
    match may {
        Some(may) if may >= needed => Ok(()),
        _ if options.tokens.is_empty() => Err(Refusal::Plain(no_tokens(needed, own.ip()))),
        Some(_) => Err(Refusal::Plain(not_allowed())),
        None => Err(Refusal::Plain(token_needed())),
    }
}

fn presented<'o>(headers: &HeaderMap, options: &'o HttpOptions) -> Presented<'o> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(first) = given.next() else { return Presented::Nothing };
    let bearer = first.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = bearer.filter(|_| given.next().is_none()).and_then(|token| options.tokens.find(token));
    found.map_or(Presented::Wrong, Presented::Right)
}

fn of_host(bad: &BadHost) -> ProblemDetails {
    match bad {
        BadHost::Malformed => ProblemDetails::new(StatusCode::BAD_REQUEST, "request without one clear host")
            .help("send one Host header, with the same host as in the request line"),
        BadHost::Foreign => ProblemDetails::new(StatusCode::MISDIRECTED_REQUEST, "not a name of this server")
            .help("use its address or `localhost`, or add the name to `hosts` under [http] in jobs.toml"),
    }
}

fn wrong_token() -> ProblemDetails {
    ProblemDetails::new(StatusCode::UNAUTHORIZED, "wrong token")
}

fn token_needed() -> ProblemDetails {
    ProblemDetails::new(StatusCode::UNAUTHORIZED, "token needed")
        .help("send `Authorization: Bearer TOKEN`, with a token of [http.tokens] in jobs.toml")
}

fn not_allowed() -> ProblemDetails {
    ProblemDetails::new(StatusCode::FORBIDDEN, "this token may only read")
        .help("use a token with `may = \"act\"`")
}

fn no_tokens(needed: TokenRight, own: IpAddr) -> ProblemDetails {
    let help = match needed {
        TokenRight::Act => {
            "acts need a token: add one with `may = \"act\"` under [http.tokens] in jobs.toml".to_owned()
        }
        TokenRight::Read => format!(
            "on {own}, which others can reach, only health and metrics are served without tokens: add one under \
             [http.tokens] in jobs.toml"
        ),
    };
    ProblemDetails::new(StatusCode::FORBIDDEN, "no tokens are set up").help(help)
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
