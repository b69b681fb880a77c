//! Reads the whole file: from its text to a checked configuration, or to everything that is wrong with it. No key is
//! ignored, and no problem is reported twice.

pub(super) mod jobs;
pub(super) mod outline;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jobs::FileJobs;
use sha2::{Digest, Sha256};

use crate::job::{ClusterName, JobName, JobSpec, Label};

use super::report::findings::Findings;
use super::report::problem::{Problem, Problems};
use super::sections::cluster::Cluster;
use super::sections::http::HttpSettings;
use super::sections::logs::LogRetention;
use super::sections::replica::ReplicaSettings;
use super::sections::section::Section;
use super::sections::{cluster, http, keys, logs, replica};
use super::source::Source;
use super::source::regular_file::read_secret;
use super::store::url::StoreUrl;
use super::values::document;
use super::values::substitute::{Lookup, Template};
use super::warnings::machine::Machine;

/// Variables that every process has. A replica passes them on to its commands, even if the `env` of a job refers to
/// one.
const USUAL_VARIABLES: [&str; 9] =
    ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "TZ", "USER"];

/// The content of jobs.toml, checked, with defaults and overrides applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Replicas with the same name and store cooperate.
    pub cluster: ClusterName,
    /// The store that they share.
    pub store: StoreUrl,
    /// How many replicas the cluster should have, if that is given.
    pub expected_replicas: Option<u32>,
    /// Every job, enabled or not.
    pub jobs: BTreeMap<JobName, Arc<JobSpec>>,
    /// How this replica behaves.
    pub replica: ReplicaSettings,
    /// How page, API and metrics are served.
    pub http: HttpSettings,
    /// How much of the run logs is kept.
    pub logs: LogRetention,
    /// Variables to which the store or a job's `env` refers by `${NAME}`, except those that every process has. Most are
    /// secrets: a replica does not pass them on to its commands.
    pub referred: BTreeSet<String>,
    /// 16 hexadecimal digits that differ when the text of the file differs.
    pub fingerprint: String,
}

/// The settings from flags and environment; they override the file. Not `Debug`, as the store may hold a password.
#[derive(Clone, Copy, Default)]
pub struct Overrides<'a> {
    /// `--store`; `${…}` in it is replaced as in the file.
    pub store: Option<&'a str>,
    /// `--drain`.
    pub drain: Option<Duration>,
    /// `--label`.
    pub labels: Option<&'a [Label]>,
    /// `--max-running`.
    pub max_running: Option<u32>,
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--no-http`.
    pub no_http: bool,
    /// How far the port is above the one that is given: replicas of one `run --replicas N` have ports in a row.
    pub port_offset: u16,
    /// Whether a program may start processes that the replica cannot kill. If given, a job that runs such a program
    /// causes a warning.
    pub escapes: Option<fn(&str) -> bool>,
    /// What exists on this machine. If given, a job that could not run here causes a warning.
    pub machine: Option<Machine>,
}

/// Reads and checks the whole file. Returns the configuration with its warnings.
///
/// # Errors
/// All problems of the file, warnings included, if one of them is an error.
pub fn load(
    source: &Source,
    overrides: &Overrides<'_>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(Config, Vec<Problem>), Problems> {
    let Parts { cluster, replica, http, logs, jobs, file_store, findings, .. } =
        Parts::read(source, overrides, env);
    let mut warnings = Problems::unless_harmless(findings.in_order())?;
    if let Some(flaw) = &source.doubt {
        let message = format!("{} {flaw}, who decides what is run here", source.path.display());
        warnings
            .push(Problem::warning(message).help("`chown` it to root or to the replica's user".to_owned()));
    }
    let cluster = cluster.expect("a cluster that cannot be read was reported as an error");
    let jobs = jobs.right;
    let referred = referred(file_store.as_deref().into_iter().chain(overrides.store), &jobs);
    let config = Config {
        cluster: cluster.name,
        store: cluster.store,
        expected_replicas: cluster.replicas,
        jobs,
        replica,
        http,
        logs,
        referred,
        fingerprint: fingerprint(&source.text),
    };
    Ok((config, warnings))
}

/// Returns the names of the jobs in a file, even if the file is otherwise invalid.
pub fn job_names(text: &str) -> Vec<JobName> {
    let (table, _) = document::parse(text);
    let section = Section::top(table.get_ref(), "jobs", &mut Findings::default());
    section.entries().filter_map(|(name, ..)| JobName::parse(name).ok()).collect()
}

/// The content of a file's tables, as far as they can be read, and everything that is wrong with them.
pub(super) struct Parts {
    /// `[cluster]`, if it can be relied on.
    pub(super) cluster: Option<Cluster>,
    /// The errors of `[cluster]` itself.
    pub(super) cluster_problems: Vec<Problem>,
    replica: ReplicaSettings,
    http: HttpSettings,
    logs: LogRetention,
    pub(super) jobs: FileJobs,
    /// The file's own `store`, as it is written.
    file_store: Option<String>,
    pub(super) findings: Findings,
}

impl Parts {
    /// Reads every table.
    pub(super) fn read(
        source: &Source,
        overrides: &Overrides<'_>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let (table, mut findings) = document::parse(&source.text);
        let root = table.get_ref();
        let name = source.path.display().to_string();
        Section::new(name, table.span(), root).refuse_unknown(&keys::tables(), &mut findings);
        let before = findings.errors();
        let section = Section::top(root, "cluster", &mut findings);
        let lookup = Lookup { env, read_file: &read_secret };
        let cluster = cluster::read(&section, overrides.store, lookup, &mut findings);
        let is_touched = section.is_touched("cluster", &source.text, &findings);
        let cluster_problems = findings.errors_after(before);
        let is_sure = !is_touched && (cluster_problems.is_empty() || section.has("name"));
        let replica = Section::top(root, "replica", &mut findings);
        let replica = replica::read(&replica, overrides, &mut findings);
        let http = Section::top(root, "http", &mut findings);
        let http = http::read(&http, overrides, &mut findings);
        let logs = Section::top(root, "logs", &mut findings);
        let logs = logs::read(&logs, &mut findings);
        let jobs = jobs::read(&source.text, root, overrides, &mut findings);
        Self {
            cluster: cluster.filter(|_| is_sure),
            cluster_problems,
            replica,
            http,
            logs,
            jobs,
            file_store: section.raw("store").and_then(|raw| raw.get_ref().as_str()).map(str::to_owned),
            findings,
        }
    }
}

/// Returns the variables to which stores and jobs refer. Most of them are secrets. Those that every process has are
/// not, and are left out.
fn referred<'a>(
    stores: impl Iterator<Item = &'a str>,
    jobs: &'a BTreeMap<JobName, Arc<JobSpec>>,
) -> BTreeSet<String> {
    let of_jobs = jobs.values().flat_map(|spec| spec.env.values().map(String::as_str));
    let texts = stores.chain(of_jobs).filter_map(|text| Template::parse(text).ok());
    let names = texts.flat_map(|template| template.variables().map(str::to_owned).collect::<Vec<_>>());
    names.filter(|name| !USUAL_VARIABLES.contains(&name.as_str())).collect()
}

/// Returns 16 hexadecimal digits of the text's SHA-256.
pub(super) fn fingerprint(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
