//! Logs data in the cluster's keys that no replica wrote, as heartbeats find it. Such data is ignored, and the heartbeat
//! removes it if it cannot be read.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::job::quoted;

/// At most one warning in this time, even if a program writes such data all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// At most this many items are named in one line.
const NAMED: usize = 5;

/// The foreign data found so far.
#[derive(Default)]
pub(crate) struct Foreign {
    told: Mutex<ToldThings>,
}

#[derive(Default)]
struct ToldThings {
    /// The data that was logged, as far as the last heartbeat found it still.
    things: BTreeSet<(String, String)>,
    at: Option<Instant>,
}

impl ToldThings {
    /// Adds the keys, each with a field or with an empty one, that one heartbeat found. Returns what is to be logged now.
    fn news_of(&mut self, found: BTreeSet<(String, String)>, now: Instant) -> Vec<(String, String)> {
        let news: Vec<_> = found.difference(&self.things).cloned().collect();
        self.things.retain(|thing| found.contains(thing));
        if news.is_empty() || self.at.is_some_and(|at| now - at < AGAIN_AFTER) {
            return Vec::new();
        }
        self.at = Some(now);
        self.things = found;
        news
    }
}

impl Foreign {
    /// Logs what is new in `found`.
    pub(crate) fn found(&self, store: &str, found: BTreeSet<(String, String)>) {
        let mut told = self.told.lock().expect("nothing panics while it is held");
        let news = told.news_of(found, Instant::now());
        if !news.is_empty() {
            let what = worded(&news);
            warn!(
                store,
                what, "store contains foreign data: it is ignored, and removed if it cannot be read"
            );
        }
    }
}

/// `KEY field FIELD, KEY is of another type and 3 more`
fn worded(things: &[(String, String)]) -> String {
    let word = |(key, field): &(String, String)| match field.as_str() {
        "" => format!("{key} is of another type"),
        field => format!("{key} field {}", quoted(field)),
    };
    let words: Vec<String> = things.iter().take(NAMED).map(word).collect();
    match things.len() - words.len() {
        0 => words.join(", "),
        more => format!("{} and {more} more", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn things(fields: &[&str]) -> BTreeSet<(String, String)> {
        fields.iter().map(|field| ("nodes".to_owned(), (*field).to_owned())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn each_thing_is_told_of_once_and_at_most_once_a_minute() {
        let mut told = ToldThings::default();
        let mut news_of = async |fields: &[&str], seconds| {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            told.news_of(things(fields), Instant::now()).len()
        };
        assert_eq!(news_of(&["a", "b"], 0).await, 2);
        assert_eq!(news_of(&["a", "b"], 90).await, 0, "both are there still");
        assert_eq!(news_of(&["a", "c"], 1).await, 1);
        assert_eq!(news_of(&["a", "c", "d"], 1).await, 0, "it is too soon");
        assert_eq!(news_of(&["d"], 60).await, 1);
        assert_eq!(news_of(&[], 60).await, 0);
        assert_eq!(news_of(&["d"], 1).await, 1, "it is there again");
    }

    #[test]
    fn fields_are_named_with_their_keys_and_escaped() {
        let fields: BTreeSet<_> = things(&["", "1\u{1b}", "2", "3", "4", "5", "6"]);
        let said = worded(&fields.into_iter().collect::<Vec<_>>());
        assert_eq!(
            said,
            "nodes is of another type, nodes field 1\\u{1b}, nodes field 2, nodes field 3, nodes field 4 and 2 more"
        );
    }
}
