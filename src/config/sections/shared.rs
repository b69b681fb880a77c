//! The keys of a job that `[defaults]` may give as well. Each is checked where it is written, so that a problem in
//! `[defaults]` is reported once, and not once for each job.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::de::DeTable;

use crate::config::report::findings::Findings;
use crate::config::values;
use crate::config::values::placed::Placed;
use crate::config::values::{Checked, Raw, ValueError, env, expressions, policy, size};
use crate::job::{CatchUp, Label, OnInterrupt, Overlap};

use super::keys;
use super::keys::{Home, KEYS, Key};
use super::section::Section;

/// The shortest lease: with less, a short outage of the store would stop a healthy run.
pub const MIN_LEASE: Duration = Duration::from_secs(5);

/// The smallest `max_output`: less would cut the end of an output that users want to see whole.
const MIN_OUTPUT: u64 = 64 << 10;

/// Defines the struct of these keys, how each is read, and how the keys of a job override those of `[defaults]`.
macro_rules! shared_keys {
    ($($key:ident: $type:ty = $read:expr),+ $(,)?) => {
        /// The shared keys, as the table of a job or `[defaults]` sets them.
        #[derive(Debug, Default, Clone)]
        pub(crate) struct Shared {
            pub(crate) env: BTreeMap<String, String>,
            $(pub(crate) $key: Option<Placed<$type>>,)+
        }

        impl Shared {
            /// Reads and checks each key that is there.
            pub(crate) fn read(section: &Section<'_>, findings: &mut Findings) -> Self {
                Self {
                    env: env::read(section, findings),
                    $($key: section.read(stringify!($key), findings, $read),)+
                }
            }

            /// Returns these keys, and those of `below` where they are absent here; variables are merged one by one.
            pub(crate) fn over(&self, below: &Self) -> Self {
                let env = below.env.iter().chain(&self.env);
                Self {
                    env: env.map(|(name, value)| (name.clone(), value.clone())).collect(),
                    $($key: self.$key.as_ref().or(below.$key.as_ref()).cloned(),)+
                }
            }
        }
    };
}

shared_keys! {
    timezone: String = expressions::timezone,
    cwd: String = values::filled,
    user: String = account,
    group: String = account,
    lease: Duration = lease,
    timeout: Duration = timeout,
    kill_grace: Duration = values::duration,
    overlap: Overlap = policy::overlap,
    start_deadline: Duration = start_deadline,
    catch_up: CatchUp = policy::catch_up,
    on_interrupt: OnInterrupt = policy::on_interrupt,
    retries: u32 = policy::retries,
    retry_delay: Duration = values::duration,
    no_new_privileges: bool = values::flag,
    max_processes: u64 = |raw| values::number(raw, 1..=i64::MAX.unsigned_abs()),
    max_output: u64 = max_output,
    success_codes: Vec<u8> = policy::success_codes,
    only_on: Vec<Label> = policy::labels,
    enabled: bool = values::flag,
    description: String = values::text,
}

impl Shared {
    /// Returns the built-in defaults: those of the table of keys, read like a file.
    pub(crate) fn built_in() -> Self {
        let keys = KEYS.iter().filter(|key| key.home == Home::Shared);
        let text: String = keys.filter_map(Key::default_line).collect();
        let table = DeTable::parse(&text).expect("the defaults are TOML");
        let mut findings = Findings::default();
        let shared = Self::read(&Section::new("the defaults", 0..text.len(), table.get_ref()), &mut findings);
        assert_eq!(findings.errors(), 0, "the defaults are right");
        shared
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
        format!("write `\"5s\"` or more; the default is `{}`", keys::default_of("lease")),
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
    let help = format!("write `\"64KiB\"` or more; the default is `{}`", keys::default_of("max_output"));
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
