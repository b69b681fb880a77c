//! What a contest knows to be decided: by answers that told marks, also by a clock that was ahead.

use crate::job::{Reason, Tick, UtcMillis};
use crate::lease::{Ahead, EARLY_TOLERANCE};

use super::Contest;

impl Contest {
    /// Nothing is claimed until the store answers. The tick whose instant has just come, if worth a complaint.
    pub fn unheard(&mut self, now: UtcMillis) -> Option<Tick> {
        self.delayed_by = Some(Reason::StoreUnreachable);
        self.opening.unheard(&self.spec.schedule, now)
    }

    /// Older ticks start nothing here: they are decided, or came while the job was not scheduled as it is.
    pub(in crate::replica) fn past(&self) -> UtcMillis {
        self.decided.max(self.since)
    }

    /// The store lives another life, or forgot: the record has to be opened before the next claim.
    pub fn close(&mut self) {
        self.opening.set(false);
        self.doubt_leases();
    }

    /// The record is open; its mark tells what is decided, and `since` from when on the schedule holds.
    pub fn opened(&mut self, mark: UtcMillis, since: UtcMillis, now: UtcMillis) {
        self.learn_mark(mark, now, None);
        // What was decided by a clock that was ahead tells nothing by one that is right.
        let is_ahead = |at: UtcMillis| at > now.plus(EARLY_TOLERANCE);
        self.since = if is_ahead(self.since) { since } else { self.since.max(since) };
        if is_ahead(self.rerun_over) {
            self.rerun_over = self.decided;
        }
        self.opening.set(true);
        self.dropped = None;
        self.hurry(now);
    }

    /// An answer told the mark. The one that is known counts no more where it lies ahead: the clock was set back.
    pub(super) fn learn_mark(&mut self, mark: UtcMillis, now: UtcMillis, ran: Option<Tick>) {
        if self.is_ahead(now) && mark < self.decided {
            (self.decided, self.unbroken, self.ran, self.answered) = (mark, mark, mark, mark);
            self.delayed_by = Some(Reason::Late);
        }
        self.decide(mark, ran.is_some_and(|tick| tick.instant() == mark));
        self.answered = self.answered.max(mark);
    }

    /// Every tick up to there is decided; the one of that instant `ran`, as far as is known.
    pub(super) fn decide(&mut self, mark: UtcMillis, ran: bool) {
        if mark > self.decided {
            let next = self.spec.schedule.next_after(self.decided).map(Tick::instant);
            match ran {
                true if next != Some(mark) => (self.unbroken, self.ran) = (UtcMillis(mark.0 - 1), mark),
                true => self.ran = mark,
                // A store that forgot raises its mark to an instant: where no tick came since, nothing else is known of those before.
                false if next.is_none_or(|next| mark < next) => {}
                false => (self.unbroken, self.ran) = (mark, mark),
            }
            self.decided = mark;
        }
    }

    /// The ticks that are known to have run: by a clock that was ahead, or else the newest.
    pub(in crate::replica) fn known_to_have_run(&self) -> Option<Ahead> {
        let newest = Ahead { after: self.unbroken, to: self.ran };
        self.ahead
            .filter(|ahead| ahead.to >= self.ran)
            .or(Some(newest).filter(|newest| newest.after < newest.to))
    }

    /// Whether ticks that have not come yet are known to be decided: by a clock that was ahead.
    pub(in crate::replica) fn is_ahead(&self, now: UtcMillis) -> bool {
        self.decided.max(self.since) > now.plus(EARLY_TOLERANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::contest_tests::{SENT, T0, at, every_second, no_stagger};
    use crate::job::{Outcome, Reason, Verdict};
    use crate::lease::{Ahead, Answer, Reply};

    #[test]
    fn a_mark_between_two_ticks_takes_no_knowledge_of_those_that_ran() {
        let mut contest = every_second();
        contest.decide(at(1_000), true);
        contest.decide(at(2_000), true);
        contest.decide(at(2_200), false);
        assert_eq!(contest.known_to_have_run(), Some(Ahead { after: T0, to: at(2_000) }));
        contest.decide(at(3_000), false);
        assert_eq!(contest.known_to_have_run(), None);
    }

    #[test]
    fn a_tick_that_was_skipped_for_another_run_is_none_that_ran() {
        let overlap = Verdict::because(Outcome::Skipped, Reason::Overlap);
        for answer in [Answer::Consumed(overlap), Answer::Decided { by: None, how: Some(overlap) }] {
            let mut contest = every_second();
            contest.wake(at(1_000), no_stagger);
            let reply = Reply { now: at(1_000), mark: Some(at(1_000)), lease: None, rerun: None, answer };
            contest.answered(&reply, at(1_000), SENT, true);
            assert_eq!(contest.decided, at(1_000));
            assert_eq!(contest.known_to_have_run(), None);
        }
    }
}
