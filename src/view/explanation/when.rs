//! The instant that somebody asks about, as people name it, and its explanation from a snapshot of the job.

use jiff::civil::{Date, Time};

use crate::job::{JobName, Schedule, Tick};
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::JobState;
use crate::view::problems::no_taker;
use crate::view::snapshot::Snapshot;
use crate::view::text::{Moment, TimeError};

use super::TickFacts;

/// The length of the date in `2026-11-20T12:00:00.000+01:00`.
const DATE: usize = 10;

/// The time of a tick, as `why` and `trigger --tick` take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// A date, with or without a time of day.
    Moment(Moment),
    /// The last time at which clocks in the job's zone showed it.
    TimeOfDay(Time),
    /// The last time at which clocks showed it in UTC.
    UtcTimeOfDay(Time),
}

/// Why an instant is not explained.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unexplained {
    /// The store's data of the job cannot be read.
    #[error("{0}")]
    Unread(String),
    /// The time is no instant of the job.
    #[error(transparent)]
    NoInstant(#[from] TimeError),
}

impl When {
    /// Reads a time such as `02:30`, `02:30Z`, `2026-11-23 02:30` or `2026-11-23T02:30:00+01:00`.
    ///
    /// # Errors
    /// If it is none.
    pub(crate) fn read(text: &str) -> Result<Self, TimeError> {
        if let Ok(moment) = text.parse() {
            return Ok(Self::Moment(moment));
        }
        let (time, of_day): (&str, fn(Time) -> Self) = match text.trim().strip_suffix(['Z', 'z']) {
            Some(time) => (time, Self::UtcTimeOfDay),
            None => (text, Self::TimeOfDay),
        };
        time.parse().map(of_day).map_err(|_| {
            let help = "write `02:30` or `2026-11-23 02:30` in the job's time zone, or `02:30Z` or `2026-11-23T02:30:00Z` for UTC";
            TimeError::new(format!("`{text}` is not a time"), help)
        })
    }

    /// Explains what happened to this job of the snapshot at this time, in one or a few sentences.
    ///
    /// # Errors
    /// If the job cannot be read, or the time is no instant.
    pub(crate) fn explain(self, job: &JobState, snapshot: &Snapshot) -> Result<String, Unexplained> {
        if let Some(why) = &job.unread {
            return Err(Unexplained::Unread(why.clone()));
        }
        let spec = job.spec().map(|spec| &**spec);
        let at = self.instant(&job.name, spec.map(|spec| &spec.schedule), snapshot.now)?;
        let past: Vec<TickView> = job.past().collect();
        let no_taker = spec.and_then(|spec| no_taker(spec, snapshot));
        let facts = TickFacts {
            job: job.name.as_str(),
            spec,
            record: job.record.as_ref(),
            past: &past,
            concern: snapshot.concerns.first(),
            no_taker: no_taker.as_deref(),
            now: snapshot.now,
        };
        Ok(facts.explain(at))
    }

    /// Returns the instant: the last one with this time of day, or that of the date.
    ///
    /// # Errors
    /// Unless exactly one such instant exists, and the zone is known.
    pub(crate) fn instant(
        self,
        job: &JobName,
        schedule: Option<&Schedule>,
        now: UtcMillis,
    ) -> Result<UtcMillis, TimeError> {
        let (time, is_utc) = match self {
            Self::Moment(moment) => return moment.in_zone(job, schedule),
            Self::TimeOfDay(time) => (time, false),
            Self::UtcTimeOfDay(time) => (time, true),
        };
        let today = match schedule.filter(|_| !is_utc) {
            Some(schedule) => schedule.local_text(Tick(now)),
            None => now.to_string(),
        };
        let today: Date = today[..DATE].parse().expect("times begin with their date");
        let on = |date: Date| {
            let moment = Moment::Local(date.to_datetime(time));
            if is_utc { Ok(moment.in_utc()) } else { moment.in_zone(job, schedule) }
        };
        match on(today)? {
            at if at <= now => Ok(at),
            _ => on(today.yesterday().unwrap_or(today)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::view::testing::NOON;

    use super::*;

    #[test]
    fn a_time_of_day_is_the_last_one_and_what_is_no_time_is_refused() {
        assert!(matches!(When::read("02:30"), Ok(When::TimeOfDay(_))));
        assert!(matches!(When::read("02:30Z"), Ok(When::UtcTimeOfDay(_))));
        for text in ["Z", "25:00Z", "02:30ZZ", "02:30 Z"] {
            assert!(When::read(text).is_err(), "{text}");
        }
        assert!(matches!(When::read("2026-11-23 02:30"), Ok(When::Moment(_))));
        let refused = When::read("yesterday").expect_err("no time").to_string();
        assert!(refused.starts_with("`yesterday` is not a time\n  help: write `02:30`"), "{refused}");
        let job = JobName::parse("a").expect("a name");
        let at = |text: &str, schedule: Option<&Schedule>| {
            let instant = When::read(text).expect("a time").instant(&job, schedule, UtcMillis(NOON));
            instant.map(|at| at.to_string()).map_err(|error| error.message)
        };
        assert!(at("02:30", None).is_err_and(|why| why.contains("the time zone of `a` is not known")));
        let berlin = Schedule::parse("a", &["@hourly"], "Europe/Berlin").expect("good");
        for (time, instant) in [
            ("13:00", "2026-11-20T12:00:00.000Z"),
            ("13:01", "2026-11-19T12:01:00.000Z"),
            ("00:30", "2026-11-19T23:30:00.000Z"),
            ("12:00Z", "2026-11-20T12:00:00.000Z"),
            ("12:01z", "2026-11-19T12:01:00.000Z"),
            ("23:30:15Z", "2026-11-19T23:30:15.000Z"),
        ] {
            assert_eq!(at(time, Some(&berlin)).as_deref(), Ok(instant), "{time}");
        }
        assert_eq!(at("12:00Z", None).as_deref(), Ok("2026-11-20T12:00:00.000Z"), "it needs no zone");
    }
}
