//! One command under one lock, once (`exec`): a guest of the cluster, and no replica. It asks as a run by hand does, sends no
//! heartbeats, and holds its lock as a replica does: the same guard, renewals and deadlines. It leaves no file behind.

mod acquire;
#[cfg(test)]
mod acquire_tests;
mod command;
mod session;
mod shutdown;
mod store_watch;
mod work;

pub(crate) use command::{ExecCommand, ExecResult};
pub(crate) use work::Work;
