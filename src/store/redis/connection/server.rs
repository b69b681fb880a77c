//! Opens connections to a server: over TCP, TLS or a Unix socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, select_ok};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError, RedisResult,
};
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::config::RedisUrl;
use crate::store::network::tls::{self, Verification};
use crate::store::{Diagnosis, StoreError};

use super::stream::{Bounded, ByteStream, Misfit, Untaken};
use super::wording::diagnose;

/// Probe an idle connection this often, so that a vanished server is noticed between ticks.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// Give up on data that the server has not acknowledged for this long.
const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// A TLS handshake takes no longer. Less than a connection may take, so that it is known that the handshake failed: a plain
/// Redis takes it for the beginning of a command, and waits for the rest.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// All that is needed to connect to a server.
#[derive(Clone)]
pub(crate) struct ServerAddress {
    info: ConnectionInfo,
    tls: TlsConnector,
}

impl ServerAddress {
    /// Returns the server at this URL. Reads certificates now: those of the system, or those that the URL names.
    pub(crate) fn at(url: &RedisUrl) -> Result<Self, StoreError> {
        let info = url.reveal().into_connection_info();
        let info = info.map_err(|error| StoreError::NotSent(format!("{url}: {error}").into()))?;
        let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        let verification = if is_tls { Verification::Full } else { Verification::None };
        let config = tls::client_config(url, url.certificates(), verification)?;
        Ok(Self { info, tls: Arc::new(config).into() })
    }

    /// Opens a connection for requests. The future moves its data for as long as it is polled.
    pub(crate) async fn connect(
        &self,
        config: AsyncConnectionConfig,
        untaken: &Arc<Untaken>,
    ) -> RedisResult<(MultiplexedConnection, BoxFuture<'static, ()>)> {
        let stream = self.stream(untaken).await?;
        let settings = self.info.redis_settings();
        let (connection, driver) = MultiplexedConnection::new_with_config(settings, stream, config).await?;
        Ok((connection, Box::pin(driver)))
    }

    /// Opens a connection that can subscribe to channels.
    pub(crate) async fn listen(&self, untaken: &Arc<Untaken>) -> RedisResult<PubSub> {
        PubSub::new(self.info.redis_settings(), self.stream(untaken).await?).await
    }

    async fn stream(&self, untaken: &Arc<Untaken>) -> RedisResult<Bounded> {
        let stream: Box<dyn ByteStream> = match self.info.addr() {
            ConnectionAddr::TcpTls { host, port, .. } => {
                let name = ServerName::try_from(host.as_str())?.to_owned();
                let stream = tcp(host, *port).await?;
                let handshake = timeout(HANDSHAKE_TIMEOUT, self.tls.connect(name, stream)).await;
                Box::new(handshake.map_err(|_| io::Error::from(Misfit::NoHandshake))??)
            }
            ConnectionAddr::Unix(path) => Box::new(UnixStream::connect(path).await?),
            ConnectionAddr::Tcp(host, port) => Box::new(tcp(host, *port).await?),
            other => return Err(io::Error::other(format!("no way to connect to {other}")).into()),
        };
        Ok(Bounded::new(stream, untaken))
    }

    /// Returns what an error of this server means.
    pub(crate) fn diagnose(&self, error: &RedisError) -> Diagnosis {
        diagnose(error, &self.info)
    }
}

/// Connects to all addresses of a host at once, and returns the first connection.
async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<_> = lookup_host((host, port)).await?.collect();
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "No address found for host"));
    }
    let attempts = addresses.into_iter().map(|address| Box::pin(TcpStream::connect(address)));
    let (stream, _) = select_ok(attempts).await?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE))?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(stream)
}
