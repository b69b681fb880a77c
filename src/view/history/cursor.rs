//! Where a part of the history ends, and the next one goes on.

use std::fmt;
use std::str::FromStr;

use crate::job::{JobName, Tick};
use crate::time::UtcMillis;
use crate::view::text::time_format::Rfc3339;

use super::TickView;

/// The place of a tick in the history: what ended earlier has a smaller one, and current runs have the largest. Written
/// `ENDED_STARTED_TICK_JOB`, in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HistoryCursor {
    ended: UtcMillis,
    /// 0 if it did not run.
    started: UtcMillis,
    tick: Tick,
    job: JobName,
}

impl HistoryCursor {
    /// Returns the place of this tick.
    pub(crate) fn of(view: &TickView) -> Self {
        let started = view.started.map_or(UtcMillis(0), |Rfc3339(started)| started);
        Self { ended: view.ended(), started, tick: view.tick_ms, job: view.job.clone() }
    }
}

impl fmt::Display for HistoryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ended, started, tick, job } = self;
        write!(f, "{}_{}_{}_{job}", ended.0, started.0, tick.as_millis())
    }
}

impl FromStr for HistoryCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(4, '_');
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(());
        let (ended, started, tick) = (UtcMillis(number()?), UtcMillis(number()?), Tick::at_millis(number()?));
        let job = parts.next().and_then(|name| JobName::parse(name).ok()).ok_or(())?;
        Ok(Self { ended, started, tick, job })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written_and_nothing_else_is_one() {
        let job = JobName::parse("a_b.c-d").expect("a name");
        for ended in [UtcMillis(1_700_000_000_000), UtcMillis(i64::MAX)] {
            let cursor =
                HistoryCursor { ended, started: UtcMillis(0), tick: Tick::at_millis(-5), job: job.clone() };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in ["", "1", "1_2_3", "1_2_3_", "1_2_x_a", "1_2_3_../a", "99999999999999999999_1_1_a"] {
            assert_eq!(text.parse::<HistoryCursor>(), Err(()), "{text:?}");
        }
    }
}
