//! A time zone of the bundled IANA database, cut into segments of constant offset.
//! All replicas of one release have the same zones with the same history.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use crate::job::nearest;
use crate::job::schedule::error::ScheduleProblem;
use crate::job::schedule::parse::piece::Slice;

/// No tick is earlier than 1900-01-01T00:00:00Z: before that, zones used the solar time of a city.
pub(crate) const EARLIEST: Timestamp = Timestamp::constant(-2_208_988_800, 0);

/// A named zone.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    time_zone: TimeZone,
    name: String,
}

/// A span of time in which the zone's offset stays the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    /// Its first instant.
    pub(crate) start: Timestamp,
    /// The first instant after it; `None` if it never ends.
    pub(crate) end: Option<Timestamp>,
    /// The offset just before `start`.
    pub(crate) before: Offset,
    /// Its own offset.
    pub(crate) offset: Offset,
}

impl Zone {
    /// Returns the zone with this IANA name, in any case.
    pub(crate) fn parse(name: &str) -> Result<Self, ScheduleProblem> {
        // Never the machine's own zone files: two replicas with different ones would compute different ticks.
        let database = TimeZoneDatabase::bundled();
        let found = database.get(name).ok();
        let named = found.and_then(|zone| Some((zone.iana_name()?.to_owned(), zone)));
        named.map(|(name, time_zone)| Self { time_zone, name }).ok_or_else(|| unknown(&database, name))
    }

    /// Returns its name as IANA writes it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns its offset at an instant.
    pub(crate) fn offset(&self, at: Timestamp) -> Offset {
        self.time_zone.to_offset(at)
    }

    /// Returns the instants at which its clocks show this time, oldest first.
    pub(crate) fn instants(&self, civil: DateTime) -> Vec<Timestamp> {
        let offsets = match self.time_zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => vec![offset],
            AmbiguousOffset::Gap { .. } => Vec::new(),
            AmbiguousOffset::Fold { before, after } => vec![before, after],
        };
        offsets.into_iter().filter_map(|offset| offset.to_timestamp(civil).ok()).collect()
    }

    /// Returns the segment that contains an instant in whole seconds.
    pub(crate) fn segment(&self, at: Timestamp) -> Segment {
        let offset = self.offset(at);
        let end = self.time_zone.following(at).next().map(|change| change.timestamp());
        // jiff searches strictly before its argument, and a segment contains its own start.
        let started = second_after(at).and_then(|later| self.time_zone.preceding(later).next());
        match started.map(|change| change.timestamp()) {
            Some(start) => Segment { start, end, before: self.offset(second_before(start)), offset },
            None => Segment { start: Timestamp::MIN, end, before: offset, offset },
        }
    }
}

impl Segment {
    /// Returns the civil time at which the segment before it ended.
    pub(crate) fn civil_end_of_previous(&self) -> DateTime {
        self.before.to_datetime(self.start)
    }

    /// Returns its own first civil time.
    pub(crate) fn civil_start(&self) -> DateTime {
        self.offset.to_datetime(self.start)
    }

    /// Returns the instant of a civil time in this segment; for a time in the gap before it, the segment's start.
    /// `None` beyond jiff's calendar.
    pub(crate) fn instant(&self, civil: DateTime) -> Option<Timestamp> {
        Some(self.offset.to_timestamp(civil).ok()?.max(self.start))
    }
}

fn second_after(at: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(at.as_second() + 1).ok()
}

/// Returns the last whole second before the start of a segment.
pub(crate) fn second_before(start: Timestamp) -> Timestamp {
    Timestamp::from_second(start.as_second() - 1).unwrap_or(Timestamp::MIN)
}

fn unknown(database: &TimeZoneDatabase, name: &str) -> ScheduleProblem {
    let message = format!("time zone `{name}` is not known");
    let names: Vec<String> = database.available().map(|known| known.as_str().to_owned()).collect();
    let place = name.trim().replace(' ', "_");
    let known = || names.iter().map(String::as_str);
    let is_place =
        |known: &&str| known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&place));
    let same = known().find(|known| known.eq_ignore_ascii_case(&place));
    let meant = same.or_else(|| known().find(is_place)).or_else(|| nearest(&place, known()));
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "write an IANA name, e.g. `Europe/Berlin` or `UTC`".to_owned(),
    };
    Slice::whole(name).problem(message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::parse(name).expect(name)
    }

    #[test]
    fn names_are_accepted_in_any_case_and_kept_as_iana_writes_them() {
        for (written, name) in [
            ("europe/berlin", "Europe/Berlin"),
            ("utc", "UTC"),
            ("Etc/GMT-2", "Etc/GMT-2"),
            ("CET", "CET"),
            ("EST", "EST"),
        ] {
            assert_eq!(zone(written).name(), name);
        }
    }

    #[test]
    fn an_unknown_zone_is_refused_with_the_nearest_one() {
        let generic = "write an IANA name, e.g. `Europe/Berlin` or `UTC`";
        for (name, help) in [
            ("Europe/Berln", "did you mean `Europe/Berlin`?"),
            ("Berlin", "did you mean `Europe/Berlin`?"),
            ("new york", "did you mean `America/New_York`?"),
            (" UTC", "did you mean `UTC`?"),
            ("Middle-earth/Hobbiton", generic),
            ("Etc/Unknown", generic),
            ("", generic),
        ] {
            let problem = Zone::parse(name).expect_err(name);
            assert_eq!(problem.message, format!("time zone `{name}` is not known"));
            assert_eq!((problem.help.as_str(), problem.span), (help, 0..name.len()));
        }
    }

    /// The fixed-time rule reads only one segment back: an overlap must be over before the offset changes again.
    #[test]
    fn no_zone_changes_its_offset_twice_within_two_days() {
        let end: Timestamp = "2100-01-01T00:00:00Z".parse().expect("an instant");
        let database = TimeZoneDatabase::bundled();
        for name in database.available() {
            let zone = zone(name.as_str());
            let ends = std::iter::successors(zone.segment(EARLIEST).end, |end| zone.segment(*end).end);
            for end in ends.take_while(|at| *at < end) {
                let length = end.duration_since(zone.segment(second_before(end)).start);
                assert!(length.as_hours() >= 48, "{} at {end}: {length}", name.as_str());
            }
        }
    }

    #[test]
    fn a_segment_holds_its_start_and_not_its_end() {
        let berlin = zone("Europe/Berlin");
        let spring: Timestamp = "2026-03-29T01:00:00Z".parse().expect("an instant");
        let (winter, summer) = (berlin.segment(second_before(spring)), berlin.segment(spring));
        assert_eq!((winter.end, summer.start), (Some(spring), spring));
        assert_eq!((summer.before.seconds(), summer.offset.seconds()), (3_600, 7_200));
        let utc = zone("UTC").segment(spring);
        assert_eq!((utc.start, utc.end), (Timestamp::MIN, None));
    }
}
