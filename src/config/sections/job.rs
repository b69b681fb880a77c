//! `[jobs.NAME]`: a job's own keys override those of `[defaults]`, which override the built-in defaults. A job is read
//! completely, or its problems are reported.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::file::Overrides;
use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::values::placed::Placed;
use crate::config::values::{Raw, command, expressions};
use crate::config::warnings::machine;
use crate::config::{values, warnings};
use crate::job::{Command, JobName, JobSpec, Schedule};

use super::keys::Home;
use super::section::Section;
use super::shared::Shared;
use super::{cluster, keys};

/// Reads `[defaults]`, over the built-in ones.
pub(crate) fn defaults(section: &Section<'_>, overrides: &Overrides<'_>, findings: &mut Findings) -> Shared {
    for key in keys::names(&[Home::Job]) {
        if let Some(span) = section.place_of(key) {
            let message = format!("[defaults]: `{key}` cannot be a default");
            let help = format!("write `{key}` under each `[jobs.NAME]`");
            findings.add(Problem::error(message).at(span).help(help));
        }
    }
    section.refuse_unknown(&keys::of_job(), findings);
    let shared = Shared::read(section, findings);
    machine::warn(section, &shared, overrides.machine, findings);
    shared.over(&Shared::built_in())
}

/// Reads one job from its key and its table, with the defaults. `None` after a problem has been reported.
pub(crate) fn read(
    key: &str,
    span: std::ops::Range<usize>,
    raw: &Raw<'_>,
    defaults: &Shared,
    overrides: &Overrides<'_>,
    findings: &mut Findings,
) -> Option<(JobName, Arc<JobSpec>)> {
    let name = JobName::parse(key).map_err(|error| {
        let help = format!("write for example `[jobs.{}]`", cluster::similar_name(key, "nightly-backup"));
        findings.add(Problem::error(error.to_string()).at(span.clone()).help(help));
    });
    let title = format!("job `{}`", key.escape_debug());
    let Some(table) = raw.get_ref().as_table() else {
        let message = format!("{title} is {}, expected a table", values::kind(raw));
        let help = format!("write `[jobs.{key}]` and its keys below, or take out the line");
        findings.add(Problem::error(message).at(span).help(help));
        return None;
    };
    let section = Section::new(title, raw.span(), table);
    let own = Shared::read(&section, findings);
    machine::warn(&section, &own, overrides.machine, findings);
    let spec = spec(&section, key, name.ok(), &own, defaults, findings)?;
    if let Some(escapes) = overrides.escapes {
        warnings::of_privileges(&section, &spec, escapes, findings);
    }
    Some((spec.name.clone(), Arc::new(spec)))
}

fn spec(
    section: &Section<'_>,
    key: &str,
    name: Option<JobName>,
    own: &Shared,
    defaults: &Shared,
    findings: &mut Findings,
) -> Option<JobSpec> {
    section.refuse_unknown(&keys::of_job(), findings);
    let shared = own.over(defaults);
    let schedule = expressions::schedule(section, key, &known(shared.timezone.clone()), findings);
    let program = command::read(section, findings);
    if let Some(program) = &program {
        warnings::of_program(section, program, findings);
    }
    let spec = spec_of(shared, name?, schedule?, program?.into_command());
    warnings::of_deadline(section, own, &spec, findings);
    warnings::of_processes(section, own, &spec, findings);
    Some(spec)
}

fn spec_of(shared: Shared, name: JobName, schedule: Schedule, command: Command) -> JobSpec {
    JobSpec {
        name,
        schedule,
        command,
        env: shared.env,
        cwd: maybe(shared.cwd).map(PathBuf::from),
        user: maybe(shared.user),
        group: maybe(shared.group),
        lease: known(shared.lease),
        timeout: maybe(shared.timeout),
        kill_grace: known(shared.kill_grace),
        overlap: known(shared.overlap),
        start_deadline: maybe(shared.start_deadline),
        catch_up: known(shared.catch_up),
        on_interrupt: known(shared.on_interrupt),
        retries: known(shared.retries),
        retry_delay: known(shared.retry_delay),
        no_new_privileges: known(shared.no_new_privileges),
        max_processes: maybe(shared.max_processes),
        max_output: known(shared.max_output),
        success_codes: known(shared.success_codes),
        only_on: maybe(shared.only_on).unwrap_or_default(),
        enabled: known(shared.enabled),
        description: maybe(shared.description),
    }
}

fn maybe<T>(value: Option<Placed<T>>) -> Option<T> {
    value.map(|placed| placed.value)
}

/// The value of a key that has a default.
fn known<T>(value: Option<Placed<T>>) -> T {
    maybe(value).expect("the table of keys has a default for it")
}
