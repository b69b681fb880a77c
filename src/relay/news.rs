//! What an asker learns about the output of a run.

use crate::job::NodeName;

/// What an asker learns next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputNews {
    /// A piece of the output, or that there is nothing new.
    Piece(OutputPiece),
    /// The run has ended, and every piece was returned.
    Over,
    /// Its replica has no log of the run: it printed nothing, or only to the replica's own log, or the log was deleted.
    Absent,
    /// Its replica cannot read the log, for this reason.
    Unreadable(String),
    /// Its replica answers as many others as it may.
    Busy,
    /// Its replica does not answer: it is gone, hangs, or is of a release that cannot be asked.
    Silent,
}

/// A piece of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPiece {
    /// The number of bytes that the run printed before it.
    pub from: u64,
    /// How many bytes just before it were not kept.
    pub missing: u64,
    /// The piece. Empty if the run has printed nothing more so far.
    pub bytes: Vec<u8>,
    /// How many bytes the run has printed.
    pub size: u64,
}

impl OutputPiece {
    /// Whether the run had printed nothing after this piece when it was read.
    pub fn is_newest(&self) -> bool {
        self.from.saturating_add(self.bytes.len() as u64) >= self.size
    }
}

impl OutputNews {
    /// Returns for people why the output of a run on this replica cannot be read; `None` if it can be.
    pub fn complaint(&self, node: &NodeName) -> Option<String> {
        match self {
            Self::Piece(_) | Self::Over | Self::Absent => None,
            Self::Unreadable(why) => Some(format!("{node} cannot read the log: {why}")),
            Self::Busy => Some(format!("{node} is asked for output by too many at once")),
            Self::Silent => Some(format!("{node} does not answer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_is_a_complaint() {
        let node = NodeName::parse("n2").expect("a name");
        for (news, complaint) in [
            (OutputNews::Over, None),
            (OutputNews::Absent, None),
            (OutputNews::Silent, Some("n2 does not answer")),
            (OutputNews::Busy, Some("n2 is asked for output by too many at once")),
            (
                OutputNews::Unreadable("the disk does not answer".into()),
                Some("n2 cannot read the log: the disk does not answer"),
            ),
        ] {
            assert_eq!(news.complaint(&node).as_deref(), complaint);
        }
    }

    #[test]
    fn a_piece_is_the_newest_if_nothing_was_printed_after_it() {
        let piece = |from, size| OutputPiece { from, missing: 0, bytes: b"one\n".to_vec(), size };
        assert!(piece(0, 4).is_newest() && !piece(0, 5).is_newest());
        assert!(piece(u64::MAX, 4).is_newest());
    }
}
