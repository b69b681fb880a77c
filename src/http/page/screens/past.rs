//! The timeline of the jobs that a page shows.

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::lease::{Pausing, Record};
use crate::time::UtcMillis;
use crate::view::history::usual_duration;
use crate::view::job::JobState;
use crate::view::snapshot::Snapshot;
use crate::view::timeline::{
    CurrentRun, LaneOrder, PastTick, Picture, TimeWindow, TimelineFacts, TimelineJob, TimelineNews,
    TimelineSpan,
};

/// Returns the timeline of the jobs of this snapshot, with what replicas told. `file` is the hash of the jobs.toml that the
/// replicas should have.
pub(super) fn picture(
    snapshot: &Snapshot,
    news: &[TimelineNews],
    order: LaneOrder,
    span: TimelineSpan,
    file: Option<&str>,
) -> Picture {
    let entries = snapshot.jobs.iter().flat_map(|job| job.entries.iter().map(|entry| (&job.name, entry)));
    let past: Vec<PastTick<'_>> = entries.map(|(job, entry)| PastTick { job, entry }).collect();
    let running: Vec<CurrentRun> = snapshot.jobs.iter().filter_map(|job| current(job, snapshot)).collect();
    let jobs: Vec<TimelineJob<'_>> = snapshot.jobs.iter().map(line).collect();
    let facts =
        TimelineFacts { past: &past, running: &running, jobs: &jobs, peers: &snapshot.peers, news, file };
    Picture::of(&facts, &TimeWindow::of(steady(snapshot.now, span), span, TimeZone::UTC), order)
}

fn current(job: &JobState, snapshot: &Snapshot) -> Option<CurrentRun> {
    job.running()?;
    let record = job.record.as_ref()?;
    CurrentRun::of(&job.name, record, snapshot.is_holder_alive(record), snapshot.now)
}

fn line(job: &JobState) -> TimelineJob<'_> {
    let pausing: Option<Pausing> = job.record.as_ref().and_then(Record::pausing);
    let usual: Option<Duration> = usual_duration(&job.entries);
    TimelineJob { name: &job.name, spec: job.spec().map(|spec| &**spec), pausing, usual }
}

/// Returns the last instant at which everything on the timeline moves: by one unit, so that it does not move between.
fn steady(now: UtcMillis, span: TimelineSpan) -> UtcMillis {
    let unit: i64 = match span {
        TimelineSpan::QuarterHour => 1_000,
        TimelineSpan::Hour => 4_000,
        TimelineSpan::SixHours => 24_000,
        TimelineSpan::Day => 96_000,
        TimelineSpan::Week => 672_000,
    };
    UtcMillis(now.0.div_euclid(unit) * unit)
}
