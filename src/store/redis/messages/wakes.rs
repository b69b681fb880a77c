//! Wakes as they are published: one in each message.

use crate::store::Wake;

use super::subscription::{ChannelLimits, Published};

impl Published for Wake {
    /// The longest wake has 69 bytes, and the replicas of a cluster publish some tens a second. Whoever waits looks without
    /// wakes as well, so that it does not matter which ones are dropped.
    const LIMITS: ChannelLimits =
        ChannelLimits { waiting: 1_024, longest: 128, per_second: 64 << 10, untaken: 1 << 20 };

    const UNHEARD: &'static str =
        "wakes of other replicas are not received: what they leave in the store is looked for every second";

    fn parse(message: &[u8]) -> impl Iterator<Item = Self> {
        std::str::from_utf8(message).ok().and_then(|text| text.parse().ok()).into_iter()
    }
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(crate) fn try_reading(message: &[u8]) {
    for wake in Wake::parse(message) {
        assert_eq!(wake.to_string().parse(), Ok(wake));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wake_is_short_enough_and_what_is_no_text_is_none() {
        let longest = format!("ask {}", "n".repeat(64));
        assert!(longest.len() <= Wake::LIMITS.longest && Wake::parse(longest.as_bytes()).count() == 1);
        for message in [&b""[..], b"\xff", b"ask \xff", b"recent\0"] {
            assert_eq!(Wake::parse(message).count(), 0, "{message:?}");
        }
    }
}
