//! What waits to be appended to the feed, and when. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use crate::events::{EventWord, NewsItem};
use crate::job::RunId;
use crate::store::StoreError;
use crate::time::BootInstant;

use super::line::{ITEMS_BYTES, LineItem, line_text};

/// At most this many items wait, about 600 kB. The oldest usual one is lost first.
const MOST_WAITING: usize = 2_000;

/// The time between two lines with urgent items.
const BETWEEN_URGENT: Duration = Duration::from_secs(1);

/// The pauses after the store did not answer, and after it refused a line: its memory is full, or a right is missing.
const RETRIES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(10));

/// The news of this process that wait to be appended.
#[derive(Debug)]
pub(super) struct Outbox {
    life: RunId,
    /// The number of the next line.
    number: u64,
    /// How many items were lost since the process started.
    lost: u64,
    urgent: VecDeque<String>,
    usual: VecDeque<String>,
    /// The line that was sent last, until the store has taken it. It is sent again as it is.
    sent: Option<String>,
    /// When a line was last made, and when one with urgent items.
    made: Option<BootInstant>,
    made_urgent: Option<BootInstant>,
    /// The store did not take a line: nothing is sent before this.
    rests_until: Option<BootInstant>,
}

impl Outbox {
    /// Returns the empty outbox of this process.
    pub(super) fn new(life: RunId) -> Self {
        Self {
            life,
            number: 1,
            lost: 0,
            urgent: VecDeque::new(),
            usual: VecDeque::new(),
            sent: None,
            made: None,
            made_urgent: None,
            rests_until: None,
        }
    }

    /// Adds an item. Returns how many were lost for it.
    pub(super) fn put(&mut self, item: NewsItem) -> u64 {
        let is_urgent = item.is_urgent();
        if item.what() == EventWord::StoreReached {
            self.rests_until = None;
        }
        let text = LineItem { item, again: false }.text();
        self.push(text, is_urgent)
    }

    /// Adds items that were told before, to a store that has lost its data since. Returns how many were lost for them.
    pub(super) fn put_again(&mut self, items: Vec<NewsItem>) -> u64 {
        let texts = items.into_iter().map(|item| LineItem { item, again: true }.text());
        texts.map(|text| self.push(text, false)).sum()
    }

    /// Notes that so many items were lost on their way here.
    pub(super) fn note_lost(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }

    /// Returns when the next line is due; `None` while there is nothing to send. `every` is the time between two lines.
    pub(super) fn due(&self, every: Duration) -> Option<BootInstant> {
        let after = |last: Option<BootInstant>, pause| {
            last.map_or(BootInstant(Duration::ZERO), |last| last.plus(pause))
        };
        let rested = self.rests_until.unwrap_or(BootInstant(Duration::ZERO));
        let due = if self.sent.is_some() {
            rested
        } else if !self.urgent.is_empty() {
            after(self.made_urgent, BETWEEN_URGENT)
        } else if !self.usual.is_empty() {
            after(self.made, every)
        } else {
            return None;
        };
        Some(due.max(rested))
    }

    /// Returns the next line to send; `None` if there is nothing to send. What came of it is to be told by
    /// [`Outbox::settle`].
    pub(super) fn next_line(&mut self, now: BootInstant) -> Option<String> {
        if self.sent.is_none() {
            self.sent = self.make_line(now);
        }
        self.sent.clone()
    }

    /// Notes whether the store took the line that was sent.
    pub(super) fn settle(&mut self, result: Result<(), StoreError>, now: BootInstant) {
        match result {
            Ok(()) => {
                self.number += 1;
                (self.sent, self.rests_until) = (None, None);
            }
            Err(StoreError::Refused(_)) => self.rests_until = Some(now.plus(RETRIES.1)),
            Err(_) => self.rests_until = Some(now.plus(RETRIES.0)),
        }
    }

    /// Takes as many items as fit into a line, urgent ones first.
    fn make_line(&mut self, now: BootInstant) -> Option<String> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        let has_urgent = !self.urgent.is_empty();
        for waiting in [&mut self.urgent, &mut self.usual] {
            while let Some(text) = waiting.front()
                // The longest item fits into a line: its names are short, and its texts were cut.
                && (items.is_empty() || bytes + text.len() < ITEMS_BYTES)
            {
                bytes += text.len() + 1;
                items.extend(waiting.pop_front());
            }
        }
        if items.is_empty() {
            return None;
        }
        self.made = Some(now);
        if has_urgent {
            self.made_urgent = Some(now);
        }
        Some(line_text(self.life, self.number, self.lost, &items))
    }

    fn push(&mut self, text: String, is_urgent: bool) -> u64 {
        let is_full = self.urgent.len() + self.usual.len() >= MOST_WAITING;
        if is_full {
            let _ = self.usual.pop_front().or_else(|| self.urgent.pop_front());
        }
        let waiting = if is_urgent { &mut self.urgent } else { &mut self.usual };
        waiting.push_back(text);
        let lost = u64::from(is_full);
        self.note_lost(lost);
        lost
    }
}
