//! Order and batching where many runs start or end at once, and how long each stage of a start took.

pub(super) mod finish_window;
pub(super) mod start_latency;
pub(super) mod start_priority;
