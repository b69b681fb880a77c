//! Wakes: messages to all replicas that there is something to read. They carry nothing else.

use std::fmt;
use std::str::FromStr;

use crate::job::NodeName;

use super::{Feed, Slip};

/// A message that something was left in a slip or appended to a feed. A wake may be lost, and other programs than the store
/// may be able to send one: whoever receives it reads the slip or the feed, and whoever waits looks now and then without it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Wake {
    /// A text was left in this slip.
    Slip(Slip),
    /// A line was appended to this feed.
    Feed(Feed),
}

impl fmt::Display for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slip(Slip::Ask(node)) => write!(f, "ask {node}"),
            Self::Slip(Slip::Tell(id)) => write!(f, "tell {id}"),
            Self::Feed(feed) => f.write_str(feed.as_str()),
        }
    }
}

impl FromStr for Wake {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(' ') {
            Some(("ask", node)) => {
                NodeName::parse(node).map(|node| Self::Slip(Slip::Ask(node))).map_err(drop)
            }
            Some(("tell", id)) => id.parse().map(|id| Self::Slip(Slip::Tell(id))).map_err(drop),
            Some(_) => Err(()),
            None => Feed::ALL.into_iter().find(|feed| feed.as_str() == text).map(Self::Feed).ok_or(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::job::RunId;

    use super::*;

    #[test]
    fn wakes_are_read_as_they_are_written() {
        let node = NodeName::parse(&"n".repeat(64)).expect("a name");
        let slips = [Slip::Ask(node), Slip::Tell(RunId::new())].map(Wake::Slip);
        for wake in slips.into_iter().chain(Feed::ALL.map(Wake::Feed)) {
            assert_eq!(wake.to_string().parse(), Ok(wake));
        }
    }

    #[test]
    fn what_is_no_wake_is_refused() {
        for text in
            ["", "ask", "ask ", "ask n 1", "ask ../x", "tell n1", "recent 1", "Recent", "acts\n", "n1"]
        {
            assert_eq!(text.parse::<Wake>(), Err(()), "{text:?}");
        }
    }
}
