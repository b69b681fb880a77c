//! What a heartbeat finds in the cluster's keys that no replica wrote: a warning names it, and nothing else comes of it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::job::quoted;

/// Whoever writes such things all the time is told of once in so long.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Of many things as many are named in one line.
const NAMED: usize = 5;

/// What was found so far.
#[derive(Default)]
pub(crate) struct Foreign {
    told: Mutex<ToldThings>,
}

#[derive(Default)]
struct ToldThings {
    /// What was there the last time, and was told of.
    things: BTreeSet<(String, String)>,
    at: Option<Instant>,
}

impl ToldThings {
    /// Takes in the keys, each with a field or with none, that one heartbeat found; returns what is to be told now.
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
    /// Warns of what is new of this.
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
