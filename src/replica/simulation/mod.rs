//! Simulates whole clusters: the shipped core of each replica, its holders and the lease protocol, over a network,
//! clocks, processes and disks that fail in every way within the promise. The same seed leads to exactly the same
//! history.
//!
//! What decides is the shipped code: [`Core`](super::core::Core), `LockHolder`, `Asking` of `exec`, and everything in
//! `lease`. `stand_ins` performs what they decide, in place of the runtimes, and `world` has the store, the network,
//! the clocks, and the guards with their processes.

mod checks;
mod faults;
mod scenarios;
mod stand_ins;
mod sweep;
mod world;
