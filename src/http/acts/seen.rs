//! What operators did lately, from the store's feed of acts. The feed is read only while a page shows a job or a problem, once
//! a second at most, and only its new lines.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

use crate::http::state::HttpState;
use crate::job::JobName;
use crate::operate::audit::ActNote;
use crate::store::{Feed, FeedId};
use crate::time::BootInstant;

/// The time between two reads of what is new.
const EVERY: Duration = Duration::from_secs(1);

/// The time between two reads of everything: a store that went back to an older state has other lines.
const WHOLE_EVERY: Duration = Duration::from_secs(60);

/// What operators did lately.
#[derive(Debug, Default)]
pub(crate) struct SeenActs {
    seen: Mutex<SeenNotes>,
    /// Whether an act was noted since the last read.
    is_old: AtomicBool,
}

/// The last acts on a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LastActs {
    /// Their notes, the newest first.
    pub(crate) notes: Vec<ActNote>,
    /// How many lines of the list of all acts cannot be read.
    pub(crate) unreadable: usize,
    /// Whether the list was read: before, nothing is known of it.
    pub(crate) is_read: bool,
}

/// The notes that were read.
#[derive(Debug, Default)]
struct SeenNotes {
    /// The newest that the feed keeps, oldest first.
    notes: VecDeque<ActNote>,
    /// How many lines among those that were read are no notes.
    unreadable: usize,
    /// The last line that was read.
    last: Option<FeedId>,
    read: Option<BootInstant>,
    read_whole: Option<BootInstant>,
}

impl SeenActs {
    /// Notes that there is a new act: it is read with the next look.
    pub(super) fn note_change(&self) {
        self.is_old.store(true, Ordering::Relaxed);
    }

    /// Returns at most `count` of the last acts on a job. While the store does not answer, those that were read before.
    pub(crate) async fn of_job(&self, shared: &HttpState, job: &JobName, count: usize) -> LastActs {
        let seen = self.read(shared).await;
        let notes = seen.notes.iter().rev().filter(|note| note.job == *job).take(count).cloned();
        LastActs { notes: notes.collect(), unreadable: seen.unreadable, is_read: seen.read_whole.is_some() }
    }

    /// Returns the last act that was done to each of these jobs, if one is known. One read serves all of them.
    pub(crate) async fn last_done(&self, shared: &HttpState, jobs: &[JobName]) -> Vec<ActNote> {
        let seen = self.read(shared).await;
        let of = |job: &JobName| seen.notes.iter().rfind(|note| note.job == *job && note.is_done()).cloned();
        jobs.iter().filter_map(of).collect()
    }

    /// Reads what is new, if the last read is a while ago.
    async fn read(&self, shared: &HttpState) -> MutexGuard<'_, SeenNotes> {
        let mut seen = self.seen.lock().await;
        let now = shared.clock.boot();
        let is_over = |last: Option<BootInstant>, every| last.is_none_or(|last| now.since(last) >= every);
        if self.is_old.swap(false, Ordering::Relaxed) || is_over(seen.read, EVERY) {
            if is_over(seen.read_whole, WHOLE_EVERY) {
                seen.last = None;
            }
            seen.read(shared, now).await;
        }
        seen
    }
}

impl SeenNotes {
    async fn read(&mut self, shared: &HttpState, now: BootInstant) {
        self.read = Some(now);
        if shared.facts.borrow().is_store_away {
            return;
        }
        let Some(store) = shared.board.turn().await else { return };
        // What cannot be read is read with the next look.
        let Ok(lines) = store.newest(Feed::Acts, self.last, Feed::Acts.kept()).await else { return };
        if self.last.is_none() {
            self.notes.clear();
            self.unreadable = 0;
            self.read_whole = Some(now);
        }
        self.last = lines.last().map(|line| line.id).or(self.last);
        for line in lines {
            match line.text.and_then(|text| ActNote::parse(&text).ok()) {
                Some(note) => self.notes.push_back(note),
                None => self.unreadable += 1,
            }
        }
        let surplus = self.notes.len().saturating_sub(Feed::Acts.kept());
        self.notes.drain(..surplus);
    }
}
