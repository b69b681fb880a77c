//! A sparkline as SVG paths, for pages: one path for each form.
//!
//! Of the path of runs, each bar is a vertical stroke, three units wide. The paths of the other forms are
//! only the points at which their marks stand: a page defines each mark once, as a `<marker>` with its shape,
//! and names it in `marker-start`, `marker-mid` and `marker-end` of the path, which itself is not drawn. So a
//! row takes some hundred bytes, whatever it shows.

use super::bars::{HIGHEST, SLOTS, SparkBar, SparkForm, Sparkline};

/// The width of a slot.
const SLOT: usize = 4;

/// The width of the drawing. The newest tick is at the right.
pub const SPARK_WIDTH: usize = SLOTS * SLOT;

/// The height of the drawing.
pub const SPARK_HEIGHT: usize = 24;

/// Where the marks stand.
const MIDDLE: usize = SPARK_HEIGHT / 2;

/// All ticks of one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparkPath {
    /// The form.
    pub form: SparkForm,
    /// The path's data (`d`).
    pub data: String,
}

impl SparkForm {
    /// Returns the shape of the mark, as a path around the point 0, 0 and within two units of it; `None` for
    /// a bar.
    pub const fn shape(self) -> Option<&'static str> {
        match self {
            Self::Ran => None,
            // A ring with a gap.
            Self::Rerun => Some("M0-2A2 2 0 1 0 2 0"),
            Self::Failed => Some("M-2-2 2 2M2-2-2 2"),
            Self::Killed => Some("M-1-1h2v2h-2z"),
            // An empty diamond, and a full one: that depends on whether the page fills them.
            Self::Skipped | Self::Missed => Some("M0-2 2 0 0 2-2 0z"),
            Self::Unknown => Some("M-1-1A1 1 0 1 1 0 0v1M0 2h0"),
        }
    }
}

impl Sparkline {
    /// Returns one path for each form that occurs, within [`SPARK_WIDTH`] and [`SPARK_HEIGHT`]. Their data
    /// have at most 800 bytes together.
    pub fn paths(&self) -> Vec<SparkPath> {
        let first = SLOTS.saturating_sub(self.bars.len());
        let slots = || self.bars.iter().zip(first..).map(|(bar, slot)| (slot * SLOT + SLOT / 2, bar));
        let path = |form: SparkForm| {
            let bars: Vec<(usize, &SparkBar)> = slots().filter(|(_, bar)| bar.form == form).collect();
            let data = if form == SparkForm::Ran { strokes(&bars) } else { points(&bars) };
            (!bars.is_empty()).then_some(SparkPath { form, data })
        };
        SparkForm::ALL.into_iter().filter_map(path).collect()
    }
}

/// Returns a vertical stroke from the ground for each bar.
fn strokes(bars: &[(usize, &SparkBar)]) -> String {
    let mut data = String::new();
    let mut before = None;
    for (x, bar) in bars {
        let height = usize::from(bar.height) * SPARK_HEIGHT / usize::from(HIGHEST);
        match before.replace((x, height)) {
            None => data.push_str(&format!("M{x} {SPARK_HEIGHT}v-{height}")),
            Some((left, down)) => data.push_str(&format!("m{} {down}v-{height}", x - left)),
        }
    }
    data
}

/// Returns a line through the points at which the marks stand. Of a single one, the line has no length.
fn points(bars: &[(usize, &SparkBar)]) -> String {
    let mut data = String::new();
    let mut before = None;
    for (x, _) in bars {
        match before.replace(x) {
            None => data.push_str(&format!("M{x} {MIDDLE}")),
            Some(left) => data.push_str(&format!("h{}", x - left)),
        }
    }
    if bars.len() == 1 {
        data.push_str("h0");
    }
    data
}
