//! Reads the store that is used: the flag or the environment overrides the file. Messages quote the store as it is
//! written, so that the value of a reference is never shown.

pub(super) mod postgres_url;
pub(super) mod redis_url;
pub(super) mod url;

use std::ops::Range;

use url::StoreUrl;

use crate::config::values;

use super::report::findings::Findings;
use super::report::problem::Problem;
use super::secrets::mask;
use super::sections::keys;
use super::sections::section::Section;
use super::source::regular_file::read_secret;
use super::values::Raw;
use super::values::substitute::{Lookup, ReferenceError, Template};

/// The name of the flag and its variable in messages.
const FLAG: &str = "--store (or SOLOCRON_STORE)";

/// Reads the store; `None` after a problem has been reported.
pub(super) fn read(
    cluster: &Section<'_>,
    flag: Option<&str>,
    lookup: Lookup<'_>,
    findings: &mut Findings,
) -> Option<StoreUrl> {
    if let Some(text) = flag {
        return resolved(text, None, lookup).map_err(|problems| report(problems, findings)).ok();
    }
    let Some(raw) = cluster.raw("store") else {
        if cluster.lacks("store", &keys::names(&[keys::Home::Cluster])) {
            findings.missing(absent(cluster));
        }
        return None;
    };
    if raw.get_ref().is_array() {
        let texts = cluster.read("store", findings, values::texts)?.value;
        let texts: Vec<&str> = texts.iter().map(|text| text.value.as_str()).collect();
        let error = StoreUrl::parse_list(&texts);
        findings.add(
            Problem::error(format!("[cluster]: `store` {}", error.what)).at(raw.span()).help(error.help),
        );
        return None;
    }
    let text = cluster.read("store", findings, |raw| {
        let help = "write `\"redis://host:6379/0\"`, or `\"local\"` for replicas on one machine";
        values::text(raw).map_err(|mut refusals| {
            refusals.iter_mut().for_each(|refusal| refusal.help = Some(help.to_owned()));
            refusals
        })
    })?;
    resolved(&text.value, Some(raw), lookup).map_err(|problems| report(problems, findings)).ok()
}

/// Reads `--store` where there is no file that it could override.
///
/// # Errors
/// If a reference cannot be resolved, or the result is not a valid store.
pub fn store_of_flag(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<StoreUrl, Vec<Problem>> {
    resolved(text, None, Lookup { env, read_file: &read_secret })
}

fn report(problems: Vec<Problem>, findings: &mut Findings) {
    problems.into_iter().for_each(|problem| findings.add(problem));
}

fn absent(cluster: &Section<'_>) -> Problem {
    let help = "write `store = \"redis://host:6379/0\"` under `[cluster]`, or `store = \"local\"` for replicas on one \
                machine, or give --store";
    let message = match cluster.span {
        Some(_) => "[cluster]: `store` is missing, so replicas have nowhere to meet",
        None => "the table `[cluster]` with the key `store` is missing, so replicas have nowhere to meet",
    };
    Problem::error(message)
        .at(cluster.span.clone())
        .help(help.to_owned())
        .note("there is no default, so that nobody runs several clusters of one replica each by accident")
}

fn resolved(text: &str, raw: Option<&Raw<'_>>, lookup: Lookup<'_>) -> Result<StoreUrl, Vec<Problem>> {
    let span: Option<Range<usize>> = raw.map(Raw::span);
    let title = if raw.is_some() { "[cluster]: `store`" } else { FLAG };
    let template = Template::parse(text).map_err(|error| {
        vec![Problem::error(format!("{title} {}", error.message)).at(span.clone()).help(error.help)]
    })?;
    let url = template.fill(lookup).map_err(|errors| {
        let problem = |error: ReferenceError| {
            Problem::error(format!("{title} {}", error.message)).at(span.clone()).help(error.help)
        };
        errors.into_iter().map(problem).collect::<Vec<_>>()
    })?;
    StoreUrl::parse(&url).map_err(|error| {
        let message = format!("{title} `{}` {}", mask::mask_store(text), error.what);
        let problem = Problem::error(message).at(span).help(error.help);
        vec![if template.has_references() { hide_value(problem) } else { problem }]
    })
}

/// Replaces the help of a problem: one that repeats part of the URL could show the value of a reference.
fn hide_value(problem: Problem) -> Problem {
    problem
        .help("write a store such as `redis://:${REDIS_PASSWORD}@host:6379/0`, or check what the reference stands for".to_owned())
        .note("judged with its references replaced; what they stand for is not shown")
}
