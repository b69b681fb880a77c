//! Draws a timeline: from what is known to lanes, marks, bands and arrows.

use super::axis::Axis;
use super::bands::bands;
use super::facts::{LaneOrder, TimelineFacts};
use super::layout::{Draft, LEAST_WIDTH, LanePlan, Subject, assign_rows, fold_into_columns};
use super::picture::{Arrow, ArrowPoint, MarkShape, Picture, TimelineMark};
use super::ticks::{Absence, FutureTick, Handover, TimelineRun};
use super::ticks::{absences, coming, fence_text, handovers, reserved_title, runs};
use super::window::TimeWindow;

impl Picture {
    /// Draws what is known of the time of this window.
    pub fn of(facts: &TimelineFacts<'_>, window: &TimeWindow, order: LaneOrder) -> Self {
        let (specs, runs, coming) = (facts.specs(), runs(facts, window), coming(facts, window));
        let (absences, handovers) = (absences(facts, &specs, window), handovers(&runs, facts, &specs));
        let mut plan = LanePlan::of(facts, &runs, order, window);
        let bands = bands(facts, &plan, order, window);
        let mut drafts = drafts(&plan, &runs, &absences, &coming, window);
        reserve_rows(&mut drafts, &handovers, window);
        plan.summarize(&drafts);
        let mut bars = BarPlaces::of(&drafts, runs.len());
        let mut drafts = fold_into_columns(drafts, &mut plan.lanes);
        assign_rows(&mut drafts, &mut plan.lanes);
        bars.learn_rows(&drafts);
        let mut marks: Vec<TimelineMark> = drafts.iter().map(|draft| draft.mark(window)).collect();
        marks.extend(handovers.iter().filter_map(|handover| reserved(handover, &runs, &bars, window)));
        marks.sort_by_key(|mark| (mark.lane, mark.row, mark.x));
        let arrows = handovers.iter().filter_map(|handover| arrow(handover, &runs, &bars, window)).collect();
        Self { lanes: plan.lanes, marks, bands, arrows, axis: Axis::of(window) }
    }
}

/// Where the bars of all runs are.
struct BarPlaces(Vec<Option<BarPlace>>);

/// Where the bar of a run is.
#[derive(Debug, Clone, Copy)]
struct BarPlace {
    lane: usize,
    row: u8,
    x: u16,
    end: u16,
}

impl BarPlaces {
    /// Returns the places of `count` runs, all in the first row; that is where those are which are drawn as
    /// columns.
    fn of(drafts: &[Draft<'_>], count: usize) -> Self {
        let mut places = vec![None; count];
        for draft in drafts {
            let Subject::Run(at, _) = draft.subject else { continue };
            if let Some(place) = places.get_mut(at) {
                *place = Some(BarPlace { lane: draft.lane, row: 0, x: draft.x, end: draft.end });
            }
        }
        Self(places)
    }

    /// Takes over the rows that the drafts have been given.
    fn learn_rows(&mut self, drafts: &[Draft<'_>]) {
        for draft in drafts {
            let Subject::Run(at, _) = draft.subject else { continue };
            if let Some(Some(place)) = self.0.get_mut(at) {
                place.row = draft.row;
            }
        }
    }

    fn get(&self, run: usize) -> Option<BarPlace> {
        self.0.get(run).copied().flatten()
    }
}

/// Returns what is to be drawn in the lanes.
fn drafts<'a>(
    plan: &LanePlan<'_>,
    runs: &'a [TimelineRun<'a>],
    absences: &'a [Absence<'a>],
    coming: &'a [FutureTick<'a>],
    window: &TimeWindow,
) -> Vec<Draft<'a>> {
    let bars = runs.iter().enumerate().filter_map(|(at, run)| {
        let lane = plan.of_run(run)?;
        Some(Draft::run(lane, at, run, window))
    });
    let absent =
        absences.iter().filter_map(|ticks| Some(Draft::absence(plan.of_absence(ticks.job)?, ticks, window)));
    let next = coming.iter().filter_map(|tick| Some(Draft::coming(plan.of_absence(tick.job)?, tick, window)));
    bars.chain(absent).chain(next).collect()
}

/// Keeps the row of a run free for as long as nobody may run its job after it.
fn reserve_rows(drafts: &mut [Draft<'_>], handovers: &[Handover], window: &TimeWindow) {
    for draft in drafts {
        let Subject::Run(at, _) = draft.subject else { continue };
        let handover = handovers.iter().find(|handover| handover.cut == at);
        if let Some((_, until)) = handover.and_then(|handover| handover.reserved) {
            draft.reach = draft.reach.max(window.x(until));
        }
    }
}

/// Returns the mark of the time in which nobody may run a job after a run was cut short.
fn reserved(
    handover: &Handover,
    runs: &[TimelineRun<'_>],
    bars: &BarPlaces,
    window: &TimeWindow,
) -> Option<TimelineMark> {
    let (cut, place) = (runs.get(handover.cut)?, bars.get(handover.cut)?);
    let (_, until) = handover.reserved?;
    let width = window.x(until).saturating_sub(place.end).max(LEAST_WIDTH);
    (until > cut.ended).then(|| TimelineMark {
        lane: place.lane,
        row: place.row,
        x: place.end,
        width,
        shape: MarkShape::Reserved,
        job: cut.job.clone(),
        run: cut.run,
        title: reserved_title(cut.job, until, window),
    })
}

/// Returns the arrow to the next run of a job; `None` if that is not drawn.
fn arrow(
    handover: &Handover,
    runs: &[TimelineRun<'_>],
    bars: &BarPlaces,
    window: &TimeWindow,
) -> Option<Arrow> {
    let at = handover.next?;
    let (cut, next) = (runs.get(handover.cut)?, runs.get(at)?);
    let (from, to) = (bars.get(handover.cut)?, bars.get(at)?);
    let begins = handover.reserved.map_or(from.end, |(_, until)| window.x(until).max(from.end));
    let is_rerun = cut.tick == next.tick;
    let what = if is_rerun { "run again" } else { "next run" };
    let fence = next.fence.map_or("?".to_owned(), |fence| fence.to_string());
    Some(Arrow {
        from: ArrowPoint { lane: from.lane, row: from.row, x: begins },
        to: ArrowPoint { lane: to.lane, row: to.row, x: to.x },
        text: fence_text(next.fence),
        is_rerun,
        title: format!("`{}`: {what} on {} with fence {fence}", next.job, next.node),
    })
}
