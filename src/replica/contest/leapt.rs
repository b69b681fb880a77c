//! Which ticks of a job the store's clock leapt over: none of them was claimed, as far as this replica knows. Where the clock was
//! ahead, and the store forgets, these come in their time; all others stay decided.

use std::time::Duration;

use crate::job::UtcMillis;
use crate::lease::Leapt;

use super::super::proposal::candidate;
use super::Contest;

/// What a contest knows of the leap of the store's clock.
#[derive(Debug, Default)]
pub(super) struct LeaptOver {
    /// The leap as the clock was seen to take it.
    seen: Option<Leapt>,
    /// The part of it in which no tick of the job was claimed.
    idle: Option<Leapt>,
}

impl LeaptOver {
    /// Every tick up to there is decided. One that lies in the leap was claimed: by a clock that was right.
    pub(super) fn decided(&mut self, mark: UtcMillis) {
        if let Some(idle) = self.idle.as_mut().filter(|idle| mark <= idle.to) {
            idle.after = idle.after.max(mark);
        }
    }
}

impl Contest {
    /// Which of the job's ticks the store's clock leapt over, while it is ahead.
    pub(in crate::replica) fn leapt(&self) -> Option<Leapt> {
        self.leapt.idle
    }

    /// The store's clock has leapt ahead, or it has not, or is right again.
    pub(in crate::replica) fn see_leap(&mut self, seen: Option<Leapt>) {
        if self.leapt.seen == seen {
            return;
        }
        let before = self.leapt.seen.filter(|before| seen.is_some_and(|seen| seen.after == before.after));
        let idle = match (seen, before.and(self.leapt.idle)) {
            (Some(seen), Some(idle)) => Some(Leapt { to: idle.to.min(seen.to).max(idle.after), ..idle }),
            (seen, _) => seen.map(|seen| self.idle_in(seen)),
        };
        self.leapt = LeaptOver { seen, idle };
    }

    /// Since the clock leapt, ticks may have been claimed that it had just leapt over. Those that were decided before are none
    /// of the leap either, also those that lay ahead of the clock; of a job of which no mark is known, that may be any.
    fn idle_in(&self, seen: Leapt) -> Leapt {
        let oldest = candidate(&self.spec, UtcMillis(0), seen.to).map(|tick| tick.instant());
        let before = oldest.map_or(seen.to, |oldest| oldest.minus(Duration::from_millis(1)).min(seen.to));
        let to = before.max(seen.after);
        let decided = if self.decided == UtcMillis(0) { to } else { self.decided };
        let after = seen.after.max(decided.min(to));
        let Some(ahead) = self.ahead.filter(|ahead| ahead.after < to && after < ahead.to) else {
            return Leapt { after, to };
        };
        // Before the clock was behind, it decided these: the longer part of the rest counts.
        let (before, since) =
            (Leapt { after, to: after.max(ahead.after) }, Leapt { after: ahead.to.min(to), to });
        if since.length() > before.length() { since } else { before }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::contest_tests::{at, every_second};
    use super::*;
    use crate::lease::Ahead;

    #[test]
    fn what_was_decided_or_may_have_been_claimed_late_is_no_part_of_a_leap() {
        let mut contest = every_second();
        contest.decide(at(2_000), true);
        contest.see_leap(Some(Leapt { after: at(1_500), to: at(60_500) }));
        let leapt = |contest: &Contest| contest.leapt().map(|leapt| (leapt.after, leapt.to));
        let oldest = contest.spec().start_deadline.map_or(at(60_000), |limit| at(61_000).minus(limit));
        let before = oldest.minus(Duration::from_millis(1));
        assert_eq!(leapt(&contest), Some((at(2_000), before)));
        contest.decide(at(3_000), true);
        assert_eq!(leapt(&contest), Some((at(3_000), before)), "a clock that was right decided it");
        contest.decide(at(60_000), true);
        assert_eq!(leapt(&contest), Some((at(3_000), before)));
        contest.see_leap(None);
        assert_eq!(leapt(&contest), None);
    }

    #[test]
    fn what_was_decided_before_the_clock_was_behind_is_no_part_of_the_leap_when_it_is_right_again() {
        let mut contest = every_second();
        contest.decide(at(2_000), true);
        contest.ahead = Some(Ahead { after: at(3_000), to: at(40_000) });
        contest.see_leap(Some(Leapt { after: at(2_500), to: at(60_500) }));
        let leapt = contest.leapt().expect("the clock leapt");
        assert!(leapt.to <= at(3_000) || at(40_000) <= leapt.after, "{leapt:?}");
    }
}
