//! `[logs]`: how much of the run logs each node keeps. The limit that is reached first applies.

use std::time::Duration;

use crate::config::report::findings::Findings;
use crate::config::values;
use crate::config::values::{Checked, Raw, size};

use super::keys;
use super::keys::Home;
use super::section::Section;

/// How much of the run logs a node keeps. A run that continues is never deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRetention {
    /// The log of a run that is older is deleted.
    pub keep: Duration,
    /// For how many of the newest runs of each job the logs are kept.
    pub keep_runs: u32,
    /// The most bytes of all logs together; the newest are kept.
    pub max_bytes: u64,
}

/// Reads `[logs]`.
pub(crate) fn read(section: &Section<'_>, findings: &mut Findings) -> LogRetention {
    section.refuse_unknown(&keys::names(&[Home::Logs]), findings);
    LogRetention {
        keep: section.read_or_default("keep", findings, keep),
        keep_runs: section
            .read_or_default("keep_runs", findings, |raw| values::small_number(raw, 1..=u32::MAX)),
        max_bytes: section.read_or_default("max_bytes", findings, size::read),
    }
}

fn keep(raw: &Raw<'_>) -> Checked<Duration> {
    let default = keys::default_of("keep");
    let help =
        format!("write how long logs are kept, such as `\"1d\"`, or take out the line for `{default}`");
    values::span_of_time(raw, &help)
}
