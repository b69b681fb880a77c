//! Simulates whole clusters: the replica's own pure steps and the lease protocol, over a network, clocks and processes
//! that fail in every way within the promise. The same seed leads to exactly the same history.
//!
//! What waits and performs is replaced: `driver.rs`, `moves.rs`, `prepare.rs`, `errand.rs`, `heartbeat.rs`,
//! `holder.rs`, and the guard. What decides is the shipped code: `Contest`, `Proposal`, `Registration`, `Hold`,
//! `StoreClock`, `StoreHealth`, `Roster`, `NextTicks`, and everything in `lease`.

mod checks;
mod faults;
mod scenarios;
mod stand_ins;
mod sweep;
mod week;
mod world;
