//! Feeds: capped lists of lines that replicas and operators append to. A store that lost its data has empty feeds.

use std::fmt;
use std::str::FromStr;

use crate::store::StoreError;

/// No line of a feed has more bytes.
pub const LONGEST_LINE: usize = 8 << 10;

/// A feed of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feed {
    /// What happened on the replicas within about the last hour.
    Recent,
    /// What operators did.
    Acts,
}

impl Feed {
    /// The feeds.
    pub(crate) const ALL: [Self; 2] = [Self::Recent, Self::Acts];

    /// Returns the feed's name in keys, tables and wakes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recent => "recent",
            Self::Acts => "acts",
        }
    }

    /// Returns how many lines the store keeps, the newest. The replicas of a cluster append about one line a second together:
    /// 4,000 cover an hour.
    pub const fn kept(self) -> usize {
        match self {
            Self::Recent => 4_000,
            Self::Acts => 1_000,
        }
    }

    /// Fails if the text is too long for a line.
    pub(crate) fn check(self, text: &str) -> Result<(), StoreError> {
        if text.len() <= LONGEST_LINE {
            return Ok(());
        }
        let (feed, bytes) = (self.as_str(), text.len());
        let sentence =
            format!("feed `{feed}`: a line of {bytes} bytes is too long, the most is {LONGEST_LINE}");
        Err(StoreError::Refused(sentence.into()))
    }
}

/// The id of a line. Of two lines of one feed, the one that was appended later has the larger id. Written `1700000000000-0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedId {
    /// The number that counts first.
    pub(crate) first: u64,
    /// The number that counts between two ids with the same first one.
    pub(crate) second: u64,
}

impl fmt::Display for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.second)
    }
}

impl FromStr for FeedId {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |digits: &str| {
            let is_plain = digits.bytes().all(|digit| digit.is_ascii_digit());
            digits.parse().ok().filter(|_| is_plain).ok_or(())
        };
        let (first, second) = text.split_once('-').ok_or(())?;
        Ok(Self { first: number(first)?, second: number(second)? })
    }
}

/// A line of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedLine {
    /// Its id.
    pub id: FeedId,
    /// The text that was appended; `None` for an entry that another program put there.
    pub text: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written_and_nothing_else_is_an_id() {
        for id in [FeedId { first: 0, second: 0 }, FeedId { first: u64::MAX, second: u64::MAX }] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in ["", "-", "1", "1-", "-1", "+1-1", "1-+1", "1-1-1", "1 -1", "18446744073709551616-0"] {
            assert_eq!(text.parse::<FeedId>(), Err(()), "{text:?}");
        }
        assert!("2-0".parse::<FeedId>() > "1-9".parse());
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_with_its_size() {
        assert_eq!(Feed::Acts.check(&"x".repeat(LONGEST_LINE)), Ok(()));
        let refused = Feed::Acts.check(&"x".repeat(LONGEST_LINE + 1)).expect_err("it is too long");
        assert_eq!(refused.to_string(), "feed `acts`: a line of 8193 bytes is too long, the most is 8192");
    }
}
