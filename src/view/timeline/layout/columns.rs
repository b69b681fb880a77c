//! Lanes with too many marks: their ticks are drawn as columns, and of each column the worst outcome in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::job::Outcome;
use crate::view::timeline::picture::{ColumnKind, ColumnRun, Lane};
use crate::view::timeline::window::PICTURE_WIDTH;

use super::Draft;

/// More marks than this are not drawn one by one: with its words, a mark takes some hundred bytes of a page.
const MOST_MARKS: usize = 350;

/// The width of a column where few lanes have them.
const COLUMN: u16 = 2;

/// So many lanes with the narrowest columns are small enough for a page. If there are more, their columns are
/// wider.
const LANES_OF_NARROW: usize = 4;

/// Turns the lanes with most marks into columns, until at most 350 marks are left. Returns what is left; the
/// rest is in `columns` of its lane.
pub(in crate::view::timeline) fn fold_into_columns<'a>(
    drafts: Vec<Draft<'a>>,
    lanes: &mut [Lane],
) -> Vec<Draft<'a>> {
    let mut of_lane = BTreeMap::<usize, Vec<Draft<'a>>>::new();
    for draft in drafts {
        of_lane.entry(draft.lane).or_default().push(draft);
    }
    let mut counts: Vec<(usize, usize)> =
        of_lane.iter().map(|(lane, drafts)| (drafts.len(), *lane)).collect();
    counts.sort_by_key(|(count, lane)| (Reverse(*count), *lane));
    let mut left: usize = counts.iter().map(|(count, _)| count).sum();
    let has_too_many = |(count, _): &&(usize, usize)| {
        let is_over = left > MOST_MARKS;
        left -= if is_over { *count } else { 0 };
        is_over
    };
    let turned: Vec<usize> = counts.iter().take_while(has_too_many).map(|(_, lane)| *lane).collect();
    let wider = turned.len().div_ceil(LANES_OF_NARROW).max(1);
    let width = COLUMN.saturating_mul(u16::try_from(wider).unwrap_or(u16::MAX)).min(PICTURE_WIDTH);
    for at in turned {
        let drafts = of_lane.remove(&at).unwrap_or_default();
        if let Some(lane) = lanes.get_mut(at) {
            lane.columns = columns(&drafts, width);
        }
    }
    of_lane.into_values().flatten().collect()
}

/// Returns the columns of a lane, of which neighbours that look the same are joined.
fn columns(drafts: &[Draft<'_>], width: u16) -> Vec<ColumnRun> {
    let count = PICTURE_WIDTH.div_ceil(width);
    let mut worst: Vec<Option<ColumnKind>> = vec![None; usize::from(count)];
    let touched = |draft: &Draft<'_>| {
        let last = draft.end.saturating_sub(1).max(draft.x);
        usize::from(draft.x / width)..=usize::from((last / width).min(count - 1))
    };
    for draft in drafts {
        for column in worst.get_mut(touched(draft)).unwrap_or_default() {
            *column = Some(worse(*column, draft.kind()));
        }
    }
    let mut runs = Vec::<ColumnRun>::new();
    for (kind, x) in worst.into_iter().zip((0..).step_by(usize::from(width))) {
        let (Some(kind), width) = (kind, width.min(PICTURE_WIDTH - x)) else { continue };
        match runs.last_mut() {
            Some(last) if last.worst == kind && last.x + last.width == x => last.width += width,
            _ => runs.push(ColumnRun { x, width, worst: kind, count: 0 }),
        }
    }
    for run in &mut runs {
        let shown = |draft: &&Draft<'_>| draft.x < run.x + run.width && draft.end.max(draft.x + 1) > run.x;
        run.count = drafts.iter().filter(shown).count();
    }
    runs
}

/// Returns the worse of two.
fn worse(one: Option<ColumnKind>, other: ColumnKind) -> ColumnKind {
    one.filter(|one| rank(*one) >= rank(other)).unwrap_or(other)
}

/// Returns how bad it is: what needs somebody comes first, then what does not count, then what is well.
const fn rank(kind: ColumnKind) -> u8 {
    match kind {
        ColumnKind::Coming => 0,
        ColumnKind::Ended(outcome) => match outcome {
            Outcome::Succeeded => 1,
            Outcome::Running => 2,
            Outcome::Skipped => 3,
            Outcome::Killed => 4,
            Outcome::Unknown => 5,
            Outcome::Missed => 6,
            Outcome::Interrupted => 7,
            Outcome::TimedOut => 8,
            Outcome::Failed => 9,
        },
    }
}
