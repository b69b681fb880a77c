//! The store on one Redis server: requests as scripts, records and history as they lie there.

use std::collections::BTreeMap;
use std::fmt;

use futures_util::future::try_join_all;
use redis::{Cmd, FromRedisValue, Value};

use crate::config::RedisUrl;
use crate::job::{ClusterName, JobName, UtcMillis};
use crate::lease::{Entry, Era, Record, Reply, Request};
use crate::store::{Answered, Beat, FORGET_NODES_MS, JobEntries, Peer, Pulse, Store, StoreError};

use super::RedisKeys;
use super::connect::{CallError, Connector};
use super::reply::{self, Texts};
use super::scripts::{self, LeaseScript};

/// A cluster's records on one Redis server.
pub struct RedisStore {
    keys: RedisKeys,
    label: String,
    /// Renewals alone, so that nothing can hold them up.
    renewals: Connector,
    rest: Connector,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("label", &self.label).finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Starts to connect, and returns at once. Needs a running runtime.
    pub fn start(url: &RedisUrl, cluster: ClusterName) -> Result<Self, StoreError> {
        let label = url.to_string();
        Ok(Self {
            keys: RedisKeys::of(cluster),
            renewals: Connector::start(url)?,
            rest: Connector::start(url)?,
            label,
        })
    }

    async fn run_script(
        &self,
        connector: &Connector,
        script: &LeaseScript,
        keys: &[String],
        args: &[Vec<u8>],
    ) -> Result<Value, StoreError> {
        match connector.call(&script.by_hash(keys, args)).await {
            Err(CallError::NoScript) => connector.call(&script.whole(keys, args)).await.map_err(store_error),
            result => result.map_err(store_error),
        }
    }

    async fn read<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        let value = self.rest.call(command).await.map_err(store_error)?;
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

fn store_error(error: CallError) -> StoreError {
    match error {
        CallError::Store(error) => error,
        CallError::NoScript => StoreError::Refused("the server forgot a script it was just sent".to_owned()),
    }
}

fn peer(text: &str) -> Option<Peer> {
    let (at, said) = text.split_once(' ')?;
    Some(Peer { at: UtcMillis(at.parse().ok()?), beat: serde_json::from_str(said).ok()? })
}

impl Store for RedisStore {
    fn ready(&self) -> Answered<'_, ()> {
        Box::pin(self.rest.ready())
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        Box::pin(async move {
            let connector = if matches!(request, Request::Renew(_)) { &self.renewals } else { &self.rest };
            let (script, keys, args) = scripts::call_of(request, &self.keys, job);
            reply::read(self.run_script(connector, script, &keys, &args).await?)
        })
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        Box::pin(async move {
            let node = beat.map_or("", |beat| beat.node.as_str());
            let said = beat.map(|beat| serde_json::to_string(beat).expect("a beat is plain JSON"));
            let args = [
                node.into(),
                said.unwrap_or_default().into_bytes(),
                FORGET_NODES_MS.to_string().into_bytes(),
            ];
            let value = self.run_script(&self.rest, scripts::pulse(), &[self.keys.nodes()], &args).await?;
            let mut texts = Texts::of(value)?;
            let (now, era, forgot) = (UtcMillis(texts.value()?), Era(texts.text()), texts.text() == "1");
            let rest: Vec<String> = texts.rest().collect();
            let mut peers: Vec<Peer> = rest.chunks(2).filter_map(|pair| peer(pair.get(1)?)).collect();
            peers.sort_by(|a, b| a.beat.node.cmp(&b.beat.node));
            Ok(Pulse { now, era, forgot, peers })
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
            let names: Vec<&str> = jobs.iter().map(JobName::as_str).collect();
            self.read(redis::cmd("SADD").arg(self.keys.jobs()).arg(names)).await
        })
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        Box::pin(try_join_all(jobs.iter().map(|job| self.record(job))))
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        Box::pin(try_join_all(jobs.iter().map(move |job| async move {
            let entries = self.entries(job, newest).await?;
            Ok((job.clone(), entries))
        })))
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}
