//! Limits how many claims of a replica are under way, and queues the jobs above that. A claim is built when its turn
//! has come, so that the time in it is true when it is sent, however many wait. Pure.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

use crate::job::JobName;
use crate::lease::Protection;
use crate::replica::core::Core;
use crate::time::UtcMillis;

/// At most this many claims are under way: over a slow line, so many are decided in each round trip.
pub(crate) const CLAIMS_UNDER_WAY: usize = 512;

/// The claims of one replica: how many are under way, and which jobs wait for their turn.
#[derive(Debug)]
pub(crate) struct Window<J> {
    limit: usize,
    under_way: usize,
    /// Each job waits once, first come, first served: none is passed over again and again.
    waiting: VecDeque<J>,
    queued: HashSet<J>,
}

impl Core {
    /// Checks whether a tick of the job is due by `now`, and acts on it, now or when the job's turn has come.
    pub(crate) fn look_at(&mut self, job: &JobName, now: UtcMillis) {
        if self.window.admits(job) {
            self.look(job, now);
        }
    }
}

impl<J: Clone + Eq + Hash> Window<J> {
    /// Returns a window for `limit` claims at a time.
    pub(crate) fn of(limit: usize) -> Self {
        Self { limit, under_way: 0, waiting: VecDeque::new(), queued: HashSet::new() }
    }

    /// Whether the job may be claimed now. If not, it is queued behind those that wait already.
    pub(crate) fn admits(&mut self, job: &J) -> bool {
        let is_open = self.under_way < self.limit && self.waiting.is_empty();
        if is_open || !Protection::FreshClaims.is_on() {
            return true;
        }
        if self.queued.insert(job.clone()) {
            self.waiting.push_back(job.clone());
        }
        false
    }

    /// Takes the job whose turn has come out of the queue.
    pub(crate) fn next(&mut self) -> Option<J> {
        if self.under_way >= self.limit {
            return None;
        }
        let job = self.waiting.pop_front()?;
        self.queued.remove(&job);
        Some(job)
    }

    /// Counts a claim that is sent.
    pub(crate) fn begin(&mut self) {
        self.under_way += 1;
    }

    /// Counts a claim that was answered or has failed.
    pub(crate) fn end(&mut self) {
        self.under_way -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of two, both under way.
    fn full() -> Window<&'static str> {
        let mut window = Window::of(2);
        for job in ["a", "b"] {
            assert!(window.admits(&job));
            window.begin();
        }
        window
    }

    #[test]
    fn what_finds_no_place_waits_for_an_answer() {
        let mut window = full();
        assert!(!window.admits(&"c"));
        assert_eq!(window.next(), None);
        window.end();
        assert_eq!(window.next(), Some("c"));
        assert_eq!(window.next(), None);
        assert!(window.admits(&"d"), "nobody waits any more");
    }

    #[test]
    fn each_waits_once_and_has_its_turn_before_those_that_came_later() {
        let mut window = full();
        for job in ["c", "d", "c"] {
            assert!(!window.admits(&job));
        }
        window.end();
        assert!(!window.admits(&"a"), "who was answered does not go before those who wait");
        let mut turns = Vec::new();
        while let Some(job) = window.next() {
            turns.push(job);
            window.begin();
            window.end();
        }
        assert_eq!(turns, ["c", "d", "a"]);
    }
}
