//! The timeline: what ran, where, and how it ended; what did not run, and why; what comes. Pure: it lays out
//! what is known of a span of time as lanes, marks, bands and arrows in whole units. Whoever draws it needs
//! no clock and no store.
//!
//! A picture is [`PICTURE_WIDTH`] units wide, and the present is at [`NOW_X`]. It has a bounded number of
//! everything: a lane with too many marks is drawn as columns, each with the worst outcome in it.

mod axis;
mod bands;
mod draw;
mod facts;
mod layout;
mod picture;
#[cfg(test)]
mod tests;
mod ticks;
mod window;

pub use axis::{Axis, AxisMark};
pub use facts::{CurrentRun, LaneOrder, NewsKind, PastTick, TimelineFacts, TimelineJob, TimelineNews};
pub use picture::{
    Arrow, ArrowPoint, Band, BandKind, BandLanes, BarEnd, ColumnKind, ColumnRun, Lane, LaneKind, MarkShape,
    Picture, TimelineMark,
};
pub use window::{NOW_X, PICTURE_WIDTH, TimeWindow, TimelineSpan};
