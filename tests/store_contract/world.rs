//! The stores as the contract suite meets them: opened as often as a test likes, with a record that a test can
//! age, so that nobody has to wait for time to pass.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, params};
use solocron::config::{PostgresUrl, RedisUrl};
use solocron::job::{ClusterName, JobName, Tick};
use solocron::lease::{Answer, Caller, Claim, Era, Lease, Record, Reply, Request};
use solocron::store::{
    Answered, LocalStore, RedisKeys, RedisStore, Store, StoreError, init_postgres, start_postgres,
};
use solocron::time::{SystemClock, UtcMillis};
use tempfile::TempDir;

use crate::postgres_server::Postgres;
use crate::support::redis_server::RedisServer;
use crate::support::sample;

type Fields = BTreeMap<String, String>;

/// A place where replicas meet.
pub(crate) enum World {
    Local(TempDir),
    Redis(RedisServer),
    Postgres(Postgres),
}

pub(crate) fn cluster() -> ClusterName {
    ClusterName::parse("c").expect("a good name")
}

pub(crate) fn job() -> JobName {
    JobName::parse("j").expect("a good name")
}

impl World {
    pub(crate) fn local() -> Self {
        Self::Local(TempDir::new().expect("a folder for temporary files"))
    }

    pub(crate) fn redis() -> Self {
        Self::Redis(RedisServer::start())
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres(Postgres::start_on_port())
    }

    /// The Redis server.
    pub(crate) fn server(&self) -> &RedisServer {
        match self {
            Self::Redis(server) => server,
            Self::Local(_) | Self::Postgres(_) => unreachable!("it was made with a server"),
        }
    }

    /// One more replica's store.
    pub(crate) async fn replica(&self) -> Replica {
        let store: Arc<dyn Store> = match self {
            Self::Local(folder) => {
                let path = file(folder);
                Arc::new(LocalStore::start(&path, cluster(), Box::new(SystemClock)).expect("a local disk"))
            }
            Self::Redis(server) => {
                let url = RedisUrl::parse(&server.url()).expect("a good url");
                Arc::new(RedisStore::start(&url, cluster()).expect("a runtime"))
            }
            Self::Postgres(server) => {
                let url = PostgresUrl::parse(&server.url()).expect("a good url");
                init_postgres(&url).await.expect("a superuser");
                start_postgres(&url, &cluster(), Box::new(SystemClock)).expect("a runtime")
            }
        };
        patiently(|| store.ready()).await.expect("a store");
        let era = patiently(|| store.pulse(None)).await.expect("a pulse").era;
        Replica { store, era }
    }

    /// A replica of a job that was opened long ago, with nothing decided in the last minutes.
    pub(crate) async fn opened(&self) -> Replica {
        let replica = self.replica().await;
        let open = sample::open(replica.caller().await);
        let reply = replica.ask(Request::Open(open)).await;
        assert!(matches!(reply.answer, Answer::Opened { .. }), "{reply:?}");
        self.age(Duration::from_secs(600));
        replica
    }

    /// Puts the job's record back by `by`, as if that much time had passed.
    pub(crate) fn age(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).expect("a small span");
        self.edit(|fields| {
            for name in ["mark", "until", "settled", "started", "ended", "tick"] {
                let Some(field) = fields.get_mut(name) else { continue };
                // The lease clock of a machine that has just started may be below `by`.
                if let Ok(at @ 1..) = field.parse::<i64>() {
                    *field = (at - by).max(1).to_string();
                }
            }
        });
    }

    /// Puts something else in place of the job's record.
    pub(crate) fn spoil_record(&self, job: &JobName) {
        match self {
            Self::Local(folder) => {
                let store = Connection::open(file(folder)).expect("a store");
                let spoilt = store.execute("UPDATE records SET fields = 'x' WHERE job = ?1", [job.as_str()]);
                assert_eq!(spoilt, Ok(1));
            }
            Self::Redis(server) => {
                let state = RedisKeys::of(cluster()).state(job);
                assert_eq!(server.cli(&["SET", &state, "spoilt"]), "OK");
            }
            Self::Postgres(server) => {
                let spoilt = "update solocron.cells set record = '\"x\"', nonce = nonce + 1";
                server.sql(&format!("{spoilt} where job = '{job}'"));
            }
        }
    }

    /// Adds an entry to the job's history that no replica wrote.
    pub(crate) fn forge_entry(&self, job: &JobName) {
        match self {
            Self::Local(folder) => {
                let store = Connection::open(file(folder)).expect("a store");
                let row = "INSERT INTO entries (cluster, job, fields) VALUES (?1, ?2, '{\"foo\":\"bar\"}')";
                assert_eq!(store.execute(row, [cluster().as_str(), job.as_str()]), Ok(1));
            }
            Self::Redis(server) => {
                server.cli(&["XADD", &RedisKeys::of(cluster()).runs(job), "*", "foo", "bar"]);
            }
            Self::Postgres(server) => {
                let row = "insert into solocron.entries (cluster, job, number, entry)";
                server.sql(&format!("{row} values ('{}', '{job}', 9999, '{{\"foo\":\"bar\"}}')", cluster()));
            }
        }
    }

    fn edit(&self, edit: impl Fn(&mut Fields)) {
        match self {
            Self::Local(folder) => edit_file(&file(folder), edit),
            Self::Redis(server) => edit_hash(server, edit),
            Self::Postgres(server) => edit_cell(server, edit),
        }
    }
}

/// The embedded store's file.
pub(crate) fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("store.db")
}

fn edit_file(path: &PathBuf, edit: impl Fn(&mut Fields)) {
    let file = Connection::open(path).expect("a store");
    let text: String =
        file.query_row("SELECT fields FROM records", [], |row| row.get(0)).expect("one record");
    let mut fields: Fields = serde_json::from_str(&text).expect("JSON");
    edit(&mut fields);
    let text = serde_json::to_string(&fields).expect("texts are plain JSON");
    file.execute("UPDATE records SET fields = ?1", params![text]).expect("one record");
}

fn edit_cell(server: &Postgres, edit: impl Fn(&mut Fields)) {
    let text = server.sql("select record from solocron.cells");
    let mut fields: Fields = serde_json::from_str(&text).expect("JSON");
    edit(&mut fields);
    let text = serde_json::to_string(&fields).expect("texts are plain JSON");
    server.sql(&format!("update solocron.cells set record = $${text}$$, nonce = nonce + 1"));
}

fn edit_hash(server: &RedisServer, edit: impl Fn(&mut Fields)) {
    let state = RedisKeys::of(cluster()).state(&job());
    let said = server.cli(&["HGETALL", &state]);
    let lines: Vec<&str> = said.split('\n').collect();
    let pair = |pair: &[&str]| (pair[0].to_owned(), pair.get(1).unwrap_or(&"").to_string());
    let mut fields: Fields = lines.chunks(2).map(pair).collect();
    edit(&mut fields);
    let mut command = vec!["HSET", &state];
    command.extend(fields.iter().flat_map(|(name, value)| [name.as_str(), value]));
    server.cli(&command);
}

/// Asks again while the disk is too busy for anyone to get the embedded store's file, or a connection too busy for a request to
/// be sent, as replicas do; each time takes half a second to two seconds.
pub(crate) async fn patiently<'a, T>(ask: impl Fn() -> Answered<'a, T>) -> Result<T, StoreError> {
    const TIMES: usize = 15;
    for _ in 1..TIMES {
        match ask().await {
            Err(StoreError::Refused(why)) if why.contains("another replica has been writing") => {}
            Err(StoreError::NotSent(why)) if why.to_string().contains("was busy for") => {}
            result => return result,
        }
    }
    ask().await
}

/// One replica's handle on the store.
#[derive(Debug, Clone)]
pub(crate) struct Replica {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) era: Era,
}

impl Replica {
    pub(crate) async fn now(&self) -> UtcMillis {
        patiently(|| self.store.pulse(None)).await.expect("a pulse").now
    }

    pub(crate) async fn caller(&self) -> Caller {
        sample::caller(self.now().await, &self.era)
    }

    /// A claim for the tick `ago` before the store's time.
    pub(crate) async fn claim(&self, ago: Duration) -> Claim {
        let caller = self.caller().await;
        let tick = Tick(caller.expect.minus(ago));
        sample::claim(caller, tick)
    }

    pub(crate) async fn ask(&self, request: Request) -> Reply {
        let job = job();
        patiently(|| self.store.submit(&job, &request)).await.expect("an answer")
    }

    pub(crate) async fn record(&self) -> Record {
        let jobs = [job()];
        let records = patiently(|| self.store.records(&jobs)).await.expect("records");
        records.into_iter().next().flatten().expect("a record")
    }

    /// Claims the tick of now, or the next one where that was decided within this millisecond, and wins.
    pub(crate) async fn win(&self) -> Lease {
        let next = self.record().await.mark.plus(Duration::from_millis(1));
        let claim = self.claim(Duration::ZERO).await;
        let claim = Claim { tick: claim.tick.max(Tick(next)), ..claim };
        let reply = self.ask(Request::Claim(claim)).await;
        assert!(matches!(reply.answer, Answer::Won { .. }), "{reply:?}");
        sample::lease(&self.record().await)
    }
}
