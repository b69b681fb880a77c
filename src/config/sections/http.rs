//! `[http]`: where page, API and metrics are served, under which names, and which tokens give which rights.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use axum::http::Uri;

use crate::config::file::Overrides;
use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::values;
use crate::config::values::substitute::Template;
use crate::config::values::{Checked, Raw, ValueError};
use crate::job::TokenName;

use super::cluster::similar_name;
use super::keys;
use super::keys::Home;
use super::section::Section;

/// How page, API and metrics are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The address to listen on; `None` with `--no-http`.
    pub listen: Option<ListenAddress>,
    /// Host names by which browsers reach it, in lower case, besides `localhost`, this machine's own and that of `url`.
    pub hosts: Vec<String>,
    /// The base of links, if it is not the address to listen on.
    pub url: Option<BaseUrl>,
    /// The tokens, each with its right. Without one nobody may act.
    pub tokens: BTreeMap<TokenName, TokenSettings>,
}

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress {
    /// IP address and port; port 0: one that is free.
    pub address: SocketAddr,
    /// Whether the file or a flag names it: then it is an error if the port is taken, and otherwise a warning.
    pub is_explicit: bool,
}

/// The address by which browsers reach the page, such as `https://cron.example.org/billing`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    /// Whether browsers use TLS, which a proxy ends.
    pub is_https: bool,
    /// Host, in lower case, with the port if one is given.
    pub authority: String,
    /// The path before every link, without a slash at its end; empty for none.
    pub path: String,
}

/// One token, as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// The file that contains it, an absolute path.
    pub file: PathBuf,
    /// What its holder may do.
    pub may: TokenRight,
}

/// What the holder of a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenRight {
    /// See everything.
    Read,
    /// See everything, and trigger, pause, resume, kill and unlock jobs.
    Act,
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

impl BaseUrl {
    /// Returns the host without its port.
    pub fn host(&self) -> &str {
        host_of(&self.authority)
    }
}

/// Returns the host of `host:port`, without the port and without the brackets of an IPv6 address.
pub fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split_once(':').map_or(authority, |(host, _)| host),
    }
}

/// Parses an address to listen on: `127.0.0.1:7070`, `[::1]:7070`, `localhost:7070`.
///
/// # Errors
/// What is wrong with it, and the way out.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let local = |port: &str| port.parse().ok().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    let address = text.parse().ok().or_else(|| text.strip_prefix("localhost:").and_then(local));
    address.ok_or_else(|| {
        let port = text.trim_start_matches(':').parse::<u16>();
        let example = match (text.parse::<IpAddr>(), port) {
            (Ok(IpAddr::V6(ip)), _) => format!("[{ip}]:7070"),
            (Ok(ip), _) => format!("{ip}:7070"),
            (_, Ok(port)) => format!("127.0.0.1:{port}"),
            _ => "127.0.0.1:7070".to_owned(),
        };
        format!("expected an IP address with a port, such as `{example}`")
    })
}

/// Reads `[http]`; flags override the file. `offset` is added to the port.
pub(crate) fn read(
    section: &Section<'_>,
    overrides: &Overrides<'_>,
    findings: &mut Findings,
) -> HttpSettings {
    section.refuse_unknown(&keys::names(&[Home::Http]), findings);
    let is_explicit = overrides.listen.is_some() || section.has("listen");
    let in_file = section.read_or_default("listen", findings, listen);
    let address = moved(overrides.listen.unwrap_or(in_file), overrides.port_offset);
    let hosts = section.read("hosts", findings, hosts).map(|hosts| hosts.value);
    let url = section.read("url", findings, base_url).map(|url| url.value);
    HttpSettings {
        listen: (!overrides.no_http).then_some(ListenAddress { address, is_explicit }),
        hosts: hosts.unwrap_or_default(),
        url,
        tokens: tokens(section, findings),
    }
}

/// Returns the address with a port that many above its own. Port 0, any free one, stays.
fn moved(address: SocketAddr, offset: u16) -> SocketAddr {
    let port = match address.port() {
        0 => 0,
        port => port.saturating_add(offset),
    };
    SocketAddr::new(address.ip(), port)
}

fn listen(raw: &Raw<'_>) -> Checked<SocketAddr> {
    let text = values::text(raw)?;
    parse_listen(&text).map_err(|expected| {
        let help = expected.rsplit('`').nth(1).map(|example| format!("write `\"{example}\"`"));
        let what = match expected.split_once(", such as") {
            Some((expected, _)) => format!("is `{}`, {expected}", text.escape_debug()),
            None => format!("is `{}`", text.escape_debug()),
        };
        vec![ValueError::new(what, help.unwrap_or_default())]
    })
}

fn hosts(raw: &Raw<'_>) -> Checked<Vec<String>> {
    let Some(items) = raw.get_ref().as_array() else {
        let what = format!("is {}, expected a list of host names", values::kind(raw));
        return ValueError::new(what, "write `[\"cron.internal\"]`").alone();
    };
    values::each(items, |item| {
        let host = values::filled(item)?.to_ascii_lowercase();
        if is_host(&host) {
            return Ok(host);
        }
        let bare = host.split_once("://").map_or(host.as_str(), |(_, rest)| rest);
        let bare = host_of(bare.split('/').next().unwrap_or_default());
        let example = if is_host(bare) { bare } else { "cron.internal" };
        let help = format!("write `\"{example}\"`, without scheme, port and path; `url` takes an address");
        ValueError::new(format!("is `{}`, which is no host name", host.escape_debug()), help).alone()
    })
}

/// Whether it is a host name: letters, digits, hyphens and dots.
fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

fn base_url(raw: &Raw<'_>) -> Checked<BaseUrl> {
    let text = values::filled(raw)?;
    let refuse = |problem: &str| {
        let help = "write `\"https://cron.example.org\"`, or with a path before all links";
        ValueError::new(format!("is `{}`, {problem}", text.escape_debug()), help).alone()
    };
    let Ok(uri) = text.parse::<Uri>() else { return refuse("which is no address") };
    let is_https = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return refuse("expected an address with `https://` or `http://`"),
    };
    let Some(authority) = uri.authority().filter(|authority| !authority.host().is_empty()) else {
        return refuse("which has no host");
    };
    if authority.as_str().contains('@') {
        return ValueError::new("has a user or a password", "take it out: everybody sees links").alone();
    }
    if uri.query().is_some() || text.contains('#') {
        return refuse("expected an address without `?` and `#`");
    }
    let path = uri.path().trim_end_matches('/').to_owned();
    Ok(BaseUrl { is_https, authority: authority.as_str().to_ascii_lowercase(), path })
}

/// Reads `[http.tokens]`. A token that cannot be read is reported, and left out.
fn tokens(section: &Section<'_>, findings: &mut Findings) -> BTreeMap<TokenName, TokenSettings> {
    let Some(raw) = section.raw("tokens") else { return BTreeMap::new() };
    let Some(table) = raw.get_ref().as_table() else {
        let message = format!("{}: `tokens` is {}, expected a table", section.title, values::kind(raw));
        let help =
            "write `NAME = { token = \"${file:/run/secrets/NAME}\", may = \"read\" }` under `[http.tokens]`";
        findings.add(Problem::error(message).at(raw.span()).help(help.to_owned()));
        return BTreeMap::new();
    };
    let table = Section::new("[http.tokens]", raw.span(), table);
    let mut tokens = BTreeMap::new();
    for (key, span, raw) in table.entries() {
        let name = TokenName::parse(key).map_err(|error| {
            let help = format!("write for example `{} = {{ … }}`", similar_name(key, "maria"));
            findings.add(Problem::error(error.to_string()).at(span.clone()).help(help));
        });
        let Some(fields) = raw.get_ref().as_table() else {
            let message =
                format!("token `{}` is {}, expected a table", key.escape_debug(), values::kind(raw));
            let help = format!(
                "write `{} = {{ token = \"${{file:/run/secrets/{0}}}\", may = \"read\" }}`",
                similar_name(key, "maria")
            );
            findings.add(Problem::error(message).at(span).help(help));
            continue;
        };
        let fields = Section::new(format!("token `{}`", key.escape_debug()), span, fields);
        if let (Ok(name), Some(settings)) = (name, token(&fields, findings)) {
            tokens.insert(name, settings);
        }
    }
    tokens
}

fn token(section: &Section<'_>, findings: &mut Findings) -> Option<TokenSettings> {
    let known = keys::names(&[Home::Token]);
    section.refuse_unknown(&known, findings);
    let file = section.read("token", findings, token_file);
    let may = section.read("may", findings, |raw| {
        values::word(raw, &[("read", TokenRight::Read), ("act", TokenRight::Act)])
    });
    for (key, example) in
        [("token", "\"${file:/run/secrets/maria}\""), ("may", "\"read\"` or `may = \"act\"")]
    {
        if section.lacks(key, &known) {
            let problem = Problem::error(format!("{}: `{key}` is missing", section.title));
            findings.missing(problem.at(section.span.clone()).help(format!("write `{key} = {example}`")));
        }
    }
    Some(TokenSettings { file: file?.value, may: may?.value })
}

/// Reads the path of a token's file. A token must not be in jobs.toml, which many may read, nor in the environment, which
/// the processes of one user read of each other.
fn token_file(raw: &Raw<'_>) -> Checked<PathBuf> {
    let text = values::filled(raw)?;
    let template = Template::parse(&text)
        .map_err(|error| vec![ValueError { note: None, ..ValueError::new(error.message, error.help) }])?;
    if let Some(path) = template.only_file() {
        return Ok(Path::to_owned(path));
    }
    let what = match template.has_references() {
        true => "is not the path of one file alone",
        false => "is written in the file itself",
    };
    let help = "put it into a file that only solocron may read, and write for example `\"${file:/run/secrets/maria}\"`";
    ValueError::new(what, help).alone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_on_has_an_ip_address_and_a_port() {
        for (text, address) in [
            ("127.0.0.1:7070", "127.0.0.1:7070"),
            ("localhost:80", "127.0.0.1:80"),
            ("[::]:7070", "[::]:7070"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ] {
            assert_eq!(parse_listen(text), Ok(address.parse().expect("an address")), "{text}");
        }
        for (text, example) in [
            ("7071", "`127.0.0.1:7071`"),
            (":7071", "`127.0.0.1:7071`"),
            ("10.0.0.1", "`10.0.0.1:7070`"),
            ("::1", "`[::1]:7070`"),
            ("cron.internal:7070", "`127.0.0.1:7070`"),
            ("127.0.0.1:99999", "`127.0.0.1:7070`"),
            ("", "`127.0.0.1:7070`"),
        ] {
            assert!(parse_listen(text).expect_err(text).contains(example), "{text}");
        }
    }

    #[test]
    fn a_port_moves_by_the_number_of_the_replica_unless_any_will_do() {
        let address = |text: &str| text.parse().expect("an address");
        assert_eq!(moved(address("127.0.0.1:7070"), 2), address("127.0.0.1:7072"));
        assert_eq!(moved(address("127.0.0.1:0"), 2), address("127.0.0.1:0"));
    }

    #[test]
    fn the_host_of_an_address_has_no_port_and_no_brackets() {
        for (authority, host) in [("a.b:80", "a.b"), ("a.b", "a.b"), ("[::1]:80", "::1"), ("[::1]", "::1")] {
            assert_eq!(host_of(authority), host);
        }
    }
}
