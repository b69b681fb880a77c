//! Vixie's rule for changes of a zone's offset. A fixed-time tick happens once: right after the gap that contains it,
//! or in the first pass of an overlap. All other ticks follow real time: none in a gap, and in both passes of an
//! overlap.

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::pattern::Pattern;
use super::zone::{EARLIEST, Segment, Zone, second_before};

/// How civil times become instants where the zone's offset changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Neither minute nor hour begins with `*`.
    FixedTime,
    /// Minute or hour begins with `*`.
    RealTime,
}

impl Rule {
    /// Returns the first civil time that a segment covers. By the fixed-time rule it also covers the gap before it, and
    /// not the times that the segment before it has already covered.
    fn floor(self, segment: &Segment) -> DateTime {
        match self {
            Self::FixedTime => segment.civil_end_of_previous(),
            Self::RealTime => segment.civil_start(),
        }
    }

    /// Returns the first instant of the pattern at or after an instant in whole seconds.
    pub(crate) fn at_or_after(self, pattern: &Pattern, zone: &Zone, from: Timestamp) -> Option<Timestamp> {
        let mut from = from;
        loop {
            let segment = zone.segment(from);
            let (floor, own) = (self.floor(&segment), segment.offset.to_datetime(from));
            // At its start a segment covers the whole gap; later on, the gap is past.
            let civil = pattern.at_or_after(if from == segment.start { floor } else { own.max(floor) })?;
            let instant = segment.instant(civil)?;
            match segment.end {
                Some(end) if instant >= end => from = end,
                _ => return Some(instant),
            }
        }
    }

    /// Returns the last instant of the pattern at or before an instant in whole seconds; `None` before the earliest
    /// tick.
    pub(crate) fn at_or_before(self, pattern: &Pattern, zone: &Zone, from: Timestamp) -> Option<Timestamp> {
        let mut from = from;
        while from >= EARLIEST {
            let segment = zone.segment(from);
            let civil = pattern.at_or_before(segment.offset.to_datetime(from))?;
            if civil >= self.floor(&segment) {
                return segment.instant(civil);
            }
            from = second_before(segment.start);
        }
        None
    }
}

#[cfg(test)]
#[path = "dst_tests.rs"]
mod tests;
