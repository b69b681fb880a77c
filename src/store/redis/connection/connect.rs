//! A connection that is either up or known to be down: a call made while it is down fails at once. Any doubt about the
//! server drops the connection, so that the next one resolves the address again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisError, RedisResult, ServerErrorKind, Value};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::debug;

use crate::job::format_duration;
use crate::store::redis::scripts::lessons;
use crate::store::{Diagnosis, StoreError};

use super::server::ServerAddress;
use super::stream::Untaken;

/// A connection attempt, with its greeting, takes at most this long.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for a connection: a little longer than one attempt takes, so that the reason is known if it fails.
const READY_TIMEOUT: Duration = Duration::from_millis(2_250);

/// How long to wait for an answer: less than the renewal interval of the default lease.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The pauses between connection attempts grow from the first to the second.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// No answer of a Redis server has more bytes: thirty-two histories, of two hundred runs each.
const LONGEST_ANSWER: usize = 64 << 20;

#[derive(Clone)]
enum ConnectionState {
    Down { why: Diagnosis, tried: bool },
    Up(LiveConnection),
}

/// A connection that is up.
#[derive(Clone)]
struct LiveConnection {
    connection: MultiplexedConnection,
    number: u64,
    /// How many answers arrived over it.
    heard: Arc<AtomicU64>,
    untaken: Arc<Untaken>,
    /// The task that moves its data.
    _driver: Arc<AbortOnDropHandle<()>>,
}

/// One connection, kept up by its own task until this is dropped.
pub(crate) struct Connector {
    server: ServerAddress,
    state: Arc<watch::Sender<ConnectionState>>,
    keeper: JoinHandle<()>,
    /// The number of the connection over which the scripts that decide requests were last sent.
    taught: Mutex<Option<u64>>,
}

impl Drop for Connector {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Connector {
    /// Starts to connect, and returns at once. `label` names the server for people.
    pub(crate) fn start(server: &ServerAddress, label: &str) -> Self {
        let state = Arc::new(watch::Sender::new(ConnectionState::Down {
            why: "not connected yet".into(),
            tried: false,
        }));
        let keeper = tokio::spawn(keep_up(server.clone(), label.to_owned(), Arc::clone(&state)));
        Self { server: server.clone(), state, keeper, taught: Mutex::default() }
    }

    /// Waits until the connection is up, or until a cause is known for which another attempt would fail as well; little
    /// longer than one attempt.
    pub(crate) async fn ready(&self) -> Result<(), StoreError> {
        let mut states = self.state.subscribe();
        let is_settled = |state: &ConnectionState| match state {
            ConnectionState::Up(_) => true,
            ConnectionState::Down { why, .. } => why.certain_cause().is_some(),
        };
        // The result is read from the state below.
        let _ = timeout(READY_TIMEOUT, states.wait_for(is_settled)).await;
        self.line().map(|_| ()).map_err(StoreError::from)
    }

    /// Whether the connection that was just dropped comes up again by the first attempt, and within this limit.
    pub(crate) async fn is_back(&self, limit: Duration) -> bool {
        let mut states = self.state.subscribe();
        let outcome = states.wait_for(|state| !matches!(state, ConnectionState::Down { tried: false, .. }));
        timeout(limit, outcome)
            .await
            .is_ok_and(|state| matches!(state.as_deref(), Ok(ConnectionState::Up(_))))
    }

    /// Sends one command and waits for its answer, no longer than `limit`.
    pub(crate) async fn call(&self, command: &Cmd, limit: Duration) -> Result<Value, CallError> {
        let (value, line) = self.exchange(command, limit).await?;
        // The client returns errors of the server as values.
        value.extract_error().map_err(|error| self.judge(&error, line))
    }

    /// Sends one command that makes several requests, and waits for all their answers, no longer than `limit`.
    pub(crate) async fn call_for_each(&self, command: &Cmd, limit: Duration) -> Result<Answers, CallError> {
        let (value, line) = self.exchange(command, limit).await?;
        let judged = |value: Value| value.extract_error().map_err(|error| self.judge(&error, line));
        match value {
            Value::Array(answers) => Ok(answers.into_iter().map(judged).collect()),
            // An error of the whole command. Any other value is no answer, and refused where it is parsed.
            one => judged(one).map(|value| vec![Ok(value)]),
        }
    }

    async fn exchange(&self, command: &Cmd, limit: Duration) -> Result<(Value, u64), CallError> {
        let line = self.line()?;
        let mut connection = line.connection.clone();
        let value = self.hear(&line, limit, connection.send_packed_command(command)).await?;
        Ok((value, line.number))
    }

    /// Makes sure that the scripts that decide requests were sent over this connection: each once, without a request.
    pub(crate) async fn teach(&self, limit: Duration) -> Result<(), CallError> {
        let busy = |_| StoreError::NotSent("the server is being sent the scripts: ask again".into());
        let mut taught = timeout(limit, self.taught.lock()).await.map_err(busy).map_err(CallError::Store)?;
        let line = self.line()?;
        if *taught != Some(line.number) {
            let (mut connection, scripts) = (line.connection.clone(), lessons());
            let sent = connection.send_packed_commands(&scripts, 0, scripts.len());
            self.hear(&line, limit, sent).await?;
            *taught = Some(line.number);
        }
        Ok(())
    }

    fn line(&self) -> Result<LiveConnection, CallError> {
        match &*self.state.borrow() {
            ConnectionState::Up(line) => Ok(line.clone()),
            ConnectionState::Down { why, .. } => Err(CallError::Store(StoreError::NotSent(why.clone()))),
        }
    }

    /// Waits for an answer. If none comes in time, drops the connection, unless `limit` is short and other answers came
    /// meanwhile.
    async fn hear<T>(
        &self,
        line: &LiveConnection,
        limit: Duration,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, CallError> {
        let before = line.heard.load(Ordering::Relaxed);
        match timeout(limit, answer).await {
            Ok(result) => {
                if result.is_ok() {
                    line.heard.fetch_add(1, Ordering::Relaxed);
                    line.untaken.take();
                }
                result.map_err(|error| self.judge(&error, line.number))
            }
            Err(_) => {
                let why = Diagnosis::from(format!("no answer within {}", format_duration(limit)));
                // A server that answered other calls meanwhile is slow, and a new connection would not make it faster.
                if limit >= RESPONSE_TIMEOUT || line.heard.load(Ordering::Relaxed) == before {
                    self.drop_connection(line.number, &why);
                }
                Err(CallError::Store(StoreError::Unknown(why)))
            }
        }
    }

    /// Returns what an error means for the request. Drops the connection if the server cannot be trusted any more.
    fn judge(&self, error: &RedisError, number: u64) -> CallError {
        let why = self.server.diagnose(error);
        match error.kind() {
            redis::ErrorKind::Server(ServerErrorKind::NoScript) => CallError::NoScript,
            redis::ErrorKind::Server(
                ServerErrorKind::ReadOnly
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ClusterDown,
            ) => {
                self.drop_connection(number, &why);
                CallError::Store(StoreError::Refused(why))
            }
            redis::ErrorKind::Server(_) | redis::ErrorKind::Extension => {
                // Redis 6.2 does not report it as an error of its own kind.
                if why.contains("READONLY") {
                    self.drop_connection(number, &why);
                }
                CallError::Store(StoreError::Refused(why))
            }
            _ => {
                self.drop_connection(number, &why);
                CallError::Store(StoreError::Unknown(why))
            }
        }
    }

    fn drop_connection(&self, doubted: u64, why: &Diagnosis) {
        drop_line(&self.state, doubted, why);
    }
}

/// The answers to the requests of one command, each of which may be an error.
pub(crate) type Answers = Vec<Result<Value, CallError>>;

/// Why a command has no answer; a script that the server does not know may be sent whole.
pub(crate) enum CallError {
    /// The server does not know the script: nothing was applied.
    NoScript,
    /// Anything else.
    Store(StoreError),
}

impl From<CallError> for StoreError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Store(error) => error,
            CallError::NoScript => Self::Refused("the server does not know a script that it was sent".into()),
        }
    }
}

fn drop_line(state: &watch::Sender<ConnectionState>, doubted: u64, why: &Diagnosis) {
    state.send_if_modified(|state| {
        let is_it = matches!(state, ConnectionState::Up(line) if line.number == doubted);
        if is_it {
            *state = ConnectionState::Down { why: why.clone(), tried: false };
        }
        is_it
    });
}

async fn keep_up(server: ServerAddress, label: String, state: Arc<watch::Sender<ConnectionState>>) {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    let mut states = state.subscribe();
    let (mut pause, mut number) = (RETRY_PAUSES.0, 0);
    loop {
        let untaken = Untaken::up_to(LONGEST_ANSWER);
        let attempt = server.connect(config.clone(), &untaken);
        let why = match timeout(CONNECT_TIMEOUT, attempt).await {
            Ok(Ok((connection, driver))) => {
                (number, pause) = (number + 1, RETRY_PAUSES.0);
                debug!(store = %label, "connected");
                let (since, is_over) = (Instant::now(), CancellationToken::new());
                let over = is_over.clone().drop_guard();
                let driver = async move {
                    driver.await;
                    drop(over);
                };
                let _driver = Arc::new(AbortOnDropHandle::new(tokio::spawn(driver)));
                state.send_replace(ConnectionState::Up(LiveConnection {
                    connection,
                    number,
                    heard: Arc::default(),
                    untaken,
                    _driver,
                }));
                // A connection that ends while it is idle is opened again as well, so that the next call finds it up.
                tokio::select! {
                    doubted = states.wait_for(|state| matches!(state, ConnectionState::Down { .. })) => {
                        if doubted.is_err() {
                            return;
                        }
                    }
                    () = is_over.cancelled() => drop_line(&state, number, &"the server closed the connection".into()),
                }
                debug!(store = %label, "connection dropped");
                if since.elapsed() < RETRY_PAUSES.1 {
                    sleep(pause).await;
                }
                continue;
            }
            Ok(Err(error)) => server.diagnose(&error),
            Err(_) => format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()).into(),
        };
        state.send_replace(ConnectionState::Down { why, tried: true });
        sleep(pause).await;
        pause = (pause * 2).min(RETRY_PAUSES.1);
    }
}
