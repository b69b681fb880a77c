//! A Redis address as users write it, whose password is never shown.

use std::fmt;
use std::time::Duration;

use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};

/// Probe an idle connection this often, so that a vanished server is noticed between ticks.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// Give up on data that the server has not acknowledged for this long.
const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// An address: `redis://`, `rediss://` or `redis+unix://`.
#[derive(Clone)]
pub struct RedisUrl {
    connection: ConnectionInfo,
}

impl RedisUrl {
    /// Reads an address. The error says what is wrong, without the password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let connection = url.into_connection_info().map_err(|error| match error.detail() {
            Some(detail) => format!("{} ({detail})", error.category()),
            None => error.to_string(),
        })?;
        let tcp = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE))
            .set_user_timeout(USER_TIMEOUT);
        Ok(Self { connection: connection.set_tcp_settings(tcp) })
    }

    /// How to connect.
    pub(super) fn connection(&self) -> ConnectionInfo {
        self.connection.clone()
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.connection.redis_settings();
        let user = match (settings.username(), settings.password()) {
            (None, None) => String::new(),
            (user, password) => {
                format!("{}{}@", user.unwrap_or_default(), if password.is_some() { ":***" } else { "" })
            }
        };
        let db = settings.db();
        match self.connection.addr() {
            ConnectionAddr::Tcp(host, port) => write!(f, "redis://{user}{host}:{port}/{db}"),
            ConnectionAddr::TcpTls { host, port, .. } => write!(f, "rediss://{user}{host}:{port}/{db}"),
            ConnectionAddr::Unix(path) => write!(f, "redis+unix://{user}{}", path.display()),
            _ => f.write_str("redis"),
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_never_shown() {
        for url in
            ["redis://:s3cret@h:6380/2", "rediss://u:s3cret@h/0", "redis+unix:///run/r.sock?pass=s3cret"]
        {
            let parsed = RedisUrl::parse(url).expect("good url");
            assert!(!format!("{parsed} {parsed:?}").contains("s3cret"), "{parsed}");
        }
        assert_eq!(
            RedisUrl::parse("redis://u:p@h:6380/2").expect("good").to_string(),
            "redis://u:***@h:6380/2"
        );
    }
}
