//! The mark of a record and its leaps: which ticks are decided, and by which clock.

use crate::job::Tick;
use crate::lease::rules::early::EARLY_TOLERANCE;
use crate::lease::{Ahead, Leap, Passed, Record, SCHEMA};
use crate::time::UtcMillis;

impl Record {
    /// Raises the mark to `mark`: ticks up to there may have been decided and forgotten. The ticks that it passes still
    /// need their entry. Ticks that have not come by `now` are opened again once the clock that showed them is known to
    /// have been ahead; so are those since `leapt`, the instant from which the clock leapt ahead.
    pub(crate) fn pass_unrecorded(&mut self, mark: UtcMillis, now: UtcMillis, leapt: Option<UtcMillis>) {
        if mark > self.mark {
            self.leap(mark, now, leapt);
            self.lost_after = self.lost_after.or(Some(self.mark));
            self.mark = mark;
        }
    }

    /// As [`Self::pass_unrecorded`], up to a tick that was decided and is no part of a leap. `leapt` counts only if that
    /// tick has come: the clock leapt before it showed the tick.
    pub(crate) fn pass_unrecorded_to(&mut self, tick: UtcMillis, now: UtcMillis, leapt: Option<UtcMillis>) {
        if tick > self.mark {
            let has_come = tick <= now.plus(EARLY_TOLERANCE);
            self.leap(UtcMillis(tick.0 - 1), now, leapt.filter(|_| has_come));
            self.lost_after = self.lost_after.or(Some(self.mark));
            self.mark = tick;
        }
    }

    fn leap(&mut self, to: UtcMillis, now: UtcMillis, leapt: Option<UtcMillis>) {
        let come = now.plus(EARLY_TOLERANCE);
        if let Some(leapt) = leapt {
            self.leaps.add(Leap { after: self.mark.max(leapt), to: to.min(come), passed: Passed::Told });
        }
        self.leaps.add(Leap { after: self.mark.max(come), to, passed: Passed::Told });
    }

    /// Returns the open leaps, where no correct clock shows more than `front`: the told leaps that end after `front`, if
    /// the mark lies after it as well; and the leaps that were opened before, until a later tick is decided.
    fn open_leaps(&self, front: UtcMillis) -> impl DoubleEndedIterator<Item = &Leap> {
        self.leaps.iter().filter(move |leap| match leap.passed {
            Passed::Told => self.mark > front && leap.to > front,
            Passed::Open => true,
            Passed::Lost | Passed::Ran => false,
        })
    }

    /// Returns the instant up to which every tick is decided: the mark, or the start of the first open leap.
    pub fn decided_up_to(&self, front: UtcMillis) -> UtcMillis {
        self.decided_beyond(UtcMillis(0), front)
    }

    /// As [`Self::decided_up_to`], but skips leaps that end at or before `opened`, whose ticks are known to be open.
    pub(crate) fn decided_beyond(&self, opened: UtcMillis, front: UtcMillis) -> UtcMillis {
        let is_told = front < UtcMillis(i64::MAX) && self.schema <= SCHEMA;
        let open = self.open_leaps(front).find(|leap| opened < leap.to).filter(|_| is_told);
        open.map_or(self.mark, |leap| leap.after)
    }

    /// As [`Self::decided_up_to`], by a clock that shows `now`.
    pub fn decided_by(&self, now: UtcMillis) -> UtcMillis {
        self.decided_up_to(now.plus(EARLY_TOLERANCE))
    }

    /// Returns the first tick that may have run and has no entry yet, because the store forgot it; `next` returns the first
    /// tick of the schedule after an instant.
    pub fn first_untold(&self, next: impl Fn(UtcMillis) -> Option<Tick>) -> Option<Tick> {
        let in_leaps = self.leaps.iter().filter(|leap| leap.passed == Passed::Lost);
        let below_mark = self.lost_after.map(|lost| (lost, self.mark));
        let spans = in_leaps.map(|leap| (leap.after, leap.to)).chain(below_mark);
        let first = |(after, to): (UtcMillis, UtcMillis)| {
            let mut tick = next(after.max(self.schedule_since))?;
            while let Some(ran) = self.leaps.ran_up_to(tick.instant()) {
                tick = next(ran)?;
            }
            Some(tick).filter(|tick| tick.instant() <= to)
        };
        spans.filter_map(first).min()
    }

    /// Whether the tick is decided.
    pub(crate) fn is_decided(&self, tick: Tick, front: UtcMillis) -> bool {
        tick.instant() <= self.mark && !self.open_leaps(front).any(|leap| leap.covers(tick.instant()))
    }

    /// Whether the tick lies in an open leap.
    pub(crate) fn is_reopened(&self, tick: Tick, front: UtcMillis) -> bool {
        self.open_leaps(front).any(|leap| leap.covers(tick.instant()))
    }

    /// Whether no later tick was decided, except by a clock that was ahead. If the tick was the last one of its leap,
    /// nothing is left of that leap: then no leap may begin between the tick and `front`.
    pub(crate) fn is_newest(&self, tick: Tick, front: UtcMillis) -> bool {
        let instant = tick.instant();
        let is_later = |leap: &Leap| leap.passed.may_open() && instant <= leap.after && leap.after <= front;
        instant == self.mark
            || self.open_leaps(front).any(|leap| leap.after == instant)
            || instant <= front && front < self.mark && !self.leaps.iter().any(is_later)
    }

    /// Returns the newest decided instant before the undecided ticks up to this one: the start of the open leap that covers
    /// it, or the mark.
    pub(crate) fn decided_before(&self, tick: Tick, front: UtcMillis) -> UtcMillis {
        let open = self.open_leaps(front).find(|leap| leap.covers(tick.instant()));
        open.map_or(self.mark, |leap| leap.after)
    }

    /// Records that the tick at this instant, which was decided, is open again, by a clock that shows no more than `front`. If
    /// the instant recorded before lies after `front`, it moves to `reopened_ahead`: it says nothing about ticks that have come.
    pub(crate) fn open_again(&mut self, instant: UtcMillis, front: UtcMillis) {
        if self.reopened > front {
            self.open_again_ahead(self.reopened);
            self.reopened = UtcMillis(0);
        }
        self.reopened = self.reopened.max(instant);
    }

    /// Records that ticks up to this instant, which has not come, are open again.
    pub(crate) fn open_again_ahead(&mut self, instant: UtcMillis) {
        self.reopened_ahead = self.reopened_ahead.max(instant);
        self.reopened_ahead_count += 1;
    }

    /// Returns the newest tick that has come by `front`, was decided and is open again; zero if there is none. Returns
    /// `front` itself if a told leap is just found to end after it.
    pub(crate) fn opened_again(&self, front: UtcMillis) -> UtcMillis {
        let is_found = |leap: &Leap| leap.passed == Passed::Told && leap.to > front;
        if self.mark > front && self.leaps.iter().any(is_found) {
            return front;
        }
        let both = [self.reopened, self.reopened_ahead].into_iter();
        both.filter(|instant| *instant <= front).max().unwrap_or_default()
    }

    /// Whether the mark lies in the future: a clock was ahead.
    pub fn lies_ahead(&self, now: UtcMillis) -> bool {
        self.mark > now.plus(EARLY_TOLERANCE)
    }

    /// Returns the ticks that a clock that was ahead decided and that lie beyond every leap (ran leaps, and lost ones that lie
    /// ahead, do not count); `None` if there are none.
    pub fn ahead(&self, front: UtcMillis) -> Option<Ahead> {
        let counts = |leap: &&Leap| match leap.passed {
            Passed::Told | Passed::Open => true,
            Passed::Lost => leap.to <= front,
            Passed::Ran => false,
        };
        let last = self.leaps.iter().rfind(counts).map_or(UtcMillis(0), |leap| leap.to);
        (self.mark > front && last < self.mark).then_some(Ahead { after: last, to: self.mark })
    }

    /// Returns the newest tick that has not come yet and will not run when it comes, because a clock that was ahead decided
    /// it. `None` if every tick up to a mark that lies ahead is open again, or if the mark does not lie ahead.
    pub fn closed_ahead(&self, front: UtcMillis) -> Option<UtcMillis> {
        let below = |newest, leap: &Leap| if leap.covers(newest) { leap.after } else { newest };
        let newest = self.open_leaps(front).rev().fold(self.mark, below);
        (newest > front).then_some(newest)
    }

    /// As [`Self::closed_ahead`], by a clock that shows `now`.
    pub fn closed_after(&self, now: UtcMillis) -> Option<UtcMillis> {
        self.closed_ahead(now.plus(EARLY_TOLERANCE))
    }

    /// Decides the tick. `passed` is a leap: the ticks that the mark passes although the caller cannot vouch for the clock.
    pub(crate) fn decide(&mut self, tick: Tick, passed: Option<Leap>) {
        if tick.instant() <= self.mark {
            // In an open leap the mark stays, but the record is no longer as it was created.
            self.created_mark = UtcMillis(0);
        }
        self.leaps.decide(tick.instant());
        if let Some(leap) = passed {
            self.leaps.add(leap);
        }
        self.mark = self.mark.max(tick.instant());
    }
}
