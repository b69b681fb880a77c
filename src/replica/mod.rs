//! A replica: plans ticks, claims them, watches the others, recovers after a loss. Pure steps decide; the driver performs what
//! they decide.

mod cluster;
mod control;
mod driver;
mod errand;
mod facts;
mod moves;
mod recovery;
#[expect(clippy::module_inception, reason = "the replica itself is what the module is about")]
mod replica;
#[cfg(test)]
mod simulation;
mod tick;

pub use cluster::roster::Roster;
pub use control::manual::{is_order_void, order_waits};
pub use facts::{ReplicaFacts, TicksWaiting};
pub use replica::{Alive, Reload, Replica};
pub use tick::action::{Action, Bid, Finding, Won};
pub use tick::claiming::Contest;
pub use tick::eligibility::Eligibility;
pub use tick::next_ticks::{Coming, NextTicks};
pub use tick::ticker::TickerError;
