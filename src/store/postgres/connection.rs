//! A connection that is either up or known to be down: a call made while it is down fails at once. Any doubt about the
//! server drops the connection, so that the next one looks for the primary again.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::config::{SslMode as SslRequest, TargetSessionAttrs};
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, Row, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

use crate::config::{PostgresUrl, SslMode};
use crate::job::format_duration;
use crate::store::network::tls::{self, Verification};
use crate::store::{Diagnosis, StoreError};

use super::failures::{diagnose, judge};

/// An attempt to connect to one host takes at most this long, with encryption and login.
const HOST_TIMEOUT: Duration = Duration::from_secs(2);

/// How much longer than one attempt to wait for a connection, so that the reason is known if it fails.
const READY_MARGIN: Duration = Duration::from_millis(250);

/// How long to wait for an answer: less than the renewal interval of the default lease.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection over which nothing was heard for this long while somebody waited is doubted: less than the shortest lease lets a
/// renewal wait.
const DOUBT_AFTER: Duration = Duration::from_millis(500);

/// Probe an idle connection this often, so that a vanished server is noticed between ticks.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The pauses between connection attempts grow from the first to the second.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

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
        let verification = match url.ssl_mode() {
            SslMode::VerifyFull => Verification::Full,
            SslMode::VerifyCa => Verification::Authority,
            // As in libpq, a file of authorities is used where there is one.
            SslMode::Require if url.certificates().cacert.is_some() => Verification::Authority,
            SslMode::Disable | SslMode::Prefer | SslMode::Require => Verification::None,
        };
        let tls = MakeRustlsConnect::new(tls::client_config(url, url.certificates(), verification)?);
        let host = |(host, port): &(String, u16)| (format!("{host}:{port}"), config(url, host, *port));
        let hosts = url.hosts().iter().map(host).collect();
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

/// Returns how to connect to one host of the URL.
fn config(url: &PostgresUrl, host: &str, port: u16) -> Config {
    let mut config = Config::new();
    config
        .host(host)
        .port(port)
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

#[derive(Clone)]
enum PostgresState {
    Down(Diagnosis),
    Up(Arc<PostgresConnection>),
}

/// A connection that is up.
struct PostgresConnection {
    client: Client,
    number: u64,
    /// How many answers arrived over it.
    heard: AtomicU64,
    /// How many warnings the server has sent.
    warnings: Arc<AtomicU64>,
    /// The task that moves its data.
    _driver: AbortOnDropHandle<()>,
}

/// One connection, kept up by its own task until this is dropped.
pub(super) struct PostgresConnector {
    state: Arc<watch::Sender<PostgresState>>,
    _keeper: AbortOnDropHandle<()>,
    ready_timeout: Duration,
}

impl PostgresConnector {
    /// Starts to connect, and returns at once. `label` names the server for people.
    pub(super) fn start(address: &Address, label: &str) -> Self {
        let state = Arc::new(watch::Sender::new(PostgresState::Down("not connected yet".into())));
        let keeper = tokio::spawn(keep_up(address.clone(), label.to_owned(), Arc::clone(&state)));
        let _keeper = AbortOnDropHandle::new(keeper);
        Self { state, _keeper, ready_timeout: address.limit() + READY_MARGIN }
    }

    /// Waits until the connection is up, or until a cause is known for which another attempt would fail as well; little
    /// longer than one attempt.
    pub(super) async fn ready(&self) -> Result<(), StoreError> {
        let mut states = self.state.subscribe();
        let is_settled = |state: &PostgresState| match state {
            PostgresState::Up(_) => true,
            PostgresState::Down(why) => why.certain_cause().is_some(),
        };
        // The result is read from the state below.
        let _ = timeout(self.ready_timeout, states.wait_for(is_settled)).await;
        self.line().map(drop)
    }

    /// Runs one statement and returns its rows, no later than after [`RESPONSE_TIMEOUT`].
    pub(super) async fn query(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let line = self.line()?;
        let warnings = line.warnings.load(Ordering::Acquire);
        let heard = line.heard.load(Ordering::Relaxed);
        let mut call =
            OpenCall { connector: self, line: &line, heard, since: Instant::now(), is_answered: false };
        let answer = line.client.query_typed(statement, parameters);
        let Ok(result) = timeout(RESPONSE_TIMEOUT, answer).await else {
            let why = Diagnosis::from(format!("no answer within {}", format_duration(RESPONSE_TIMEOUT)));
            self.drop_connection(line.number, &why);
            return Err(StoreError::Unknown(why));
        };
        call.is_answered = true;
        line.heard.fetch_add(1, Ordering::Relaxed);
        let rows = result.map_err(|error| self.doubt(&error, line.number))?;
        // A server warns that a commit may not have been replicated, and then answers as always.
        if line.warnings.load(Ordering::Acquire) != warnings {
            let why =
                "the server sent a warning, which its log shows: what was written may be lost at a failover";
            return Err(StoreError::Unknown(why.into()));
        }
        Ok(rows)
    }

    fn line(&self) -> Result<Arc<PostgresConnection>, StoreError> {
        match &*self.state.borrow() {
            PostgresState::Up(line) => Ok(Arc::clone(line)),
            PostgresState::Down(why) => Err(StoreError::NotSent(why.clone())),
        }
    }

    /// Returns what an error means for the request. Drops the connection if the server cannot be trusted any more.
    fn doubt(&self, error: &Error, number: u64) -> StoreError {
        let judged = judge(error);
        if judged.ends_connection {
            self.drop_connection(number, judged.error.diagnosis());
        }
        judged.error
    }

    fn drop_connection(&self, doubted: u64, why: &Diagnosis) {
        drop_line(&self.state, doubted, why);
    }
}

/// A statement that is not answered yet. If its caller gives it up after a while, and nothing else was heard meanwhile, the
/// connection is dropped.
struct OpenCall<'a> {
    connector: &'a PostgresConnector,
    line: &'a PostgresConnection,
    /// How many answers had arrived when it was sent.
    heard: u64,
    since: Instant,
    is_answered: bool,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let is_silent = self.line.heard.load(Ordering::Relaxed) == self.heard;
        let waited = self.since.elapsed();
        if !self.is_answered && is_silent && waited >= DOUBT_AFTER {
            let why = format!("no answer within {}", format_duration(waited));
            self.connector.drop_connection(self.line.number, &why.into());
        }
    }
}

fn drop_line(state: &watch::Sender<PostgresState>, doubted: u64, why: &Diagnosis) {
    state.send_if_modified(|state| {
        let is_it = matches!(state, PostgresState::Up(line) if line.number == doubted);
        if is_it {
            *state = PostgresState::Down(why.clone());
        }
        is_it
    });
}

async fn keep_up(address: Address, label: String, state: Arc<watch::Sender<PostgresState>>) {
    let mut states = state.subscribe();
    let (mut pause, mut number) = (RETRY_PAUSES.0, 0);
    loop {
        let why = match address.connect().await {
            Ok((client, driver)) => {
                (number, pause) = (number + 1, RETRY_PAUSES.0);
                debug!(store = %label, "connected");
                let since = Instant::now();
                let warnings = Arc::new(AtomicU64::new(0));
                let (ended, end) = tokio::sync::oneshot::channel();
                let moved = drive(driver, Arc::clone(&warnings));
                let _driver = AbortOnDropHandle::new(tokio::spawn(async move {
                    // The keeper may have gone.
                    let _ = ended.send(moved.await);
                }));
                let line = PostgresConnection { client, number, heard: AtomicU64::new(0), warnings, _driver };
                state.send_replace(PostgresState::Up(Arc::new(line)));
                // A connection that ends while it is idle is opened again as well, so that the next call finds it up.
                tokio::select! {
                    doubted = states.wait_for(|state| matches!(state, PostgresState::Down(_))) => {
                        if doubted.is_err() {
                            return;
                        }
                    }
                    why = end => drop_line(&state, number, &why.unwrap_or_else(|_| "the connection was closed".into())),
                }
                debug!(store = %label, "connection dropped");
                if since.elapsed() < RETRY_PAUSES.1 {
                    sleep(pause).await;
                }
                continue;
            }
            Err(why) => why,
        };
        state.send_replace(PostgresState::Down(why));
        sleep(pause).await;
        pause = (pause * 2).min(RETRY_PAUSES.1);
    }
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
