//! Batches finish requests: the ends of runs within the same 25 ms of the store's clock share a call, and all
//! replicas send theirs at the same moments, when the server is at work anyway. A run that is alone does not wait,
//! and no run waits while another may be waiting for its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::time::UtcMillis;

/// The length of a window, by the store's clock. It is part of the second by which every run ends before its lock is
/// over.
const MOMENT_MS: i64 = 25;

/// A window ends this long before each full second: ticks come at full seconds, with all their requests.
const BEFORE_TICKS_MS: i64 = 5;

/// The runs of a replica that are under way.
#[derive(Debug, Default)]
pub(crate) struct FinishWindow(Arc<Mutex<WindowState>>);

#[derive(Debug, Default)]
struct WindowState {
    members: usize,
    /// Whether no finish waits.
    is_hurried: bool,
}

/// A run that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct FinishTurn(Arc<Mutex<WindowState>>);

impl FinishWindow {
    /// Adds a run that is under way.
    pub(crate) fn join(&self) -> FinishTurn {
        of(&self.0, |state| state.members += 1);
        FinishTurn(Arc::clone(&self.0))
    }

    /// Sets whether finishes are sent at once.
    pub(crate) fn hurry(&self, is_hurried: bool) {
        of(&self.0, |state| state.is_hurried = is_hurried);
    }
}

impl FinishTurn {
    /// Returns how long to wait before sending the finish of a run that has ended when the store's clock shows `now`.
    /// Zero if no other run is under way that could share the call.
    pub(crate) fn wait(&self, now: UtcMillis) -> Duration {
        if of(&self.0, |state| state.members <= 1 || state.is_hurried) {
            return Duration::ZERO;
        }
        let gone_ms = (now.0 + BEFORE_TICKS_MS).rem_euclid(MOMENT_MS);
        Duration::from_millis((MOMENT_MS - gone_ms).unsigned_abs())
    }
}

impl Drop for FinishTurn {
    fn drop(&mut self) {
        of(&self.0, |state| state.members -= 1);
    }
}

fn of<T>(state: &Mutex<WindowState>, what: impl FnOnce(&mut WindowState) -> T) -> T {
    what(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDNIGHT: UtcMillis = UtcMillis(1_767_225_600_000);

    fn wait_ms(member: &FinishTurn, at_ms: i64) -> u128 {
        member.wait(UtcMillis(MIDNIGHT.0 + at_ms)).as_millis()
    }

    #[test]
    fn who_is_alone_waits_for_nobody() {
        let finish_window = FinishWindow::default();
        let first = finish_window.join();
        assert_eq!(wait_ms(&first, 3), 0);
        let second = finish_window.join();
        assert_eq!(wait_ms(&first, 3), 17);
        drop(second);
        assert_eq!(wait_ms(&first, 3), 0);
    }

    #[test]
    fn nobody_waits_where_others_wait_for_the_end() {
        let finish_window = FinishWindow::default();
        let (first, _second) = (finish_window.join(), finish_window.join());
        finish_window.hurry(true);
        assert_eq!(wait_ms(&first, 994), 0);
        finish_window.hurry(false);
        assert_eq!(wait_ms(&first, 994), 1);
    }

    #[test]
    fn who_ends_within_the_same_moment_goes_together_whichever_the_replica() {
        let (finish_window, elsewhere) = (FinishWindow::default(), FinishWindow::default());
        let members = [finish_window.join(), finish_window.join(), elsewhere.join(), elsewhere.join()];
        for (member, ended_ms) in members.iter().zip([45, 52, 60, 69]) {
            assert_eq!(i64::try_from(wait_ms(member, ended_ms)), Ok(70 - ended_ms));
        }
        assert_eq!(wait_ms(&members[0], 70), 25, "they have gone");
    }
}
