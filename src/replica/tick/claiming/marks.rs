//! Which ticks of a job are known to be decided, by the marks in answers; also by a clock that was ahead.

use crate::job::{NodeName, Reason, Schedule, Tick, Verdict};
use crate::lease::{Ahead, EARLY_TOLERANCE, MOST_AHEAD, Protection};
use crate::time::UtcMillis;

use super::Contest;

/// Whether a tick that was decided so need not run, even if the clock that decided it was ahead: it ran, or another run
/// was going.
pub(super) fn is_done(by: Option<&NodeName>, how: Option<Verdict>) -> bool {
    by.is_some() || how.is_some_and(Verdict::is_overlap)
}

/// What a clock that was ahead has decided, as the record showed when it was opened.
#[derive(Debug, Default)]
pub(super) struct DecidedAhead {
    /// The ticks that it decided, if any.
    ticks: Option<Ahead>,
    /// How often ticks that had not come had been opened again by then.
    reopened_ahead_count: u64,
}

impl DecidedAhead {
    /// Whether some of these ticks have not come yet.
    pub(super) fn lies_ahead(&self, now: UtcMillis) -> bool {
        self.ticks.is_some_and(|ticks| ticks.to > now.plus(EARLY_TOLERANCE))
    }
}

/// The ticks that ran, as far as this replica knows: spans of the schedule's ticks without one that did not run, the oldest
/// first.
#[derive(Debug, Default)]
pub(super) struct RanTicks(Vec<Ahead>);

impl RanTicks {
    /// Adds a tick after all others. If there are too many spans, the two oldest become one: ticks between them, which did
    /// not run, are then known as decided only.
    fn add(&mut self, tick: Tick, schedule: &Schedule) {
        let instant = tick.instant();
        match self.0.last_mut() {
            Some(newest) if schedule.next_after(newest.to) == Some(tick) => newest.to = instant,
            _ => self.0.push(Ahead { after: UtcMillis(instant.0 - 1), to: instant }),
        }
        if self.0.len() > MOST_AHEAD {
            let oldest = self.0.remove(0);
            self.0[0].after = oldest.after;
        }
    }

    /// Forgets that any tick after this instant ran.
    pub(super) fn forget_after(&mut self, instant: UtcMillis) {
        self.0.retain(|span| span.after < instant);
        self.0.iter_mut().for_each(|span| span.to = span.to.min(instant));
    }
}

impl Contest {
    /// Notes that the store does not answer, so that nothing is claimed. Returns the tick whose instant has just come,
    /// if that is to be logged.
    pub fn unheard(&mut self, now: UtcMillis) -> Option<Tick> {
        self.unheard_at = now;
        let has_come = |tick: Tick| tick.instant() <= now.plus(EARLY_TOLERANCE);
        if self.spec.schedule.next_after(self.past()).is_some_and(has_come) {
            self.delayed_by = Some(Reason::StoreUnreachable);
        }
        self.opening.unheard(&self.spec.schedule, now)
    }

    /// Returns the instant up to which ticks start nothing: they are decided, or older than the job's present schedule.
    pub(in crate::replica) fn past(&self) -> UtcMillis {
        self.decided.max(self.since)
    }

    /// Notes that the record has to be opened before the next claim; and that the store may have forgotten locks.
    pub fn close(&mut self) {
        self.opening.set(false);
        self.doubt_leases();
    }

    /// Notes that the record is open: its mark shows what is decided, and `since` from when on the schedule holds.
    pub fn opened(&mut self, mark: UtcMillis, since: UtcMillis, now: UtcMillis) {
        self.learn_mark(mark, now, None);
        // What was noted while a clock was ahead does not count by one that is right.
        let is_ahead = |at: UtcMillis| at > now.plus(EARLY_TOLERANCE);
        self.since = if is_ahead(self.since) { since } else { self.since.max(since) };
        if is_ahead(self.rerun_over) {
            self.rerun_over = self.decided;
        }
        self.opening.set(true);
        self.dropped = None;
        self.hurry(now);
    }

    /// Takes in the mark of an answer. A known mark that lies ahead gives way to a lower one: the clock was set back.
    /// `ran`: the tick that ran according to the answer.
    pub(super) fn learn_mark(&mut self, mark: UtcMillis, now: UtcMillis, ran: Option<Tick>) {
        if self.is_ahead(now) && mark < self.decided {
            (self.decided, self.answered) = (mark, mark);
            self.ran.forget_after(mark);
            self.delayed_by = Some(Reason::Late);
        }
        self.decide(mark, ran.is_some_and(|tick| tick.instant() == mark));
        self.answered = self.answered.max(mark);
    }

    /// Notes that every tick up to `mark` is decided, and whether the one at that instant `ran`, as far as is known.
    pub(super) fn decide(&mut self, mark: UtcMillis, ran: bool) {
        if mark > self.decided {
            if ran {
                self.ran.add(Tick(mark), &self.spec.schedule);
            }
            self.decided = mark;
        }
    }

    /// Takes in the ticks that a clock that was ahead decided, and how often ticks that had not come were opened again,
    /// as the opened record showed. The larger count holds: a store may have forgotten the last times.
    pub(in crate::replica) fn told_ahead(&mut self, ahead: Option<Ahead>, reopened_ahead_count: u64) {
        self.ahead = DecidedAhead {
            ticks: ahead,
            reopened_ahead_count: self.ahead.reopened_ahead_count.max(reopened_ahead_count),
        };
    }

    /// Returns how often ticks that had not come were opened again, as far as is known.
    pub(in crate::replica) fn reopened_ahead_count(&self) -> u64 {
        self.ahead.reopened_ahead_count
    }

    /// Returns the ticks that are known to have run: those that a clock that was ahead decided, or else the newest.
    pub(in crate::replica) fn known_to_have_run(&self) -> &[Ahead] {
        let told = self.ahead.ticks.as_ref().filter(|ahead| ahead.to >= self.decided);
        told.map_or(&self.ran.0, std::slice::from_ref)
    }

    /// Whether the known mark, or the start of the schedule, lies ahead: a clock that was ahead set it.
    pub(in crate::replica) fn is_ahead(&self, now: UtcMillis) -> bool {
        self.decided.max(self.since) > now.plus(EARLY_TOLERANCE) && Protection::AheadReopened.is_on()
    }
}
