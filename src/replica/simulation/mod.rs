//! A simulation of whole clusters: the replica's own pure steps and the lease protocol, over a network, clocks and
//! processes that fail in every way within the promise. The same seed leads to the same history, to the letter.
//!
//! What is replaced is what performs: `driver.rs`, `moves.rs`, `planning.rs`, `errand.rs`, `heartbeat.rs`, `keeper.rs`,
//! and the guard. What decides is the shipped code: `Contest`, `Proposal`, `Opening`, `Hold`, `Memory`, `Watch`,
//! `Roster`, `Agenda`, and everything in `lease`.

mod clock;
mod diary;
mod dice;
mod due;
mod errand;
mod fault;
mod faults;
mod guest;
mod hints;
mod judge;
mod keep;
mod letter;
mod line;
mod long_lease;
mod losses;
mod moves;
mod network;
mod node;
mod once_broken;
mod operator;
mod past;
mod process;
mod scenario;
mod seat;
mod server;
mod situations;
mod sweep;
#[cfg(feature = "test-switches")]
mod switched_off;
mod tally;
mod unkillable;
mod week;
mod witness;
mod world;
mod wrong_clocks;
