//! Decides each request: what the record becomes, and which answer the caller gets.

pub(super) mod claim;
pub(super) mod early;
pub(super) mod gaps;
mod grant_request;
pub(super) mod holder;
mod longest_lease;
pub(super) mod operator;
mod raise_mark;
mod reopen;
pub(super) mod rerun;
pub(super) mod transition;
