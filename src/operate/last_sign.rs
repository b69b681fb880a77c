//! The last heartbeat of a replica that holds a lock, as the store knows it.

use std::fmt;
use std::time::Duration;

use crate::job::NodeName;
use crate::store::{LIVE_FOR, Pulse};
use crate::view::text::time_format::span;

/// When a replica sent its last heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastSign {
    /// Lately: it is live.
    Live,
    /// So long ago.
    Silent(Duration),
    /// More than an hour ago, if ever.
    Forgotten,
}

impl LastSign {
    /// Returns the last heartbeat of this replica.
    pub(super) fn of(node: &NodeName, pulse: &Pulse) -> Self {
        let peer = pulse.peers.iter().find(|peer| peer.beat.node == *node);
        match peer.map(|peer| pulse.now.since(peer.at)) {
            Some(silent) if silent <= LIVE_FOR => Self::Live,
            Some(silent) => Self::Silent(silent),
            None => Self::Forgotten,
        }
    }

    /// Returns what to add where a replica should have stopped a run.
    pub(super) fn not_stopped_yet(self) -> &'static str {
        if self == Self::Live { ", but has not stopped it yet" } else { "" }
    }
}

impl fmt::Display for LastSign {
    /// Writes what the replica does: `has sent no heartbeat for 12s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live => f.write_str("is alive"),
            Self::Silent(silent) => write!(f, "has sent no heartbeat for {}", span(*silent)),
            Self::Forgotten => f.write_str("has sent no heartbeat within the last hour"),
        }
    }
}
