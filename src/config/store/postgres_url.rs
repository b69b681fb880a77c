//! The URL of a PostgreSQL server and its standbys, checked to the last character before a connection is made. Its password is
//! never shown by `Display` or `Debug`.

use std::fmt;
use std::path::PathBuf;

use super::redis_url::{CertificateFiles, check_host, decoded, unencoded};
use super::url::StoreUrlError;

/// The default port of PostgreSQL.
const DEFAULT_PORT: u16 = 5432;

/// The form of the URL, for messages.
const FORM: &str = "`postgres://user:pass@host:5432/db`";

/// The options that are known.
const OPTIONS: &str = "known are `sslmode`, `sslrootcert`, `sslcert`, `sslkey` and `hints`";

/// Whether connections are encrypted, and what is verified then, as in libpq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SslMode {
    /// Never encrypted.
    Disable,
    /// Encrypted if the server offers it; nothing is verified.
    #[default]
    Prefer,
    /// Encrypted; nothing is verified, unless `sslrootcert` names authorities.
    Require,
    /// Encrypted; the certificate comes from an authority that is trusted.
    VerifyCa,
    /// Encrypted; the certificate comes from an authority that is trusted, and is for the host.
    VerifyFull,
}

impl SslMode {
    const ALL: [(&'static str, Self); 5] = [
        ("disable", Self::Disable),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];
}

/// A host of a PostgreSQL server, and its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresHost {
    /// A name or an address; an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for PostgresHost {
    /// Writes it as in the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// The URL of a PostgreSQL database: `postgres://` or `postgresql://`.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    shown: String,
    user: Option<String>,
    password: Option<String>,
    hosts: Vec<PostgresHost>,
    database: String,
    ssl_mode: SslMode,
    certificates: CertificateFiles,
    publishes: bool,
}

impl PostgresUrl {
    /// Parses `postgres://[user[:pass]@]host[:port][,host[:port]]…/db[?options]`.
    ///
    /// # Errors
    /// If the URL is malformed; the error never contains the password.
    pub fn parse(url: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
        let (rest, options) = match rest.split_once('?') {
            // If an `@` follows, the `?` was meant to be part of the password.
            Some((rest, options)) if !options.contains('@') => (rest, options),
            _ => (rest, ""),
        };
        if let Some(odd) = rest.find(['/', '?', '#'])
            && rest[odd..].contains('@')
        {
            return Err(unencoded());
        }
        if rest.contains(['?', '#']) {
            return Err(StoreUrlError::new("has a `#` or a second `?`", format!("write {FORM}")));
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, addresses) = match authority.rsplit_once('@') {
            Some((login, addresses)) => (Some(login), addresses),
            None => (None, authority),
        };
        let (user, password) = login.map(login_of).transpose()?.unwrap_or_default();
        let hosts: Vec<PostgresHost> = addresses.split(',').map(address).collect::<Result<_, _>>()?;
        let database = database_of(database)?;
        let mut parsed = Self {
            shown: String::new(),
            user,
            password,
            hosts,
            database,
            ssl_mode: SslMode::default(),
            certificates: CertificateFiles::default(),
            publishes: true,
        };
        parsed.take_options(options)?;
        parsed.shown = parsed.without_password(scheme, login, options);
        Ok(parsed)
    }

    fn take_options(&mut self, options: &str) -> Result<(), StoreUrlError> {
        let (mut cert, mut key) = (None, None);
        let mut seen = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if seen.contains(&name) {
                let help = "write each option once";
                return Err(StoreUrlError::new(format!("has the option `{name}` twice"), help));
            }
            match name {
                "sslmode" => self.ssl_mode = ssl_mode(value)?,
                "hints" => self.publishes = publishes(value)?,
                "sslrootcert" => self.certificates.cacert = Some(file(name, value)?),
                "sslcert" => cert = Some(file(name, value)?),
                "sslkey" => key = Some(file(name, value)?),
                _ => return Err(StoreUrlError::new("has an unknown option after the `?`", OPTIONS)),
            }
            seen.push(name);
        }
        self.certificates.client = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => {
                let help = "write both: `?sslcert=/etc/solocron/client.pem&sslkey=/etc/solocron/client.key`";
                return Err(StoreUrlError::new("has only one of the options `sslcert` and `sslkey`", help));
            }
        };
        let is_verified = matches!(self.ssl_mode, SslMode::VerifyCa | SslMode::VerifyFull | SslMode::Require);
        if self.certificates.cacert.is_some() && !is_verified {
            let help = "write `sslmode=verify-full` as well, or take `sslrootcert` out";
            return Err(StoreUrlError::new(
                "has `sslrootcert`, but its `sslmode` verifies no certificate",
                help,
            ));
        }
        Ok(())
    }

    fn without_password(&self, scheme: &str, login: Option<&str>, options: &str) -> String {
        let login = login.map(|login| match login.split_once(':') {
            Some((user, _)) => format!("{user}:***@"),
            None => format!("{login}@"),
        });
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        let options = if options.is_empty() { String::new() } else { format!("?{options}") };
        format!("{scheme}://{}{}/{}{options}", login.unwrap_or_default(), hosts.join(","), self.database)
    }

    /// Returns the hosts, in the order in which they are tried.
    pub fn hosts(&self) -> &[PostgresHost] {
        &self.hosts
    }

    /// Returns the name of the database, decoded.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Returns the user, decoded; `None` if the URL names none: then it is the user of the process.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the password, decoded: for the connection only, never to be shown.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Returns how connections are encrypted.
    pub fn ssl_mode(&self) -> SslMode {
        self.ssl_mode
    }

    /// Returns the files with certificates that its options name.
    pub fn certificates(&self) -> &CertificateFiles {
        &self.certificates
    }

    /// Whether a server is on another machine, as far as the address shows.
    pub fn is_elsewhere(&self) -> bool {
        let is_here =
            |host: &str| host.eq_ignore_ascii_case("localhost") || host.starts_with("127.") || host == "::1";
        self.hosts.iter().any(|place| !is_here(&place.host))
    }

    /// Whether hints and wakes are published: `hints=off` saves the server its notifications.
    pub fn publishes(&self) -> bool {
        self.publishes
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresUrl").field(&self.shown).finish()
    }
}

type UserAndPassword = (Option<String>, Option<String>);

fn login_of(login: &str) -> Result<UserAndPassword, StoreUrlError> {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    if user.contains('@') || password.is_some_and(|password| password.contains([':', '@'])) {
        return Err(unencoded());
    }
    if user.is_empty() {
        return Err(StoreUrlError::new("has no user before the `@`", format!("write {FORM}")));
    }
    if password == Some("") {
        let help = "write the password, or take out the colon before the `@`";
        return Err(StoreUrlError::new("has an empty password", help));
    }
    let plain = |part: &str| decoded(part).ok_or_else(unencoded);
    Ok((Some(plain(user)?), password.map(plain).transpose()?))
}

fn address(address: &str) -> Result<PostgresHost, StoreUrlError> {
    let (host, port) = match address.strip_prefix('[').and_then(|v6| v6.find(']')) {
        Some(end) => address.split_at(end + 2),
        None => address.split_at(address.find(':').unwrap_or(address.len())),
    };
    if host.is_empty() {
        let help = format!("write {FORM}; several hosts are separated by commas");
        return Err(StoreUrlError::new("lacks a host", help));
    }
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => DEFAULT_PORT,
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => digits.parse().unwrap_or(0),
        _ => 0,
    };
    if port == 0 {
        let help = format!("write the port as a number, as in {FORM}; a password goes before an `@`");
        return Err(StoreUrlError::new("has a port that is not a number from 1 to 65535", help));
    }
    check_host(host)?;
    let host = host.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(host);
    Ok(PostgresHost { host: host.to_owned(), port })
}

fn database_of(part: &str) -> Result<String, StoreUrlError> {
    let help = format!("write the name of the database last: {FORM}");
    match decoded(part) {
        Some(name) if !name.is_empty() && !name.contains('/') => Ok(name),
        Some(name) if name.is_empty() => Err(StoreUrlError::new("names no database", help)),
        _ => Err(StoreUrlError::new(
            "has a `/` in the name of its database, or a `%` without two hexadecimal digits",
            help,
        )),
    }
}

fn ssl_mode(value: &str) -> Result<SslMode, StoreUrlError> {
    let known = SslMode::ALL.iter().find(|(name, _)| *name == value);
    known.map(|(_, mode)| *mode).ok_or_else(|| {
        let names: Vec<String> = SslMode::ALL.iter().map(|(name, _)| format!("`{name}`")).collect();
        let help = format!(
            "known are {}; with `verify-full` the server's certificate is verified",
            names.join(", ")
        );
        StoreUrlError::new(format!("has an unknown `sslmode`: `{value}`"), help)
    })
}

fn publishes(value: &str) -> Result<bool, StoreUrlError> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(StoreUrlError::new(
            "has an option `hints` that is neither `on` nor `off`",
            "write `?hints=off`",
        )),
    }
}

fn file(name: &str, value: &str) -> Result<PathBuf, StoreUrlError> {
    let path = decoded(value).filter(|path| path.starts_with('/'));
    path.map(PathBuf::from).ok_or_else(|| {
        let help = format!("write it as an absolute path: `?{name}=/etc/ssl/postgres.pem`");
        StoreUrlError::new(format!("has an option `{name}` that is not the path of a file"), help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> PostgresUrl {
        PostgresUrl::parse(url).expect(url)
    }

    #[test]
    fn the_parts_are_read_and_the_password_is_never_shown() {
        let url = parsed("postgres://cron:s%40cret@a,b:6432,[::1]:7/jobs?sslmode=require&hints=off");
        assert_eq!((url.user(), url.password()), (Some("cron"), Some("s@cret")));
        let hosts = [("a", 5432), ("b", 6432), ("::1", 7)];
        let hosts = hosts.map(|(host, port)| PostgresHost { host: host.to_owned(), port });
        assert_eq!(url.hosts(), hosts);
        assert_eq!((url.database(), url.ssl_mode(), url.publishes()), ("jobs", SslMode::Require, false));
        let shown = format!("{url} {url:?}");
        assert!(shown.contains("cron:***@") && !shown.contains("cret"), "{shown}");
        assert!(shown.contains(",[::1]:7/jobs"), "{shown}");
        let plain = parsed("postgresql://h/db");
        assert_eq!((plain.user(), plain.password(), plain.publishes()), (None, None, true));
        assert_eq!(plain.to_string(), "postgresql://h:5432/db");
    }

    #[test]
    fn certificates_are_named_by_absolute_paths() {
        let url =
            parsed("postgres://h/db?sslmode=verify-full&sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/c.key");
        assert_eq!(url.certificates().cacert, Some(PathBuf::from("/ca.pem")));
        assert_eq!(url.certificates().client, Some((PathBuf::from("/c.pem"), PathBuf::from("/c.key"))));
    }

    #[test]
    fn a_malformed_url_is_refused_with_the_way_out_and_without_its_password() {
        for (url, hint) in [
            ("postgres://", "lacks a host"),
            ("postgres://h", "names no database"),
            ("postgres://h/", "names no database"),
            ("postgres://h:x/db", "port"),
            ("postgres://h:0/db", "port"),
            ("postgres://a,,b/db", "lacks a host"),
            ("postgres://u:@h/db", "empty password"),
            ("postgres://:hunter2@h/db", "no user"),
            ("postgres://u:hun:ter2@h/db", "percent-encoded"),
            ("postgres://u:hun/ter2@h/db", "percent-encoded"),
            ("postgres://u:hun?ter2@h/db", "percent-encoded"),
            ("postgres://h/db?sslmode=on", "unknown `sslmode`"),
            ("postgres://h/db?hints=no", "neither `on` nor `off`"),
            ("postgres://h/db?sslcert=/c.pem", "only one"),
            ("postgres://h/db?sslrootcert=/c.pem", "sslmode"),
            ("postgres://h/db?sslmode=verify-ca&sslrootcert=c.pem", "not the path"),
            ("postgres://h/db?hints=on&hints=on", "twice"),
            ("postgres://h/db?target=x", "unknown option"),
            ("postgres://0.0.0.0/db", "no certain machine"),
        ] {
            let error = PostgresUrl::parse(url).expect_err(url).to_string();
            assert!(error.contains(hint) && !error.contains("ter2"), "{url}: {error}");
        }
    }
}
