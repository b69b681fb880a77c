//! The store of a cluster, as `[cluster] store` or `--store` gives it. A store that is documented but not supported yet
//! is distinguished from an unknown one.

use std::fmt;
use std::path::PathBuf;

use crate::config::report::suggest;
use crate::config::secrets::mask;

use super::postgres_url::PostgresUrl;
use super::redis_url::RedisUrl;

/// Every documented scheme, supported or not.
const SCHEMES: &[&str] =
    &["redis", "rediss", "redis+unix", "redis+sentinel", "redis+cluster", "postgres", "postgresql"];

/// The fewest servers of a quorum: a majority of fewer is all of them, so that losing one would stop every job.
const LEAST_QUORUM: usize = 3;

/// The embedded store's file in the state folder.
pub const LOCAL_STORE_FILE: &str = "store.sqlite3";

/// The store of a cluster, where its replicas meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `local`: the embedded file in the state directory.
    Local,
    /// `local:PATH`: an embedded file elsewhere.
    LocalPath(PathBuf),
    /// One Redis server.
    Redis(RedisUrl),
    /// One PostgreSQL database, on a primary and its standbys.
    Postgres(PostgresUrl),
}

/// Why a store was refused. It never holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("store {what}: {help}")]
pub struct StoreUrlError {
    /// What is wrong; continues "the store".
    pub what: String,
    /// How to correct it.
    pub help: String,
}

impl StoreUrlError {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), help: help.into() }
    }
}

impl StoreUrl {
    /// Parses a store: `local`, `local:PATH` or the URL of a server.
    ///
    /// # Errors
    /// If it is malformed, unknown or not supported yet.
    pub fn parse(text: &str) -> Result<Self, StoreUrlError> {
        if text == "local" {
            return Ok(Self::Local);
        }
        if let Some(path) = text.strip_prefix("local:") {
            return local_path(path);
        }
        match text.split_once("://") {
            Some(("redis" | "rediss" | "redis+unix", _)) => RedisUrl::parse(text).map(Self::Redis),
            Some(("postgres" | "postgresql", _)) => PostgresUrl::parse(text).map(Self::Postgres),
            Some(("redis+sentinel", rest)) => Err(sentinel(rest)),
            Some(("redis+cluster", rest)) => Err(cluster(rest)),
            Some((scheme, rest)) => Err(unknown_scheme(scheme, rest)),
            None => Err(no_scheme(text)),
        }
    }

    /// Returns its kind in one word: `redis`, `postgres` or `local`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Local | Self::LocalPath(_) => "local",
            Self::Redis(_) => "redis",
            Self::Postgres(_) => "postgres",
        }
    }

    /// Returns why a list of stores, a quorum of Redis servers, is refused.
    pub(crate) fn parse_list(texts: &[&str]) -> StoreUrlError {
        let odd = texts.iter().find(|text| {
            let single = text.starts_with("redis://") || text.starts_with("rediss://");
            !single || RedisUrl::parse(text).is_err()
        });
        match (texts.len(), odd) {
            (0, _) => StoreUrlError::new(
                "is an empty list",
                "write one store as a string: `\"redis://host:6379/0\"`",
            ),
            (1, _) => StoreUrlError::new("is a list of one", "write it as a string, without the brackets"),
            (n, _) if n < LEAST_QUORUM => {
                let what = format!(
                    "is a list of {n}, which is no quorum: when one of them fails, no majority is left"
                );
                StoreUrlError::new(what, "write one store as a string; a quorum takes three or more")
            }
            (_, Some(odd)) => StoreUrlError::new(
                format!("lists `{}`, which is not the URL of a Redis server", mask::mask_store(odd)),
                "write each as `redis://host:6379/0`",
            ),
            (..) => not_yet("a quorum of several Redis servers (Redlock)"),
        }
    }

    /// Whether only replicas on the same machine can share it.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local | Self::LocalPath(_))
    }
}

impl fmt::Display for StoreUrl {
    /// Writes it as in the file, without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.pad("local"),
            Self::LocalPath(path) => write!(f, "local:{}", path.display()),
            Self::Redis(url) => url.fmt(f),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

fn local_path(path: &str) -> Result<StoreUrl, StoreUrlError> {
    let help = "write `local:/path/of/the/file`, or `local` alone for a file in the state directory";
    match path {
        "" => Err(StoreUrlError::new("has no path after `local:`", help)),
        _ if path.starts_with("//") => Err(StoreUrlError::new("has slashes of a URL after `local:`", help)),
        _ if path.ends_with('/') => {
            Err(StoreUrlError::new("ends in `/`, so it is a directory, not a file", help))
        }
        _ => Ok(StoreUrl::LocalPath(PathBuf::from(path))),
    }
}

fn not_yet(what: &str) -> StoreUrlError {
    StoreUrlError::new(
        format!("is {what}, which is not supported yet"),
        "use one server: `redis://host:6379/0`, `rediss://…`, `redis+unix:///path`, or `local`",
    )
}

fn sentinel(rest: &str) -> StoreUrlError {
    let mut parts = rest.split('/');
    let (hosts, master) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    if hosts.is_empty() || hosts.split(',').any(str::is_empty) || master.is_empty() {
        let help = "write `redis+sentinel://h1,h2,h3/MASTER/db`";
        return StoreUrlError::new("lacks hosts, or the name of the master", help);
    }
    not_yet("behind Redis Sentinel")
}

fn cluster(rest: &str) -> StoreUrlError {
    if rest.is_empty() || rest.split(',').any(str::is_empty) {
        return StoreUrlError::new("lacks hosts", "write `redis+cluster://h1,h2,h3`");
    }
    not_yet("a Redis Cluster")
}

fn unknown_scheme(scheme: &str, rest: &str) -> StoreUrlError {
    let help = match (scheme, suggest::nearest(scheme, SCHEMES)) {
        ("local", _) => "write `local:/path/of/the/file`, or `local` alone".to_owned(),
        ("valkey", _) => "write `redis://…`: Valkey speaks the same protocol".to_owned(),
        ("valkeys", _) => "write `rediss://…`: Valkey speaks the same protocol".to_owned(),
        ("unix" | "file", _) if rest.starts_with('/') => {
            mask::mask(&format!("did you mean `redis+unix://{rest}`?"))
        }
        (_, Some(near)) => format!("did you mean `{near}://`?"),
        (_, None) => known_stores(),
    };
    StoreUrlError::new("has an unknown scheme", help)
}

fn no_scheme(text: &str) -> StoreUrlError {
    let help = match suggest::nearest(text, &["local"]) {
        Some(near) => format!("did you mean `{near}`?"),
        None if text.starts_with('/') => format!("did you mean `local:{text}`?"),
        None if text.contains([':', '.']) => "write the scheme first: `redis://host:6379/0`".to_owned(),
        None => known_stores(),
    };
    StoreUrlError::new("is not a known kind of store", help)
}

fn known_stores() -> String {
    "known are `local`, `local:PATH`, `redis://host:6379/0`, `rediss://…` (TLS), `redis+unix:///path` and \
     `postgres://user:pass@host:5432/db`"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_stores_are_read_and_written_back() {
        for text in ["local", "local:/var/lib/x/store.db", "local:here.db"] {
            let store = StoreUrl::parse(text).expect(text);
            assert!(store.is_local());
            assert_eq!(store.to_string(), text);
        }
        assert!(!StoreUrl::parse("redis://h").expect("a URL").is_local());
    }

    #[test]
    fn a_refused_store_leads_to_the_right_one() {
        for (text, hint) in [
            ("locl", "`local`"),
            ("local:", "local:/path"),
            ("local://x", "local:/path"),
            ("rdis://h", "`redis://`"),
            ("redis-sentinel://h/m", "`redis+sentinel://`"),
            ("unix:///run/r.sock", "redis+unix:///run/r.sock"),
            ("valkey://h", "`redis://…`"),
            ("redis.internal:6379", "the scheme first"),
            ("/var/lib/x.db", "local:/var/lib/x.db"),
            ("mysql://h/db", "known are"),
            ("", "known are"),
        ] {
            let error = StoreUrl::parse(text).expect_err(text);
            assert!(error.help.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_not_supported_yet_is_said_so_only_when_it_is_well_formed() {
        for text in ["redis+sentinel://a,b,c/main/0", "redis+cluster://a,b"] {
            assert!(StoreUrl::parse(text).expect_err(text).what.contains("not supported yet"));
        }
        for text in
            ["redis+sentinel://a,b", "redis+sentinel:///m", "redis+cluster://", "redis+cluster://a,,b"]
        {
            assert!(StoreUrl::parse(text).expect_err(text).what.contains("lacks"), "{text}");
        }
        let three = ["redis://a", "redis://b", "redis://c"];
        assert!(StoreUrl::parse_list(&three).what.contains("not supported yet"));
        assert!(StoreUrl::parse_list(&three[..2]).what.contains("no quorum"));
        assert!(StoreUrl::parse_list(&three[..1]).what.contains("list of one"));
        assert!(StoreUrl::parse_list(&["redis://a", "redis://b", "local"]).what.contains("`local`"));
    }
}
