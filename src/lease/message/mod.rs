//! Requests about a record, and their answers.

pub(super) mod reply;
pub(super) mod request;
