//! Times as people write them: `2026-11-23`, `2026-11-23 02:30`, `2026-11-23T02:30:00+01:00`.

use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::job::{JobName, Schedule, Tick, parse_duration};
use crate::time::UtcMillis;

/// Why a text, or a time without an offset, is no instant: what is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n  help: {help}")]
pub struct TimeError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl TimeError {
    /// Returns the error with this message and this help.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

/// A time; one without an offset needs a time zone to be an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A time with an offset.
    Instant(UtcMillis),
    /// A time as clocks show it, without an offset.
    Local(DateTime),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::Instant(UtcMillis::from_timestamp(at)));
        }
        text.parse::<DateTime>().map(Self::Local).map_err(|_| {
            "expected a time such as `2026-11-23 02:30`, or with an offset, such as `2026-11-23T02:30:00+01:00`"
                .to_owned()
        })
    }
}

impl Moment {
    /// Returns the instant. A time without an offset is taken as UTC.
    pub(crate) fn in_utc(self) -> UtcMillis {
        match self {
            Self::Instant(at) => at,
            Self::Local(civil) => {
                let at = civil.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
                UtcMillis::from_timestamp(at.unwrap_or(Timestamp::MAX))
            }
        }
    }

    /// Returns the instant at which clocks in the job's zone show this time.
    ///
    /// # Errors
    /// Unless exactly one such instant exists, and the zone is known.
    pub(crate) fn in_zone(self, job: &JobName, schedule: Option<&Schedule>) -> Result<UtcMillis, TimeError> {
        let civil = match self {
            Self::Instant(at) => return Ok(at),
            Self::Local(civil) => civil,
        };
        let refused =
            |why: String, help: String| Err(TimeError::new(format!("`{}` {why}", shown(civil)), help));
        let Some(schedule) = schedule else {
            let why = format!("has no offset, and the time zone of `{job}` is not known");
            return refused(why, format!("write it in UTC: `{civil}Z`"));
        };
        let zone = schedule.zone_name();
        let with_offset = |at: &UtcMillis| format!("`{}`", schedule.local_text(Tick(*at)));
        match &schedule.instants_of(civil)[..] {
            [at] => Ok(*at),
            [] => refused(
                format!("does not exist in {zone}, where clocks are put forward then"),
                "write another time, or one with its offset".to_owned(),
            ),
            all => {
                let all = all.iter().map(with_offset).collect::<Vec<_>>().join(" or ");
                let why = format!("comes twice in {zone}, where clocks are put back then");
                refused(why, format!("write {all}"))
            }
        }
    }
}

/// Returns the time as `2026-11-23 02:30:00`.
fn shown(civil: DateTime) -> String {
    civil.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Where a part of the history begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBound {
    /// This long before now.
    Ago(Duration),
    /// An instant.
    At(UtcMillis),
}

impl TimeBound {
    /// Returns the instant, given the time of now.
    pub(crate) fn instant(self, now: UtcMillis) -> UtcMillis {
        match self {
            Self::Ago(back) => now.minus(back),
            Self::At(at) => at,
        }
    }
}

impl FromStr for TimeBound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(moment) = text.parse::<Moment>() {
            return Ok(Self::At(moment.in_utc()));
        }
        parse_duration(text.trim()).map(Self::Ago).map_err(|error| {
            // A text that begins with a letter is not a duration, and one with dashes was meant as a time.
            let is_duration = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(['-', ':', 'T']);
            let why = if is_duration { format!(" ({})", error.message) } else { String::new() };
            format!(
                "it is neither a duration nor a time{why}: write `2h` or `1d12h`, `2026-11-23`, or `2026-11-23T02:30:00Z`"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> UtcMillis {
        UtcMillis::from_timestamp(text.parse().expect("an instant"))
    }

    #[test]
    fn a_time_without_an_offset_is_one_of_utc_unless_a_job_has_another_zone() {
        for (text, at) in [
            ("2026-11-23", "2026-11-23T00:00:00Z"),
            ("2026-11-23 02:30", "2026-11-23T02:30:00Z"),
            ("2026-11-23T02:30:15", "2026-11-23T02:30:15Z"),
            ("2026-11-23T02:30:00+01:00", "2026-11-23T01:30:00Z"),
            ("2026-11-23 02:30:00Z", "2026-11-23T02:30:00Z"),
        ] {
            assert_eq!(text.parse::<Moment>().expect(text).in_utc(), utc(at), "{text}");
        }
        let job = JobName::parse("backup").expect("a name");
        let berlin = Schedule::parse("backup", &["30 2 * * *"], "Europe/Berlin").expect("good");
        let in_berlin = |text: &str| text.parse::<Moment>().expect(text).in_zone(&job, Some(&berlin));
        assert_eq!(in_berlin("2026-11-23 02:30").ok(), Some(utc("2026-11-23T01:30:00Z")));
        assert_eq!(in_berlin("2026-11-23T02:30:00Z").ok(), Some(utc("2026-11-23T02:30:00Z")));
        let gap = in_berlin("2026-03-29 02:30").expect_err("there is no such time").to_string();
        assert!(gap.starts_with("`2026-03-29 02:30:00` does not exist in Europe/Berlin"), "{gap}");
        let twice = in_berlin("2026-10-25 02:30").expect_err("there are two").to_string();
        assert!(
            twice.ends_with("help: write `2026-10-25T02:30:00.000+02:00` or `2026-10-25T02:30:00.000+01:00`"),
            "{twice}"
        );
        let unknown = "2026-11-23 02:30".parse::<Moment>().expect("a time").in_zone(&job, None);
        let unknown = unknown.expect_err("it has no zone").to_string();
        assert!(unknown.contains("write it in UTC: `2026-11-23T02:30:00Z`"), "{unknown}");
    }

    #[test]
    fn what_is_no_time_is_refused_in_plain_words() {
        for text in ["yesterday", "", "2026-02-30", "02:30", "2026-11-23 25:00"] {
            let why = text.parse::<Moment>().expect_err(text);
            assert!(why.starts_with("expected a time such as"), "{why}");
        }
    }

    #[test]
    fn a_bound_is_a_duration_a_date_or_a_time_and_what_is_wrong_with_others_is_named() {
        let now = UtcMillis(1_700_000_000_000);
        let since = |text: &str| text.parse::<TimeBound>().map(|since| since.instant(now));
        assert_eq!(since("2h"), Ok(UtcMillis(1_699_992_800_000)));
        assert_eq!(since("2023-11-14T22:13:20Z"), Ok(now));
        assert_eq!(since("2023-11-14"), Ok(utc("2023-11-14T00:00:00Z")));
        let why = since("tomorrow").expect_err("no time");
        assert!(why.starts_with("it is neither a duration nor a time: write `2h`"), "{why}");
        let why = since("2hours").expect_err("no duration");
        assert!(why.contains("unknown unit `hours`"), "{why}");
    }
}
