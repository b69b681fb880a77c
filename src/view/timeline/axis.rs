//! The times below a timeline: round ones in the zone of its window, whatever its clocks do.

use super::window::{NOW_X, TimeWindow};
use crate::time::UtcMillis;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The distances between two marks, of which the first is taken that leaves room for their texts.
const STEPS: [i64; 12] = [
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
];

/// More distances than this do not fit.
const MOST_STEPS: i64 = 6;

/// Clocks are put forward and back at multiples of this, and by multiples of it.
const ZONE_STEP: i64 = 15 * MINUTE;

/// The times below a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Where the present is.
    pub now_x: u16,
    /// The name of the zone.
    pub zone: String,
    /// Round times, oldest first.
    pub marks: Vec<AxisMark>,
}

/// A time below a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisMark {
    /// Where it is.
    pub x: u16,
    /// Its text: `02:30`; `Fri 20` at the beginning of a day; `02:00 CEST` where clocks are put forward or
    /// back on the axis.
    pub text: String,
}

impl Axis {
    /// Returns the axis of a window.
    pub(super) fn of(window: &TimeWindow) -> Self {
        let zone = window.zone().iana_name().unwrap_or("local time").to_owned();
        Self { now_x: NOW_X, zone, marks: marks(window) }
    }
}

/// Returns a mark for each round time by local clocks. A time that comes twice has two; where clocks skip it,
/// the first instant after it has its mark.
fn marks(window: &TimeWindow) -> Vec<AxisMark> {
    let (from, to) = (window.from().0, window.to().0);
    let fits = |step: &&i64| (to - from) / **step <= MOST_STEPS;
    let step = STEPS.iter().find(fits).copied().unwrap_or(DAY);
    let distance = step.min(ZONE_STEP);
    let local = |at: i64| at + offset(window, at);
    let before_first = (from - 1).div_euclid(distance) * distance;
    let mut marks = Vec::new();
    let is_even = offset(window, from) == offset(window, to);
    let mut before = local(before_first).div_euclid(step);
    // All spans have less than a thousand of these distances.
    for at in (1..).map(|count| before_first + count * distance).take_while(|at| *at <= to) {
        let steps = local(at).div_euclid(step);
        if steps > before || local(at).rem_euclid(step) == 0 {
            marks.push(AxisMark { x: window.x(UtcMillis(at)), text: text(window, at, step, is_even) });
        }
        before = steps;
    }
    marks
}

/// Returns how far local clocks are ahead of UTC, in milliseconds.
fn offset(window: &TimeWindow, at: i64) -> i64 {
    i64::from(window.zone().to_offset(UtcMillis(at).timestamp()).seconds()) * 1_000
}

fn text(window: &TimeWindow, at: i64, step: i64, is_even: bool) -> String {
    let zoned = window.zoned(UtcMillis(at));
    let begins_day = zoned.date() != window.zoned(UtcMillis(at - 1)).date();
    let format = match (begins_day || step >= DAY, is_even) {
        (true, _) => "%a %-d",
        (false, true) => "%H:%M",
        (false, false) => "%H:%M %Z",
    };
    zoned.strftime(format).to_string()
}
