//! Takes what a job writes: splits it into lines, keeps its head and tail, and passes it on.

pub(super) mod capture;
pub(super) mod disk_reserve;
mod lines;
pub(super) mod log_file;
pub(super) mod log_parts;
pub(super) mod log_range;
pub(super) mod sink;
pub(super) mod tail;
