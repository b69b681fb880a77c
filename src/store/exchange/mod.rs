//! What a store tells about many jobs at once. No decision depends on it.

mod glance;
mod standing;

pub use glance::{GLANCED_ENTRIES, JobGlance};
pub use standing::JobStanding;
pub(crate) use standing::STANDING_FIELDS;
