//! What a server sends, for programs that try inputs.

use crate::store::redis::heartbeats;

use super::{hints, reply};

/// An answer as it comes over the line: of a script, or of anybody.
pub fn answer(bytes: &[u8]) {
    if let Ok(value) = redis::parse_redis_value(bytes) {
        // Each is read, or refused.
        let _ = reply::read(value.clone());
        heartbeats::try_reading(value);
    }
}

/// A message on the channel of hints.
pub fn hint(bytes: &[u8]) {
    hints::try_reading(bytes);
}
