//! The keys of a job that `[defaults]` may give as well. Each is checked where it is written, so that a problem in
//! `[defaults]` is reported once, and not once for each job.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::report::findings::Findings;
use crate::config::values;
use crate::config::values::placed::Placed;
use crate::config::values::{Checked, Raw, ValueError, env, expressions, policy, size};
use crate::job::{CatchUp, Label, OnInterrupt, Overlap};

use super::section::Section;

/// The shortest lease: with less, a short hiccup of the store would cost a healthy run its lock.
pub const MIN_LEASE: Duration = Duration::from_secs(5);

/// The smallest `max_output`: less would cut the end of an output that users want to see whole.
const MIN_OUTPUT: u64 = 64 << 10;

/// The values of a job's table, or of `[defaults]`, for the keys that both may have.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) timezone: Option<Placed<String>>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) user: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) lease: Option<Placed<Duration>>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) kill_grace: Option<Duration>,
    pub(crate) overlap: Option<Overlap>,
    pub(crate) start_deadline: Option<Placed<Duration>>,
    pub(crate) catch_up: Option<CatchUp>,
    pub(crate) on_interrupt: Option<OnInterrupt>,
    pub(crate) retries: Option<u32>,
    pub(crate) retry_delay: Option<Duration>,
    pub(crate) no_new_privileges: Option<bool>,
    pub(crate) max_processes: Option<Placed<u64>>,
    pub(crate) max_output: Option<u64>,
    pub(crate) success_codes: Option<Vec<u8>>,
    pub(crate) only_on: Option<Vec<Label>>,
    pub(crate) enabled: Option<bool>,
    pub(crate) description: Option<String>,
}

impl Shared {
    /// Reads and checks each key that is present.
    pub(crate) fn read(section: &Section<'_>, findings: &mut Findings) -> Self {
        Self {
            timezone: expressions::timezone(section, findings),
            env: env::read(section, findings),
            cwd: section.read("cwd", findings, values::filled).map(|cwd| PathBuf::from(cwd.value)),
            user: section.read("user", findings, account).map(|user| user.value),
            group: section.read("group", findings, account).map(|group| group.value),
            lease: section.read("lease", findings, lease),
            timeout: section.read("timeout", findings, timeout).map(|timeout| timeout.value),
            kill_grace: section.read("kill_grace", findings, values::duration).map(|grace| grace.value),
            overlap: section.read("overlap", findings, policy::overlap).map(|overlap| overlap.value),
            start_deadline: section.read("start_deadline", findings, start_deadline),
            catch_up: section.read("catch_up", findings, policy::catch_up).map(|policy| policy.value),
            on_interrupt: section
                .read("on_interrupt", findings, policy::on_interrupt)
                .map(|policy| policy.value),
            retries: section.read("retries", findings, policy::retries).map(|retries| retries.value),
            retry_delay: section.read("retry_delay", findings, values::duration).map(|delay| delay.value),
            no_new_privileges: section
                .read("no_new_privileges", findings, values::flag)
                .map(|flag| flag.value),
            max_processes: section
                .read("max_processes", findings, |raw| values::number(raw, 1..=i64::MAX.unsigned_abs())),
            max_output: section.read("max_output", findings, max_output).map(|bytes| bytes.value),
            success_codes: section
                .read("success_codes", findings, policy::success_codes)
                .map(|codes| codes.value),
            only_on: section.read("only_on", findings, policy::labels).map(|labels| labels.value),
            enabled: section.read("enabled", findings, values::flag).map(|enabled| enabled.value),
            description: section.read("description", findings, values::text).map(|text| text.value),
        }
    }
}

fn lease(raw: &Raw<'_>) -> Checked<Duration> {
    let lease = values::duration(raw)?;
    if lease >= MIN_LEASE {
        return Ok(lease);
    }
    let text = raw.get_ref().as_str().unwrap_or_default();
    ValueError::new(
        format!("is `{text}`, expected at least `5s`"),
        "write `\"5s\"` or more; the default is `\"30s\"`",
    )
    .because(
        "the lock is renewed every lease/6: with less, a short hiccup of the store would stop a healthy run",
    )
    .alone()
}

fn timeout(raw: &Raw<'_>) -> Checked<Duration> {
    values::span_of_time(raw, "write how long an attempt may run, or take out the line for no limit")
}

fn start_deadline(raw: &Raw<'_>) -> Checked<Duration> {
    values::span_of_time(
        raw,
        "write how late a tick may start, such as `\"5m\"`: none ever starts at its very instant",
    )
}

fn max_output(raw: &Raw<'_>) -> Checked<u64> {
    let bytes = size::read(raw)?;
    if bytes >= MIN_OUTPUT {
        return Ok(bytes);
    }
    let help = "write `\"64KiB\"` or more; the default is `\"64MiB\"`";
    ValueError::new(format!("is {bytes} bytes, expected at least 64 KiB"), help).alone()
}

/// Reads a user or group, by name.
fn account(raw: &Raw<'_>) -> Checked<String> {
    if !raw.get_ref().is_str() {
        let what = format!("is {}, expected a name", values::kind(raw));
        return ValueError::new(what, "write the name in quotes, such as `\"backup\"`").alone();
    }
    let name = values::filled(raw)?;
    if name.bytes().all(|b| b.is_ascii_digit()) {
        return ValueError::new(
            format!("is `{name}`, expected a name"),
            "write the name, not the number, such as `\"backup\"`",
        )
        .alone();
    }
    let odd = |c: char| c.is_whitespace() || c.is_control() || ":/,".contains(c);
    if name.contains(odd) || name.starts_with('-') {
        let help = "write one plain name, such as `\"backup\"`; the group has a key of its own, `group`";
        return ValueError::new(format!("is `{name}`, expected a name"), help).alone();
    }
    Ok(name)
}
