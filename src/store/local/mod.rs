//! The embedded store: one SQLite file for the replicas of one machine, written by one thread per process.

mod access;
mod blocker;
mod feeds;
mod file;
mod heartbeats;
mod inspect;
mod records;
mod slips;
mod tables;
mod worker;

pub use records::LocalStore;
