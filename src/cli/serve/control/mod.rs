//! How `reload` and `drain` reach the replica on this machine: a socket in its state folder.

mod client;
pub(in crate::cli) mod drain;
pub(in crate::cli) mod reload;
pub(super) mod socket;
