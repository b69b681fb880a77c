//! What a contest knows to be decided: by answers that told marks, also by a clock that was ahead.

use crate::job::{NodeName, Reason, Tick, Verdict};
use crate::lease::{Ahead, EARLY_TOLERANCE};
use crate::time::UtcMillis;

use super::Contest;

/// Whether a tick that was decided so need not run, should the clock that decided it have been ahead: it ran, or another run
/// went on.
pub(super) fn is_done(by: Option<&NodeName>, how: Option<Verdict>) -> bool {
    by.is_some() || how.is_some_and(Verdict::is_overlap)
}

/// What a clock that was ahead has decided, as the record told when it was opened.
#[derive(Debug, Default)]
pub(super) struct DecidedAhead {
    /// The ticks that it decided, if there are any.
    ticks: Option<Ahead>,
    /// How often ticks that had not come were opened again by then.
    returns_ahead: u64,
}

impl DecidedAhead {
    /// Whether any of these ticks have not come yet.
    pub(super) fn lies_ahead(&self, now: UtcMillis) -> bool {
        self.ticks.is_some_and(|ticks| ticks.to > now.plus(EARLY_TOLERANCE))
    }
}

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
            (self.decided, self.answered) = (mark, mark);
            self.ran_up_to(mark);
            self.delayed_by = Some(Reason::Late);
        }
        self.decide(mark, ran.is_some_and(|tick| tick.instant() == mark));
        self.answered = self.answered.max(mark);
    }

    /// Every tick up to there is decided; the one of that instant `ran`, as far as is known.
    pub(super) fn decide(&mut self, mark: UtcMillis, ran: bool) {
        if mark > self.decided {
            if ran {
                let next = self.spec.schedule.next_after(self.ran.to);
                let is_next = next.is_some_and(|next| next.instant() == mark);
                let after = if is_next { self.ran.after } else { UtcMillis(mark.0 - 1) };
                self.ran = Ahead { after, to: mark };
            }
            self.decided = mark;
        }
    }

    /// Nothing after this instant is known to have run.
    pub(super) fn ran_up_to(&mut self, instant: UtcMillis) {
        self.ran = Ahead { after: self.ran.after.min(instant), to: self.ran.to.min(instant) };
    }

    /// The record, which was opened, told of these ticks, and how often those that had not come were opened again: a store may have
    /// forgotten the last times.
    pub(in crate::replica) fn told_ahead(&mut self, ahead: Option<Ahead>, returns_ahead: u64) {
        self.ahead =
            DecidedAhead { ticks: ahead, returns_ahead: self.ahead.returns_ahead.max(returns_ahead) };
    }

    /// How often ticks that had not come were opened again, as far as is known.
    pub(in crate::replica) fn returns_ahead(&self) -> u64 {
        self.ahead.returns_ahead
    }

    /// The ticks that are known to have run: by a clock that was ahead, or else the newest.
    pub(in crate::replica) fn known_to_have_run(&self) -> Option<Ahead> {
        let newest = Some(self.ran).filter(|ran| ran.after < ran.to);
        self.ahead.ticks.filter(|ahead| ahead.to >= self.decided).or(newest)
    }

    /// Whether ticks that have not come yet are known to be decided: by a clock that was ahead.
    pub(in crate::replica) fn is_ahead(&self, now: UtcMillis) -> bool {
        self.decided.max(self.since) > now.plus(EARLY_TOLERANCE)
    }
}
