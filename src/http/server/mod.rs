//! The sockets: a thread of its own, a bounded number of connections, and limits on each.

mod connection;
mod limited_stream;
mod slots;
pub(super) mod thread;
