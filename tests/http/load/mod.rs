//! What clients can do to a replica: nothing but keep its HTTP thread busy.

mod clients;
mod drain;
mod flood;
mod limits;
mod requests;
mod size;
mod thread;
