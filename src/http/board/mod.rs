//! What the HTTP side knows of all jobs, from its own reading of the store: no request reads the store itself.

pub(super) mod standings;
pub(super) mod sweep;
