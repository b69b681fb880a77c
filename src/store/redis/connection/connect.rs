//! A connection that is either up or known to be down: a call made while it is down fails at once. Any doubt about the
//! server drops the connection, so that the next one resolves the address again.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisError, RedisResult, ServerErrorKind, Value};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::job::format_duration;
use crate::store::network::kept::{Kept, Live};
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

/// No answer of a Redis server has more bytes: thirty-two histories, of two hundred runs each.
const LONGEST_ANSWER: usize = 64 << 20;

/// What a connection consists of.
struct RedisClient {
    connection: MultiplexedConnection,
    untaken: Arc<Untaken>,
}

/// One connection, kept up until this is dropped.
pub(crate) struct Connector {
    server: ServerAddress,
    kept: Kept<RedisClient>,
    /// The number of the connection over which the scripts that decide requests were last sent.
    taught: Mutex<Option<u64>>,
}

impl Connector {
    /// Starts to connect, and returns at once. `label` names the server for people.
    pub(crate) fn start(server: &ServerAddress, label: &str) -> Self {
        let address = server.clone();
        let kept = Kept::start(label.to_owned(), move || connect(address.clone()));
        Self { server: server.clone(), kept, taught: Mutex::default() }
    }

    /// Waits until the connection is up, or until a cause is known for which another attempt would fail as well; little
    /// longer than one attempt.
    pub(crate) async fn ready(&self) -> Result<(), StoreError> {
        self.kept.ready(READY_TIMEOUT).await
    }

    /// Whether the connection that was just dropped comes up again by the first attempt, and within this limit.
    pub(crate) async fn is_back(&self, limit: Duration) -> bool {
        self.kept.is_back(limit).await
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
        let mut connection = line.client.connection.clone();
        let value = self.hear(&line, limit, connection.send_packed_command(command)).await?;
        Ok((value, line.number()))
    }

    /// Makes sure that the scripts that decide requests were sent over this connection: each once, without a request.
    pub(crate) async fn teach(&self, limit: Duration) -> Result<(), CallError> {
        let busy = |_| StoreError::NotSent("the server is being sent the scripts: ask again".into());
        let mut taught = timeout(limit, self.taught.lock()).await.map_err(busy).map_err(CallError::Store)?;
        let line = self.line()?;
        if *taught != Some(line.number()) {
            let (mut connection, scripts) = (line.client.connection.clone(), lessons());
            let sent = connection.send_packed_commands(&scripts, 0, scripts.len());
            self.hear(&line, limit, sent).await?;
            *taught = Some(line.number());
        }
        Ok(())
    }

    fn line(&self) -> Result<Arc<Live<RedisClient>>, CallError> {
        self.kept.live().map_err(CallError::Store)
    }

    /// Waits for an answer. If none comes in time, drops the connection, unless `limit` is short and other answers came
    /// meanwhile.
    async fn hear<T>(
        &self,
        line: &Live<RedisClient>,
        limit: Duration,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, CallError> {
        let before = line.heard();
        match timeout(limit, answer).await {
            Ok(result) => {
                if result.is_ok() {
                    line.hear();
                    line.client.untaken.take();
                }
                result.map_err(|error| self.judge(&error, line.number()))
            }
            Err(_) => {
                let why = Diagnosis::from(format!("no answer within {}", format_duration(limit)));
                // A server that answered other calls meanwhile is slow, and a new connection would not make it faster.
                if limit >= RESPONSE_TIMEOUT || line.heard() == before {
                    self.kept.drop_connection(line.number(), &why);
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
                self.kept.drop_connection(number, &why);
                CallError::Store(StoreError::Refused(why))
            }
            redis::ErrorKind::Server(_) | redis::ErrorKind::Extension => {
                // Redis 6.2 does not report it as an error of its own kind.
                if why.contains("READONLY") {
                    self.kept.drop_connection(number, &why);
                }
                CallError::Store(StoreError::Refused(why))
            }
            _ => {
                self.kept.drop_connection(number, &why);
                CallError::Store(StoreError::Unknown(why))
            }
        }
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

/// Makes one attempt to connect.
async fn connect(
    server: ServerAddress,
) -> Result<(RedisClient, impl Future<Output = Diagnosis> + 'static), Diagnosis> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    let untaken = Untaken::up_to(LONGEST_ANSWER);
    let connected = timeout(CONNECT_TIMEOUT, server.connect(config, &untaken)).await;
    let late = |_| Diagnosis::from(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()));
    let (connection, driver) = connected.map_err(late)?.map_err(|error| server.diagnose(&error))?;
    let driver = async {
        driver.await;
        Diagnosis::from("the server closed the connection")
    };
    Ok((RedisClient { connection, untaken }, driver))
}
