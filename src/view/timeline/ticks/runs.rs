//! The runs of a timeline, from the history and from the records.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::job::{Cause, Fence, JobName, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::time::UtcMillis;
use crate::view::history::exit;
use crate::view::text::reason::verdict_in_words;
use crate::view::text::time_format::span;
use crate::view::timeline::facts::{CurrentRun, PastTick, TimelineFacts};
use crate::view::timeline::picture::BarEnd;
use crate::view::timeline::window::TimeWindow;

/// A run that began later than this after its tick was late.
const IN_TIME: Duration = Duration::from_secs(1);

/// A run, current or past.
#[derive(Debug)]
pub(in crate::view::timeline) struct TimelineRun<'a> {
    pub(in crate::view::timeline) job: &'a JobName,
    pub(in crate::view::timeline) run: Option<RunId>,
    pub(in crate::view::timeline) node: &'a NodeName,
    pub(in crate::view::timeline) tick: Tick,
    pub(in crate::view::timeline) fence: Option<Fence>,
    cause: Cause,
    pub(in crate::view::timeline) started: UtcMillis,
    /// When it ended, its last sign of life if its holder is gone, or now.
    pub(in crate::view::timeline) ended: UtcMillis,
    pub(in crate::view::timeline) outcome: Outcome,
    pub(in crate::view::timeline) reason: Option<Reason>,
    /// How its command ended: `exit 3`, `SIGTERM`; `None` if it ended well.
    exit: Option<String>,
    /// Until when the lock is that of a holder that is gone, while no end is recorded.
    pub(in crate::view::timeline) locked_until: Option<UtcMillis>,
}

/// Returns the runs that the window shows, each once, in the order in which they began.
pub(in crate::view::timeline) fn runs<'a>(
    facts: &TimelineFacts<'a>,
    window: &TimeWindow,
) -> Vec<TimelineRun<'a>> {
    let past = facts.past.iter().filter_map(|past| TimelineRun::past(*past));
    let current = facts.running.iter().map(|run| TimelineRun::current(run, window));
    let mut all: Vec<TimelineRun<'a>> = past
        .chain(current)
        .filter(|run| {
            window.shows(run.started, run.locked_until.map_or(run.ended, |until| until.max(run.ended)))
        })
        .collect();
    // The history is first: a run that has ended is not current, though a record that was read before shows
    // it so.
    let mut seen = BTreeSet::new();
    all.retain(|run| seen.insert((run.job, run.run, run.tick, run.run.is_none().then_some(run.started))));
    all.sort_by_key(|run| (run.started, run.fence, run.run));
    all
}

impl<'a> TimelineRun<'a> {
    /// Returns the run of an entry; `None` if nothing ran.
    fn past(PastTick { job, entry }: PastTick<'a>) -> Option<Self> {
        if matches!(entry.outcome, Outcome::Skipped | Outcome::Missed) {
            return None;
        }
        let started = entry.started?;
        Some(Self {
            job,
            run: entry.run,
            node: entry.node.as_ref()?,
            tick: entry.tick,
            fence: entry.fence,
            cause: entry.cause,
            started,
            ended: entry.finished.max(started),
            outcome: entry.outcome,
            reason: entry.reason,
            exit: exit(entry.exit_code, entry.signal)
                .filter(|exit| exit != "0")
                .map(|exit| if entry.signal.is_some() { exit } else { format!("exit {exit}") }),
            locked_until: None,
        })
    }

    fn current(run: &'a CurrentRun, window: &TimeWindow) -> Self {
        let ended = if run.is_live { window.now() } else { run.last_alive.min(window.now()) };
        Self {
            job: &run.job,
            run: Some(run.run),
            node: &run.node,
            tick: run.tick,
            fence: Some(run.fence),
            cause: run.cause,
            started: run.started,
            ended: ended.max(run.started),
            outcome: Outcome::Running,
            reason: None,
            exit: None,
            locked_until: (!run.is_live).then_some(run.lease_ends),
        }
    }

    /// Returns how the end of its bar is drawn.
    pub(in crate::view::timeline) fn end(&self) -> BarEnd {
        if self.locked_until.is_some() { BarEnd::Broken } else { BarEnd::of(self.outcome) }
    }

    /// Returns the instant of its tick, if it began more than a second later. A run by hand is never late.
    pub(in crate::view::timeline) fn late_for(&self) -> Option<UtcMillis> {
        let tick = self.tick.instant();
        (self.cause != Cause::Manual && self.started.since(tick) > IN_TIME).then_some(tick)
    }

    /// Returns the run in a sentence: `` `payout`, tick of 02:30:00: failed (exit 3) on node-b, 02:30:00 to
    /// 02:30:41 (41s) ``.
    pub(in crate::view::timeline) fn title(&self, window: &TimeWindow) -> String {
        let (job, tick, node) = (self.job, window.clock(self.tick.instant()), self.node);
        let (started, ended) = (window.clock(self.started), window.clock(self.ended));
        let late = self
            .late_for()
            .map_or(String::new(), |tick| format!(", {} late", span(self.started.since(tick))));
        let cause = match self.cause {
            Cause::Schedule => String::new(),
            Cause::CatchUp => ", caught up".to_owned(),
            Cause::Rerun => ", rerun".to_owned(),
            Cause::Manual => ", run by hand".to_owned(),
        };
        let how = match (self.outcome, self.locked_until) {
            (Outcome::Running, Some(_)) => {
                format!("was running on {node} since {started}, last sign of life at {ended}")
            }
            // For how long is not told: the picture would be another one each second.
            (Outcome::Running, None) => format!("running on {node} since {started}"),
            _ => {
                let verdict = verdict_in_words(Verdict { outcome: self.outcome, reason: self.reason });
                let took = span(self.ended.since(self.started));
                let exit = self.exit.as_ref().map_or(String::new(), |exit| format!(" ({exit})"));
                format!("{verdict}{exit} on {node}, {started} to {ended} ({took})")
            }
        };
        format!("`{job}`, tick of {tick}: {how}{late}{cause}")
    }
}
