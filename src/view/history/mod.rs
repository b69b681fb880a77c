//! The past of jobs: ticks as people and programs see them, and which of them are wanted.

mod cursor;
mod filter;
mod tick_view;
mod usual;

pub(crate) use cursor::HistoryCursor;
pub(crate) use filter::HistoryFilter;
pub(crate) use tick_view::{TickView, count, exit};
pub use usual::usual_duration;
pub(crate) use usual::{duration, median_duration};
