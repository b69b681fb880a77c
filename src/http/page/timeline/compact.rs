//! Marks that are drawn without links and titles: all of one row and one look are one path.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::view::timeline::{ColumnKind, Lane, TimelineMark};

use super::drawing::{BAR, LaneTops, class};

/// The marks of one row.
#[derive(Debug)]
pub(crate) struct CompactStrip {
    /// The upper edge of its bars.
    pub(crate) y: usize,
    /// The class and the data of each path, within 1,200 units of width and the height of a bar.
    pub(crate) paths: Vec<(&'static str, String)>,
}

/// Returns the strips of these marks, and of the lanes that have columns.
pub(super) fn strips(marks: &[&TimelineMark], lanes: &[Lane], tops: &LaneTops) -> Vec<CompactStrip> {
    let mut strips = BTreeMap::<usize, BTreeMap<&'static str, String>>::new();
    let mut add = |y: usize, class: &'static str, (x, width): (u16, u16)| {
        let data = strips.entry(y).or_default().entry(class).or_default();
        // Writing into memory cannot fail.
        let _ = write!(data, "M{x} {}h{}", BAR / 2, width.max(2));
    };
    for mark in marks {
        add(tops.bar(mark.lane, mark.row), class(mark), (mark.x, mark.width));
    }
    for (lane, columns) in lanes.iter().enumerate().map(|(at, lane)| (at, &lane.columns)) {
        for column in columns {
            let class = match column.worst {
                ColumnKind::Coming => "coming",
                ColumnKind::Ended(outcome) => outcome.as_str(),
            };
            add(tops.bar(lane, 0), class, (column.x, column.width));
        }
    }
    let strip = |(y, paths): (usize, BTreeMap<_, _>)| CompactStrip { y, paths: paths.into_iter().collect() };
    strips.into_iter().map(strip).collect()
}
