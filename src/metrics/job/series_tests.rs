//! What is exported of jobs in the course of time.

use std::time::Duration;

use crate::config::testing::spec;
use crate::events::{Changes, Event, EventCounter, Run};
use crate::job::{Cause, Fence, Outcome, Reason, RunId, Verdict};
use crate::lease::Pausing;
use crate::run::StopSignals;
use crate::time::{BootInstant, SystemClock};

use super::row::{JobCounted, JobInstants};
use super::*;
use crate::job::{JobName, JobSpec, Tick};
use crate::metrics::tally::Tally;
use crate::time::UtcMillis;
use std::sync::Arc;

fn at(text: &str) -> UtcMillis {
    UtcMillis::from_timestamp(format!("2026-11-{text}Z").parse().expect("RFC 3339"))
}

fn job() -> JobName {
    JobName::parse("x").expect("a name")
}

fn hourly() -> Arc<JobSpec> {
    spec("schedule = \"@hourly\"")
}

/// A replica with one job, and what it knows.
struct Known {
    series: JobSeries,
    tally: Tally,
}

impl Known {
    fn since(text: &str, spec: &Arc<JobSpec>) -> Self {
        let series = JobSeries::of([spec], at(text));
        Self { series, tally: Tally::of([job()], Arc::new(SystemClock)) }
    }

    fn rows(&mut self, mode: SeriesMode, now: &str) -> Vec<JobRow> {
        let part = self.series.part(Some(mode), &self.tally, at(now));
        assert_eq!(part.mode, mode);
        part.rows
    }

    fn row(&mut self, now: &str) -> JobRow {
        self.rows(SeriesMode::All, now).pop().expect("it has series")
    }

    fn instants(&mut self, now: &str) -> JobInstants {
        self.row(now).instants.expect("all jobs have them")
    }

    /// The due instants of a decision and of a success, without the date.
    fn due(&mut self, now: &str) -> [String; 2] {
        let JobInstants { decision_due, success_due, .. } = self.instants(now);
        [decision_due, success_due].map(|due| due.expect("a tick is left").to_string()[8..19].to_owned())
    }

    fn run(cause: Cause, tick: &str) -> Run {
        Run { job: job(), tick: Tick(at(tick)), run: RunId::new(), fence: Fence(1), cause }
    }

    fn started(&self, cause: Cause, tick: &str) -> Run {
        let run = Self::run(cause, tick);
        let (late, sent) = (Duration::ZERO, BootInstant(Duration::ZERO));
        self.tally.count(&Event::RunStarted { run: run.clone(), late, waited: false, sent });
        run
    }

    fn ended(&self, run: Run, outcome: Outcome, seconds: u64) {
        let took = Duration::from_secs(seconds);
        let at = run.tick.instant().plus(took);
        self.tally.count(&Event::RunEnded {
            run,
            attempt: 1,
            verdict: Verdict::plain(outcome),
            exit_code: None,
            signal: None,
            took,
            at,
            stop_signals: StopSignals::default(),
            stages: None,
            error: None,
        });
    }
}

/// A record of a job that last succeeded for this tick, within a minute, and decided no later one.
fn succeeded(tick: &str) -> JobFigures {
    let ok = Tick(at(tick));
    JobFigures {
        undecided: hourly().schedule.next_after(ok.instant()),
        last_success_tick: Some(ok),
        last_success_end: Some(ok.instant().plus(Duration::from_secs(60))),
        ..JobFigures::default()
    }
}

#[test]
fn before_anything_is_known_the_instants_are_due_from_the_first_sight() {
    let mut known = Known::since("20T08:30:00", &hourly());
    assert_eq!(known.due("20T08:30:00"), ["20T10:00:30", "20T11:00:00"]);
    let instants = known.instants("20T08:31:00");
    assert_eq!((instants.success, instants.failure), (UtcMillis(0), UtcMillis(0)));
    let row = known.row("20T08:31:00");
    assert_eq!(row.counts, Some(JobCounted { results: [0; 4], run_time: Duration::ZERO }));
    assert_eq!((row.running, row.is_paused), (None, false));
}

#[test]
fn what_was_due_before_the_replica_started_is_due_once_it_has_read_the_record() {
    let mut known = Known::since("20T08:30:00", &hourly());
    known.due("20T08:30:00");
    known.series.learn(&job(), succeeded("19T03:00:00"));
    assert_eq!(known.due("20T08:30:01"), ["19T05:00:30", "19T06:00:00"]);
}

#[test]
fn no_instant_goes_back_when_the_store_forgets() {
    let mut known = Known::since("20T08:30:00", &hourly());
    known.series.learn(&job(), succeeded("20T08:00:00"));
    let before = known.instants("20T08:31:00");
    known.series.learn(&job(), JobFigures::default());
    assert_eq!(known.instants("20T08:32:00"), before);
    let older =
        JobFigures { failures_in_row: 2, failing_since: Some(at("18T08:00:00")), ..succeeded("19T03:00:00") };
    known.series.learn(&job(), older);
    assert_eq!(known.instants("20T08:33:00"), JobInstants { failure: at("18T08:00:00"), ..before });
}

#[test]
fn own_events_move_the_instants_without_a_look_at_the_record() {
    let mut known = Known::since("20T08:30:00", &hourly());
    known.series.learn(&job(), succeeded("20T08:00:00"));
    assert_eq!(known.due("20T08:31:00"), ["20T10:00:30", "20T11:00:00"]);
    let run = known.started(Cause::Schedule, "20T09:00:00");
    assert_eq!(known.due("20T09:00:01"), ["20T11:00:30", "20T11:00:00"]);
    let running = (at("20T09:00:00"), at("20T10:00:00"));
    assert_eq!(known.row("20T09:00:01").running, Some(running));
    known.ended(run, Outcome::Succeeded, 90);
    assert_eq!(known.due("20T09:01:31"), ["20T11:00:30", "20T12:00:00"]);
    let row = known.row("20T09:01:31");
    assert_eq!(row.instants.map(|at| at.success), Some(at("20T09:01:30")));
    let counts = JobCounted { results: [1, 0, 0, 0], run_time: Duration::from_secs(90) };
    assert_eq!((row.counts, row.running), (Some(counts), None));
}

#[test]
fn a_run_by_hand_is_a_success_and_decides_no_tick() {
    let mut known = Known::since("20T08:30:00", &hourly());
    known.series.learn(&job(), succeeded("20T07:00:00"));
    assert_eq!(known.due("20T08:31:00"), ["20T09:00:30", "20T10:00:00"]);
    let run = known.started(Cause::Manual, "20T08:40:00");
    known.ended(run, Outcome::Succeeded, 5);
    assert_eq!(known.due("20T08:41:00"), ["20T09:00:30", "20T11:00:00"]);
    // A run by hand that was skipped is told as a tick; it is none of the schedule.
    let verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);
    let tick = Tick(at("20T08:45:00"));
    known.tally.count(&Event::TickConsumed { job: job(), tick, verdict, at: tick.instant() });
    assert_eq!(known.due("20T08:46:00"), ["20T09:00:30", "20T11:00:00"]);
}

#[test]
fn a_failure_moves_its_own_instant_alone() {
    let mut known = Known::since("20T08:30:00", &hourly());
    known.series.learn(&job(), succeeded("20T08:00:00"));
    let run = known.started(Cause::Schedule, "20T09:00:00");
    known.ended(run, Outcome::Failed, 10);
    let instants = known.instants("20T09:01:00");
    assert_eq!((instants.success, instants.failure), (at("20T08:01:00"), at("20T09:00:10")));
    assert_eq!(known.due("20T09:01:00"), ["20T11:00:30", "20T11:00:00"]);
}

#[test]
fn an_edit_counts_from_then_on_and_forgets_what_was_due_before() {
    let yearly = spec("schedule = \"@yearly\"");
    let mut known = Known::since("20T08:30:00", &yearly);
    known.series.learn(
        &job(),
        JobFigures { undecided: yearly.schedule.next_after(at("20T08:30:00")), ..succeeded("01T00:00:00") },
    );
    assert_eq!(known.due("20T08:30:00"), ["01T01:00:30", "01T02:00:00"], "of the next year");
    known.series.reload([&hourly()], at("20T10:30:00"));
    assert_eq!(known.due("20T10:31:00"), ["20T12:00:30", "20T13:00:00"]);
    let success = known.instants("20T10:31:00").success;
    assert_eq!(success, at("01T00:01:00"), "the job is the same");
    // A tick that the former schedule had at an instant of the new one.
    known.tally.count(&Event::TickDecided {
        job: job(),
        tick: Tick(at("20T09:00:00")),
        holder: None,
        how: None,
    });
    assert_eq!(known.due("20T10:32:00"), ["20T12:00:30", "20T13:00:00"]);
}

#[test]
fn a_shorter_timeout_counts_at_once_and_other_edits_change_nothing() {
    let long = spec("schedule = \"@hourly\"\ntimeout = \"50h\"");
    let mut known = Known::since("20T08:30:00", &long);
    known.series.learn(&job(), succeeded("20T08:00:00"));
    assert_eq!(known.due("20T08:31:00")[1], "22T12:00:00");
    known.series.reload([&spec("schedule = \"@hourly\"\ntimeout = \"30m\"")], at("20T08:32:00"));
    assert_eq!(known.due("20T08:33:00"), ["20T10:00:30", "20T10:30:00"]);
    let described = spec("schedule = \"@hourly\"\ntimeout = \"30m\"\ndescription = \"x\"");
    known.series.reload([&described], at("20T23:00:00"));
    assert_eq!(known.due("20T23:00:01"), ["20T10:00:30", "20T10:30:00"]);
}

#[test]
fn a_paused_job_says_so_and_its_resume_raises_no_false_alarm() {
    let mut known = Known::since("18T08:30:00", &hourly());
    let paused = JobFigures {
        paused_until: Some(Pausing::UNTIL_RESUMED),
        paused_at: Some(at("18T09:10:00")),
        ..succeeded("18T09:00:00")
    };
    known.series.learn(&job(), paused.clone());
    assert!(known.row("20T12:10:00").is_paused);
    assert_eq!(known.due("20T12:10:00")[1], "20T15:00:00");
    let resumed = JobFigures { paused_until: None, paused_at: Some(at("20T12:20:00")), ..paused };
    known.series.learn(&job(), resumed);
    let row = known.row("20T12:21:00");
    assert!(!row.is_paused);
    assert_eq!(known.due("20T12:21:00")[1], "20T15:00:00");
}

#[test]
fn in_trouble_are_jobs_that_failed_are_overdue_or_paused_or_run_here() {
    let in_trouble = |known: &mut Known, now| known.rows(SeriesMode::Trouble, now);
    let learned = |figures: JobFigures| {
        let mut known = Known::since("20T08:30:00", &hourly());
        known.series.learn(&job(), figures);
        known
    };
    let well = succeeded("20T08:00:00");
    assert_eq!(in_trouble(&mut learned(well.clone()), "20T09:59:00"), []);
    let overdue = in_trouble(&mut learned(well.clone()), "20T10:00:30");
    assert!(overdue.first().is_some_and(|row| row.instants.is_some() && row.counts.is_none()));
    let failed = JobFigures { failures_in_row: 1, failing_since: Some(at("20T08:20:00")), ..well.clone() };
    assert_eq!(in_trouble(&mut learned(failed), "20T08:31:00").len(), 1);
    let paused = JobFigures { paused_until: Some(at("20T12:00:00")), ..well.clone() };
    assert!(in_trouble(&mut learned(paused), "20T08:31:00")[0].is_paused);
    let mut running = learned(well);
    running.started(Cause::Schedule, "20T09:00:00");
    let row = in_trouble(&mut running, "20T09:00:01").pop().expect("it runs here");
    assert!(row.instants.is_none() && row.running.is_some());
    assert_eq!(running.rows(SeriesMode::None, "20T09:00:01"), []);
}

#[test]
fn jobs_that_are_not_enabled_have_no_series_and_come_back_as_new() {
    let off = spec("schedule = \"@hourly\"\nenabled = false");
    let mut known = Known::since("20T08:30:00", &off);
    assert_eq!(known.rows(SeriesMode::All, "20T08:31:00"), []);
    known.series.learn(&job(), succeeded("01T08:00:00"));
    known.series.reload([&hourly()], at("20T10:30:00"));
    known.series.learn(&job(), JobFigures { undecided: None, ..succeeded("01T08:00:00") });
    assert_eq!(known.due("20T10:31:00"), ["20T12:00:30", "20T13:00:00"], "it counts from then on");
    known.series.reload([&off], at("20T11:00:00"));
    assert_eq!(known.rows(SeriesMode::All, "20T11:00:00"), []);
    known.tally.count(&Event::Reloaded { file: "f".into(), changes: Changes::default() });
}

#[test]
fn by_default_the_number_of_jobs_decides_which_have_series() {
    let mut known = Known::since("20T08:30:00", &hourly());
    assert_eq!(known.series.part(None, &known.tally, at("20T08:31:00")).mode, SeriesMode::All);
}
