//! Instants as numbers.

use crate::time::UtcMillis;

/// Returns the seconds since the Unix epoch.
pub(crate) fn seconds(at: UtcMillis) -> f64 {
    at.0 as f64 / 1_000.0
}
