//! Slips: short-lived places in the store where replicas and commands leave texts for each other. A slip is emptied by the
//! one that it is for, and is gone after its ttl.

use std::fmt;
use std::time::Duration;

use crate::job::{NodeName, RunId};
use crate::store::StoreError;

/// A slip never holds more bytes of text.
pub const SLIP_BYTES: usize = 64 << 10;

/// A slip never holds more texts.
pub const SLIP_TEXTS: usize = 256;

/// No slip lasts longer than this after the last text was left in it.
pub const LONGEST_TTL: Duration = Duration::from_secs(60);

/// A slip of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Slip {
    /// Questions to a replica.
    Ask(NodeName),
    /// Answers to whoever asked under this id.
    Tell(RunId),
}

impl fmt::Display for Slip {
    /// Writes the slip's name, as keys and tables have it: `ask:NODE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask(node) => write!(f, "ask:{node}"),
            Self::Tell(id) => write!(f, "tell:{id}"),
        }
    }
}

/// What a slip holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlipLoad {
    /// The bytes of its texts.
    pub(crate) bytes: usize,
    /// How many texts.
    pub(crate) texts: usize,
}

impl SlipLoad {
    /// Whether a text of this many bytes still fits.
    pub(crate) fn takes(self, bytes: usize) -> bool {
        self.texts < SLIP_TEXTS && self.bytes.saturating_add(bytes) <= SLIP_BYTES
    }
}

impl Slip {
    /// Fails if the text does not even fit into the empty slip.
    pub(crate) fn check(&self, text: &str) -> Result<(), StoreError> {
        if text.len() <= SLIP_BYTES {
            return Ok(());
        }
        let sentence =
            format!("slip `{self}`: a text of {} bytes is too long, the most is {SLIP_BYTES}", text.len());
        Err(StoreError::Refused(sentence.into()))
    }

    /// Returns the error about a text for which there is no room.
    pub(crate) fn full(&self, held: SlipLoad, text: &str) -> StoreError {
        let (SlipLoad { bytes, texts }, more) = (held, text.len());
        let sentence = format!(
            "slip `{self}` is full: it holds {bytes} bytes in {texts} texts, and takes {SLIP_BYTES} in {SLIP_TEXTS} at most, \
             so that {more} bytes more do not fit until it is collected or its ttl is over"
        );
        StoreError::Refused(sentence.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slip() -> Slip {
        Slip::Ask(NodeName::parse("n1").expect("a name"))
    }

    #[test]
    fn a_slip_takes_texts_up_to_its_bytes_and_its_number() {
        for (bytes, texts, more, is_taken) in [
            (0, 0, SLIP_BYTES, true),
            (0, 0, SLIP_BYTES + 1, false),
            (SLIP_BYTES - 1, 1, 1, true),
            (SLIP_BYTES, 1, 0, true),
            (SLIP_BYTES, 1, 1, false),
            (0, SLIP_TEXTS - 1, 0, true),
            (0, SLIP_TEXTS, 0, false),
            (1, 1, usize::MAX, false),
        ] {
            assert_eq!(SlipLoad { bytes, texts }.takes(more), is_taken, "{bytes} {texts} {more}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said_with_the_slip_and_its_sizes() {
        let too_long = slip().check(&"x".repeat(SLIP_BYTES + 1)).expect_err("it is too long").to_string();
        assert_eq!(too_long, "slip `ask:n1`: a text of 65537 bytes is too long, the most is 65536");
        let full = slip().full(SlipLoad { bytes: 65_000, texts: 3 }, &"x".repeat(600)).to_string();
        assert!(full.starts_with("slip `ask:n1` is full: it holds 65000 bytes in 3 texts"), "{full}");
        assert!(full.contains("600 bytes more do not fit"), "{full}");
    }
}
