//! Cron on N identical replicas: each tick of each job runs on exactly one of them.
//!
//! The floors of the code, lowest first; a module names only modules on lower floors:
//! [`job`] and [`config`] (pure values), [`lease`] (the protocol, pure), [`clock`], [`store`], [`run`], `replica`, then
//! `cli`.

pub mod cli;
pub mod clock;
pub mod config;
#[cfg(feature = "test-switches")]
pub mod fuzz;
pub mod job;
pub mod lease;
pub mod replica;
pub mod run;
pub mod store;
pub mod trust;
