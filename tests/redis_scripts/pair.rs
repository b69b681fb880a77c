//! The Rust function and the Lua scripts side by side: asked the same, compared in everything they answer and store.

use std::collections::BTreeMap;

use redis::Connection;
use solocron::config::RedisUrl;
use solocron::job::{ClusterName, JobName};
use solocron::lease::{
    Decision, Era, HistoryEntry, LeaseInstant, Memory, Record, Reply, Request, Server, decide,
};
use solocron::store::{RedisKeys, RedisStore, Replied, Store};
use solocron::time::UtcMillis;

use crate::support::redis_server::RedisServer;

type Fields = BTreeMap<String, String>;
/// What a server has: the record, after a cursor; the entries; whether there is a mirror; its statistics.
type Found = ((u64, Fields), Vec<(String, Fields)>, bool, String);

/// What a decision left in a store: the record, the newest entry of before if it is still there, and those after it.
#[derive(Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) record: Option<Record>,
    pub(crate) history: Vec<HistoryEntry>,
    pub(crate) reply: Reply,
}

/// What is stored of a job: the record, the newest entry of before if it is still there, and those after it.
#[derive(Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) record: Option<Record>,
    pub(crate) history: Vec<HistoryEntry>,
}

/// One job, decided by both.
pub(crate) struct Pair {
    store: RedisStore,
    raw: Connection,
    keys: RedisKeys,
    job: JobName,
    /// The newest entry so far.
    pub(crate) newest: Option<HistoryEntry>,
    /// The server's present life.
    pub(crate) era: Era,
    /// How often records were read whole so far: only the rules do.
    whole_reads: u64,
    /// A protection that the function alone has to do without.
    #[cfg(feature = "test-switches")]
    pub(crate) function_without: Option<solocron::lease::Protection>,
}

impl Pair {
    /// Connects to a server.
    pub(crate) async fn meet(server: &RedisServer) -> Self {
        Self::of_job(server, "j").await
    }

    /// Connects to a server, for the job of this name.
    pub(crate) async fn of_job(server: &RedisServer, job: &str) -> Self {
        let cluster = ClusterName::parse("c").expect("a good name");
        let url = RedisUrl::parse(&server.unix_url()).expect("a good url");
        let store = RedisStore::start(&url, cluster.clone()).expect("a runtime");
        store.ready().await.expect("a server");
        let era = store.pulse(None).await.expect("a pulse").era;
        let client = redis::Client::open(server.unix_url()).expect("a good url");
        let raw = client.get_connection().expect("a server");
        Self {
            store,
            raw,
            keys: RedisKeys::of(cluster),
            job: JobName::parse(job).expect("a name"),
            newest: None,
            era,
            whole_reads: 0,
            #[cfg(feature = "test-switches")]
            function_without: None,
        }
    }

    /// The server's time.
    pub(crate) async fn now(&self) -> UtcMillis {
        self.store.pulse(None).await.expect("a pulse").now
    }

    /// Nothing is stored.
    pub(crate) fn begin(&mut self) {
        self.store_record(None);
        self.newest = None;
        redis::cmd("DEL").arg(self.keys.runs(&self.job)).exec(&mut self.raw).expect("a server");
    }

    /// Makes the stored record this one.
    pub(crate) fn store_record(&mut self, record: Option<&Record>) {
        let state = self.keys.state(&self.job);
        let mut pipe = redis::pipe();
        pipe.cmd("DEL").arg(&state).arg(self.keys.lock(&self.job));
        if let Some(record) = record {
            pipe.cmd("HSET").arg(&state);
            for (name, value) in record.to_fields() {
                pipe.arg(name).arg(value);
            }
        }
        pipe.exec(&mut self.raw).expect("a server");
    }

    /// Asks the scripts: what they wrote, whether the lock's mirror is there afterwards, and whether they decided without
    /// their rules. The first request of a history, which has no record, never is.
    pub(crate) async fn by_scripts(&mut self, request: &Request) -> (Written, bool, bool) {
        let reply = self.store.submit(&self.job, request).await.expect("an answer");
        let (Stored { record, history }, mirrored, stats) = self.found();
        let before = std::mem::replace(&mut self.whole_reads, whole_reads(&stats));
        let is_usual = self.whole_reads == before;
        (Written { record, history, reply }, mirrored, is_usual)
    }

    /// The job, as requests name it.
    pub(crate) fn job(&self) -> &JobName {
        &self.job
    }

    /// Asks the scripts several requests at once.
    pub(crate) async fn submit_all(&self, requests: &[(JobName, Request)]) -> Vec<Replied> {
        self.store.submit_all(requests).await
    }

    /// Makes the stored record something that is none.
    pub(crate) fn store_unreadable(&mut self) {
        self.store_record(None);
        redis::cmd("SET").arg(self.keys.state(&self.job)).arg("text").exec(&mut self.raw).expect("a server");
    }

    /// What is stored now.
    pub(crate) fn stored(&mut self) -> Stored {
        self.found().0
    }

    /// How often records were read whole so far: only the rules do.
    pub(crate) fn read_whole(&mut self) -> u64 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut self.raw).expect("a server");
        whole_reads(&stats)
    }

    fn found(&mut self) -> (Stored, bool, String) {
        let runs = self.keys.runs(&self.job);
        let mut pipe = redis::pipe();
        // Not as the scripts read it, so that it can be counted how these do.
        pipe.cmd("HSCAN").arg(self.keys.state(&self.job)).arg(0).arg("COUNT").arg(1_000);
        pipe.cmd("XRANGE").arg(&runs).arg("-").arg("+");
        pipe.cmd("EXISTS").arg(self.keys.lock(&self.job));
        pipe.cmd("XTRIM").arg(&runs).arg("MAXLEN").arg(1).ignore();
        pipe.cmd("INFO").arg("commandstats");
        let ((_, state), runs, mirrored, stats): Found = pipe.query(&mut self.raw).expect("a server");
        let record = (!state.is_empty()).then(|| Record::from_fields(&state).expect("a readable record"));
        let history = runs
            .iter()
            .map(|(_, fields)| HistoryEntry::from_fields(fields).expect("a readable entry"))
            .collect();
        (Stored { record, history }, mirrored, stats)
    }

    /// What a store has to write that decides so.
    pub(crate) fn written(&self, decision: Decision) -> Written {
        let mut history: Vec<HistoryEntry> = self.newest().collect();
        decision.append_to(&mut history);
        Written { record: decision.record, history, reply: decision.reply }
    }

    /// The newest entry of before.
    pub(crate) fn newest(&self) -> impl Iterator<Item = HistoryEntry> {
        self.newest.clone().into_iter()
    }

    /// The next decision comes after these entries.
    pub(crate) fn go_on_from(&mut self, history: &[HistoryEntry]) {
        self.newest = history.last().cloned();
    }

    /// Asks the Rust function, at the time of the scripts' answer.
    pub(crate) fn by_function(&self, record: Option<&Record>, request: &Request, now: UtcMillis) -> Decision {
        let server =
            Server { now, lease_now: LeaseInstant(now.0), era: self.era.clone(), memory: Memory::Forgetful };
        let decide = || decide(record, request, &server);
        #[cfg(feature = "test-switches")]
        return match self.function_without {
            Some(off) => solocron::lease::Protection::without(Some(off), decide),
            None => decide(),
        };
        #[cfg(not(feature = "test-switches"))]
        decide()
    }
}

fn whole_reads(stats: &str) -> u64 {
    let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_hgetall:calls="));
    calls.and_then(|calls| calls.split(',').next()?.parse().ok()).unwrap_or_default()
}
