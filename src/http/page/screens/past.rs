//! The timeline of the jobs that a page shows.

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::lease::{Pausing, Record};
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
    Picture::of(&facts, &TimeWindow::of(snapshot.now, span, TimeZone::UTC), order)
}

fn current(job: &JobState, snapshot: &Snapshot) -> Option<CurrentRun> {
    job.running()?;
    let record = job.record.as_ref()?;
    CurrentRun::of(&job.name, record, snapshot.is_holder_alive(record), snapshot.now)
}

fn line(job: &JobState) -> TimelineJob<'_> {
    let pausing: Option<Pausing> = job.record.as_ref().and_then(Record::pausing);
    let usual: Option<Duration> = usual_duration(&job.entries);
    let spec = job.spec().map(|spec| &**spec);
    TimelineJob { name: &job.name, spec, pausing, usual, read_from: job.read_from() }
}

#[cfg(test)]
mod tests {
    use crate::http::page::testing::{NOW, Scene, ran};
    use crate::job::{Outcome, Reason};
    use crate::lease::HistoryEntry;
    use crate::time::UtcMillis;
    use crate::view::timeline::BandKind;

    use super::*;

    const FILE: &str = r#"
[cluster]
name = "billing"
store = "local"

[jobs.slow]
schedule = "* * * * *"
command = ["slow"]
"#;

    fn drawn(scene: &Scene, span: TimelineSpan) -> Picture {
        picture(&scene.snapshot, &[], LaneOrder::ByReplica, span, None)
    }

    #[test]
    fn the_newest_minutes_of_each_span_are_told_to_the_second() {
        for span in TimelineSpan::ALL {
            let mut scene = Scene::of(FILE);
            let cut = HistoryEntry {
                reason: Some(Reason::NodeLost),
                ..ran("node-c", 344, 34, Outcome::Interrupted)
            };
            // The last hour moves by four seconds at a time; it moved two seconds ago.
            scene.snapshot.now = UtcMillis(NOW.0 + 2_000);
            scene.decide("slow", vec![cut, ran("node-a", 284, 100, Outcome::Succeeded)]);
            scene.run("slow", "node-b", 44);
            let picture = drawn(&scene, span);
            let titles: Vec<&str> = picture.marks.iter().map(|mark| mark.title.as_str()).collect();
            let coming = titles.iter().find(|title| title.contains(" comes "));
            assert!(coming.is_some_and(|title| title.contains(" 03:13:00")), "{span:?}: {titles:?}");
            for told in [
                "tick of 03:07:00: interrupted (its replica died or hung) on node-c, 03:07:00 to 03:07:34 (34s)",
                "nobody may run: lease until 03:08:00",
                "tick of 03:08:00: succeeded on node-a, 03:08:00 to 03:09:40 (1m 40s)",
                "tick of 03:12:00: running on node-b since 03:12:00",
            ] {
                let is_told = titles.iter().any(|title| title.contains(told));
                assert!(is_told, "{span:?}: {told}: {titles:?}");
            }
        }
    }

    #[test]
    fn a_picture_stays_the_same_until_everything_moves_by_one_unit() {
        for span in [TimelineSpan::Hour, TimelineSpan::SixHours, TimelineSpan::Day, TimelineSpan::Week] {
            let mut scene = Scene::at_three();
            let before = drawn(&scene, span);
            scene.snapshot.now = UtcMillis(NOW.0 + 2_000);
            assert_eq!(drawn(&scene, span), before, "{span:?}");
        }
    }

    #[test]
    fn before_the_oldest_entry_that_was_read_nothing_is_claimed() {
        let mut scene = Scene::of(FILE);
        scene.decide("slow", vec![ran("node-a", 284, 10, Outcome::Succeeded)]);
        let unread = |scene: &Scene| {
            let bands = drawn(scene, TimelineSpan::Hour).bands;
            bands.into_iter().filter(|band| band.kind == BandKind::Unread).collect::<Vec<_>>()
        };
        assert_eq!(unread(&scene), []);
        scene.job("slow").has_older = true;
        let bands = unread(&scene);
        assert_eq!((bands.len(), bands[0].x, bands[0].width), (1, 0, 829), "{bands:?}");
        scene.job("slow").entries.clear();
        assert_eq!(unread(&scene)[0].width, 900, "nothing was read");
    }
}
