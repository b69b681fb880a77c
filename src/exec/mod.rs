//! One command under one lock, once (the `exec` command); it is not a replica. It requests the lock as a manual run
//! does, sends no heartbeats, and holds the lock as a replica does: the same guard, renewals and deadlines. It leaves
//! no file behind.

pub(crate) mod acquire;
#[cfg(test)]
mod acquire_tests;
mod command;
mod session;
mod shutdown;
mod store_watch;
mod work;

pub(crate) use command::{ExecCommand, ExecResult};
pub(crate) use work::Work;
