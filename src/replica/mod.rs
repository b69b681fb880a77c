//! A replica: plans ticks, claims them, watches the others, recovers after a loss. The core decides, in steps that neither wait
//! nor read a clock; the runtime performs what it decides.

mod cluster;
mod control;
mod core;
mod facts;
mod moves;
mod recovery;
#[expect(clippy::module_inception, reason = "the replica itself is what the module is about")]
mod replica;
mod runtime;
#[cfg(test)]
mod simulation;
mod tick;

pub use cluster::roster::Roster;
pub use control::manual::{is_order_void, order_waits};
pub use facts::{ReplicaFacts, TicksWaiting};
pub use replica::{Alive, LoadedFile, Reload, Replica};
pub use tick::action::{Action, Bid, Finding};
pub use tick::claiming::Contest;
pub use tick::eligibility::Eligibility;
pub use tick::next_ticks::{Coming, NextTicks};
pub use tick::ticker::TickerError;
