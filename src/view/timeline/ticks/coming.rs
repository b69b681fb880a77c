//! Ticks to come, by the schedules.

use std::time::Duration;

use crate::job::{JobName, JobSpec, Tick};
use crate::time::UtcMillis;
use crate::view::text::time_format::span;
use crate::view::timeline::facts::{TimelineFacts, TimelineJob};
use crate::view::timeline::window::TimeWindow;

/// The ticks of so many jobs are drawn: of those whose next tick comes first.
const JOBS: usize = 200;

/// A job with more ticks than this has one mark for all of them.
const TICKS_PER_JOB: usize = 20;

/// A tick to come, or all of a job's that are shown.
#[derive(Debug)]
pub(in crate::view::timeline) struct FutureTick<'a> {
    pub(in crate::view::timeline) job: &'a JobName,
    pub(in crate::view::timeline) at: UtcMillis,
    /// When its run will end, if it takes as long as usual.
    pub(in crate::view::timeline) until: UtcMillis,
    usual: Option<Duration>,
    /// Whether it stands for more ticks than can be drawn.
    pub(in crate::view::timeline) is_folded: bool,
}

/// Returns the ticks to come that the window shows, job by job.
pub(in crate::view::timeline) fn coming<'a>(
    facts: &TimelineFacts<'a>,
    window: &TimeWindow,
) -> Vec<FutureTick<'a>> {
    let next = |job: &'a TimelineJob<'a>| {
        let spec = job.spec.filter(|spec| spec.enabled)?;
        let first = spec.schedule.next_after(skipped_up_to(job, window.now()))?;
        (first.instant() <= window.to()).then_some((first, job, spec))
    };
    let mut jobs: Vec<(Tick, &TimelineJob<'a>, &JobSpec)> = facts.jobs.iter().filter_map(next).collect();
    jobs.sort_by_key(|(first, job, _)| (*first, job.name));
    jobs.truncate(JOBS);
    jobs.into_iter().flat_map(|(first, job, spec)| of_job(first, job, spec, window)).collect()
}

/// Returns the instant after which ticks are not skipped because of a pause.
fn skipped_up_to(job: &TimelineJob<'_>, now: UtcMillis) -> UtcMillis {
    let paused_until = job.pausing.as_ref().and_then(|pausing| pausing.until);
    // A tick at the very end of a pause is not skipped.
    paused_until.map_or(now, |until| now.max(UtcMillis(until.0.saturating_sub(1))))
}

/// Returns the ticks of one job from its first one on.
fn of_job<'a>(
    first: Tick,
    job: &TimelineJob<'a>,
    spec: &JobSpec,
    window: &TimeWindow,
) -> Vec<FutureTick<'a>> {
    let usual = job.usual;
    let tick = |at: UtcMillis, until: UtcMillis, is_folded: bool| FutureTick {
        job: job.name,
        at,
        until: until.min(window.to()),
        usual,
        is_folded,
    };
    let next = |tick: &Tick| spec.schedule.next_after(tick.instant());
    let shown = std::iter::successors(Some(first), next).take_while(|tick| tick.instant() <= window.to());
    let ticks: Vec<UtcMillis> = shown.take(TICKS_PER_JOB + 1).map(Tick::instant).collect();
    if ticks.len() > TICKS_PER_JOB {
        return vec![tick(first.instant(), window.to(), true)];
    }
    ticks.into_iter().map(|at| tick(at, at.plus(usual.unwrap_or_default()), false)).collect()
}

impl FutureTick<'_> {
    /// Returns the tick in a sentence: `` `payout` comes at 03:15:00; it usually takes 41s ``.
    pub(in crate::view::timeline) fn title(&self, window: &TimeWindow) -> String {
        let (job, at) = (self.job, window.clock(self.at));
        let usual = self.usual.map_or(String::new(), |usual| format!("; it usually takes {}", span(usual)));
        match self.is_folded {
            false => format!("`{job}` comes at {at}{usual}"),
            true => format!("`{job}` comes from {at} on, again and again{usual}"),
        }
    }
}
