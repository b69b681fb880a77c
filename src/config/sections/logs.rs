//! `[logs]`: how much of the run logs each node keeps. The limit that is reached first applies.

use std::time::Duration;

use crate::config::report::findings::Findings;
use crate::config::values;
use crate::config::values::size;

use super::keys;
use super::section::Section;

const DEFAULT_KEEP: Duration = Duration::from_secs(14 * 24 * 60 * 60);
const DEFAULT_KEEP_RUNS: u32 = 200;
const DEFAULT_MAX_BYTES: u64 = 1 << 30;

/// How much of the run logs a node keeps. The log of a run that has not ended is never deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRetention {
    /// The log of a run that is older is deleted.
    pub keep: Duration,
    /// For how many of the newest runs of each job the logs are kept.
    pub keep_runs: u32,
    /// The most bytes of all logs together; the newest are kept.
    pub max_bytes: u64,
}

impl Default for LogRetention {
    fn default() -> Self {
        Self { keep: DEFAULT_KEEP, keep_runs: DEFAULT_KEEP_RUNS, max_bytes: DEFAULT_MAX_BYTES }
    }
}

/// Reads `[logs]`.
pub(crate) fn read(section: &Section<'_>, findings: &mut Findings) -> LogRetention {
    section.refuse_unknown(keys::LOGS, findings);
    let default = LogRetention::default();
    let keep = section.read("keep", findings, |raw| {
        values::span_of_time(
            raw,
            "write how long logs are kept, such as `\"1d\"`, or take out the line for `\"14d\"`",
        )
    });
    let keep_runs = section.read("keep_runs", findings, |raw| values::small_number(raw, 1..=u32::MAX));
    let max_bytes = section.read("max_bytes", findings, size::read);
    LogRetention {
        keep: keep.map_or(default.keep, |keep| keep.value),
        keep_runs: keep_runs.map_or(default.keep_runs, |runs| runs.value),
        max_bytes: max_bytes.map_or(default.max_bytes, |bytes| bytes.value),
    }
}
