//! The lease protocol, rule by rule as the design numbers them, and by random histories of honest replicas. What is
//! expected is derived from the design, for stores that forget and for those that do not.

mod ahead;
mod asks;
mod book;
mod claim_after_loss;
mod claim_refused;
mod claim_when_held;
mod clock_steps;
#[cfg(feature = "test-switches")]
mod exchange;
mod folded;
mod grant;
mod heard_ahead;
mod histories;
mod hold;
mod hold_after_loss;
mod honest;
mod kill;
mod longest;
mod lost_tick;
mod manual;
mod open;
mod pausing;
mod promises;
mod rerun;
#[path = "../support/sample.rs"]
mod sample;
mod settled;
mod successes;
mod trigger;
mod unfit;
mod unlock;
mod untold;
