//! Guards that are ready before their runs, from the replica's side: how many are wanted, and for how long.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;

use nix::sys::resource::{Resource, getrlimit};

use crate::time::BootInstant;

/// The most guards that are ready, however many runs come at once: each takes some 150 KiB, with the process below
/// it.
const MOST: usize = 512;

/// At most one guard is ready per this many files that the replica may have open: a run takes six.
const FILES_PER_READY_GUARD: u64 = 16;

/// At most one guard is ready per this many processes that the user may have: each guard is two of them, and commands
/// make their own.
const PROCESSES_PER_READY_GUARD: u64 = 8;

/// Guards that are ready: each waits for a request.
#[derive(Debug, Default)]
pub(super) struct GuardPool {
    /// The sockets to the guards, the one that has waited longest first.
    lines: VecDeque<UnixStream>,
    /// How many runs are likely to begin, and until when, in the order in which they were reserved.
    reservations: VecDeque<(BootInstant, usize)>,
}

impl GuardPool {
    /// Reserves guards for `runs` more runs that are likely to begin before `until`. Returns how many guards have to
    /// be made for all reservations.
    pub(super) fn reserve(&mut self, runs: usize, until: BootInstant, now: BootInstant) -> usize {
        self.reservations.push_back((until, runs));
        self.wanted(now).saturating_sub(self.lines.len())
    }

    /// Adds a guard that was made.
    pub(super) fn put(&mut self, socket: UnixStream) {
        self.lines.push_back(socket);
    }

    /// Takes a guard for a run that begins, if one is ready, and removes the run from the reservations.
    pub(super) fn take(&mut self) -> Option<UnixStream> {
        if let Some((_, runs)) = self.reservations.iter_mut().find(|(_, runs)| *runs > 0) {
            *runs -= 1;
        }
        self.lines.pop_front()
    }

    /// Returns how many guards are ready.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether no guard is ready.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Releases the guards that no reservation needs any more. This closes their sockets, which ends them.
    pub(super) fn release(&mut self, now: BootInstant) {
        let wanted = self.wanted(now);
        // The oldest first: of these, the most may have ended by themselves.
        self.lines.drain(..self.lines.len().saturating_sub(wanted));
    }

    fn wanted(&mut self, now: BootInstant) -> usize {
        self.reservations.retain(|(until, runs)| *until > now && *runs > 0);
        self.reservations.iter().map(|(_, runs)| runs).sum::<usize>().min(most())
    }
}

/// Returns how many guards may be ready.
fn most() -> usize {
    let allowed = |resource| getrlimit(resource).map_or(0, |(soft, _)| soft);
    let files = allowed(Resource::RLIMIT_NOFILE) / FILES_PER_READY_GUARD;
    let processes = allowed(Resource::RLIMIT_NPROC) / PROCESSES_PER_READY_GUARD;
    usize::try_from(files.min(processes)).unwrap_or(MOST).min(MOST)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: BootInstant = BootInstant(Duration::from_secs(100));

    fn put(pool: &mut GuardPool, count: usize) {
        (0..count).for_each(|_| pool.put(UnixStream::pair().expect("a socket").0));
    }

    #[test]
    fn as_many_are_made_as_runs_are_to_come_and_none_waits() {
        let (now, mut pool) = (NOW, GuardPool::default());
        let soon = now.plus(Duration::from_secs(2));
        assert_eq!(pool.reserve(3, soon, now), 3);
        put(&mut pool, 3);
        assert_eq!(pool.reserve(2, soon, now), 2, "the three are for others");
        put(&mut pool, 2);
        assert!((0..5).all(|_| pool.take().is_some()));
        assert!(pool.take().is_none());
        assert_eq!(pool.reserve(1, soon, now), 1);
    }

    #[test]
    fn whose_runs_did_not_begin_are_there_for_the_next_and_are_let_go_after_a_while() {
        let (now, mut pool) = (NOW, GuardPool::default());
        let later = now.plus(Duration::from_secs(3));
        put(&mut pool, 4);
        assert_eq!(pool.reserve(4, now.plus(Duration::from_secs(2)), now), 0);
        assert_eq!(pool.reserve(1, later.plus(Duration::from_secs(2)), later), 0);
        pool.release(later);
        assert_eq!(pool.lines.len(), 1);
        pool.release(later.plus(Duration::from_secs(2)));
        assert!(pool.lines.is_empty());
    }

    #[test]
    fn there_is_a_limit() {
        let (now, mut pool) = (NOW, GuardPool::default());
        assert_eq!(pool.reserve(10_000, now.plus(Duration::from_secs(2)), now), most());
        assert!(most() <= MOST);
    }
}
