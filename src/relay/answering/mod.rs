//! The side of a replica: it takes questions, and answers some of them at a time.

mod budget;
mod rates;
mod responder;
mod session;

pub use responder::OutputResponder;
