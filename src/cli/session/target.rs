//! Which cluster a command is for: from flags, their variables, or `[cluster]` of jobs.toml. The rest of the file may be
//! invalid: that costs a warning of one line, and the jobs count as far as they can be read.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::cli::args::global::GlobalArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::{Screen, counted};
use crate::cli::session::{colour, env, expect_store_file, open_store, state_dir};
use crate::config;
use crate::config::{
    Cluster, Config, FileJobs, Outline, Problem, Problems, Purpose, Source, SourceError, StoreUrl,
};
use crate::job::{ClusterName, JobName};
use crate::store::{LocalStore, Store};
use crate::view::expected::Expected;
use crate::view::job::{Definition, KnownJob};

/// Help text where no file can be used.
const WITHOUT: &str = "or do without a file: --cluster NAME --store URL (SOLOCRON_CLUSTER, SOLOCRON_STORE)";

/// The flag that names a cluster.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// The cluster; with --store, no file is needed [default: the file's `name`]
    #[arg(long, value_name = "NAME", env = "SOLOCRON_CLUSTER")]
    pub cluster: Option<ClusterName>,
}

/// A cluster, its store, and what the file at hand contains about it.
#[derive(Debug)]
pub(crate) struct ClusterTarget {
    cluster: ClusterName,
    store: StoreUrl,
    file: Option<FileAtHand>,
}

/// A file that belongs to the cluster.
#[derive(Debug)]
struct FileAtHand {
    path: PathBuf,
    fingerprint: String,
    replicas: Option<u32>,
    jobs: FileJobs,
    /// That the file is invalid, in one line.
    flaw: Option<String>,
}

/// Why a file cannot be used: in one line, for commands that work without it, and as an error.
struct Unusable {
    line: String,
    failure: Failure,
}

impl ClusterTarget {
    /// Finds the cluster. If a cluster and a store are named, a file is read only if it is named as well. Prints a warning on
    /// stderr if the file is invalid.
    pub(crate) fn find(
        flags: &PlaceArgs,
        global: &GlobalArgs,
        screen: &mut Screen<'_>,
    ) -> Result<Self, Failure> {
        let both = global.store.as_deref().zip(flags.cluster.as_ref());
        if let (Some((store, cluster)), None) = (both, &global.config) {
            return Self::of_store(store, Some(cluster));
        }
        let Unusable { line, failure } = match config::find(global.config.as_deref(), Purpose::Read) {
            Ok(source) => match Self::of_file(&source, flags, global, screen) {
                Ok(place) => return Ok(place),
                Err(unusable) => unusable,
            },
            Err(SourceError::Missing { .. }) if global.config.is_none() && is_local(global) => {
                return Self::of_store(global.store.as_deref().unwrap_or_default(), flags.cluster.as_ref());
            }
            Err(error) => Unusable {
                line: error.to_string(),
                failure: Failure::new(Exit::BadConfig, format!("{error}\n  help: {WITHOUT}")),
            },
        };
        let Some((store, cluster)) = both else { return Err(failure) };
        screen.say(&format!("warning: {line}\n"));
        Self::of_store(store, Some(cluster))
    }

    /// Finds the cluster of a lock. If a store is named, a file is read only if it is named as well: the folder that a script
    /// runs in must not matter.
    pub(crate) fn of_lock(
        flags: &PlaceArgs,
        global: &GlobalArgs,
        screen: &mut Screen<'_>,
    ) -> Result<Self, Failure> {
        match (&global.store, &global.config) {
            (Some(store), None) => Self::of_store(store, flags.cluster.as_ref()),
            _ => Self::find(flags, global, screen),
        }
    }

    /// Returns the target of a valid file.
    pub(crate) fn of_config(source: &Source, config: &Config) -> Self {
        let jobs = FileJobs { right: config.jobs.clone(), ..FileJobs::default() };
        let (replicas, fingerprint) = (config.expected_replicas, config.fingerprint.clone());
        let file = FileAtHand { path: source.path.clone(), fingerprint, replicas, jobs, flaw: None };
        Self { cluster: config.cluster.clone(), store: config.store.clone(), file: Some(file) }
    }

    fn of_store(store: &str, cluster: Option<&ClusterName>) -> Result<Self, Failure> {
        let store = parse(store)?;
        let cluster = match cluster {
            Some(cluster) => cluster.clone(),
            None if store.is_local() => config::local_cluster(),
            None => {
                let message = "--cluster is required when no jobs file is used\n  help: give --cluster NAME or \
                               SOLOCRON_CLUSTER, the same on every machine: the file's `name`, where there is one; or \
                               --config FILE";
                return Err(Failure::new(Exit::Usage, message));
            }
        };
        Ok(Self { cluster, store, file: None })
    }

    fn of_file(
        source: &Source,
        flags: &PlaceArgs,
        global: &GlobalArgs,
        screen: &mut Screen<'_>,
    ) -> Result<Self, Unusable> {
        let Outline { cluster, jobs, fingerprint, problems } =
            Outline::read(source, global.store.as_deref(), &env);
        let flaw = problems.as_ref().map(|problems| complaint(source, problems));
        let Cluster { name, store, replicas } = cluster.map_err(|own| Unusable {
            line: flaw.clone().unwrap_or_default(),
            failure: unusable(source, &own, problems.as_ref()),
        })?;
        if let Some(flaw) = &flaw {
            screen.say(&format!("warning: {flaw}\n"));
        }
        let file = FileAtHand { path: source.path.clone(), fingerprint, replicas, jobs, flaw };
        let cluster = flags.cluster.clone().unwrap_or_else(|| name.clone());
        // What a file contains about another cluster's jobs does not apply here.
        let file = Some(file).filter(|_| cluster == name);
        Ok(Self { cluster, store, file })
    }

    /// Returns what the file contains about a job.
    pub(crate) fn job(&self, name: &JobName) -> KnownJob {
        let definition = match &self.file {
            None => Definition::Unknown,
            Some(FileAtHand { jobs, .. }) => match jobs.right.get(name) {
                Some(spec) => Definition::Known(Arc::clone(spec)),
                None if jobs.invalid.contains(name) => Definition::Invalid,
                None if jobs.is_partial => Definition::Unknown,
                None => Definition::Absent,
            },
        };
        KnownJob { name: name.clone(), definition }
    }

    /// Returns the jobs that the file names.
    pub(crate) fn jobs(&self) -> Vec<KnownJob> {
        let jobs = self.file.iter().flat_map(|file| file.jobs.right.keys().chain(&file.jobs.invalid));
        let mut names: Vec<&JobName> = jobs.collect();
        names.sort();
        names.into_iter().map(|name| self.job(name)).collect()
    }

    /// Returns the name of the cluster.
    pub(crate) fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// Returns the path of the file, where job names are looked up besides the store.
    pub(crate) fn file_path(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.path.display().to_string())
    }

    /// Returns what to expect of the cluster by the file.
    pub(crate) fn expected(&self) -> Expected<'_> {
        self.file.as_ref().map_or_else(Expected::default, |file| Expected {
            replicas: file.replicas,
            file: Some(&file.fingerprint),
            flaw: file.flaw.as_deref(),
        })
    }

    /// Starts to connect to the store. Needs a running runtime.
    pub(crate) fn open(&self, global: &GlobalArgs) -> Result<Arc<dyn Store>, Failure> {
        open_store(&self.store, &self.cluster, &self.folder(global)?, LocalStore::start)
    }

    /// Fails if the store is a file that does not exist yet.
    pub(crate) fn expect_store_file(&self, global: &GlobalArgs) -> Result<(), Failure> {
        expect_store_file(&self.store, &self.folder(global)?)
    }

    /// Connects to the store, and waits until it answers. Does not create a local store: a command that only reads would own
    /// its file, and find nothing in it.
    pub(crate) async fn reach(&self, global: &GlobalArgs) -> Result<Arc<dyn Store>, Failure> {
        self.expect_store_file(global)?;
        let start = LocalStore::start_patient;
        let store = open_store(&self.store, &self.cluster, &self.folder(global)?, start)?;
        store.ready().await.map_err(Failure::of(&*store))?;
        Ok(store)
    }

    /// Returns the state folder, if it is needed. Only the embedded store is in it, and cron may not even set HOME.
    fn folder(&self, global: &GlobalArgs) -> Result<PathBuf, Failure> {
        match self.store {
            StoreUrl::Local => state_dir(global.state_dir.as_deref()),
            StoreUrl::LocalPath(_) | StoreUrl::Redis(_) | StoreUrl::Postgres(_) => Ok(PathBuf::new()),
        }
    }
}

/// Returns the store of flag, environment or file.
pub(crate) fn store_at_hand(global: &GlobalArgs, screen: &mut Screen<'_>) -> Result<StoreUrl, Failure> {
    match (&global.store, &global.config) {
        (Some(store), None) => parse(store),
        _ => Ok(ClusterTarget::find(&PlaceArgs { cluster: None }, global, screen)?.store),
    }
}

/// Whether the store of flag or environment needs no cluster name.
fn is_local(global: &GlobalArgs) -> bool {
    global.store.as_deref().is_some_and(|store| store == "local" || store.starts_with("local:"))
}

/// Returns one line: `jobs.toml is invalid (2 problems): job `a`: unknown key `retires`, …; run `solocron check``
fn complaint(source: &Source, problems: &Problems) -> String {
    let (count, first) = (problems.errors().count(), problems.errors().next());
    let first = first.map_or(String::new(), |problem| problem.message.replace(char::is_control, " "));
    let more = if count > 1 { ", and more" } else { "" };
    let (path, count) = (source.path.display(), counted(count, "problem"));
    format!("{path} is invalid ({count}): {first}{more}; run `solocron check`")
}

/// Returns the failure for a `[cluster]` that cannot be used: its problems or, if it has none of its own, those of the file.
fn unusable(source: &Source, own: &[Problem], all: Option<&Problems>) -> Failure {
    let all = all.map_or(&[][..], Problems::as_slice);
    let shown = if own.is_empty() { all } else { own };
    let drawn = config::render(shown, source, colour());
    let path = source.path.display();
    Failure::drawn(format!(
        "{drawn}error: {path} has no usable `[cluster]`\n  help: run `solocron check`, {WITHOUT}\n"
    ))
}

fn parse(store: &str) -> Result<StoreUrl, Failure> {
    let line = |problem: &Problem| {
        let help = problem.help.as_ref().map_or(String::new(), |help| format!("\n  help: {help}"));
        format!("{}{help}", problem.message)
    };
    config::store_of_flag(store, &env).map_err(|problems| {
        Failure::new(Exit::Usage, problems.iter().map(line).collect::<Vec<_>>().join("\nerror: "))
    })
}
