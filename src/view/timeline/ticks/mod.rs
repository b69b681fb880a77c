//! What happened to ticks, and what will: runs, ticks that did not run, ticks to come, and runs that another
//! replica took over.

mod absences;
mod coming;
mod handover;
mod runs;

pub(super) use absences::{Absence, absences};
pub(super) use coming::{FutureTick, coming};
pub(super) use handover::{Handover, fence_text, handovers, reserved_title};
pub(super) use runs::{TimelineRun, runs};
