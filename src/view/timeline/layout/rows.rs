//! In which row of its lane a mark stands: marks that overlap are in rows of their own, as far as there are
//! rows.

use crate::view::timeline::picture::Lane;

use super::Draft;

/// A lane has no more rows than this; what does not fit shares a row.
const MOST_ROWS: usize = 4;

/// The least space between two marks of a row.
const SPACE: u16 = 1;

/// Gives each mark its row, and each lane its number of rows. Sorts the marks by lane and place.
pub(in crate::view::timeline) fn assign_rows(drafts: &mut [Draft<'_>], lanes: &mut [Lane]) {
    drafts.sort_by_key(|draft| (draft.lane, draft.x, draft.reach));
    for of_lane in drafts.chunk_by_mut(|one, next| one.lane == next.lane) {
        // Up to where each row is taken.
        let mut taken: Vec<u16> = Vec::new();
        for draft in of_lane.iter_mut() {
            let free = taken.iter().position(|end| *end <= draft.x);
            let row = match free {
                Some(row) => row,
                None if taken.len() < MOST_ROWS => {
                    taken.push(0);
                    taken.len() - 1
                }
                None => taken.iter().enumerate().min_by_key(|(_, end)| **end).map_or(0, |(row, _)| row),
            };
            if let Some(end) = taken.get_mut(row) {
                *end = (*end).max(draft.reach.saturating_add(SPACE));
            }
            draft.row = u8::try_from(row).unwrap_or_default();
        }
        let lane = of_lane.first().and_then(|first| lanes.get_mut(first.lane));
        if let Some(lane) = lane {
            lane.rows = u8::try_from(taken.len().max(1)).unwrap_or(1);
        }
    }
}
