//! Passing time where time itself is what is tested: how long a network holds a message, or a fault lasts.

use std::sync::mpsc;
use std::time::Duration;

/// Lets this much time pass.
pub(crate) fn pause(limit: Duration) {
    if limit > Duration::ZERO {
        let (_open, never) = mpsc::channel::<()>();
        // It can only time out.
        let _ = never.recv_timeout(limit);
    }
}
