//! Client for operator commands: one job of the file or of the store, and the requests about it.

use std::sync::Arc;
use std::time::Duration;

use nix::unistd::{Uid, User, gethostname};

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::session::known_job::reach_jobs_or_all;
use crate::cli::session::target::ClusterTarget;
use crate::job::{JobName, JobSpec, RunId};
use crate::lease::{Act, Answer, HistoryEntry, Operate, Record, Request};
use crate::store::{KEPT_ENTRIES, LIVE_FOR, Pulse, Store, StoreError};
use crate::view::job_definition::{Definition, KnownJob};

/// How often a request is sent that arrives too late, each time with the store's current time. Each try takes as long as one
/// reply.
const TRIES: u32 = 5;

/// How often a command reads the record whose change it waits for.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Returns how a run ended and where: `succeeded on n1`.
pub(crate) fn how_it_ended(entry: &HistoryEntry) -> String {
    let on = entry.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    format!("{}{on}", entry.verdict())
}

/// Client for operator commands on one job.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) job: KnownJob,
    /// The operator, for people: `ann@db1`.
    pub(crate) name: String,
}

impl Operator {
    /// Connects to the store, and finds the job in the file or in the store.
    pub(crate) async fn connect(
        job: &JobName,
        place: &ClusterTarget,
        global: &GlobalArgs,
        screen: &mut Screen<'_>,
    ) -> Result<Self, Failure> {
        let of_one = Self::connect_all(std::slice::from_ref(job), place, global, screen).await?;
        Ok(of_one.into_iter().next().expect("one was asked for"))
    }

    /// The same for several jobs; without a name, for all jobs of the file and of the store.
    pub(crate) async fn connect_all(
        jobs: &[JobName],
        place: &ClusterTarget,
        global: &GlobalArgs,
        screen: &mut Screen<'_>,
    ) -> Result<Vec<Self>, Failure> {
        let (store, jobs) = reach_jobs_or_all(jobs, place, global, screen).await?;
        let name = name();
        Ok(jobs.into_iter().map(|job| Self { store: Arc::clone(&store), job, name: name.clone() }).collect())
    }

    /// Returns the full definition of the job, if the file has it.
    pub(crate) fn spec(&self) -> Option<&Arc<JobSpec>> {
        self.job.definition.spec()
    }

    /// Whether the file does not name the job.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.job.definition, Definition::Absent)
    }

    /// Whether no live replica can know the job: each of them has loaded the file, which does not name it.
    pub(crate) async fn is_unknown_to_replicas(&self, place: &ClusterTarget) -> Result<bool, Failure> {
        Ok(self.is_absent() && is_loaded_by_all(place, &*self.store).await?)
    }

    /// Fails if no live replica can know the job.
    pub(crate) async fn expect_known_to_replicas(&self, place: &ClusterTarget) -> Result<(), Failure> {
        if !self.is_unknown_to_replicas(place).await? {
            return Ok(());
        }
        let message = format!(
            "no live replica knows job `{}`: all of them have loaded this jobs.toml, which does not name it\n  help: write it \
             into the file",
            self.job.name
        );
        Err(Failure::failed(message))
    }

    /// Sends the request to the store, and notifies the replicas.
    pub(crate) async fn act(&self, act: &Act) -> Result<Answer, Failure> {
        for _ in 0..TRIES {
            let expect = self.pulse().await?.now;
            let operate = Operate { expect, by: self.name.clone(), act: act.clone() };
            let reply = self.store.submit(&self.job.name, &Request::Operate(operate)).await;
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
        let message = "every request took more than a second to reach the store: nothing was changed";
        Err(Failure::new(Exit::StoreUnreachable, format!("store {}: {message}", self.store.label())))
    }

    /// Sends the replicas a notice that the job's record has changed. If it is lost, they find out later.
    pub(crate) async fn announce(&self) {
        let _ = self.store.announce(&self.job.name).await;
    }

    /// Returns the replicas' heartbeats and the store's time.
    pub(crate) async fn pulse(&self) -> Result<Pulse, Failure> {
        self.store.pulse(None).await.map_err(|error| self.failed(&error))
    }

    /// Returns the job's record. Fails if it has none.
    pub(crate) async fn record(&self) -> Result<Record, Failure> {
        self.known_record().await?.ok_or_else(|| self.unopened())
    }

    /// Returns the job's record, if it has one.
    pub(crate) async fn known_record(&self) -> Result<Option<Record>, Failure> {
        self.store.record_of(&self.job.name).await.map_err(|error| self.failed(&error))
    }

    /// Returns the newest entry of a run, once it has ended.
    pub(crate) async fn entry(&self, run: RunId) -> Result<Option<HistoryEntry>, Failure> {
        let entries = self.store.history(std::slice::from_ref(&self.job.name), KEPT_ENTRIES).await;
        let entries = entries.map_err(|error| self.failed(&error))?;
        Ok(entries.into_iter().flat_map(|(_, of_job)| of_job).rfind(|entry| entry.run == Some(run)))
    }

    fn failed(&self, error: &StoreError) -> Failure {
        Failure::store(&self.store.label(), error)
    }

    fn unopened(&self) -> Failure {
        let job = &self.job.name;
        let message = if self.job.definition.spec().is_none_or(|spec| spec.enabled) {
            format!(
                "no replica has registered job `{job}` yet\n  help: start one with `solocron run`, or try again in a few \
                 seconds if the store was just reset"
            )
        } else {
            format!("job `{job}` is disabled (enabled = false)\n  help: enable it in the file")
        };
        Failure::failed(message)
    }

    fn newer(&self, schema: u32) -> Failure {
        let job = &self.job.name;
        let message = format!("the record of job `{job}` was written by a newer release (schema {schema})");
        Failure::failed(format!("{message}\n  help: use that release's solocron"))
    }
}

/// Whether live replicas exist, and each of them has loaded the file at hand.
async fn is_loaded_by_all(place: &ClusterTarget, store: &dyn Store) -> Result<bool, Failure> {
    let Some(file) = place.expected().valid_file() else { return Ok(false) };
    let pulse = store.pulse(None).await.map_err(Failure::of(store))?;
    let mut live = pulse.peers.iter().filter(|peer| pulse.now.since(peer.at) <= LIVE_FOR).peekable();
    Ok(live.peek().is_some() && live.all(|peer| peer.beat.file == file))
}

/// Returns the operator's name, `ann@db1`, as this machine knows it. Behind sudo it is the user that called sudo.
fn name() -> String {
    let by_id = || User::from_uid(Uid::current()).ok().flatten().map(|user| user.name);
    let caller = std::env::var("SUDO_USER").ok().filter(|user| !user.is_empty()).or_else(by_id);
    let user = caller.unwrap_or_else(|| Uid::current().to_string());
    let host = gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default();
    format!("{user}@{host}").chars().filter(|letter| !letter.is_control()).collect()
}
