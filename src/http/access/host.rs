//! Which hosts a request may name. A page of another site can make a browser send requests to this address under a name
//! of its own (DNS rebinding); such a name is refused.

use std::collections::BTreeSet;
use std::net::IpAddr;

use axum::http::{HeaderMap, Uri, header};

use crate::config::host_of;
use crate::http::state::HttpOptions;

/// The names that a request may use for this server.
#[derive(Debug)]
pub(crate) struct HostRule {
    names: BTreeSet<String>,
}

/// Why the host of a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadHost {
    /// There is none, there are two, or the request line names another.
    Malformed,
    /// It is not a name of this server.
    Foreign,
}

impl HostRule {
    /// Returns the rule for these options: `localhost`, the given names and that of `url`.
    pub(crate) fn of(options: &HttpOptions) -> Self {
        let mut names = options.hosts.clone();
        names.insert("localhost".to_owned());
        names.extend(options.url.as_ref().map(|url| url.host().to_owned()));
        Self { names }
    }

    /// Returns the host of a request, in lower case, if the request names one of this server. IP addresses always pass:
    /// no name can be bound to another address then.
    pub(crate) fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, BadHost> {
        let mut given = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else { return Err(BadHost::Malformed) };
        let host = host.to_str().map_err(|_| BadHost::Malformed)?.to_ascii_lowercase();
        let is_other =
            uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(&host));
        if host.is_empty() || is_other || host.contains('@') {
            return Err(BadHost::Malformed);
        }
        let name = host_of(&host);
        let is_ours = name.parse::<IpAddr>().is_ok() || self.names.contains(name.trim_end_matches('.'));
        if is_ours { Ok(host) } else { Err(BadHost::Foreign) }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn admitted(uri: &str, hosts: &[&str]) -> Result<String, BadHost> {
        let options =
            HttpOptions { hosts: BTreeSet::from(["cron.internal".to_owned()]), ..HttpOptions::default() };
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).expect("a header"));
        }
        HostRule::of(&options).admit(&uri.parse().expect("an address"), &headers)
    }

    #[test]
    fn addresses_and_known_names_pass_with_any_port() {
        for host in
            ["127.0.0.1:7070", "10.1.2.3", "[::1]:7070", "localhost:1", "CRON.internal", "cron.internal.:80"]
        {
            assert_eq!(admitted("/", &[host]), Ok(host.to_lowercase()));
        }
        assert!(admitted("http://localhost/", &["localhost"]).is_ok());
    }

    #[test]
    fn foreign_names_are_refused() {
        for host in ["evil.example", "127.0.0.1.evil.example", "cron.internal.evil.example", "localhost.evil"]
        {
            assert_eq!(admitted("/", &[host]), Err(BadHost::Foreign), "{host}");
        }
    }

    #[test]
    fn a_request_with_no_host_two_or_two_different_ones_is_malformed() {
        for (uri, hosts) in [
            ("/", vec![]),
            ("/", vec![""]),
            ("/", vec!["localhost", "localhost"]),
            ("/", vec!["me@localhost"]),
            ("http://evil.example/", vec!["localhost"]),
        ] {
            assert_eq!(admitted(uri, &hosts), Err(BadHost::Malformed), "{uri} {hosts:?}");
        }
    }
}
