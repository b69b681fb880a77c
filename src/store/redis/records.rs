//! The store on one Redis server: sends requests as scripts, and reads records and history.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use redis::{Cmd, FromRedisValue, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::config::RedisUrl;
use crate::job::{ClusterName, JobName, quoted};
use crate::lease::{HistoryEntry, Record, Reply, Request, SCHEMA};
use crate::store::network::batcher::{BatchPolicy, Batcher, Together};
use crate::store::{
    Answered, Beat, Concern, Diagnosis, FailureCause, Feed, FeedId, FeedLine, Hint, JobEntries, JobGlance,
    JobStanding, Marked, Pulse, Replied, Slip, Store, StoreError, Wake, within_limit,
};
use crate::time::UtcMillis;

use super::connection::batch;
use super::connection::connect::{Connector, RESPONSE_TIMEOUT};
use super::connection::server::ServerAddress;
use super::messages::subscription;
use super::reply::Texts;
use super::scripts::{Call, LeaseScript};
use super::setup::foreign::Foreign;
use super::setup::inspect::Login;
use super::{RedisKeys, scripts};

/// A heartbeat whose connection broke is sent again once, if it failed within this time and the connection is back within
/// the same time: a single connection that breaks is no outage.
const BACK_SOON: Duration = Duration::from_secs(1);

/// At most this many marks are read by one call: half a millisecond of the server's time.
const MARKS_TOGETHER: usize = 256;

/// A cluster's records on one Redis server.
pub struct RedisStore {
    pub(super) keys: RedisKeys,
    pub(super) label: String,
    pub(super) login: Login,
    pub(super) server: ServerAddress,
    /// For renewals only, so that nothing can delay them.
    renewals: Connector,
    /// For all other requests.
    pub(super) others: Arc<Connector>,
    claims: Batcher<Call>,
    finishes: Batcher<Call>,
    pub(super) foreign: Foreign,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("label", &self.label).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Starts to connect, and returns at once. Needs a running Tokio runtime.
    ///
    /// # Errors
    ///
    /// If the URL is invalid, or a certificate that it needs cannot be read.
    pub fn start(url: &RedisUrl, cluster: ClusterName) -> Result<Self, StoreError> {
        let (label, login, server) = (url.to_string(), Login::of(url), ServerAddress::at(url)?);
        let others = Arc::new(Connector::start(&server, &label));
        Ok(Self {
            keys: RedisKeys::of(cluster).in_db(login.db),
            renewals: Connector::start(&server, &label),
            claims: batcher(BatchPolicy::CLAIMS, &others),
            finishes: batcher(BatchPolicy::FINISHES, &others),
            others,
            server,
            login,
            label,
            foreign: Foreign::default(),
        })
    }

    /// Calls a script that returns a list, or one value, and returns the list.
    pub(super) async fn run_script(
        &self,
        script: &LeaseScript,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Value, StoreError> {
        let answers = batch::run(&self.others, script, keys, args, RESPONSE_TIMEOUT).await?;
        let parts = answers.into_iter().map(|part| Ok(part?));
        Ok(Value::Array(parts.collect::<Result<_, StoreError>>()?))
    }

    /// Sends a single request.
    async fn decide(&self, connector: &Connector, limit: Duration, call: Call) -> Result<Reply, StoreError> {
        let replies = batch::decide(connector, limit, vec![call]).await?;
        replies.into_iter().next().expect("there are as many replies as requests")
    }

    /// Sends one command, and reads its answer.
    pub(super) async fn read<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let value = self.others.call(command, RESPONSE_TIMEOUT).await?;
        T::from_redis_value(value).map_err(|error| {
            let sentence = format!("unexpected answer: {}", quoted(&error.to_string()));
            StoreError::Refused(Diagnosis::of(FailureCause::WrongType, sentence))
        })
    }

    /// Logs that another program has replaced the set of jobs.
    fn jobs_are_lost(&self) {
        let found = (self.keys.jobs(), String::new());
        self.foreign.found(&self.label, BTreeSet::from([found]));
    }

    async fn record(&self, job: &JobName) -> Result<Option<Record>, StoreError> {
        let key = self.keys.state(job);
        let fields: BTreeMap<String, String> =
            self.read(redis::cmd("HGETALL").arg(&key)).await.map_err(|error| of_key(job, &key, error))?;
        record_in(job, &key, &fields)
    }

    async fn entries(&self, job: &JobName, newest: usize) -> Result<Vec<HistoryEntry>, StoreError> {
        let mut command = redis::cmd("XREVRANGE");
        let key = self.keys.runs(job);
        command.arg(&key).arg("+").arg("-").arg("COUNT").arg(newest);
        let rows: Vec<(String, BTreeMap<String, String>)> =
            self.read(&command).await.map_err(|error| of_key(job, &key, error))?;
        rows.iter().rev().map(|(id, fields)| entry_in(job, &key, id, fields)).collect()
    }
}

/// Starts to batch requests for this connection.
fn batcher(policy: BatchPolicy, connector: &Arc<Connector>) -> Batcher<Call> {
    let connector = Arc::clone(connector);
    Batcher::start(policy, batch::MOST, move |together: Together<Call>| {
        let connector = Arc::clone(&connector);
        Box::pin(async move {
            let (calls, senders): (Vec<Call>, Vec<_>) = together.into_iter().unzip();
            let replies = batch::decide(&connector, RESPONSE_TIMEOUT, calls).await;
            let replies = replies.unwrap_or_else(|error| vec![Err(error); senders.len()]);
            for (reply_to, reply) in senders.into_iter().zip(replies) {
                // A caller that has gone knows that its request may have been applied.
                let _ = reply_to.send(reply);
            }
        })
    })
}

/// Parses the fields of a record; `None` if there are none.
pub(super) fn record_in(
    job: &JobName,
    key: &str,
    fields: &BTreeMap<String, String>,
) -> Result<Option<Record>, StoreError> {
    if fields.is_empty() {
        return Ok(None);
    }
    Record::from_fields(fields).map(Some).map_err(|error| {
        let help = format!("update this release, or DEL `{key}` if something else wrote it");
        damaged(job, format!("record of job `{job}`: {error}: {help}"))
    })
}

/// Parses the fields of an entry with this id, in the history under this key.
pub(super) fn entry_in(
    job: &JobName,
    key: &str,
    id: &str,
    fields: &BTreeMap<String, String>,
) -> Result<HistoryEntry, StoreError> {
    HistoryEntry::from_fields(fields).map_err(|error| {
        let help = format!("update this release, or XDEL `{key}` {id} if something else wrote it");
        damaged(job, format!("history of job `{job}`: {error}: {help}"))
    })
}

/// Adds the name of a job's key to an error about the key's type: the server's message does not name the key.
pub(super) fn of_key(job: &JobName, key: &str, error: StoreError) -> StoreError {
    if error.cause() != Some(&FailureCause::WrongType) {
        return error;
    }
    damaged(job, format!("job `{job}`: {}", replaced(key, &error)))
}

/// As [`of_key`], for a key of the cluster.
pub(super) fn of_shared_key(key: &str, error: StoreError) -> StoreError {
    if error.cause() != Some(&FailureCause::WrongType) {
        return error;
    }
    StoreError::Refused(Diagnosis::of(FailureCause::WrongType, replaced(key, &error)))
}

fn replaced(key: &str, error: &StoreError) -> String {
    format!("`{key}` was replaced by something that solocron did not write ({error}): DEL or RENAME it")
}

/// Returns the error about a job whose data in the store cannot be read.
pub(super) fn damaged(job: &JobName, sentence: String) -> StoreError {
    StoreError::Refused(Diagnosis::of(FailureCause::DamagedJob(job.clone()), sentence))
}

/// Parses the schema, mark and lease of a record; `None` if there is none, or a newer release wrote it.
fn marked(texts: &mut Texts) -> Option<Marked> {
    let (schema, mark, lease) = (texts.optional::<u32>(), texts.optional(), texts.optional());
    let is_known = schema.ok().flatten().is_some_and(|schema| schema <= SCHEMA);
    let (mark, lease) = mark.ok().flatten().zip(lease.ok().flatten()).filter(|_| is_known)?;
    Some(Marked { mark: UtcMillis(mark), lease: Duration::from_millis(lease) })
}

impl Store for RedisStore {
    fn ready(&self) -> Answered<'_, ()> {
        Box::pin(self.others.ready())
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        Box::pin(async move {
            let call = scripts::call_of(request, &self.keys, job);
            match request {
                Request::Claim(_) => self.claims.submit(call).await,
                Request::Finish(_) => self.finishes.submit(call).await,
                Request::Renew(renew) => {
                    self.decide(&self.renewals, renew.answer_limit().min(RESPONSE_TIMEOUT), call).await
                }
                _ => self.decide(&self.others, RESPONSE_TIMEOUT, call).await,
            }
        })
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        Box::pin(batch::submit_all(&self.others, &self.keys, requests))
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        Box::pin(async move {
            let begun = Instant::now();
            match self.beat(beat).await {
                Err(StoreError::NotSent(_) | StoreError::Unknown(_))
                    if begun.elapsed() < BACK_SOON && self.others.is_back(BACK_SOON).await =>
                {
                    self.beat(beat).await
                }
                result => result,
            }
        })
    }

    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()> {
        Box::pin(async move {
            let (keys, args) = ([self.keys.notices()], [job.as_str().into()]);
            self.run_script(scripts::announce(), &keys, &args).await.map(|_| ())
        })
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        Box::pin(async move {
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            let names: Vec<&str> = jobs.iter().map(JobName::as_str).collect();
            let known = self.read(redis::cmd("SMISMEMBER").arg(self.keys.jobs()).arg(names)).await;
            match known {
                // The names in the key are lost: each of these jobs may be known, and waits accordingly.
                Err(error) if error.cause() == Some(&FailureCause::WrongType) => {
                    self.jobs_are_lost();
                    Ok(vec![true; jobs.len()])
                }
                known => known,
            }
        })
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        Box::pin(async move {
            let names = self.read::<BTreeSet<String>>(redis::cmd("SMEMBERS").arg(self.keys.jobs())).await;
            match names {
                Ok(names) => Ok(names.iter().filter_map(|name| JobName::parse(name).ok()).collect()),
                Err(error) if error.cause() == Some(&FailureCause::WrongType) => {
                    self.jobs_are_lost();
                    Ok(Vec::new())
                }
                Err(error) => Err(error),
            }
        })
    }

    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()> {
        Box::pin(async move {
            if jobs.is_empty() {
                return Ok(());
            }
            let names: Vec<Vec<u8>> = jobs.iter().map(|job| job.as_str().into()).collect();
            let keys = [self.keys.jobs(), self.keys.nodes()];
            self.run_script(scripts::enroll(), &keys, &names).await.map(|_| ())
        })
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        Box::pin(try_join_all(jobs.iter().map(|job| self.record(job))))
    }

    fn marks<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Marked>>> {
        Box::pin(async move {
            let mut found = Vec::with_capacity(jobs.len());
            for jobs in jobs.chunks(MARKS_TOGETHER) {
                let keys: Vec<String> = jobs.iter().map(|job| self.keys.state(job)).collect();
                let mut texts = Texts::of(self.run_script(scripts::marks(), &keys, &[]).await?)?;
                found.extend(jobs.iter().map(|_| marked(&mut texts)));
            }
            Ok(found)
        })
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        Box::pin(try_join_all(jobs.iter().map(move |job| async move {
            let entries = self.entries(job, newest).await?;
            Ok((job.clone(), entries))
        })))
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        subscription::listen(self.server.clone(), self.keys.hints(), self.label.clone())
    }

    fn standings<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<JobStanding>>> {
        Box::pin(within_limit(self.read_standings(jobs)))
    }

    fn glance<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobGlance>> {
        Box::pin(within_limit(self.read_glances(jobs, newest)))
    }

    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()> {
        Box::pin(self.append_line(feed, text))
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        Box::pin(within_limit(self.newest_lines(feed, after, count)))
    }

    fn leave<'a>(&'a self, slip: &'a Slip, text: &'a str, ttl: Duration) -> Answered<'a, ()> {
        Box::pin(self.leave_text(slip, text, ttl))
    }

    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>> {
        Box::pin(self.collect_texts(slip))
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        subscription::listen(self.server.clone(), self.keys.wakes(), self.label.clone())
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        Box::pin(self.look_around(true))
    }

    fn settings(&self) -> Answered<'_, Vec<Concern>> {
        Box::pin(self.look_around(false))
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}
