//! An operator at work: one job of the file, the store it lies in, and how requests about it are made.

use std::sync::Arc;
use std::time::Duration;

use nix::unistd::{Uid, User, gethostname};

use crate::config::Overrides;
use crate::job::{JobName, JobSpec, RunId};
use crate::lease::{Act, Answer, Entry, Operate, Record, Request};
use crate::store::{KEPT_ENTRIES, Pulse, Store, StoreError};

use super::args::GlobalArgs;
use super::exit::{Exit, Failure};
use super::named::find_job;
use super::session::Session;

/// A request that came too late is made again with the store's time of now; each time takes as long as an answer.
const TRIES: u32 = 5;

/// A record that somebody waits for is looked at this often.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// `succeeded on n1`
pub(crate) fn how_it_ended(entry: &Entry) -> String {
    let on = entry.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    format!("{}{on}", entry.verdict())
}

/// Whoever wants something done about one job.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) spec: Arc<JobSpec>,
    /// Who that is, for people: `ann@db1`.
    pub(crate) name: String,
}

impl Operator {
    /// Finds the job in the file, and reaches the store.
    pub(crate) async fn at_work(job: &JobName, global: &GlobalArgs) -> Result<Self, Failure> {
        let session = Session::load(global, Overrides::default())?;
        let spec = Arc::clone(find_job(&session.config, &session.source, job)?);
        let store = session.reach_store().await?;
        Ok(Self { store, spec, name: name() })
    }

    /// The same for several jobs of the file, or for all of them if none is named.
    pub(crate) async fn all_at_work(jobs: &[JobName], global: &GlobalArgs) -> Result<Vec<Self>, Failure> {
        let session = Session::load(global, Overrides::default())?;
        let named = jobs.iter().map(|job| Ok(Arc::clone(find_job(&session.config, &session.source, job)?)));
        let mut specs = named.collect::<Result<Vec<_>, Failure>>()?;
        if jobs.is_empty() {
            specs = session.config.jobs.values().cloned().collect();
        }
        let store = session.reach_store().await?;
        Ok(specs.into_iter().map(|spec| Self { store: Arc::clone(&store), spec, name: name() }).collect())
    }

    /// Does it, and lets the replicas know.
    pub(crate) async fn act(&self, act: &Act) -> Result<Answer, Failure> {
        for _ in 0..TRIES {
            let expect = self.pulse().await?.now;
            let operate = Operate { expect, by: self.name.clone(), act: act.clone() };
            let reply = self.store.submit(&self.spec.name, &Request::Operate(operate)).await;
            match reply.map_err(|error| self.failed(&error))?.answer {
                Answer::Unsynced => {}
                Answer::NoRecord => return Err(self.unopened()),
                Answer::NewerSchema(schema) => return Err(self.newer(schema)),
                answer => {
                    self.announce().await;
                    return Ok(answer);
                }
            }
        }
        let message = "the store took over a second each time to get the request: nothing was changed";
        Err(Failure::new(Exit::StoreUnreachable, format!("store {}: {message}", self.store.label())))
    }

    /// Lets the replicas know that there is something to look at. Without that they find out later.
    pub(crate) async fn announce(&self) {
        let _ = self.store.announce(&self.spec.name).await;
    }

    /// Who is there, and the store's time.
    pub(crate) async fn pulse(&self) -> Result<Pulse, Failure> {
        self.store.pulse(None).await.map_err(|error| self.failed(&error))
    }

    /// The job's record.
    pub(crate) async fn record(&self) -> Result<Record, Failure> {
        self.known_record().await?.ok_or_else(|| self.unopened())
    }

    /// The job's record, if it has one.
    pub(crate) async fn known_record(&self) -> Result<Option<Record>, Failure> {
        let records = self.store.records(std::slice::from_ref(&self.spec.name)).await;
        let records = records.map_err(|error| self.failed(&error))?;
        Ok(records.into_iter().next().flatten())
    }

    /// The newest entry of a run, once it has ended.
    pub(crate) async fn entry(&self, run: RunId) -> Result<Option<Entry>, Failure> {
        let entries = self.store.history(std::slice::from_ref(&self.spec.name), KEPT_ENTRIES).await;
        let entries = entries.map_err(|error| self.failed(&error))?;
        Ok(entries.into_iter().flat_map(|(_, of_job)| of_job).rfind(|entry| entry.run == Some(run)))
    }

    fn failed(&self, error: &StoreError) -> Failure {
        Failure::store(&self.store.label(), error)
    }

    fn unopened(&self) -> Failure {
        let job = &self.spec.name;
        let message = if self.spec.enabled {
            format!(
                "no replica has registered job `{job}` yet\n  help: start one with `solocron run`, or try again in a few \
                 seconds if the store was just reset"
            )
        } else {
            format!("job `{job}` is disabled (enabled = false)\n  help: enable it in the file")
        };
        Failure::new(Exit::Failed, message)
    }

    fn newer(&self, schema: u32) -> Failure {
        let job = &self.spec.name;
        let message = format!("the record of job `{job}` was written by a newer release (schema {schema})");
        Failure::new(Exit::Failed, format!("{message}\n  help: use that release's solocron"))
    }
}

/// `ann@db1`: who asks, as this machine tells. Behind sudo it is who called it.
fn name() -> String {
    let by_id = || User::from_uid(Uid::current()).ok().flatten().map(|user| user.name);
    let caller = std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty()).or_else(by_id);
    let user = caller.unwrap_or_else(|| Uid::current().to_string());
    let host = gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    format!("{user}@{host}").chars().filter(|letter| !letter.is_control()).collect()
}
