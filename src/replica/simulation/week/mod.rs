//! Simulates a week of a cluster in seconds: jobs with every policy, three replicas and their store, outages of each
//! and of all, a machine that sleeps, clocks that are set, edits, pauses. Every tick of every job must have exactly one
//! entry, and the entry must say what happened.
//!
//! The simulation around it searches ten minutes for what a network can do to safety; this one searches days for ticks
//! that get lost. So requests take no time here, and heartbeats between which nothing happens are processed together.
//! What decides is the shipped code, as there: `Contest`, `Proposal`, `Hold`, `StoreClock`, `StoreHealth`, `NextTicks`,
//! `Change`, and everything in `lease`. The same seed leads to the same week.

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
