//! The past of jobs: ticks as people and programs see them, and which of them are wanted.

pub(crate) mod filter;
mod tick_view;

pub(crate) use filter::HistoryFilter;
pub(crate) use tick_view::{TickView, count};
