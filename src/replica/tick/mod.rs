//! Takes a tick up to its lock: planned, announced, due, claimed by an eligible replica.

pub(crate) mod action;
mod backoff;
pub(super) mod claim_window;
pub(crate) mod claiming;
pub(super) mod eligibility;
mod hints;
pub(super) mod late_claims;
pub(super) mod next_ticks;
mod prepare;
mod request;
pub(super) mod ticker;
