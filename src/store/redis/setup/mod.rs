//! How a Redis server is set up, and which of its settings put the promise at risk.

pub(super) mod foreign;
pub(super) mod inspect;
mod judge;
mod rights;
mod settings;
