//! Answers that go on: server-sent events. All streams together are bounded, each sends one piece at a time, and all end when
//! the replica begins to drain.

mod event_stream;
mod slots;
pub(super) mod sse;

pub(super) use event_stream::events;
pub(super) use slots::{StreamSlot, StreamSlots};
