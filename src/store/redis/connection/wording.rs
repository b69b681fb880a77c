//! Explains errors of a server, its connection or the client to people: a sentence with the error's own words, and what to
//! do about it where these do not say so.

use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, RedisError};
use rustls::CertificateError;

use crate::job::quoted_within;
use crate::store::{Diagnosis, FailureCause};

use super::stream::Misfit;

/// At most this many characters of an error are shown: the scripts quote names and contents of keys in it.
const SHOWN: usize = 500;

/// Returns what an error of a request to this server means.
pub(super) fn diagnose(error: &RedisError, server: &ConnectionInfo) -> Diagnosis {
    let said = in_its_words(error);
    if let Some(inner) = inner(error)
        && let Some(diagnosis) = of_connection(inner, &said, server)
    {
        return diagnosis;
    }
    if error.kind() == ErrorKind::AuthenticationFailed {
        return refused_login(server);
    }
    let has_code = |code: &str| said.starts_with(code) || said.contains(&format!(": {code} "));
    // Before a login, Redis refuses every long request with another error.
    if has_code("NOAUTH") || said == "ERR Authentication required." || said.contains("unauthenticated ") {
        let why = if said.contains("unauthenticated ") { "NOAUTH" } else { &*said };
        let sentence = format!("the server requires a password ({why})");
        let with_password = with_login(server, ":PASSWORD");
        Diagnosis::of(FailureCause::PasswordMissing, sentence).help(format!(
            "put it into the store's URL: `{with_password}`, or with a user `{}`",
            with_login(server, "USER:PASSWORD")
        ))
    } else if has_code("NOPERM")
        || said.contains("has no permissions to run the 'select'")
        // What a script may not do.
        || said.contains("executing the script can't")
        || said.contains("ACL failure in script")
    {
        let sentence = format!("user `{}` lacks a right ({said})", user(server));
        Diagnosis::of(FailureCause::NoRight, sentence).help(
            "grant it with `ACL SETUSER`: `solocron check --probe` names every right that is missing, and \
             docs/redis.md lists those that are needed",
        )
    } else if said.contains("DB index is out of range") || said.contains("invalid DB index") {
        let sentence = format!("the server has no database {} ({said})", server.redis_settings().db());
        Diagnosis::of(FailureCause::NoDatabase, sentence).help(
            "name another database at the end of the store's URL, or raise `databases` in the server's configuration",
        )
    } else if has_code("WRONGTYPE") {
        Diagnosis::of(FailureCause::WrongType, said)
    } else {
        match meaning(&said) {
            Some(meaning) => format!("{meaning} ({said})").into(),
            None => said.into(),
        }
    }
}

/// Returns the error's own words; those of a server begin with a code.
fn in_its_words(error: &RedisError) -> String {
    let said = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    quoted_within(&said, SHOWN)
}

/// Returns the error inside the connection's own error.
fn inner(error: &RedisError) -> Option<&(dyn Error + Send + Sync + 'static)> {
    let shared = error.source()?.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    shared.downcast_ref::<io::Error>()?.get_ref()
}

/// Returns what an error of the connection means; `None` if that is not known.
fn of_connection(
    error: &(dyn Error + Send + Sync + 'static),
    said: &str,
    server: &ConnectionInfo,
) -> Option<Diagnosis> {
    let place = place(server);
    if let Some(misfit) = error.downcast_ref::<Misfit>() {
        let is_tcp = matches!(server.addr(), ConnectionAddr::Tcp(..));
        let diagnosis = |cause| Diagnosis::of(cause, format!("{place} {misfit}"));
        return Some(match misfit {
            Misfit::NoHandshake => diagnosis(FailureCause::NoTls).help(NO_TLS_HELP),
            Misfit::Tls => diagnosis(FailureCause::TlsExpected).help("write `rediss://` in place of `redis://`"),
            Misfit::Silent if is_tcp => diagnosis(FailureCause::TlsExpected).help(
                "if this port speaks TLS, write `rediss://` in place of `redis://`; else see the log of the server, or of \
                 the proxy in front of it",
            ),
            Misfit::Silent => misfit.to_string().into(),
            Misfit::Other(_) => diagnosis(FailureCause::NotRedis)
                .help("name the host and the port of a Redis or Valkey server in the store's URL"),
        });
    }
    match error.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidMessage(_) => {
            let sentence = format!("{place} does not speak TLS ({said})");
            Some(Diagnosis::of(FailureCause::NoTls, sentence).help(NO_TLS_HELP))
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            let sentence =
                format!("the certificate of {place} is signed by an authority that is not trusted ({said})");
            Some(Diagnosis::of(FailureCause::Untrusted, sentence).help(
                "name the authority's certificate in the store's URL: `?cacert=/etc/ssl/redis-ca.pem`, or add it to those of \
                 this machine",
            ))
        }
        _ => None,
    }
}

const NO_TLS_HELP: &str = "if this port does not speak TLS, write `redis://` in place of `rediss://`";

/// Returns the diagnosis of a refused login. The client does not pass on the server's words.
fn refused_login(server: &ConnectionInfo) -> Diagnosis {
    let sentence = match user(server) {
        "default" => "the server refuses the password".to_owned(),
        user => format!("the server refuses user `{user}` with this password"),
    };
    Diagnosis::of(FailureCause::PasswordWrong, sentence).help(format!(
        "correct it in the store's URL: `{}`; a server that requires no password takes none",
        with_login(server, "USER:PASSWORD")
    ))
}

fn user(server: &ConnectionInfo) -> &str {
    server.redis_settings().username().filter(|user| !user.is_empty()).unwrap_or("default")
}

/// `127.0.0.1:6379`, or the path of a socket.
fn place(server: &ConnectionInfo) -> String {
    match server.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } if host.contains(':') => {
            format!("[{host}]:{port}")
        }
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            format!("{host}:{port}")
        }
        ConnectionAddr::Unix(path) => path.display().to_string(),
        other => other.to_string(),
    }
}

/// Returns the store's URL with these words for a user and a password.
fn with_login(server: &ConnectionInfo, login: &str) -> String {
    let (place, db) = (place(server), server.redis_settings().db());
    match server.addr() {
        ConnectionAddr::Unix(_) => {
            let (user, password) = login.split_once(':').unwrap_or_default();
            let user = if user.is_empty() { String::new() } else { format!("user={user}&") };
            format!("redis+unix://{place}?{user}pass={password}")
        }
        ConnectionAddr::TcpTls { .. } => format!("rediss://{login}@{place}/{db}"),
        _ => format!("redis://{login}@{place}/{db}"),
    }
}

/// Returns what an answer means whose own words do not tell people what to do.
fn meaning(said: &str) -> Option<&'static str> {
    // Redis 6.2 wraps the error of a script's command into an error of its own.
    if said.contains("READONLY") {
        Some("the server is a Redis replica (read-only): name its primary in `store`")
    } else if said.contains("OOM command not allowed") {
        Some("the server's memory is full: raise its `maxmemory`, or make room")
    } else if said.starts_with("LOADING") {
        Some("the server is still loading its data")
    } else if said.starts_with("MASTERDOWN") {
        Some("the server is a replica that has lost its primary: name the primary in `store`")
    } else if said.starts_with("CLUSTERDOWN") || said.starts_with("MOVED") || said.starts_with("CROSSSLOT") {
        Some("the server is a node of a Redis Cluster, which is not supported yet: use one server")
    } else if said.contains("NOERA") {
        Some(
            "the server shows no replication id, so a restart or failover would go unnoticed: name a Redis or \
             Valkey server itself in `store`, with INFO neither renamed nor answered by something else",
        )
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    fn diagnosed(url: &str, error: impl Into<RedisError>) -> Diagnosis {
        diagnose(&error.into(), &url.into_connection_info().expect("a good url"))
    }

    #[test]
    fn what_a_connection_ends_with_reaches_people_through_the_client() {
        let http = io::Error::from(Misfit::Other("HTTP/1.1 400 Bad Request".into()));
        let said = diagnosed("redis://h:80/0", http);
        assert_eq!(
            said.to_string(),
            "h:80 does not speak the Redis protocol: it sent `HTTP/1.1 400 Bad Request`"
        );
        let corrupt = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        let said = diagnosed("rediss://[::1]:6379/0", io::Error::new(io::ErrorKind::InvalidData, corrupt));
        assert!(said.starts_with("[::1]:6379 does not speak TLS ("), "{said}");
    }

    #[test]
    fn the_way_out_of_a_missing_password_is_the_url_with_one() {
        let error =
            (redis::ServerErrorKind::ResponseError.into(), "refused", "Authentication required.".into());
        for (url, with_password) in [
            ("redis://h:6379/3", "redis://:PASSWORD@h:6379/3"),
            ("rediss://h:6379", "rediss://:PASSWORD@h:6379/0"),
            ("redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock?pass=PASSWORD"),
        ] {
            let said = format!("{:?}", diagnosed(url, error.clone()));
            assert!(said.contains(&format!("`{with_password}`")), "{said}");
        }
    }
}
