//! Connections to the host that takes writes. Any doubt about the server drops the connection, so that the next one looks for
//! the primary again.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_postgres::config::{SslMode as SslRequest, TargetSessionAttrs};
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{PostgresHost, PostgresUrl, SslMode};
use crate::job::format_duration;
use crate::store::network::kept::{Kept, Live};
use crate::store::network::tls::{self, Verification};
use crate::store::{Diagnosis, StoreError};

use super::failures::{diagnose, judge};

/// An attempt to connect to one host takes at most this long, with encryption and login.
const HOST_TIMEOUT: Duration = Duration::from_secs(2);

/// How much longer than one attempt to wait for a connection, so that the reason is known if it fails.
const READY_MARGIN: Duration = Duration::from_millis(250);

/// How long to wait for an answer: less than the renewal interval of the default lease.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// If a caller gives up after at least this time, and no answer arrived over the connection meanwhile, the connection is dropped.
/// A renewal of the shortest lease waits longer than this.
const DOUBT_AFTER: Duration = Duration::from_millis(500);

/// Probe an idle connection this often, so that a vanished server is noticed between ticks.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// A parameter of a statement, and its type.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// All that is needed to connect to a server.
#[derive(Clone)]
pub(super) struct Address {
    /// Each host and port, and how to connect to it: one that accepts connections and does not answer must not keep others from
    /// being tried.
    hosts: Vec<(String, Config)>,
    tls: MakeRustlsConnect,
}

/// What moves the data of a connection.
pub(super) type Driver =
    Connection<Socket, <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream>;

impl Address {
    /// Returns the server at this URL. Reads certificates now.
    pub(super) fn at(url: &PostgresUrl) -> Result<Self, StoreError> {
        let tls = MakeRustlsConnect::new(tls::client_config(url, url.certificates(), verification(url))?);
        let hosts = url.hosts().iter().map(|place| (place.to_string(), config(url, place))).collect();
        Ok(Self { hosts, tls })
    }

    /// Connects to the first host of the address that accepts writes. If none does, the diagnosis says of each host why.
    pub(super) async fn connect(&self) -> Result<(Client, Driver), Diagnosis> {
        let mut failures = Vec::new();
        for (place, host) in &self.hosts {
            failures.push(match timeout(HOST_TIMEOUT, host.connect(self.tls.clone())).await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(error)) => (place, diagnose(&error)),
                Err(_) => (place, format!("no connection within {}", format_duration(HOST_TIMEOUT)).into()),
            });
        }
        if let [(_, only)] = &failures[..] {
            return Err(only.clone());
        }
        let told: Vec<String> = failures.iter().map(|(place, why)| format!("{place}: {why}")).collect();
        Err(told.join("; ").into())
    }

    /// How long a connection attempt takes at most.
    fn limit(&self) -> Duration {
        HOST_TIMEOUT * u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)
    }
}

/// Returns how the certificate of the server at this URL is verified.
pub(super) fn verification(url: &PostgresUrl) -> Verification {
    match url.ssl_mode() {
        SslMode::VerifyFull => Verification::Full,
        SslMode::VerifyCa => Verification::Authority,
        // As in libpq, a file of authorities is used where there is one.
        SslMode::Require if url.certificates().cacert.is_some() => Verification::Authority,
        SslMode::Disable | SslMode::Prefer | SslMode::Require => Verification::None,
    }
}

/// Returns how to connect to one host of the URL.
fn config(url: &PostgresUrl, place: &PostgresHost) -> Config {
    let mut config = Config::new();
    config
        .host(&place.host)
        .port(place.port)
        .dbname(url.database())
        .application_name("solocron")
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .tcp_user_timeout(KEEPALIVE)
        .keepalives_idle(KEEPALIVE)
        .keepalives_interval(KEEPALIVE)
        .ssl_mode(match url.ssl_mode() {
            SslMode::Disable => SslRequest::Disable,
            SslMode::Prefer => SslRequest::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => SslRequest::Require,
        });
    if let Some(user) = url.user() {
        config.user(user);
    }
    if let Some(password) = url.password() {
        config.password(password);
    }
    config
}

/// What a connection consists of.
struct PostgresClient {
    client: Client,
    /// How many warnings the server has sent.
    warnings: Arc<AtomicU64>,
}

/// One connection, kept up until this is dropped.
pub(super) struct PostgresConnector {
    kept: Kept<PostgresClient>,
    ready_timeout: Duration,
}

impl PostgresConnector {
    /// Starts to connect, and returns at once. `label` names the server for people.
    pub(super) fn start(address: &Address, label: &str) -> Self {
        let ready_timeout = address.limit() + READY_MARGIN;
        let address = address.clone();
        let kept = Kept::start(label.to_owned(), move || connect(address.clone()));
        Self { kept, ready_timeout }
    }

    /// Waits until the connection is up, or until a cause is known for which another attempt would fail as well; little
    /// longer than one attempt.
    pub(super) async fn ready(&self) -> Result<(), StoreError> {
        self.kept.ready(self.ready_timeout).await
    }

    /// Runs one statement and returns its rows, no later than after [`RESPONSE_TIMEOUT`].
    pub(super) async fn query(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let live = self.kept.live()?;
        let PostgresClient { client, warnings } = &live.client;
        let warned = warnings.load(Ordering::Acquire);
        let (heard, since) = (live.heard(), Instant::now());
        let mut call = OpenCall { kept: &self.kept, live: &live, heard, since, is_answered: false };
        let answer = client.query_typed(statement, parameters);
        let Ok(result) = timeout(RESPONSE_TIMEOUT, answer).await else {
            let why = Diagnosis::from(format!("no answer within {}", format_duration(RESPONSE_TIMEOUT)));
            self.kept.drop_connection(live.number(), &why);
            return Err(StoreError::Unknown(why));
        };
        call.is_answered = true;
        live.hear();
        let rows = result.map_err(|error| self.doubt(&error, live.number()))?;
        // A server warns that a commit may not have been replicated, and then answers as always.
        if warnings.load(Ordering::Acquire) != warned {
            let why =
                "the server sent a warning, which its log shows: what was written may be lost at a failover";
            return Err(StoreError::Unknown(why.into()));
        }
        Ok(rows)
    }

    /// Returns what an error means for the request. Drops the connection if the server cannot be trusted any more.
    fn doubt(&self, error: &Error, number: u64) -> StoreError {
        let judged = judge(error);
        if judged.ends_connection {
            self.kept.drop_connection(number, judged.error.diagnosis());
        }
        judged.error
    }
}

/// A statement that is not answered yet. If its caller gives it up after a while, and nothing else was heard meanwhile, the
/// connection is dropped.
struct OpenCall<'a> {
    kept: &'a Kept<PostgresClient>,
    live: &'a Live<PostgresClient>,
    /// How many answers had arrived when it was sent.
    heard: u64,
    since: Instant,
    is_answered: bool,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let is_silent = self.live.heard() == self.heard;
        let waited = self.since.elapsed();
        if !self.is_answered && is_silent && waited >= DOUBT_AFTER {
            let why = format!("no answer within {}", format_duration(waited));
            self.kept.drop_connection(self.live.number(), &why.into());
        }
    }
}

/// Makes one attempt to connect, at each host of the address.
async fn connect(
    address: Address,
) -> Result<(PostgresClient, impl Future<Output = Diagnosis> + 'static), Diagnosis> {
    let (client, driver) = address.connect().await?;
    let warnings = Arc::new(AtomicU64::new(0));
    let driver = drive(driver, Arc::clone(&warnings));
    Ok((PostgresClient { client, warnings }, driver))
}

/// Moves the data of a connection until it ends, and counts warnings. Returns why it ended.
async fn drive(mut driver: Driver, warnings: Arc<AtomicU64>) -> Diagnosis {
    loop {
        match poll_fn(|context| driver.poll_message(context)).await {
            None => return "the server closed the connection".into(),
            Some(Err(error)) => return diagnose(&error),
            Some(Ok(AsyncMessage::Notice(notice))) if notice.parsed_severity() == Some(Severity::Warning) => {
                warnings.fetch_add(1, Ordering::Release);
            }
            Some(Ok(_)) => {}
        }
    }
}
