//! What is asked about a record, and what is answered.

pub(super) mod reply;
pub(super) mod request;
