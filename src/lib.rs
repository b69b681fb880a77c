//! Cron on N identical replicas: each tick of each job runs on exactly one of them.
//!
//! The floors of the code, lowest first; a module names only modules on lower floors: [`time`], [`job`] and [`config`] (pure values),
//! [`lease`] (the protocol, pure), [`store`], [`run`] (one attempt), [`events`], [`hold`] (one lock), `exec`, [`replica`],
//! [`view`] (what operators see, as values), [`metrics`] (what programs see), [`operate`] (what operators do), [`relay`] (output
//! of runs elsewhere), [`news`] (what happened elsewhere), [`http`], [`cli`].

pub mod cli;
pub mod config;
pub mod events;
mod exec;
#[cfg(feature = "test-switches")]
pub mod fuzz;
pub mod hold;
pub mod http;
pub mod job;
pub mod lease;
pub mod metrics;
pub mod news;
pub mod operate;
pub mod relay;
pub mod replica;
pub mod run;
pub mod store;
pub mod time;
pub mod view;
