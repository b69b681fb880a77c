//! What this process told lately.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::events::NewsItem;
use crate::job::RunId;
use crate::view::timeline::TimelineNews;

/// What is older is forgotten.
const KEPT_FOR: Duration = Duration::from_secs(3_600);

/// No more items are kept, the newest: a store that comes and goes every few seconds makes some 500 an hour.
const MOST_KEPT: usize = 500;

/// What this process told within the last hour, as far as a timeline shows it.
#[derive(Debug, Default)]
pub struct OwnNews {
    life: RunId,
    /// Oldest first.
    told: Mutex<VecDeque<NewsItem>>,
}

impl OwnNews {
    /// Returns the id of this process in the feed.
    pub fn life(&self) -> RunId {
        self.life
    }

    /// Returns the items of the last hour, oldest first.
    pub fn recent(&self) -> Vec<NewsItem> {
        self.lock().iter().cloned().collect()
    }

    /// Keeps an item, if a timeline shows it.
    pub(super) fn note(&self, item: &NewsItem) {
        if TimelineNews::of(item).is_none() {
            return;
        }
        let mut told = self.lock();
        told.retain(|earlier| item.at().since(earlier.at()) <= KEPT_FOR);
        if told.len() >= MOST_KEPT {
            told.pop_front();
        }
        told.push_back(item.clone());
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<NewsItem>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use crate::events::Event;
    use crate::job::NodeName;
    use crate::time::UtcMillis;

    use super::*;

    fn note(own: &OwnNews, event: &Event, second: i64) {
        let node = NodeName::parse("n1").expect("a name");
        own.note(&NewsItem::of(event, &node, UtcMillis(second * 1_000)).expect("it is told"));
    }

    fn seconds(own: &OwnNews) -> Vec<i64> {
        own.recent().iter().map(|item| item.at().0 / 1_000).collect()
    }

    #[test]
    fn an_hour_of_what_a_timeline_shows_is_kept_and_no_more_than_a_bound() {
        let own = OwnNews::default();
        note(&own, &Event::ClockStepped, 0);
        note(&own, &Event::Stopped, 1);
        note(&own, &Event::ClockStepped, 3_600);
        assert_eq!(seconds(&own), [0, 3_600]);
        note(&own, &Event::ClockStepped, 3_601);
        assert_eq!(seconds(&own), [3_600, 3_601]);
        (0..MOST_KEPT).for_each(|_| note(&own, &Event::ClockStepped, 3_602));
        assert_eq!(seconds(&own), [3_602; MOST_KEPT]);
    }
}
