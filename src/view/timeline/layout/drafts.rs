//! What is to be drawn, with its lane and its extent, before its row is known and its words are made.

use crate::job::Verdict;
use crate::view::timeline::picture::{BarEnd, ColumnKind, MarkShape, TimelineMark};
use crate::view::timeline::ticks::{Absence, FutureTick, TimelineRun};
use crate::view::timeline::window::{NOW_X, TimeWindow};

/// The least width of a bar.
pub(in crate::view::timeline) const LEAST_WIDTH: u16 = 2;

/// The width that a sign takes: that of a tick which did not run, or at the end of a run that did not go well.
const SIGN_WIDTH: u16 = 12;

/// What is to be drawn.
#[derive(Debug, Clone, Copy)]
pub(in crate::view::timeline) enum Subject<'a> {
    /// A run, with its place in the list of all runs.
    Run(usize, &'a TimelineRun<'a>),
    /// Ticks that did not run.
    Absence(&'a Absence<'a>),
    /// A tick to come.
    Coming(&'a FutureTick<'a>),
}

/// Something that is to be drawn in a lane.
#[derive(Debug)]
pub(in crate::view::timeline) struct Draft<'a> {
    pub(in crate::view::timeline) lane: usize,
    pub(in crate::view::timeline) row: u8,
    /// Where its mark begins and ends.
    pub(in crate::view::timeline) x: u16,
    pub(in crate::view::timeline) end: u16,
    /// Up to where its row is taken.
    pub(in crate::view::timeline) reach: u16,
    pub(in crate::view::timeline) subject: Subject<'a>,
}

impl<'a> Draft<'a> {
    /// Returns the bar of a run.
    pub(in crate::view::timeline) fn run(
        lane: usize,
        at: usize,
        run: &'a TimelineRun<'a>,
        window: &TimeWindow,
    ) -> Self {
        let x = window.x(run.started).min(NOW_X - LEAST_WIDTH);
        let end = window.x(run.ended).min(NOW_X).max(x + LEAST_WIDTH);
        let sign = match run.end() {
            BarEnd::Plain | BarEnd::Open => 0,
            _ => SIGN_WIDTH,
        };
        Self { lane, row: 0, x, end, reach: end + sign, subject: Subject::Run(at, run) }
    }

    /// Returns the mark of ticks that did not run.
    pub(in crate::view::timeline) fn absence(
        lane: usize,
        absence: &'a Absence<'a>,
        window: &TimeWindow,
    ) -> Self {
        let (x, end) = (window.x(absence.first), window.x(absence.last.min(window.now())));
        let end = end.max(x);
        Self { lane, row: 0, x, end, reach: end.max(x + SIGN_WIDTH), subject: Subject::Absence(absence) }
    }

    /// Returns the mark of a tick to come.
    pub(in crate::view::timeline) fn coming(
        lane: usize,
        tick: &'a FutureTick<'a>,
        window: &TimeWindow,
    ) -> Self {
        let x = window.x(tick.at);
        let end = window.x(tick.until).max(x + LEAST_WIDTH);
        Self { lane, row: 0, x, end, reach: end, subject: Subject::Coming(tick) }
    }

    /// Returns what a column shows that has nothing but this.
    pub(in crate::view::timeline) fn kind(&self) -> ColumnKind {
        self.verdict().map_or(ColumnKind::Coming, |verdict| ColumnKind::Ended(verdict.outcome))
    }

    /// Returns how its tick ended; `None` for one to come.
    pub(in crate::view::timeline) fn verdict(&self) -> Option<Verdict> {
        match self.subject {
            Subject::Run(_, run) => Some(Verdict { outcome: run.outcome, reason: run.reason }),
            Subject::Absence(absence) => Some(absence.verdict),
            Subject::Coming(_) => None,
        }
    }

    /// Returns how many ticks it stands for, as far as is known.
    pub(in crate::view::timeline) fn count(&self) -> u64 {
        match self.subject {
            Subject::Absence(absence) => absence.count.unwrap_or(1),
            Subject::Run(..) | Subject::Coming(_) => 1,
        }
    }

    /// Returns the mark, with its words.
    pub(in crate::view::timeline) fn mark(&self, window: &TimeWindow) -> TimelineMark {
        let (shape, job, run, title) = match self.subject {
            Subject::Run(_, run) => {
                let tick = run.late_for().filter(|tick| *tick >= window.from());
                let shape = MarkShape::Run { end: run.end(), tick_x: tick.map(|tick| window.x(tick)) };
                (shape, run.job, run.run, run.title(window))
            }
            Subject::Absence(absence) => {
                let shape =
                    MarkShape::DidNotRun { outcome: absence.verdict.outcome, folded: absence.folded() };
                (shape, absence.job, None, absence.title(window))
            }
            Subject::Coming(tick) => {
                (MarkShape::Coming { is_folded: tick.is_folded }, tick.job, None, tick.title(window))
            }
        };
        let (lane, row, x, width) = (self.lane, self.row, self.x, self.end - self.x);
        TimelineMark { lane, row, x, width, shape, job: job.clone(), run, title }
    }
}
