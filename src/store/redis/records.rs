//! The store on one Redis server: requests as scripts, records and history as they lie there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use redis::{Client, Cmd, FromRedisValue, Value};
use tokio::sync::mpsc;

use crate::config::RedisUrl;
use crate::job::{ClusterName, JobName, UtcMillis};
use crate::lease::{Entry, Era, Record, Reply, Request, SCHEMA};
use crate::store::{
    Answered, Beat, Concern, FORGET_NODES_MS, FORGET_NOTICES_MS, Hint, JobEntries, Marked, Notice, Peer,
    Pulse, Replied, Store, StoreError,
};

use super::RedisKeys;
use super::batch;
use super::connect::{self, Connector, RESPONSE_TIMEOUT};
use super::gather::Gatherer;
use super::hints;
use super::inspect::Login;
use super::reply::Texts;
use super::scripts::{self, Call, LeaseScript};

/// An end of a run waits so long for others; nobody waits for it but whoever waits for the lock.
const FOR_OTHER_ENDS: Duration = Duration::from_millis(1);

/// Marks that are read by one call: half a millisecond of the server's time.
const MARKS_TOGETHER: usize = 256;

/// A cluster's records on one Redis server.
pub struct RedisStore {
    pub(super) keys: RedisKeys,
    label: String,
    pub(super) login: Login,
    pub(super) client: Client,
    /// Renewals alone, so that nothing can hold them up.
    renewals: Connector,
    rest: Arc<Connector>,
    claims: Gatherer,
    finishes: Gatherer,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("label", &self.label).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Starts to connect, and returns at once. Needs a running runtime.
    pub fn start(url: &RedisUrl, cluster: ClusterName) -> Result<Self, StoreError> {
        let (label, login, client) = (url.to_string(), Login::of(url), connect::client(url)?);
        let rest = Arc::new(Connector::start(&client, &label));
        Ok(Self {
            keys: RedisKeys::of(cluster).in_db(login.db),
            renewals: Connector::start(&client, &label),
            claims: Gatherer::start(Arc::clone(&rest), Duration::ZERO),
            finishes: Gatherer::start(Arc::clone(&rest), FOR_OTHER_ENDS),
            rest,
            client,
            login,
            label,
        })
    }

    /// Calls a script that decides no request.
    async fn run_script(
        &self,
        script: &LeaseScript,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Value, StoreError> {
        let answers = batch::run(&self.rest, script, (keys, args), RESPONSE_TIMEOUT).await?;
        let parts = answers.into_iter().map(|part| Ok(part?));
        Ok(Value::Array(parts.collect::<Result<_, StoreError>>()?))
    }

    /// Makes a request by itself.
    async fn decide(&self, connector: &Connector, limit: Duration, call: Call) -> Result<Reply, StoreError> {
        let replies = batch::decide(connector, limit, vec![call]).await?;
        replies.into_iter().next().expect("there are as many replies as requests")
    }

    /// Sends one command, and reads its answer.
    pub(super) async fn read<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let value = self.rest.call(command, RESPONSE_TIMEOUT).await?;
        T::from_redis_value(value).map_err(|error| StoreError::Refused(format!("unexpected answer: {error}")))
    }

    async fn record(&self, job: &JobName) -> Result<Option<Record>, StoreError> {
        let fields: BTreeMap<String, String> =
            self.read(redis::cmd("HGETALL").arg(self.keys.state(job))).await?;
        if fields.is_empty() {
            return Ok(None);
        }
        let record = Record::from_fields(&fields);
        record.map(Some).map_err(|error| StoreError::Refused(format!("record of job `{job}`: {error}")))
    }

    async fn entries(&self, job: &JobName, newest: usize) -> Result<Vec<Entry>, StoreError> {
        let mut command = redis::cmd("XREVRANGE");
        command.arg(self.keys.runs(job)).arg("+").arg("-").arg("COUNT").arg(newest);
        let rows: Vec<(String, BTreeMap<String, String>)> = self.read(&command).await?;
        rows.iter()
            .rev()
            .map(|(_, fields)| Entry::from_fields(fields))
            .collect::<Result<_, _>>()
            .map_err(|error| StoreError::Refused(format!("history of job `{job}`: {error}")))
    }
}

fn peer(text: &str) -> Option<Peer> {
    let (at, said) = text.split_once(' ')?;
    Some(Peer { at: UtcMillis(at.parse().ok()?), beat: serde_json::from_str(said).ok()? })
}

/// What a record tells of its schema, mark and lease; nothing, where there is none, or a newer release wrote it.
fn marked(texts: &mut Texts) -> Result<Option<Marked>, StoreError> {
    let (schema, mark, lease) = (texts.optional::<u32>()?, texts.optional()?, texts.optional()?);
    let is_known = schema.is_some_and(|schema| schema <= SCHEMA);
    let found = mark.zip(lease).filter(|_| is_known);
    Ok(found.map(|(mark, lease)| Marked { mark: UtcMillis(mark), lease: Duration::from_millis(lease) }))
}

/// A notice about what is no job's name is no notice.
fn notice(texts: &mut Texts) -> Result<Option<Notice>, StoreError> {
    let (job, stamp) = (texts.text(), texts.value()?);
    Ok(JobName::parse(&job).ok().map(|job| Notice { job, stamp }))
}

impl Store for RedisStore {
    fn ready(&self) -> Answered<'_, ()> {
        Box::pin(self.rest.ready())
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        Box::pin(async move {
            let call = scripts::call_of(request, &self.keys, job);
            match request {
                Request::Claim(_) => self.claims.submit(call).await,
                Request::Finish(_) => self.finishes.submit(call).await,
                Request::Renew(renew) => {
                    self.decide(&self.renewals, renew.patience().min(RESPONSE_TIMEOUT), call).await
                }
                _ => self.decide(&self.rest, RESPONSE_TIMEOUT, call).await,
            }
        })
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        Box::pin(batch::submit_all(&self.rest, &self.keys, requests))
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        Box::pin(async move {
            let node = beat.map_or("", |beat| beat.node.as_str());
            let said = beat.map(|beat| serde_json::to_string(beat).expect("a beat is plain JSON"));
            let args = [
                node.into(),
                said.unwrap_or_default().into_bytes(),
                FORGET_NODES_MS.to_string().into_bytes(),
                FORGET_NOTICES_MS.to_string().into_bytes(),
            ];
            let keys = [self.keys.nodes(), self.keys.notices()];
            let value = self.run_script(scripts::pulse(), &keys, &args).await?;
            let mut texts = Texts::of(value)?;
            let (now, era, forgot) = (UtcMillis(texts.value()?), Era(texts.text()), texts.text() == "1");
            let told: usize = texts.value()?;
            let notices = (0..told).map(|_| notice(&mut texts)).collect::<Result<Vec<_>, _>>()?;
            let rest: Vec<String> = texts.rest().collect();
            let mut peers: Vec<Peer> = rest.chunks(2).filter_map(|pair| peer(pair.get(1)?)).collect();
            peers.sort_by(|a, b| a.beat.node.cmp(&b.beat.node));
            Ok(Pulse { now, era, forgot, peers, notices: notices.into_iter().flatten().collect() })
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
            self.read(redis::cmd("SMISMEMBER").arg(self.keys.jobs()).arg(names)).await
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
                for _ in jobs {
                    found.push(marked(&mut texts)?);
                }
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
        hints::listen(self.client.clone(), self.keys.hints(), self.label.clone())
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        Box::pin(self.look_around())
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}
