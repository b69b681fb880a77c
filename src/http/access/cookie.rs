//! The cookie of a browser that has logged in. It contains no secret: a name, two times, and a code over these which only
//! who knows the token's digest can compute. So it is valid on every replica that has the token, and no longer than the
//! token. It is bound to the cluster, and to the address by which the browser reached it.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::http::state::HttpOptions;
use crate::job::TokenName;
use crate::time::UtcMillis;

use super::token::{NamedToken, TokenDigest};

/// A cookie is valid for this long after the last page.
const LASTS: Duration = Duration::from_secs(60 * 60);

/// A cookie is not renewed for longer than this after the login.
const RENEWED_FOR: Duration = Duration::from_secs(8 * 60 * 60);

/// A cookie that is younger is not renewed.
const RENEWED_AFTER: Duration = Duration::from_secs(5 * 60);

/// A value that is longer is none of this server.
const LONGEST: usize = 256;

/// The clocks of two replicas differ by less than this.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// Where a cookie is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CookieScope {
    /// The cookie's name: browsers send the cookies of one host to all of its ports.
    name: String,
    /// The address that browsers use.
    address: String,
    cluster: String,
    is_secure: bool,
}

/// A login of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionCookie {
    /// The name of the token.
    pub(crate) name: TokenName,
    /// When the browser logged in.
    since: UtcMillis,
    /// When the login ends, unless it is renewed.
    until: UtcMillis,
}

impl CookieScope {
    /// Returns the scope of cookies for a browser that names this host. `own` is the address that the server listens on.
    pub(crate) fn of(options: &HttpOptions, own: SocketAddr, headers: &HeaderMap) -> Self {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let url = options.url.as_ref().filter(|url| url.authority.eq_ignore_ascii_case(host));
        let is_secure = url.is_some_and(|url| url.is_https);
        let port = match url {
            Some(url) => url.authority.rsplit_once(':').map_or("80", |(_, port)| port).to_owned(),
            None => own.port().to_string(),
        };
        Self {
            name: if is_secure { "__Host-solocron".to_owned() } else { format!("solocron_{port}") },
            // Replicas on several machines may all listen on `127.0.0.1:7070`, or on all addresses: the name tells them apart.
            address: match url {
                Some(url) => url.authority.clone(),
                None => format!("{own} {}", host.to_ascii_lowercase()),
            },
            cluster: options.cluster.clone(),
            is_secure,
        }
    }

    /// Returns the value of the cookie that a request carries.
    fn value_in<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == self.name)?;
        (value.len() <= LONGEST).then_some(value)
    }

    /// Returns the header that sets a cookie to this value for this long.
    fn header(&self, value: &str, lasts: Duration) -> Option<HeaderValue> {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let (name, seconds) = (&self.name, lasts.as_secs());
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::from_str(&text).ok()
    }

    /// Returns the header that makes a browser forget its cookie.
    pub(crate) fn clear(&self) -> Option<HeaderValue> {
        self.header("", Duration::ZERO)
    }
}

impl SessionCookie {
    /// Returns the cookie of a browser that logs in now.
    pub(crate) fn begin(name: TokenName, now: UtcMillis) -> Self {
        Self { name, since: now, until: now.plus(LASTS) }
    }

    /// Returns the cookie that a request carries, with its token; `None` if it carries none that is valid now.
    pub(crate) fn of_request<'o>(
        headers: &HeaderMap,
        options: &'o HttpOptions,
        scope: &CookieScope,
        now: UtcMillis,
    ) -> Option<(Self, &'o NamedToken)> {
        // From the end: a name may contain the sign between the parts.
        let mut parts = scope.value_in(headers)?.rsplitn(4, '.');
        let (code, until, since, name) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let cookie = Self {
            name: TokenName::parse(name).ok()?,
            since: UtcMillis(since.parse().ok()?),
            until: UtcMillis(until.parse().ok()?),
        };
        let (code, token) = (from_hex(code)?, options.tokens.named(&cookie.name)?);
        let is_right = |key: &TokenDigest| cookie.code(key, scope).verify_slice(&code).is_ok();
        let is_now = cookie.since <= now.plus(CLOCKS_DIFFER) && now < cookie.until;
        (token.digests().iter().any(is_right) && is_now).then_some((cookie, token))
    }

    /// Returns the cookie that replaces this one after another page; `None` while it is young, and once the login is old.
    pub(crate) fn renewed(&self, now: UtcMillis) -> Option<Self> {
        let until = now.plus(LASTS).min(self.since.plus(RENEWED_FOR));
        (until.since(self.until) >= RENEWED_AFTER).then(|| Self { until, ..self.clone() })
    }

    /// Returns until when a stream shows anything that was opened with this cookie. While the cookie can be renewed, that is a
    /// little before its end: the browser then connects again, and gets a new one.
    pub(crate) fn streams_until(&self) -> UtcMillis {
        let is_last = self.until >= self.since.plus(RENEWED_FOR);
        if is_last { self.until } else { self.until.minus(RENEWED_AFTER) }
    }

    /// Returns the header that sets the cookie in a browser.
    pub(crate) fn header(
        &self,
        token: &NamedToken,
        scope: &CookieScope,
        now: UtcMillis,
    ) -> Option<HeaderValue> {
        let code = self.code(token.digests().first()?, scope).finalize().into_bytes();
        let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
        let value = format!("{}.{}.{}.{code}", self.name, self.since.0, self.until.0);
        scope.header(&value, self.until.since(now))
    }

    /// Returns the code over all that the cookie says, and over where it is valid. No part contains a newline.
    fn code(&self, key: &TokenDigest, scope: &CookieScope) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
        let (CookieScope { cluster, address, .. }, Self { name, since, until }) = (scope, self);
        let said = format!("solocron login 1\n{cluster}\n{address}\n{name}\n{}\n{}", since.0, until.0);
        code.update(said.as_bytes());
        code
    }
}

/// Returns the bytes of a code; `None` unless it is written in lower-case hexadecimal digits.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex || text.len() != 2 * size_of::<TokenDigest>() {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[cfg(test)]
#[path = "cookie_tests.rs"]
mod tests;
