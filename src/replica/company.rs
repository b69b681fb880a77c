//! Ends of runs go to the store together: the first that comes waits a moment, and those that come meanwhile share its call.
//! Who runs alone waits for nobody, and nobody waits where others may be waiting for the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The first waits so long: a part of the second by which every run ends before its lock is over.
const MOMENT: Duration = Duration::from_millis(20);

/// The runs of a replica that are under way.
#[derive(Debug, Default)]
pub(super) struct Company(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    members: usize,
    /// When those that have ended are told of.
    departure: Option<Instant>,
    /// Nobody waits.
    is_hurried: bool,
}

/// A run that is under way, until this is dropped.
#[derive(Debug)]
pub(super) struct Member(Arc<Mutex<State>>);

impl Company {
    /// One more run is under way.
    pub(super) fn join(&self) -> Member {
        of(&self.0, |state| state.members += 1);
        Member(Arc::clone(&self.0))
    }

    /// Nobody waits from now on, or waits again.
    pub(super) fn hurry(&self, is_hurried: bool) {
        of(&self.0, |state| state.is_hurried = is_hurried);
    }
}

impl Member {
    /// When to tell of its end, which has come now: at once, if nobody else is under way who might come along.
    pub(super) fn departure(&self, now: Instant) -> Instant {
        of(&self.0, |state| {
            if state.members <= 1 || state.is_hurried {
                return now;
            }
            let next = state.departure.filter(|departure| *departure > now).unwrap_or(now + MOMENT);
            state.departure = Some(next);
            next
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        of(&self.0, |state| state.members -= 1);
    }
}

fn of<T>(state: &Mutex<State>, what: impl FnOnce(&mut State) -> T) -> T {
    what(&mut state.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_waits_for_nobody() {
        let (company, now) = (Company::default(), Instant::now());
        let first = company.join();
        assert_eq!(first.departure(now), now);
        let second = company.join();
        assert_eq!(second.departure(now), now + MOMENT);
        drop(second);
        assert_eq!(first.departure(now), now);
    }

    #[test]
    fn nobody_waits_where_others_wait_for_the_end() {
        let (company, now) = (Company::default(), Instant::now());
        let (first, _second) = (company.join(), company.join());
        company.hurry(true);
        assert_eq!(first.departure(now), now);
        company.hurry(false);
        assert_eq!(first.departure(now), now + MOMENT);
    }

    #[test]
    fn who_ends_while_another_waits_goes_with_it() {
        let (company, now) = (Company::default(), Instant::now());
        let (first, second) = (company.join(), company.join());
        let departure = first.departure(now);
        assert_eq!(second.departure(now + MOMENT / 2), departure);
        assert_eq!(second.departure(departure), departure + MOMENT, "it has gone");
    }
}
