//! `[cluster]`: the name and the store by which replicas cooperate. A name is required as soon as replicas of several
//! machines could meet.

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::store::url::StoreUrl;
use crate::config::values::substitute::Lookup;
use crate::config::{store, values, warnings};
use crate::job::ClusterName;

use super::keys;
use super::keys::Home;
use super::section::Section;

/// The name of a cluster on a local store without a name of its own.
const LOCAL_NAME: &str = "local";

/// The content of `[cluster]`, checked.
#[derive(Debug)]
pub struct Cluster {
    /// Replicas with the same name and store cooperate.
    pub name: ClusterName,
    /// The store that they share.
    pub store: StoreUrl,
    /// How many replicas the cluster should have.
    pub replicas: Option<u32>,
}

/// Reads `[cluster]`; `None` after a problem has been reported.
pub(crate) fn read(
    section: &Section<'_>,
    store_flag: Option<&str>,
    lookup: Lookup<'_>,
    findings: &mut Findings,
) -> Option<Cluster> {
    section.refuse_unknown(&keys::names(&[Home::Cluster]), findings);
    let store = store::read(section, store_flag, lookup, findings);
    let name = name(section, store_flag, findings);
    let replicas = section.read("replicas", findings, |raw| values::small_number(raw, 1..=u32::MAX));
    let store = store?;
    if let Some(replicas) = &replicas {
        warnings::of_local_store(&store, replicas, findings);
    }
    Some(Cluster { name: name?, store, replicas: replicas.map(|replicas| replicas.value) })
}

fn name(section: &Section<'_>, store_flag: Option<&str>, findings: &mut Findings) -> Option<ClusterName> {
    if section.has("name") {
        let name = section.read("name", findings, values::text)?;
        return ClusterName::parse(&name.value)
            .map_err(|error| {
                let help = format!("write for example `{}`", similar_name(&name.value, "payments"));
                findings.add(Problem::error(error.to_string()).at(name.span).help(help));
            })
            .ok();
    }
    let in_file = section.raw("store").and_then(|raw| raw.get_ref().as_str());
    // A missing store is already reported, and without it is not known whether a name is needed.
    let store = store_flag.or(in_file)?;
    if store == LOCAL_NAME || store.starts_with("local:") {
        return Some(local_cluster());
    }
    findings.missing(Problem::error("[cluster]: `name` is missing").at(section.span.clone()).help(
        "write `name = \"…\"` under `[cluster]`; replicas with the same name and store cooperate".to_owned(),
    ));
    None
}

/// Returns the name of a cluster on a local store for which none is given.
pub fn local_cluster() -> ClusterName {
    ClusterName::parse(LOCAL_NAME).expect("a good name")
}

/// Returns a name like the refused one that would be accepted; `otherwise` if nothing of it can stay.
pub(crate) fn similar_name(refused: &str, otherwise: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = refused.trim().chars().map(plain).take(64).collect();
    match name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).trim_end_matches('-') {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    }
}
