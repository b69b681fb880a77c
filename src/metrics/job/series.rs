//! What a replica knows of each job, for metrics. It only grows: the newest of what several replicas export
//! is the truth, however old the knowledge of the others is.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::job::{JobName, JobSpec, Tick};
use crate::metrics::tally::{JobTally, Tally};
use crate::time::UtcMillis;

use super::due::{decision_due, expected_run, success_awaited_since, success_due};
use super::figures::JobFigures;
use super::mode::SeriesMode;
use super::row::{JobCounted, JobInstants, JobPart, JobRow};

/// The enabled jobs of the file in effect.
#[derive(Debug)]
pub struct JobSeries(BTreeMap<JobName, KnownSeries>);

/// What is known of one job.
#[derive(Debug)]
struct KnownSeries {
    spec: Arc<JobSpec>,
    /// Since when the job has its schedule in the file, as far as this replica knows.
    since: UtcMillis,
    /// Whether the job was there when the replica started. Then `since` is only when it was first seen: what
    /// the record says counts more.
    is_first_sight: bool,
    /// The newest reading of the record.
    figures: Option<JobFigures>,
    /// The newest tick whose run succeeded, by any reading.
    ok: Option<Tick>,
    instants: JobInstants,
    /// From what the due instants were computed: schedules are computed anew only when that changes.
    due_from: Option<DueInputs>,
}

/// What the instants depend on by which something is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DueInputs {
    /// The first undecided tick by the record.
    read: Option<Tick>,
    /// The newest tick that this replica saw decided.
    decided: Option<Tick>,
    /// From when on the next success is awaited.
    awaited_since: UtcMillis,
}

impl JobSeries {
    /// Returns the series of a replica that has just started with these jobs. Those that are not enabled have
    /// none.
    pub fn of<'a>(jobs: impl IntoIterator<Item = &'a Arc<JobSpec>>, now: UtcMillis) -> Self {
        let known = enabled(jobs).map(|spec| KnownSeries::new(spec, now, true));
        Self(known.map(|series| (series.spec.name.clone(), series)).collect())
    }

    /// Takes in another file. Jobs that it does not enable lose their series.
    pub fn reload<'a>(&mut self, jobs: impl IntoIterator<Item = &'a Arc<JobSpec>>, now: UtcMillis) {
        let mut before = std::mem::take(&mut self.0);
        for spec in enabled(jobs) {
            let series = match before.remove(&spec.name) {
                Some(series) => series.revised(spec, now),
                None => KnownSeries::new(spec, now, false),
            };
            self.0.insert(spec.name.clone(), series);
        }
    }

    /// Takes in what was read of a job's record. Not to be called for a record under another schedule than that of
    /// the file: it does not say what is due. Does nothing for a job that has no series.
    pub fn learn(&mut self, job: &JobName, figures: JobFigures) {
        if let Some(series) = self.0.get_mut(job) {
            series.learn(figures);
        }
    }

    /// Returns the numbers of one scrape: of the jobs that were asked for, or by default.
    pub fn part(&mut self, mode: Option<SeriesMode>, tally: &Tally, now: UtcMillis) -> JobPart {
        let mode = mode.unwrap_or_else(|| SeriesMode::by_default(self.0.len()));
        let rows = if mode == SeriesMode::None { Vec::new() } else { self.rows(mode, tally, now) };
        JobPart { mode, rows }
    }

    fn rows(&mut self, mode: SeriesMode, tally: &Tally, now: UtcMillis) -> Vec<JobRow> {
        let row = |(job, series): (&JobName, &mut KnownSeries)| {
            series.row(job, mode, tally.jobs().of_job(job).as_deref(), now)
        };
        self.0.iter_mut().filter_map(row).collect()
    }
}

fn enabled<'a>(jobs: impl IntoIterator<Item = &'a Arc<JobSpec>>) -> impl Iterator<Item = &'a Arc<JobSpec>> {
    jobs.into_iter().filter(|spec| spec.enabled)
}

impl KnownSeries {
    fn new(spec: &Arc<JobSpec>, now: UtcMillis, is_first_sight: bool) -> Self {
        let instants = JobInstants {
            decision_due: None,
            success_due: None,
            success: UtcMillis(0),
            failure: UtcMillis(0),
        };
        let (spec, since) = (Arc::clone(spec), now);
        Self { spec, since, is_first_sight, figures: None, ok: None, instants, due_from: None }
    }

    /// Returns what is left of the knowledge under another definition. What was due by the former one is
    /// forgotten, as it may lie far beyond what is due now.
    fn revised(self, spec: &Arc<JobSpec>, now: UtcMillis) -> Self {
        let limits = |spec: &JobSpec| (spec.lease, spec.timeout, spec.start_deadline);
        let is_rescheduled = self.spec.schedule != spec.schedule;
        let is_as_before = !is_rescheduled && limits(&self.spec) == limits(spec);
        let spec = Arc::clone(spec);
        if is_as_before {
            return Self { spec, ..self };
        }
        let instants = JobInstants { decision_due: None, success_due: None, ..self.instants };
        if !is_rescheduled {
            return Self { spec, instants, due_from: None, ..self };
        }
        // The first undecided tick is one of the new schedule.
        let figures = self.figures.map(|figures| JobFigures { undecided: None, ..figures });
        Self { spec, instants, figures, since: now, is_first_sight: false, due_from: None, ..self }
    }

    fn learn(&mut self, figures: JobFigures) {
        if self.figures.is_none() && self.is_first_sight {
            // What was due since the first sight may have been due since long before.
            (self.instants.decision_due, self.instants.success_due) = (None, None);
            self.due_from = None;
        }
        self.ok = self.ok.max(figures.last_success_tick);
        self.succeeded(figures.last_success_end);
        self.failed(figures.failing_since.filter(|_| figures.failures_in_row > 0));
        self.figures = Some(figures);
    }

    fn succeeded(&mut self, at: Option<UtcMillis>) {
        self.instants.success = self.instants.success.max(at.unwrap_or_default());
    }

    fn failed(&mut self, at: Option<UtcMillis>) {
        self.instants.failure = self.instants.failure.max(at.unwrap_or_default());
    }

    /// Returns the numbers of the job; `None` if it has no series in this mode.
    fn row(
        &mut self,
        job: &JobName,
        mode: SeriesMode,
        tally: Option<&JobTally>,
        now: UtcMillis,
    ) -> Option<JobRow> {
        if let Some(tally) = tally {
            self.ok = self.ok.max(tally.success_tick().map(Tick));
            self.succeeded(tally.success_at());
            self.failed(tally.failure_at());
        }
        self.look_at_due(tally.and_then(JobTally::decided), now);
        let is_paused = self.figures.as_ref().is_some_and(|figures| figures.is_paused(now));
        let running = tally
            .and_then(JobTally::running)
            .map(|running| (running.started, running.started.plus(expected_run(&self.spec, running.tick))));
        let has_instants = mode == SeriesMode::All || is_paused || self.is_in_trouble(now);
        if !has_instants && running.is_none() {
            return None;
        }
        let counts = tally.filter(|_| mode == SeriesMode::All);
        Some(JobRow {
            job: job.clone(),
            instants: has_instants.then_some(self.instants),
            counts: counts.map(|tally| JobCounted { results: tally.results(), run_time: tally.run_time() }),
            running,
            is_paused,
        })
    }

    /// Moves the instants by which something is due, never back. `decided`: the newest tick that this replica
    /// saw decided.
    fn look_at_due(&mut self, decided: Option<Tick>, now: UtcMillis) {
        let read = self.figures.as_ref().and_then(|figures| figures.undecided);
        let inputs = DueInputs { read, decided, awaited_since: self.awaited_since(now) };
        if self.due_from.replace(inputs) == Some(inputs) {
            return;
        }
        let decision = self.undecided(read, decided).map(|tick| decision_due(&self.spec, tick));
        let success = success_due(&self.spec, inputs.awaited_since);
        self.instants.decision_due = self.instants.decision_due.max(decision);
        self.instants.success_due = self.instants.success_due.max(success);
    }

    /// Returns the first tick that is not decided, as far as this replica knows.
    fn undecided(&self, read: Option<Tick>, decided: Option<Tick>) -> Option<Tick> {
        let schedule = &self.spec.schedule;
        // Ticks from before the schedule do not belong to it, and a run by hand decides none.
        let is_own = |tick: &Tick| self.is_first_sight || tick.instant() > self.since;
        let is_scheduled = |tick: &Tick| schedule.at_or_before(tick.instant()) == Some(*tick);
        let decided = decided.filter(is_own).filter(is_scheduled);
        let after_decided = decided.and_then(|tick| schedule.next_after(tick.instant()));
        read.filter(is_own).max(after_decided).or_else(|| schedule.next_after(self.since))
    }

    fn awaited_since(&self, now: UtcMillis) -> UtcMillis {
        let read = self.figures.clone().unwrap_or_default();
        let since =
            success_awaited_since(&JobFigures { last_success_tick: self.ok, ..read }, self.since, now);
        if self.is_first_sight { since } else { since.max(self.since) }
    }

    /// Whether the job failed last, or something is due.
    fn is_in_trouble(&self, now: UtcMillis) -> bool {
        let JobInstants { decision_due, success_due, success, failure } = self.instants;
        failure > success || decision_due.into_iter().chain(success_due).any(|due| due <= now)
    }
}
