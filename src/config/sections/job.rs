//! `[jobs.NAME]`: a job's own keys override those of `[defaults]`, which override the built-in defaults. A job is read
//! completely, or its problems are reported.

use std::sync::Arc;
use std::time::Duration;

use crate::config::file::Overrides;
use crate::config::report::findings::Findings;
use crate::config::report::problem::Problem;
use crate::config::values::{Raw, command, expressions};
use crate::config::warnings::machine;
use crate::config::{values, warnings};
use crate::job::{Command, JobName, JobSpec, Schedule};

use super::section::Section;
use super::shared::Shared;
use super::{cluster, keys};

const DEFAULT_LEASE: Duration = Duration::from_secs(30);
const DEFAULT_KILL_GRACE: Duration = Duration::from_secs(10);
const DEFAULT_RETRY_DELAY: Duration = Duration::from_secs(10);
const DEFAULT_MAX_OUTPUT: u64 = 64 << 20;

/// Reads `[defaults]`.
pub(crate) fn defaults(section: &Section<'_>, overrides: &Overrides<'_>, findings: &mut Findings) -> Shared {
    for key in keys::OWN {
        if let Some(span) = section.place_of(key) {
            let message = format!("[defaults]: `{key}` cannot be a default");
            let help = format!("write `{key}` under each `[jobs.NAME]`");
            findings.add(Problem::error(message).at(span).help(help));
        }
    }
    section.refuse_unknown(&keys::job(), findings);
    let shared = Shared::read(section, findings);
    machine::warn(section, &shared, overrides.machine, findings);
    shared
}

/// Reads one job from its key and its table, with the defaults. `None` after a problem has been reported.
pub(crate) fn read(
    (key, span, raw): (&str, std::ops::Range<usize>, &Raw<'_>),
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
    let spec = spec(&section, (key, name.ok()), Layers { own: &own, defaults }, findings)?;
    if let Some(escapes) = overrides.escapes {
        warnings::of_privileges(&section, &spec, escapes, findings);
    }
    Some((spec.name.clone(), Arc::new(spec)))
}

fn spec(
    section: &Section<'_>,
    (key, name): (&str, Option<JobName>),
    keys: Layers<'_>,
    findings: &mut Findings,
) -> Option<JobSpec> {
    section.refuse_unknown(&keys::job(), findings);
    let Layers { own, defaults } = keys;
    let zone = own.timezone.as_ref().or(defaults.timezone.as_ref()).map(|zone| zone.value.as_str());
    let schedule = expressions::schedule(section, key, zone, findings);
    let program = command::read(section, findings);
    if let Some(program) = &program {
        warnings::of_program(section, program, findings);
    }
    let spec = keys.spec(name?, schedule?, program?.into_command());
    warnings::of_deadline(section, own, &spec, findings);
    warnings::of_processes(section, own, &spec, findings);
    Some(spec)
}

/// A job's own keys, which override the defaults.
#[derive(Clone, Copy)]
struct Layers<'a> {
    own: &'a Shared,
    defaults: &'a Shared,
}

impl Layers<'_> {
    fn get<T>(&self, key: impl Fn(&Shared) -> Option<T>) -> Option<T> {
        key(self.own).or_else(|| key(self.defaults))
    }

    fn spec(&self, name: JobName, schedule: Schedule, command: Command) -> JobSpec {
        JobSpec {
            name,
            schedule,
            command,
            env: self.defaults.env.iter().chain(&self.own.env).map(|(k, v)| (k.clone(), v.clone())).collect(),
            cwd: self.get(|keys| keys.cwd.clone()),
            user: self.get(|keys| keys.user.clone()),
            group: self.get(|keys| keys.group.clone()),
            lease: self.get(|keys| keys.lease.as_ref().map(|lease| lease.value)).unwrap_or(DEFAULT_LEASE),
            timeout: self.get(|keys| keys.timeout),
            kill_grace: self.get(|keys| keys.kill_grace).unwrap_or(DEFAULT_KILL_GRACE),
            overlap: self.get(|keys| keys.overlap).unwrap_or_default(),
            start_deadline: self.get(|keys| keys.start_deadline.as_ref().map(|deadline| deadline.value)),
            catch_up: self.get(|keys| keys.catch_up).unwrap_or_default(),
            on_interrupt: self.get(|keys| keys.on_interrupt).unwrap_or_default(),
            retries: self.get(|keys| keys.retries).unwrap_or_default(),
            retry_delay: self.get(|keys| keys.retry_delay).unwrap_or(DEFAULT_RETRY_DELAY),
            no_new_privileges: self.get(|keys| keys.no_new_privileges).unwrap_or_default(),
            max_processes: self.get(|keys| keys.max_processes.as_ref().map(|most| most.value)),
            max_output: self.get(|keys| keys.max_output).unwrap_or(DEFAULT_MAX_OUTPUT),
            success_codes: self.get(|keys| keys.success_codes.clone()).unwrap_or_else(|| vec![0]),
            only_on: self.get(|keys| keys.only_on.clone()).unwrap_or_default(),
            enabled: self.get(|keys| keys.enabled).unwrap_or(true),
            description: self.get(|keys| keys.description.clone()),
        }
    }
}
