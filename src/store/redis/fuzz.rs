//! Entry points for fuzzers: parse what a server sends.

use super::messages::{feeds, heartbeats, hints, slips, wakes};
use super::{overview, reply};

/// Parses an answer as it arrives, from a script or any other command.
pub fn answer(bytes: &[u8]) {
    if let Ok(value) = redis::parse_redis_value(bytes) {
        // Each is parsed or refused.
        let _ = reply::read(value.clone());
        feeds::try_reading(value.clone());
        slips::try_reading(value.clone());
        overview::try_reading(&value);
        heartbeats::try_reading(value);
    }
}

/// Parses a message on the channel of hints, and on that of wakes.
pub fn hint(bytes: &[u8]) {
    hints::try_reading(bytes);
    wakes::try_reading(bytes);
}
