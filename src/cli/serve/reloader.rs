//! Loads jobs.toml again while a replica runs: one load at a time, and all of the file or nothing. A bad file changes nothing,
//! and all its problems are logged.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::warn;

use crate::cli::args::global::{GlobalArgs, RunArgs};
use crate::cli::session::{Session, env};
use crate::config;
use crate::config::{
    Config, ListenAddress, MOST_DRAWN, Overrides, Places, Problem, Severity, Source, StoreUrl,
};
use crate::http::HttpOptions;
use crate::job::{ClusterName, JobName, NodeName};
use crate::metrics::Tally;
use crate::replica::{LoadedFile, Reload};
use crate::run::Job;

use super::http::resolve_http;
use super::load_report::Loads;
use super::resolve::resolve_jobs;

/// A replica takes over a file between two steps of its loop; one that has not done so by then hangs.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// Requests that may wait; further ones would request the same.
const WAITING_REQUESTS: usize = 16;

/// A request to load the file again.
#[derive(Debug)]
pub(crate) enum ReloadRequest {
    /// Sent by SIGHUP.
    Signal,
    /// The file has changed.
    Noticed,
    /// Sent by a command that waits for the answer.
    Asked(oneshot::Sender<ReloadAnswer>),
}

/// The result of a load, for the requester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReloadAnswer {
    pub(crate) node: NodeName,
    pub(crate) end: ReloadEnd,
    /// The result in one line.
    pub(crate) said: String,
    /// Every problem of a bad file, as `check` shows them.
    pub(crate) problems: String,
}

/// The result of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReloadEnd {
    /// The file is in effect.
    Loaded,
    /// The file is bad.
    BadFile,
    /// The file is good, and cannot take effect.
    Refused,
}

/// Loads the file of one replica.
#[derive(Debug)]
pub(crate) struct Reloader {
    node: NodeName,
    /// The file as it was at the start.
    first: Arc<Source>,
    /// The store, if a flag names it.
    store_flag: Option<String>,
    args: RunArgs,
    cluster: ClusterName,
    store: StoreUrl,
    /// The text of the file when it was last read, valid or not; or why it could not be read.
    seen: Result<String, String>,
    loads: Loads,
    /// Where a refused file is noted.
    tally: Arc<Tally>,
    replica: mpsc::Sender<Reload>,
    /// The address of the HTTP server, as the file or a flag gave it.
    listen: Option<ListenAddress>,
    options: watch::Sender<HttpOptions>,
}

/// A file that can take effect.
struct Loaded {
    config: Config,
    jobs: BTreeMap<JobName, Job>,
    http: HttpOptions,
    warnings: Vec<Problem>,
    source: Source,
}

/// Why a file cannot be loaded.
struct Bad {
    problems: Vec<Problem>,
    source: Source,
}

impl Reloader {
    /// Returns the reloader for the replica of this session, and the channel on which the replica receives loaded files.
    pub(crate) fn new(
        session: &Session,
        node: NodeName,
        global: &GlobalArgs,
        args: &RunArgs,
        options: watch::Sender<HttpOptions>,
        tally: &Arc<Tally>,
    ) -> (Self, mpsc::Receiver<Reload>) {
        let (replica, reloads) = mpsc::channel(1);
        let reloader = Self {
            node,
            first: Arc::new(session.source.clone()),
            store_flag: global.store.clone(),
            args: args.clone(),
            cluster: session.config.cluster.clone(),
            store: session.config.store.clone(),
            seen: Ok(session.source.text.clone()),
            loads: Loads::default(),
            tally: Arc::clone(tally),
            replica,
            listen: session.config.http.listen,
            options,
        };
        (reloader, reloads)
    }

    /// Returns a channel for requests.
    pub(crate) fn channel() -> (mpsc::Sender<ReloadRequest>, mpsc::Receiver<ReloadRequest>) {
        mpsc::channel(WAITING_REQUESTS)
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> PathBuf {
        self.first.path.clone()
    }

    /// Carries out requests until every sender is gone.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<ReloadRequest>) {
        while let Some(request) = requests.recv().await {
            let answer = self.carry_out(&request).await;
            if let (ReloadRequest::Asked(asker), Some(answer)) = (request, answer) {
                // The requester may be gone.
                let _ = asker.send(answer);
            }
        }
    }

    /// Loads the file. Returns `None` if a change was noticed, and the file is the one that was read last.
    async fn carry_out(&mut self, request: &ReloadRequest) -> Option<ReloadAnswer> {
        let first = Arc::clone(&self.first);
        let found = off_the_loop(move || config::find_again(&first)).await;
        let seen = found.as_ref().map(|source| source.text.clone()).map_err(ToString::to_string);
        if std::mem::replace(&mut self.seen, seen) == self.seen && matches!(request, ReloadRequest::Noticed) {
            return None;
        }
        let (store, args) = (self.store_flag.clone(), self.args.clone());
        let loading = match found {
            Ok(source) => off_the_loop(move || load(source, store.as_deref(), &args)).await,
            Err(error) => {
                let source = Source::new(self.path(), "");
                Err(Bad { problems: vec![Problem::error(error.to_string())], source })
            }
        };
        Some(match loading {
            Ok(loaded) => self.hand_over(loaded, request).await,
            Err(bad) => self.refuse(&bad),
        })
    }

    /// Gives the file to the replica, if the replica can take it.
    async fn hand_over(&mut self, loaded: Loaded, request: &ReloadRequest) -> ReloadAnswer {
        let Loaded { config, jobs, http, warnings, source } = loaded;
        if let Some(other) = self.of_another_cluster(&config) {
            warn!(node = %self.node, file = %source.path.display(), "{other}");
            self.tally.file_refused();
            return self.answer(ReloadEnd::Refused, other);
        }
        self.log(&warnings, &source);
        let listen = config.http.listen;
        let (hash, retention) = (config.fingerprint.clone(), config.logs);
        let (done, is_done) = oneshot::channel();
        let file = LoadedFile {
            jobs,
            hash: config.fingerprint,
            expected_replicas: config.expected_replicas,
            drain: config.replica.drain,
            labels: config.replica.labels,
            max_running: config.replica.max_running,
            retention,
        };
        let taken = async {
            // If the replica is gone, the missing answer shows it.
            let _ = self.replica.send(Reload { file, done }).await;
            is_done.await
        };
        match tokio::time::timeout(TAKEN_WITHIN, taken).await {
            Ok(Ok(changes)) => {
                self.options.send_replace(http);
                if listen != self.listen {
                    warn!(node = %self.node, "`listen` changed: restart the replica for it");
                }
                let what = self.loads.told(hash, &changes, matches!(request, ReloadRequest::Asked(_)));
                self.answer(ReloadEnd::Loaded, format!("{} loaded {what}", source.path.display()))
            }
            Ok(Err(_)) => self.refused("the replica is stopping, and loads no file"),
            Err(_) => self.refused("the replica did not load the file in time: see its log"),
        }
    }

    fn refused(&self, why: &str) -> ReloadAnswer {
        warn!(node = %self.node, "{why}");
        self.answer(ReloadEnd::Refused, why.to_owned())
    }

    /// Returns why the file is refused, if it names another cluster or store: these must not change while a replica runs, as
    /// its locks are there.
    fn of_another_cluster(&self, config: &Config) -> Option<String> {
        let (key, from, to) = if config.cluster != self.cluster {
            ("name", self.cluster.to_string(), config.cluster.to_string())
        } else if config.store != self.store {
            ("store", self.store.to_string(), config.store.to_string())
        } else {
            return None;
        };
        // Addresses that differ only in their password look the same.
        let change =
            if from == to { format!("`{from}`, its password") } else { format!("`{from}` to `{to}`") };
        Some(format!(
            "jobs file not loaded: `[cluster] {key}` cannot change while the replica runs ({change}), and nothing else \
             of the file was applied; restart the replica"
        ))
    }

    fn refuse(&self, bad: &Bad) -> ReloadAnswer {
        let Bad { problems, source } = bad;
        self.tally.file_refused();
        self.log(problems, source);
        let said = format!("{} is invalid: the current jobs stay", source.path.display());
        let (node, file) = (&self.node, source.path.display());
        let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
        let warnings = problems.len() - errors;
        warn!(%node, %file, errors, warnings, "invalid jobs.toml: keeping the current jobs");
        ReloadAnswer {
            problems: config::render(problems, source, false),
            ..self.answer(ReloadEnd::BadFile, said)
        }
    }

    /// Logs as many problems as are drawn.
    fn log(&self, problems: &[Problem], source: &Source) {
        let (path, places, node) = (source.path.display(), Places::of(source), &self.node);
        for problem in problems.iter().take(MOST_DRAWN) {
            let file = match places.of_problem(problem) {
                Some((line, column)) => format!("{path}:{line}:{column}"),
                None => path.to_string(),
            };
            let help = problem.help.as_deref();
            let severity = problem.severity.as_str();
            warn!(%node, file, severity, help, "{}", problem.message);
        }
    }

    fn answer(&self, end: ReloadEnd, said: String) -> ReloadAnswer {
        ReloadAnswer { node: self.node.clone(), end, said, problems: String::new() }
    }
}

fn load(source: Source, store: Option<&str>, args: &RunArgs) -> Result<Loaded, Bad> {
    let overrides = Overrides { store, ..args.overrides() };
    let (config, warnings) = match config::load(&source, &overrides, &env) {
        Ok(loaded) => loaded,
        Err(problems) => return Err(Bad { problems: problems.as_slice().to_vec(), source }),
    };
    match (resolve_jobs(&config, &source), resolve_http(&config, &source)) {
        (Ok(jobs), Ok(http)) => Ok(Loaded { config, jobs, http, warnings, source }),
        (jobs, http) => {
            let problems = jobs.err().into_iter().chain(http.err()).flatten();
            Err(Bad { problems: warnings.into_iter().chain(problems).collect(), source })
        }
    }
}

/// Runs `work` on a thread for blocking calls: files may lie on a disk that hangs.
async fn off_the_loop<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("reading a file neither panics nor is it aborted")
}
