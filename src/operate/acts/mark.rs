//! Sets back a mark that lies in the future, where a clock that was ahead has put it.

use std::fmt;

use crate::lease::{Act, Answer};
use crate::operate::OperateError;
use crate::operate::operator::Operator;
use crate::time::{Clock, UtcMillis};
use crate::view::text::time_format::utc;

/// Where the mark of a job lies.
#[derive(Debug)]
pub(crate) enum MarkLook {
    /// In the future.
    Ahead(MarkAhead),
    /// In the future by the store's clock alone, which is behind: ticks that ran would run again.
    StoreBehind {
        /// The mark.
        mark: UtcMillis,
        /// The store's time.
        now: UtcMillis,
        /// The time of this machine's clock.
        wall: UtcMillis,
    },
    /// Not in the future, or the job has no record.
    NotAhead,
}

/// A mark that lies in the future, by the store's clock and by this machine's.
#[derive(Debug)]
pub(crate) struct MarkAhead {
    pub(crate) operator: Operator,
    pub(crate) mark: UtcMillis,
    /// The store's time.
    pub(crate) now: UtcMillis,
}

/// What became of a mark that was to be set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkSet {
    /// It is set back to now; this is where it was.
    From(UtcMillis),
    /// It does not lie in the future any more.
    Unchanged,
}

impl MarkLook {
    /// Looks at the job's mark, beside the wall clock of this machine.
    pub(crate) async fn of(operator: Operator, clock: &dyn Clock) -> Result<Self, OperateError> {
        let (now, wall) = (operator.pulse().await?.now, clock.utc());
        let record = operator.known_record().await?.filter(|record| record.lies_ahead(now));
        Ok(match record.map(|record| (record.lies_ahead(wall), record.mark)) {
            Some((true, mark)) => Self::Ahead(MarkAhead { operator, mark, now }),
            Some((false, mark)) => Self::StoreBehind { mark, now, wall },
            None => Self::NotAhead,
        })
    }
}

impl MarkAhead {
    /// Sets the mark back to now.
    pub(crate) async fn set_back(&self, clock: &dyn Clock) -> Result<MarkSet, OperateError> {
        match self.operator.act(&Act::SetMark { wall: clock.utc() }).await? {
            Answer::Noted => Ok(MarkSet::From(self.mark)),
            _ => Ok(MarkSet::Unchanged),
        }
    }
}

impl fmt::Display for MarkSet {
    /// Writes what became of the mark.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(mark) => write!(f, "its mark of {} UTC is set back to now", utc(*mark)),
            Self::Unchanged => f.write_str("its mark no longer lies in the future"),
        }
    }
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
