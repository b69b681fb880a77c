//! The life of a tick on one replica: planned, due, claimed or decided elsewhere, running, recorded. What is decided
//! is decided by pure steps; the driver performs them.

mod cluster;
mod control;
mod driver;
pub(crate) mod errand;
mod moves;
mod recovery;
#[expect(clippy::module_inception, reason = "the replica itself is what the module is about")]
pub(crate) mod replica;
#[cfg(test)]
mod simulation;
pub(crate) mod tick;

pub use cluster::roster::Roster;
pub use control::manual::order_waits;
pub use replica::{Alive, Reload, Replica};
pub use tick::action::{Action, Bid, Finding, Won};
pub use tick::claiming::Contest;
pub use tick::eligibility::Standing;
pub use tick::planner::{Agenda, Coming};
pub use tick::ticker::ClockworkError;
