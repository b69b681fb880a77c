//! Where a command that can do without jobs.toml finds its lock: cluster and store, from flags, their variables, or the
//! file.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{self, Config, Overrides, Problem, Purpose, SourceError, StoreUrl};
use crate::job::{ClusterName, JobName, JobSpec};
use crate::store::{LocalStore, Store};

use super::args::GlobalArgs;
use super::exit::{Exit, Failure};
use super::session::{env, load_file, open_store, state_dir};

/// A cluster and its store.
#[derive(Debug)]
pub(crate) struct Place {
    cluster: ClusterName,
    store: StoreUrl,
    /// The job whose lock it is, where there is a file that has one.
    pub(crate) job: Option<Arc<JobSpec>>,
}

impl Place {
    /// Finds the place of a lock. With a store, no file is asked that was not named: which folder a script happens to run
    /// in changes nothing.
    pub(crate) fn of_lock(
        lock: &JobName,
        cluster: Option<&ClusterName>,
        global: &GlobalArgs,
    ) -> Result<Self, Failure> {
        if let (Some(store), None) = (&global.store, &global.config) {
            return Self::of_store(store, cluster);
        }
        if global.config.is_none()
            && let Err(missing @ SourceError::Missing { .. }) = config::find(None, Purpose::Read)
        {
            let message = format!(
                "{missing}\n  help: or do without one: --store URL and --cluster NAME (SOLOCRON_STORE, SOLOCRON_CLUSTER)"
            );
            return Err(Failure::new(Exit::BadConfig, message));
        }
        let (_, config, _) = load_file(global, Overrides::default(), Purpose::Read)?;
        let cluster = cluster.cloned().unwrap_or_else(|| config.cluster.clone());
        let job = config.jobs.get(lock).filter(|_| cluster == config.cluster).cloned();
        Ok(Self { cluster, store: config.store, job })
    }

    /// The place of a job's own lock.
    pub(crate) fn of_job(config: &Config, job: Arc<JobSpec>) -> Self {
        Self { cluster: config.cluster.clone(), store: config.store.clone(), job: Some(job) }
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
        Ok(Self { cluster, store, job: None })
    }

    /// Starts to connect. Needs a running runtime.
    pub(crate) fn open(&self, global: &GlobalArgs) -> Result<Arc<dyn Store>, Failure> {
        // Only the embedded store has a place there, and a crontab may not even have a HOME.
        let folder = match self.store {
            StoreUrl::Local => state_dir(global.state_dir.as_deref())?,
            StoreUrl::LocalPath(_) | StoreUrl::Redis(_) => PathBuf::new(),
        };
        open_store(&self.store, &self.cluster, &folder, LocalStore::start)
    }
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
