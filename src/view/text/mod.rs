//! Texts that people write and read: times, durations, ids, lines of output, and sparklines.

pub mod moment;
pub mod output_line;
pub(crate) mod output_text;
pub(crate) mod reason;
pub(crate) mod reordering;
pub mod sgr;
pub(crate) mod short_text;
pub mod sparkline;
mod stored_line;
pub(crate) mod time_format;

pub use moment::{Moment, TimeBound, TimeError};
pub(crate) use stored_line::StoredLine;
