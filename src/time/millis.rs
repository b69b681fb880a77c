//! Durations in whole milliseconds, as logs, heartbeats and JSON have them.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Returns the whole milliseconds of a duration.
pub(crate) fn millis(of: Duration) -> u64 {
    u64::try_from(of.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn serialize<S: Serializer>(of: &Duration, to: S) -> Result<S::Ok, S::Error> {
    millis(*of).serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}
