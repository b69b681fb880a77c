//! A line of the feed `recent`: some news of one process.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::NewsItem;
use crate::job::RunId;
use crate::store::LONGEST_LINE;

/// What a line takes besides its items: its names, an id and two numbers.
const FRAME: usize = 128;

/// The items of a line have no more bytes together, with a comma after each.
pub(super) const ITEMS_BYTES: usize = LONGEST_LINE - FRAME;

/// A line, as far as this release can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewsLine {
    /// The process that appended it.
    pub life: RunId,
    /// Its number among the lines of that process, from 1. A line may be there twice, if the process does not know whether
    /// the store took it.
    pub number: u64,
    /// How many items that process has lost since it started: there were too many of them.
    pub lost: u64,
    /// Its items, not always in the order in which they happened.
    pub items: Vec<LineItem>,
}

/// An item of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineItem {
    /// What happened.
    #[serde(flatten)]
    pub item: NewsItem,
    /// Whether it was told before, to a store that has lost its data since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// A line of any release.
#[derive(Deserialize)]
struct AnyLine {
    life: RunId,
    line: u64,
    #[serde(default)]
    lost: u64,
    news: Vec<Value>,
}

impl NewsLine {
    /// Parses a line; `None` if it is no line of this feed. Items that only a newer release can read are left out.
    pub fn parse(text: &str) -> Option<Self> {
        let AnyLine { life, line: number, lost, news } = serde_json::from_str(text).ok()?;
        let items = news.into_iter().filter_map(|item| LineItem::deserialize(item).ok());
        // No replica of any release tells more than that, but other programs may write to the store.
        let items = items.map(|LineItem { item, again }| LineItem { item: item.for_others(), again });
        Some(Self { life, number, lost, items: items.collect() })
    }
}

impl LineItem {
    /// Returns the item as an object of JSON, without what other replicas do not get.
    pub(super) fn text(self) -> String {
        let Self { item, again } = self;
        let item = Self { item: item.for_others(), again };
        serde_json::to_string(&item).expect("an item has string keys and no failing values")
    }
}

/// Returns the text of a line with these items, which have no more than [`ITEMS_BYTES`] together.
pub(super) fn line_text(life: RunId, number: u64, lost: u64, items: &[String]) -> String {
    let items = items.join(",");
    format!(r#"{{"life":"{life}","line":{number},"lost":{lost},"news":[{items}]}}"#)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::events::{Event, EventWord};
    use crate::job::NodeName;
    use crate::time::UtcMillis;

    use super::*;

    fn item(at: i64) -> NewsItem {
        let node = NodeName::parse("n1").expect("a name");
        NewsItem::of(&Event::ClockStepped, &node, UtcMillis(at)).expect("it is told")
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let items = [(1, false), (2, true)].map(|(at, again)| LineItem { item: item(at), again });
        let line = NewsLine { life: RunId::new(), number: 7, lost: 3, items: items.to_vec() };
        let texts = items.map(LineItem::text);
        let text = line_text(line.life, line.number, line.lost, &texts);
        assert_eq!(NewsLine::parse(&text), Some(line));
    }

    #[test]
    fn the_frame_of_a_line_is_never_longer_than_reckoned() {
        assert!(line_text(RunId::new(), u64::MAX, u64::MAX, &[]).len() <= FRAME);
    }

    #[test]
    fn what_a_newer_release_tells_is_left_out_and_the_rest_of_its_line_is_read() {
        let (life, known) = (RunId::new(), LineItem { item: item(1), again: false }.text());
        let newer = r#"{"at_ms":1,"node":"n2","what":"run_teleported","to":"mars"}"#;
        let text = format!(r#"{{"life":"{life}","line":1,"zone":"x","news":[{newer},{known},7]}}"#);
        let line = NewsLine::parse(&text).expect("a line");
        let words: Vec<EventWord> = line.items.iter().map(|read| read.item.what()).collect();
        assert_eq!((words, line.lost), (vec![EventWord::ClockStepped], 0));
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let life = RunId::new();
        for text in [
            String::new(),
            "[]".to_owned(),
            "{}".to_owned(),
            format!(r#"{{"life":"{life}","line":-1,"news":[]}}"#),
            format!(r#"{{"life":"{life}","line":1,"news":7}}"#),
            r#"{"life":"n1","line":1,"news":[]}"#.to_owned(),
            format!(r#"{{"life":"{life}","line":1,"news":["#),
        ] {
            assert_eq!(NewsLine::parse(&text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_be_read(text in ".{0,200}") {
            let line = format!(r#"{{"life":"{}","line":1,"news":[{text}]}}"#, RunId::new());
            let _ = (NewsLine::parse(&text), NewsLine::parse(&line));
        }
    }
}
