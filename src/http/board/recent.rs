//! What the board knows of the feed `recent`: how far it was read, and what it told within the last hour. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::job::RunId;
use crate::news::NewsLine;
use crate::store::{FeedId, FeedLine};
use crate::time::{BootInstant, UtcMillis};
use crate::view::timeline::TimelineNews;

/// What is older is forgotten.
const HOUR: Duration = Duration::from_secs(3_600);

/// What is further ahead than this is no news: the store's clock was set back, or another program wrote it.
const AHEAD: Duration = Duration::from_secs(60);

/// No more of it is kept, the newest.
const MOST_KEPT: usize = 5_000;

/// No more processes are remembered, the newest: each start of a replica makes one.
const MOST_LIVES: usize = 1_024;

/// The time between two reads without a wake, where the store sends wakes and where it sends none: then a page learns of a
/// failure by these reads, and shows it a second later at most.
const READ_EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(500));

/// The time between two reads, however many wakes come: other programs may send them, too.
const BETWEEN_READS: Duration = Duration::from_millis(200);

/// The pause after a read that failed.
const RESTS: Duration = Duration::from_secs(5);

/// How far the feed was read. It is dropped when nobody looks any more.
#[derive(Debug)]
pub(super) struct FeedProgress {
    /// The process whose own lines are passed over: what it tells is heard at once.
    own: RunId,
    /// What happened before is nothing new to those who look.
    since: UtcMillis,
    /// The last line that was read.
    after: Option<FeedId>,
    /// Of each process, the number of its last line, and how many items it had lost.
    lives: BTreeMap<RunId, LifeProgress>,
    last_read: Option<BootInstant>,
    is_woken: bool,
    has_wakes: bool,
    rests_until: Option<BootInstant>,
}

/// How far the lines of a process were read.
#[derive(Debug, Clone, Copy, Default)]
struct LifeProgress {
    number: u64,
    lost: u64,
}

/// What a line of the feed holds for those who look.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineRead {
    /// Nothing that is not known already.
    Known,
    /// It cannot be read.
    Malformed,
    /// News, and how many items of the same process were lost since its line before.
    News(NewsLine, u64),
}

/// What other processes told within the last hour, as far as a timeline shows it.
#[derive(Debug, Default)]
pub(super) struct RecentNews {
    is_read: bool,
    /// In the order of time; nothing is there twice.
    told: Vec<TimelineNews>,
}

impl FeedProgress {
    /// Returns the progress before the first read, at this time by the store's clock.
    pub(super) fn of(own: RunId, since: UtcMillis) -> Self {
        Self {
            own,
            since,
            after: None,
            lives: BTreeMap::new(),
            last_read: None,
            is_woken: false,
            has_wakes: true,
            rests_until: None,
        }
    }

    /// Notes that something was appended.
    pub(super) fn wake(&mut self) {
        self.is_woken = true;
    }

    /// Notes that the store sends no wakes.
    pub(super) fn expect_no_wakes(&mut self) {
        self.has_wakes = false;
    }

    /// Notes that the store answers again, or may have lost the lines that were read: all are read again. Those that are
    /// known are passed over.
    pub(super) fn start_over(&mut self) {
        (self.after, self.rests_until) = (None, None);
    }

    /// Returns the line after which to read.
    pub(super) fn after(&self) -> Option<FeedId> {
        self.after
    }

    /// Returns when to read next.
    pub(super) fn due(&self) -> BootInstant {
        let every = match (self.is_woken, self.has_wakes) {
            (true, _) => BETWEEN_READS,
            (false, true) => READ_EVERY.0,
            (false, false) => READ_EVERY.1,
        };
        let due = self.last_read.map(|last| last.plus(every));
        due.max(self.rests_until).unwrap_or(BootInstant(Duration::ZERO))
    }

    /// Notes that a read begins.
    pub(super) fn begin(&mut self, now: BootInstant) {
        (self.last_read, self.is_woken) = (Some(now), false);
    }

    /// Notes whether the read failed.
    pub(super) fn end(&mut self, is_failed: bool, now: BootInstant) {
        self.rests_until = is_failed.then(|| now.plus(RESTS));
    }

    /// Takes in a line that was read.
    pub(super) fn take_in(&mut self, line: &FeedLine) -> LineRead {
        self.after = Some(line.id);
        let read = line.text.as_deref().and_then(NewsLine::parse);
        let Some(read) = read else { return LineRead::Malformed };
        let before = self.lives.get(&read.life).copied();
        let LifeProgress { number, lost } = before.unwrap_or_default();
        if read.life == self.own || read.number <= number {
            return LineRead::Known;
        }
        self.lives.insert(read.life, LifeProgress { number: read.number, lost: read.lost });
        if self.lives.len() > MOST_LIVES {
            self.lives.pop_first();
        }
        // What a process lost before its first line that was read is nothing new.
        let lost = before.map_or(0, |_| read.lost.saturating_sub(lost));
        LineRead::News(read, lost)
    }

    /// Whether something that happened at this time is new to those who look.
    pub(super) fn is_new(&self, at: UtcMillis) -> bool {
        at >= self.since
    }
}

impl RecentNews {
    /// Whether the feed was read since somebody looks.
    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Notes that the feed was read, or cannot be.
    pub(super) fn note_read(&mut self) {
        self.is_read = true;
    }

    /// Adds what a process told, unless it is there already, at this time by the store's clock.
    pub(super) fn add(&mut self, news: TimelineNews, now: UtcMillis) {
        let is_recent = |at: UtcMillis| now.since(at) <= HOUR && at.since(now) <= AHEAD;
        if !is_recent(news.at) {
            return;
        }
        let end = self.told.partition_point(|earlier| earlier.at <= news.at);
        let same_time = self.told.iter().take(end).rev().take_while(|earlier| earlier.at == news.at);
        if same_time.into_iter().any(|earlier| *earlier == news) {
            return;
        }
        self.told.insert(end, news);
        if self.told.len() > MOST_KEPT || self.told.first().is_some_and(|oldest| !is_recent(oldest.at)) {
            self.told.retain(|news| is_recent(news.at));
            self.told.drain(..self.told.len().saturating_sub(MOST_KEPT));
        }
    }

    /// Returns what was told within the hour before this time by the store's clock, and `own` news, in the order of time.
    pub(super) fn with(&self, own: impl Iterator<Item = TimelineNews>, now: UtcMillis) -> Vec<TimelineNews> {
        let mut all: Vec<TimelineNews> = self.told.iter().cloned().chain(own).collect();
        all.retain(|news| now.since(news.at) <= HOUR);
        all.sort_by_key(|news| news.at);
        all
    }
}

#[cfg(test)]
#[path = "recent_tests.rs"]
mod tests;
