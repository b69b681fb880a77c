//! The URL of one Redis server, checked to the last character before a connection is made. Its password is never shown
//! by `Display` or `Debug`.

use std::fmt;
use std::path::PathBuf;

use super::url::StoreUrlError;

/// The default port of Redis.
const DEFAULT_PORT: u16 = 6379;

/// The URL of one Redis server: `redis://`, `rediss://` or `redis+unix://`.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    url: String,
    shown: String,
    certificates: CertificateFiles,
}

/// Files with certificates for TLS, each in PEM, by absolute path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificates of the authorities that are trusted, in place of the system's.
    pub cacert: Option<PathBuf>,
    /// The client's own certificate, with those up to its authority, and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

impl RedisUrl {
    /// Returns the real URL, password included: for the connection only, never to be shown.
    pub fn reveal(&self) -> &str {
        &self.url
    }

    /// Returns the files with certificates that its options name.
    pub fn certificates(&self) -> &CertificateFiles {
        &self.certificates
    }

    /// Whether the server is on another machine, as far as the address shows.
    pub fn is_elsewhere(&self) -> bool {
        let Some((scheme, rest)) = self.shown.split_once("://") else { return false };
        let host = rest.split_once('@').map_or(rest, |(_, host)| host).to_ascii_lowercase();
        let is_here = host.starts_with("localhost:") || host.starts_with("127.") || host.starts_with("[::1]");
        scheme != "redis+unix" && !is_here
    }

    /// Whether it logs in by a password or a certificate.
    pub fn has_login(&self) -> bool {
        let login = self.shown.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        login.is_some_and(|(login, _)| login.contains(':')) || self.certificates.client.is_some()
    }

    /// Whether a password is sent to another machine unencrypted.
    pub fn shows_password(&self) -> bool {
        self.shown.starts_with("redis://") && self.has_login() && self.is_elsewhere()
    }

    /// Parses `redis://[user:pass@]host[:port][/db]`, the same with `rediss` and the options of TLS, or
    /// `redis+unix:///path`.
    ///
    /// # Errors
    /// If the URL is malformed; the error never contains the password.
    pub fn parse(url: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let (rest, options) = match rest.split_once('?') {
            // If an `@` follows, the `?` was meant to be part of the password.
            Some((rest, options)) if scheme == "rediss" && !options.contains('@') => (rest, options),
            _ => (rest, ""),
        };
        let certificates = certificates(options)?;
        let shown = if scheme == "redis+unix" { unix(rest)? } else { tcp(rest)? };
        let url = if scheme == "rediss" { format!("{scheme}://{rest}") } else { url.to_owned() };
        Ok(Self { url, shown: format!("{scheme}://{shown}"), certificates })
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown)
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisUrl").field(&self.shown).finish()
    }
}

/// Checks what follows `redis://`; returns it without the password, and with port and database.
fn tcp(rest: &str) -> Result<String, StoreUrlError> {
    if let Some(odd) = rest.find(['/', '?', '#'])
        && rest[odd..].contains('@')
    {
        return Err(unencoded());
    }
    if rest.contains('#') {
        let what = "ends in `#…`, which means nothing here";
        return Err(StoreUrlError::new(
            what,
            "take it out; with `rediss://` the server's certificate is always verified",
        ));
    }
    if rest.contains('?') {
        let what = "has options after a `?`, which mean nothing here";
        let help = "take them out: write `redis://user:pass@host:port/db`; `cacert`, `cert` and `key` are for `rediss://`";
        return Err(StoreUrlError::new(what, help));
    }
    let (authority, db) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, address) = match authority.rsplit_once('@') {
        Some((login, address)) => (login_shown(login)?, address),
        None => (String::new(), authority),
    };
    let (host, port) = host_and_port(address)?;
    Ok(format!("{login}{host}:{port}/{}", database(db)?))
}

/// Checks the options of `rediss://`.
fn certificates(options: &str) -> Result<CertificateFiles, StoreUrlError> {
    let (mut files, mut cert, mut key) = (CertificateFiles::default(), None, None);
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, path) = option.split_once('=').unwrap_or((option, ""));
        let place = match name {
            "cacert" => &mut files.cacert,
            "cert" => &mut cert,
            "key" => &mut key,
            _ => {
                let help = "known are `cacert`, `cert` and `key`, each with the path of a file";
                return Err(StoreUrlError::new("has an unknown option after the `?`", help));
            }
        };
        let path =
            decoded(path).filter(|path| path.starts_with('/') && place.is_none()).ok_or_else(|| {
                let what = format!("has an option `{name}` that is not the path of a file");
                StoreUrlError::new(
                    what,
                    "write it once, as an absolute path: `?cacert=/etc/ssl/redis-ca.pem`",
                )
            })?;
        *place = Some(PathBuf::from(path));
    }
    files.client = match (cert, key) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => {
            let help = "write both: `?cert=/etc/solocron/client.pem&key=/etc/solocron/client.key`";
            return Err(StoreUrlError::new("has only one of the options `cert` and `key`", help));
        }
    };
    Ok(files)
}

/// Checks what follows `redis+unix://`; returns it without the password.
fn unix(rest: &str) -> Result<String, StoreUrlError> {
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if !path.starts_with('/') || path.len() < 2 {
        let help = "write the path of the socket after three slashes: `redis+unix:///run/redis.sock`";
        return Err(StoreUrlError::new("has no absolute path", help));
    }
    if path.contains(['#', '&', '@', ';']) || !decodes(path) {
        return Err(StoreUrlError::new(
            "has a path that is not understood",
            "write `%` as `%25`, `#` as `%23`, `&` as `%26`, `;` as `%3B`, `@` as `%40` and a space as `%20`; a password goes last, as `?pass=…`",
        ));
    }
    let mut shown = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        shown.push(match option.split_once('=') {
            Some(("db", db)) => format!("db={}", database(db)?),
            Some(("user", user)) if decodes(user) => option.to_owned(),
            Some(("pass", pass)) if decodes(pass) => "pass=***".to_owned(),
            Some(("user" | "pass", _)) => return Err(unencoded()),
            _ => {
                return Err(StoreUrlError::new(
                    "has an unknown option after the `?`",
                    "known are `db`, `user` and `pass`",
                ));
            }
        });
    }
    let question = if shown.is_empty() { "" } else { "?" };
    Ok(format!("{path}{question}{}", shown.join("&")))
}

fn login_shown(login: &str) -> Result<String, StoreUrlError> {
    let Some((user, password)) = login.split_once(':') else {
        let help = "write `redis://user:pass@host`, or `redis://:pass@host` for a password without a user";
        return Err(StoreUrlError::new("has a user but no password", help));
    };
    if login.contains('@') || password.contains(':') || !decodes(user) || !decodes(password) {
        return Err(unencoded());
    }
    if password.is_empty() {
        return Err(StoreUrlError::new(
            "has an empty password",
            "write the password, or take out all up to the `@`",
        ));
    }
    Ok(format!("{user}:***@"))
}

fn host_and_port(address: &str) -> Result<(&str, u16), StoreUrlError> {
    let (host, port) = match address.strip_prefix('[').and_then(|v6| v6.find(']')) {
        Some(end) => address.split_at(end + 2),
        None => address.split_at(address.find(':').unwrap_or(address.len())),
    };
    if address.contains(',') {
        let help =
            "name one: `redis://host:6379/0`; Sentinel, Cluster and several servers are not supported yet";
        return Err(StoreUrlError::new("names more than one host", help));
    }
    if host.is_empty() {
        return Err(StoreUrlError::new("has no host", "write `redis://host:6379/0`"));
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => DEFAULT_PORT,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().unwrap_or(0),
        _ => 0,
    };
    if port == 0 {
        let help = "write the port as a number, as in `redis://host:6379/0`; a password goes before an `@`";
        return Err(StoreUrlError::new("has a port that is not a number from 1 to 65535", help));
    }
    check_host(host)?;
    Ok((host, port))
}

pub(super) fn check_host(host: &str) -> Result<(), StoreUrlError> {
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let good = match v6 {
        Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)),
    };
    if !good {
        let help = "write a name or an IPv4 address, or an IPv6 address in brackets: `redis://[::1]:6379/0`";
        return Err(StoreUrlError::new("has a host that is neither a name nor an address", help));
    }
    if host == "0.0.0.0" || host == "[::]" {
        let help = "that is where a server listens: write the address at which this machine reaches it";
        return Err(StoreUrlError::new("names no certain machine", help));
    }
    Ok(())
}

fn database(db: &str) -> Result<u32, StoreUrlError> {
    let digits = db.bytes().all(|b| b.is_ascii_digit());
    match db {
        "" => Ok(0),
        _ if digits => db.parse().map_err(|_| no_database()),
        _ => Err(no_database()),
    }
}

fn no_database() -> StoreUrlError {
    StoreUrlError::new(
        "has a database that is not a number",
        "write the number of the database last: `redis://host:6379/0`",
    )
}

pub(super) fn unencoded() -> StoreUrlError {
    let what = "has a user or password with a character that is not percent-encoded";
    StoreUrlError::new(
        what,
        "write `%` as `%25`, `/` as `%2F`, `:` as `%3A`, `@` as `%40`, `?` as `%3F`, `#` as `%23`",
    )
}

/// Whether every `%` starts a byte in hexadecimal, all bytes are UTF-8, and no character is white space or a control
/// character.
fn decodes(part: &str) -> bool {
    decoded(part).is_some()
}

/// Returns the part with its `%` sequences decoded; `None` if it is malformed.
pub(super) fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let hex = after.get(..2).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok())?;
        bytes.push(u8::from_str_radix(hex, 16).expect("two hexadecimal digits"));
        rest = &after[2..];
    }
    let plain = !part.contains(|c: char| c.is_whitespace() || c.is_control());
    String::from_utf8(bytes).ok().filter(|_| plain)
}

#[cfg(test)]
#[path = "redis_url_tests.rs"]
mod tests;
