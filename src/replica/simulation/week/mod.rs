//! A week of a cluster's life in seconds: jobs with every policy, three replicas and their store, outages of each and of
//! all, a machine that sleeps, clocks that are set, edits, pauses. Every tick of every job must stand in exactly one
//! record, and the record must say what happened.
//!
//! Where the simulation around it looks for what a network can do to safety in ten minutes, this looks for ticks that get
//! lost in days. So requests take no time here, and heartbeats that nothing happens between are taken in together. What
//! decides is the shipped code, as there: `Contest`, `Proposal`, `Hold`, `Memory`, `StoreHealth`, `Planner`, `Change`, and
//! everything in `lease`. The same seed leads to the same week.

mod account;
mod account_of_tick;
mod claiming;
mod course;
mod jobs;
mod life;
mod log;
mod store;
mod sweep;
mod troubles;
mod world;
