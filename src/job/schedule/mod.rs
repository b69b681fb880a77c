//! Parses the schedule of a job and computes its ticks on UTC instants. Every replica computes the same ticks, forward
//! and backward, whatever its clock, its system or its time zone.
//!
//! From the outside in: [`Schedule`] is a union of expressions in a zone; an `expression` is a `pattern` of civil
//! times, or an interval; a `dst` rule maps the pattern's civil times to instants, separately for each segment in which
//! the zone's offset is constant.

mod calendar;
mod error;
mod parse;
#[expect(clippy::module_inception, reason = "the noun of this folder is the schedule")]
mod schedule;
mod words;

pub use error::ScheduleError;
pub use schedule::Schedule;
