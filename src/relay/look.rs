//! What is found of a run's log at one look, and what to tell of it.

use std::time::Duration;

use tokio::time::Instant;

use crate::run::LogRange;

use super::answer::OutputEnd;

/// How often a log is read for more: people take this delay for immediate.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A reader hears this often that nothing new was printed.
pub(super) const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// A run that is just being started has neither log nor sign for a moment.
const ABSENT_AFTER: Duration = Duration::from_secs(1);

/// What was found of a run.
#[derive(Debug)]
pub(super) struct LogLook {
    pub(super) is_running: bool,
    pub(super) range: LogRange,
}

/// What to do after a look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogStep {
    /// Tell what was read and, if there is an end, no more.
    Tell(Option<OutputEnd>),
    /// Look again later.
    Wait,
}

impl LogLook {
    /// Returns what to do after a look, by a reader that began then, and was told something last then.
    pub(super) fn step(&self, began: Instant, told: Option<Instant>, now: Instant) -> LogStep {
        let Self { is_running, range } = self;
        if !range.bytes.is_empty() || range.missing > 0 {
            return LogStep::Tell(None);
        }
        match (*is_running, range.exists) {
            (false, true) => LogStep::Tell(Some(OutputEnd::Over)),
            (false, false) if now.duration_since(began) >= ABSENT_AFTER => {
                LogStep::Tell(Some(OutputEnd::Absent))
            }
            _ if told.is_none_or(|told| now.duration_since(told) >= ALIVE_EVERY) => LogStep::Tell(None),
            _ => LogStep::Wait,
        }
    }

    /// Whether more was written than was read.
    pub(super) fn has_more(&self) -> bool {
        self.range.next() < self.range.size && !self.range.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_told_what_is_new_that_nothing_is_and_the_end() {
        use LogStep::{Tell, Wait};
        use OutputEnd::{Absent, Over};
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        for (bytes, is_running, exists, told, now, expected) in [
            ("one\n", true, true, None, 0, Tell(None)),
            ("one\n", false, true, Some(0), 1, Tell(None)),
            ("", true, false, None, 0, Tell(None)),
            ("", true, true, Some(0), 999, Wait),
            ("", true, true, Some(0), 1_000, Tell(None)),
            ("", false, true, None, 0, Tell(Some(Over))),
            ("", false, true, Some(4_900), 5_000, Tell(Some(Over))),
            ("", false, false, None, 0, Tell(None)),
            ("", false, false, Some(0), 999, Wait),
            ("", false, false, Some(0), 1_000, Tell(Some(Absent))),
        ] {
            let range = LogRange { from: 0, missing: 0, bytes: bytes.into(), size: 4, exists };
            let found = LogLook { is_running, range }.step(began, told.map(ms), ms(now));
            assert_eq!(found, expected, "{bytes:?} {is_running} {exists} {told:?} {now}");
        }
    }
}
