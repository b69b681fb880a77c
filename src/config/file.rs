//! The whole file: from its text to a checked configuration, or to everything that is wrong with it.
//! Nothing is ignored, and nothing is reported twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::findings::Findings;
use super::foreign_file::read_secret;
use super::logs::{self, LogRetention};
use super::machine::Machine;
use super::problem::{Problem, Problems};
use super::replica::{self, ReplicaSettings};
use super::section::Section;
use super::source::Source;
use super::store_url::StoreUrl;
use super::substitute::{Lookup, Template};
use super::{cluster, document, job, keys, warnings};
use crate::job::{ClusterName, JobName, JobSpec, Label};

/// Variables that every process has: a job that refers to one of them takes it from no other.
const USUAL_VARIABLES: [&str; 9] =
    ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "TZ", "USER"];

/// Everything that jobs.toml says, checked, with defaults and overrides applied.
#[derive(Debug, Clone)]
pub struct Config {
    /// Replicas with the same name and store cooperate.
    pub cluster: ClusterName,
    /// Where they meet.
    pub store: StoreUrl,
    /// How many replicas there should be.
    pub expected_replicas: Option<u32>,
    /// Every job, also those that are not enabled.
    pub jobs: BTreeMap<JobName, Arc<JobSpec>>,
    /// How this replica behaves.
    pub replica: ReplicaSettings,
    /// How much of the run logs is kept.
    pub logs: LogRetention,
    /// Variables that the store or a job's `env` refers to by `${NAME}`, but for those that every process has.
    pub referred: BTreeSet<String>,
    /// 16 hexadecimal digits that differ when the text of the file differs.
    pub fingerprint: String,
}

/// What flags and environment say; it beats the file. Not `Debug`, as the store may hold a password.
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
    /// Whether processes that a program makes may be beyond what the replica can kill; where they are asked after, such
    /// jobs are warned of.
    pub escapes: Option<fn(&str) -> bool>,
    /// What there is on this machine; where it is asked, jobs that could not run here are warned of.
    pub machine: Option<Machine>,
}

/// Reads and checks the whole file; gives back its warnings with it, or every problem when there is an error.
pub fn load(
    source: &Source,
    overrides: &Overrides<'_>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(Config, Vec<Problem>), Problems> {
    let (table, mut findings) = document::parse(&source.text);
    let root = table.get_ref();
    let lookup = Lookup { env, read_file: &read_secret };
    let name = source.path.display().to_string();
    Section::new(name, table.span(), root).refuse_unknown(keys::ROOT, &mut findings);
    let cluster = Section::top(root, "cluster", &mut findings);
    let cluster = cluster::read(&cluster, overrides.store, lookup, &mut findings);
    let replica = Section::top(root, "replica", &mut findings);
    let replica = replica::read(&replica, overrides, &mut findings);
    let logs = Section::top(root, "logs", &mut findings);
    let logs = logs::read(&logs, &mut findings);
    let jobs = jobs(root, overrides, &mut findings);

    let mut warnings = Problems::unless_harmless(findings.in_order())?;
    if let Some(flaw) = &source.doubt {
        let message = format!("{} {flaw}, who decides what is run here", source.path.display());
        warnings
            .push(Problem::warning(message).help("`chown` it to root or to the replica's user".to_owned()));
    }
    let cluster = cluster.expect("a cluster that cannot be read was reported as an error");
    let of_file = root.get("cluster").and_then(|cluster| cluster.get_ref().get("store")?.get_ref().as_str());
    let referred = referred(of_file.into_iter().chain(overrides.store), &jobs);
    let config = Config {
        cluster: cluster.name,
        store: cluster.store,
        expected_replicas: cluster.replicas,
        jobs,
        replica,
        logs,
        referred,
        fingerprint: fingerprint(&source.text),
    };
    Ok((config, warnings))
}

/// The names of the jobs that a file has, also of a file that is not right otherwise.
pub fn job_names(text: &str) -> Vec<JobName> {
    let (table, _) = document::parse(text);
    let section = Section::top(table.get_ref(), "jobs", &mut Findings::default());
    section.entries().filter_map(|(name, ..)| JobName::parse(name).ok()).collect()
}

fn jobs(
    root: &toml::de::DeTable<'_>,
    overrides: &Overrides<'_>,
    findings: &mut Findings,
) -> BTreeMap<JobName, Arc<JobSpec>> {
    let defaults = Section::top(root, "defaults", findings);
    let defaults = job::defaults(&defaults, overrides, findings);
    let section = Section::top(root, "jobs", findings);
    if section.entries().next().is_none() {
        warnings::of_no_jobs(findings);
    }
    section.entries().filter_map(|entry| job::read(entry, &defaults, overrides, findings)).collect()
}

/// The variables that stores and jobs refer to: most of them are secrets, and those that every process has are none.
fn referred<'a>(
    stores: impl Iterator<Item = &'a str>,
    jobs: &'a BTreeMap<JobName, Arc<JobSpec>>,
) -> BTreeSet<String> {
    let of_jobs = jobs.values().flat_map(|spec| spec.env.values().map(String::as_str));
    let texts = stores.chain(of_jobs).filter_map(|text| Template::parse(text).ok());
    let names = texts.flat_map(|template| template.variables().map(str::to_owned).collect::<Vec<_>>());
    names.filter(|name| !USUAL_VARIABLES.contains(&name.as_str())).collect()
}

/// 16 hexadecimal digits of the text's SHA-256.
fn fingerprint(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
