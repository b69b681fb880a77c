//! Decides whether a request may reach its handler. The one place where rights are judged.

use std::net::{IpAddr, SocketAddr};

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};

use crate::config::TokenRight;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::{Route, RouteAccess};
use crate::http::state::HttpOptions;
use crate::job::TokenName;
use crate::time::UtcMillis;

use super::cookie::{CookieScope, SessionCookie};
use super::host::{BadHost, HostRule};
use super::origin::RequestOrigin;
use super::token::NamedToken;
use super::visitor::{Visitor, VisitorProof};

/// What a request presents to prove who sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Presented<'b> {
    Nothing,
    Right(&'b NamedToken, VisitorProof),
    Wrong,
}

/// Why a request does not reach its handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is answered at once.
    Plain(ProblemDetails),
    /// It carries no token, and needs one: a browser is sent to the login.
    NoToken(ProblemDetails),
    /// It is an act that the token of this name does not allow, or not from there.
    MayNotAct(ProblemDetails, TokenName),
    /// It carries a wrong token: answered after a while, and counted.
    WrongToken(ProblemDetails),
}

/// Returns who sent a request, or why the request may not reach its handler. `own` is the address that this server
/// listens on, `now` the time by which logins end.
pub(crate) fn admit(
    route: &Route,
    parts: &Parts,
    options: &HttpOptions,
    own: SocketAddr,
    now: UtcMillis,
) -> Result<Visitor, Refusal> {
    let origin = RequestOrigin::of(parts);
    if !route.takes_any_host {
        let admitted = HostRule::of(options).admit(&parts.uri, &parts.headers);
        admitted.map_err(|bad| Refusal::Plain(of_host(&bad)))?;
        if origin == RequestOrigin::Foreign {
            return Err(Refusal::Plain(foreign_origin()));
        }
    }
    let is_local = own.ip().to_canonical().is_loopback();
    let visitor = match presented(&parts.headers, options, own, now) {
        Presented::Wrong => return Err(Refusal::WrongToken(wrong_token())),
        Presented::Right(token, proof) => Visitor { may: Some(token.may), proof },
        Presented::Nothing => Visitor {
            may: (options.tokens.is_empty() && is_local).then_some(TokenRight::Read),
            proof: VisitorProof::Nothing,
        },
    };
    let needed = match route.access {
        RouteAccess::Open => return Ok(visitor),
        // Metrics contain nothing that jobs print: without tokens everybody may scrape them.
        RouteAccess::Metrics if options.tokens.is_empty() => return Ok(visitor),
        // Who cannot read anything here has nothing to log in to either.
        RouteAccess::Login if is_local || !options.tokens.is_empty() => return Ok(visitor),
        RouteAccess::Login | RouteAccess::Metrics | RouteAccess::Read => TokenRight::Read,
        RouteAccess::Act => TokenRight::Act,
    };
    match visitor.may {
        Some(may) if may >= needed => check_cookie(route, origin, visitor),
        _ if options.tokens.is_empty() => Err(Refusal::Plain(no_tokens(needed, own.ip()))),
        Some(_) => Err(may_not_act(not_allowed(), &visitor)),
        None => Err(Refusal::NoToken(token_needed())),
    }
}

/// Refuses an act by cookie unless the browser tells that it comes from a page of this server: browsers send cookies
/// whoever made them send the request.
fn check_cookie(route: &Route, origin: RequestOrigin, visitor: Visitor) -> Result<Visitor, Refusal> {
    let is_by_cookie = matches!(visitor.proof, VisitorProof::Cookie(_));
    if route.access == RouteAccess::Act && is_by_cookie && origin != RequestOrigin::Same {
        let problem =
            ProblemDetails::new(StatusCode::FORBIDDEN, "an act that comes from no page of this server")
                .help("use the page over https or on the machine itself, or send a token");
        return Err(may_not_act(problem, &visitor));
    }
    Ok(visitor)
}

fn may_not_act(problem: ProblemDetails, visitor: &Visitor) -> Refusal {
    match visitor.name() {
        Some(name) => Refusal::MayNotAct(problem, name.clone()),
        None => Refusal::Plain(problem),
    }
}

fn presented<'o>(
    headers: &HeaderMap,
    options: &'o HttpOptions,
    own: SocketAddr,
    now: UtcMillis,
) -> Presented<'o> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let Some(first) = given.next() else {
        let scope = CookieScope::of(options, own, headers);
        let cookie = SessionCookie::of_request(headers, options, &scope, now);
        // A cookie may be old: that is no attempt to guess a token.
        return cookie.map_or(Presented::Nothing, |(cookie, token)| {
            Presented::Right(token, VisitorProof::Cookie(cookie))
        });
    };
    let bearer = first.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = bearer.filter(|_| given.next().is_none()).and_then(|token| options.tokens.find(token));
    let of_token = |token: &'o NamedToken| Presented::Right(token, VisitorProof::Token(token.name.clone()));
    found.map_or(Presented::Wrong, of_token)
}

fn foreign_origin() -> ProblemDetails {
    ProblemDetails::new(StatusCode::FORBIDDEN, "a request from a page of another server")
        .help("open this address itself")
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
        .help("a token is the content of a file that [http.tokens] in jobs.toml names")
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
