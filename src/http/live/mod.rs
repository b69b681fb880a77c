//! Answers that go on: server-sent events, and the output of runs. All streams together are bounded, each sends one piece at a
//! time, and all end when the replica begins to drain.

mod event_stream;
pub(super) mod output_stream;
pub(super) mod outputs;
mod slots;
pub(super) mod sse;

pub(super) use event_stream::events;
pub(super) use output_stream::{OutputFollower, OutputUpdate};
pub(super) use outputs::{Outputs, RunPlace, Unopened};
pub(super) use slots::{OutputSlot, StreamClient, StreamSlot, StreamSlots};
