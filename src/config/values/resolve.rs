//! Replaces the references in the environment of a job, for the process that is about to run it. All references that
//! cannot be resolved are reported at once, each with its place, and no message contains a value.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use toml::de::DeTable;

use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::source::Source;
use crate::config::source::regular_file::UnusableFile;
use crate::job::{JobName, JobSpec, TokenName};

use super::document;
use super::placed::Placed;
use super::substitute::{Lookup, ReadFile, Template};

/// Why the environment of a job could not be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvError {
    /// The job.
    pub job: JobName,
    causes: Vec<EnvCause>,
}

/// A variable with a reference that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EnvCause {
    variable: String,
    /// Continues "variable `NAME` in `env`".
    what: String,
    help: String,
    /// The reference within the variable's text.
    part: Range<usize>,
}

impl EnvError {
    /// Returns every problem of these jobs with its place in their file; one of `[defaults]` once, however many jobs
    /// have it.
    pub fn problems(errors: &[Self], source: &Source) -> Vec<Problem> {
        let (table, _) = document::parse(&source.text);
        let mut findings = Findings::default();
        for (error, cause) in
            errors.iter().flat_map(|error| error.causes.iter().map(move |cause| (error, cause)))
        {
            let of = |path: &[&str]| tables(table.get_ref(), path)?.get(cause.variable.as_str());
            let own = of(&["jobs", error.job.as_str(), "env"]);
            let (title, raw) = match own {
                Some(raw) => (format!("job `{}`", error.job), Some(raw)),
                None => ("[defaults]".to_owned(), of(&["defaults", "env"])),
            };
            let place = raw.and_then(|raw| {
                let value = raw.get_ref().as_str()?.to_owned();
                Some(Placed { value, span: raw.span() }.part(&cause.part))
            });
            findings.add(Problem::error(format!("{title}: {cause}")).at(place).help(cause.help.clone()));
        }
        findings.in_order()
    }
}

/// Returns a problem with the file of a token, at the token's place in jobs.toml.
pub fn token_problem(name: &TokenName, error: &UnusableFile, source: &Source) -> Problem {
    let (table, _) = document::parse(&source.text);
    let token =
        tables(table.get_ref(), &["http", "tokens", name.as_str()]).and_then(|token| token.get("token"));
    let message = format!("token `{name}`: {}", error.what);
    Problem::error(message).at(token.map(|raw| raw.span())).help(error.help.clone())
}

/// Returns the table at this path.
fn tables<'d>(root: &'d DeTable<'d>, path: &[&str]) -> Option<&'d DeTable<'d>> {
    path.iter().try_fold(root, |table, name| table.get(*name)?.get_ref().as_table())
}

impl fmt::Display for EnvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes: Vec<String> =
            self.causes.iter().map(|cause| format!("{cause}: {}", cause.help)).collect();
        write!(f, "job `{}`: {}", self.job, causes.join("; "))
    }
}

impl std::error::Error for EnvError {}

impl fmt::Display for EnvCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variable `{}` in `env` {}", self.variable, self.what)
    }
}

/// Returns the variables that jobs.toml adds to a job's environment, with `${NAME}` and `${file:/path}` replaced.
///
/// # Errors
/// All variables whose references cannot be resolved, or whose value has a NUL character.
pub fn resolve_env(
    spec: &JobSpec,
    env: &dyn Fn(&str) -> Option<String>,
    read_file: ReadFile<'_>,
) -> Result<BTreeMap<String, String>, EnvError> {
    let (mut resolved, mut causes) = (BTreeMap::new(), Vec::new());
    for (name, text) in &spec.env {
        let filled = Template::parse(text)
            .map_err(|error| vec![error])
            .and_then(|template| template.fill(Lookup { env, read_file }));
        let cause = |what: String, help: String, part| EnvCause { variable: name.clone(), what, help, part };
        match filled {
            Ok(value) if value.contains('\0') => {
                let help = "take it out of what the variable refers to".to_owned();
                causes.push(cause("has a NUL character".to_owned(), help, 0..0));
            }
            Ok(value) => {
                resolved.insert(name.clone(), value);
            }
            Err(errors) => {
                causes.extend(errors.into_iter().map(|error| cause(error.message, error.help, error.span)))
            }
        }
    }
    if causes.is_empty() { Ok(resolved) } else { Err(EnvError { job: spec.name.clone(), causes }) }
}
