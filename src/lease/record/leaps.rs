//! Ticks that the mark passed without deciding them one by one. While the mark lies in the past, all ticks up to it are
//! decided. A mark that lies in the future was set by a clock that was ahead: then only the ticks that were claimed one by
//! one are decided, and the leaps are open again. Where the store lost decisions, ticks of an open leap may be among them:
//! those that had come stay decided.

use std::fmt;
use std::str::FromStr;

use crate::time::UtcMillis;

/// A record keeps this many leaps; the shortest is forgotten first, and its ticks stay decided.
const KEPT: usize = 32;

/// What is known of the ticks in a leap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Passed {
    /// None ran, and all have their entry.
    Told,
    /// None ran, and they are open again: they have no entry until they are passed once more.
    Open,
    /// They were open when the store lost decisions: they may have run, stay decided, and have no entry yet.
    Lost,
    /// One of them ran, the newest: its holder told the store, which had forgotten it among others. It has the entry of its run.
    Ran,
}

impl Passed {
    /// Whether they are open, or may be opened again.
    pub(crate) fn may_open(self) -> bool {
        matches!(self, Self::Told | Self::Open)
    }
}

/// The mark passed every tick after `after`, up to `to`, without a decision of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leap {
    /// The leap begins after this instant.
    pub after: UtcMillis,
    /// The leap ends with this instant.
    pub to: UtcMillis,
    /// What is known of its ticks.
    pub passed: Passed,
}

impl Leap {
    /// Whether nobody knew the job before the leap: its ticks up to the instant when the leap is found to lie ahead came to
    /// nobody.
    pub(crate) fn is_first(&self) -> bool {
        self.after == UtcMillis(0)
    }

    /// Whether the instant lies in the leap.
    pub fn covers(&self, instant: UtcMillis) -> bool {
        self.after < instant && instant <= self.to
    }
}

/// The newest leaps of a record, in order; they do not overlap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Leaps(Vec<Leap>);

impl Leaps {
    /// The leaps, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Leap> {
        self.0.iter()
    }

    /// Adds a leap, unless it is empty; one that goes on where another ended is one with it, but for the first.
    pub(crate) fn add(&mut self, leap: Leap) {
        if leap.after >= leap.to {
            return;
        }
        let at = self.0.partition_point(|other| other.after < leap.after);
        let before = at.checked_sub(1).map(|before| &mut self.0[before]);
        let goes_on =
            |before: &Leap| before.to == leap.after && before.passed == leap.passed && !before.is_first();
        if let Some(before) = before.filter(|before| goes_on(before)) {
            before.to = leap.to;
            return;
        }
        self.0.insert(at, leap);
        self.forget_shortest();
    }

    /// Of too many, the shortest that is told, whose ticks stay decided; others only where there is none: their ticks would have no
    /// entry, or two.
    fn forget_shortest(&mut self) {
        let weight = |leap: &Leap| (leap.passed != Passed::Told, leap.to.since(leap.after));
        while self.0.len() > KEPT {
            let least = (0..self.0.len()).min_by_key(|at| weight(&self.0[*at]));
            self.0.remove(least.unwrap_or_default());
        }
    }

    /// Opens the leaps again that end after `front`, by a clock that shows `now`: their ticks have no entries any more. Of the
    /// first, what lies before `now` stays passed. Returns those leaps.
    pub(crate) fn reopen(&mut self, front: UtcMillis, now: UtcMillis) -> Vec<Leap> {
        let mut opened = Vec::new();
        for leap in std::mem::take(&mut self.0) {
            if leap.passed != Passed::Told || leap.to <= front {
                self.0.push(leap);
                continue;
            }
            let mut after = leap.after;
            if leap.is_first() {
                after = now;
                self.0.push(Leap { to: now, ..leap });
            }
            self.0.push(Leap { after, passed: Passed::Open, ..leap });
            opened.push(leap);
        }
        self.forget_shortest();
        opened
    }

    /// The store lost decisions: any tick up to this instant may have been decided, also in leaps that are open.
    pub(crate) fn lose(&mut self, to: UtcMillis) {
        if !self.0.iter().any(|leap| leap.passed == Passed::Open) {
            return;
        }
        for leap in std::mem::take(&mut self.0) {
            if leap.passed != Passed::Open || leap.after >= to {
                self.add(leap);
                continue;
            }
            let to = to.min(leap.to);
            self.add(Leap { to, passed: Passed::Lost, ..leap });
            self.add(Leap { after: to, ..leap });
        }
    }

    /// From where on ticks up to this one were lost, and have no entry.
    pub(crate) fn lost_before(&self, tick: UtcMillis) -> Option<UtcMillis> {
        self.covering(tick, Passed::Lost).map(|leap| leap.after)
    }

    /// The lost ticks after one instant, up to another, get their entry.
    pub(crate) fn tell_lost(&mut self, after: UtcMillis, to: UtcMillis) {
        for leap in self.0.iter_mut().filter(|leap| leap.passed == Passed::Lost && after < leap.to) {
            leap.after = leap.after.max(to);
        }
        self.0.retain(|leap| leap.after < leap.to);
    }

    /// Returns the leaps that end before this tick and have no entry yet, and marks them as told. Lost leaps are removed: their
    /// ticks are decided.
    pub(crate) fn take_untold(&mut self, tick: UtcMillis) -> Vec<Leap> {
        let is_untold = |leap: &Leap| matches!(leap.passed, Passed::Open | Passed::Lost) && leap.to < tick;
        let untold = self.0.iter().filter(|leap| is_untold(leap)).copied().collect();
        self.0.retain(|leap| leap.passed != Passed::Lost || !is_untold(leap));
        self.0.iter_mut().filter(|leap| is_untold(leap)).for_each(|leap| leap.passed = Passed::Told);
        untold
    }

    /// Of the ticks after one instant, up to another, the last: those after the returned instant lie all in one leap, or all in
    /// none. With it, what is known of the leap.
    pub(crate) fn last_part(&self, after: UtcMillis, to: UtcMillis) -> (UtcMillis, Option<Passed>) {
        let is_in = |leap: &&Leap| leap.passed != Passed::Lost && leap.after < to && after < leap.to;
        match self.0.iter().rfind(is_in) {
            None => (after, None),
            Some(leap) if leap.to < to => (leap.to, None),
            Some(leap) => (leap.after.max(after), Some(leap.passed)),
        }
    }

    /// Whether the ticks after one instant, up to another, lie all in one leap, or all in none.
    pub(crate) fn has_all_or_none(&self, after: UtcMillis, to: UtcMillis) -> bool {
        self.last_part(after, to).0 == after
    }

    /// The tick at this instant was decided: what lies before it in its leap was passed, and has been recorded.
    pub(crate) fn decide(&mut self, instant: UtcMillis) {
        self.0.iter_mut().filter(|leap| leap.covers(instant)).for_each(|leap| leap.after = instant);
        self.0.retain(|leap| leap.after < leap.to);
    }

    /// The tick at this instant, which was decided, is open again.
    pub(crate) fn give_back(&mut self, instant: UtcMillis) {
        let before = UtcMillis(instant.0 - 1);
        match self.0.iter_mut().find(|leap| leap.after == instant && leap.passed.may_open()) {
            Some(leap) => leap.after = before,
            None => self.add(Leap { after: before, to: instant, passed: Passed::Open }),
        }
    }

    /// The ticks after one instant, up to another, were decided: they are part of no leap. Those that were lost stay, until they
    /// have their entry.
    pub(crate) fn except(&mut self, after: UtcMillis, to: UtcMillis) {
        self.except_of(after, to, Passed::may_open);
    }

    /// The tick at this instant was decided, and has its entry: it is part of no leap.
    pub(crate) fn except_told(&mut self, instant: UtcMillis) {
        self.except_of(UtcMillis(instant.0 - 1), instant, |_| true);
    }

    /// Of the ticks after one instant, up to another, the last ran, and has its entry; the others, if there are any, have none.
    pub(crate) fn tell_ran(&mut self, after: UtcMillis, to: UtcMillis) {
        self.except_of(after, to, |_| true);
        self.add(Leap { after, to, passed: Passed::Ran });
    }

    /// Whether the tick at this instant ran, while ticks around it have no entry yet.
    pub(crate) fn has_ran(&self, instant: UtcMillis) -> bool {
        self.ran_up_to(instant).is_some()
    }

    /// The newest tick that is known to have run where the one at this instant is.
    pub(crate) fn ran_up_to(&self, instant: UtcMillis) -> Option<UtcMillis> {
        self.covering(instant, Passed::Ran).map(|leap| leap.to)
    }

    /// Ticks that ran need not be known any more: all ticks up to them have their entry, or they did not run after all.
    pub(crate) fn forget_ran(&mut self, is_over: impl Fn(&Leap) -> bool) {
        self.0.retain(|leap| leap.passed != Passed::Ran || !is_over(leap));
    }

    fn covering(&self, instant: UtcMillis, passed: Passed) -> Option<&Leap> {
        self.0.iter().find(|leap| leap.passed == passed && leap.covers(instant))
    }

    fn except_of(&mut self, after: UtcMillis, to: UtcMillis, is_one: impl Fn(Passed) -> bool) {
        for leap in std::mem::take(&mut self.0) {
            if !is_one(leap.passed) {
                self.add(leap);
                continue;
            }
            self.add(Leap { to: leap.to.min(after), ..leap });
            if leap.to > after {
                self.add(Leap { after: leap.after.max(to), ..leap });
            }
        }
    }

    /// No leap goes beyond this instant any more.
    pub(crate) fn cut(&mut self, instant: UtcMillis) {
        self.0.iter_mut().for_each(|leap| leap.to = leap.to.min(instant));
        self.0.retain(|leap| leap.after < leap.to);
    }
}

/// The stored form: `AFTER-TO`, with a `!` where the leap is open again, a `?` where it is lost, and a `=` where one ran.
impl fmt::Display for Leap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.passed {
            Passed::Told => "",
            Passed::Open => "!",
            Passed::Lost => "?",
            Passed::Ran => "=",
        };
        write!(f, "{}-{}{sign}", self.after.0, self.to.0)
    }
}

/// The stored form: each leap's, separated by blanks.
impl fmt::Display for Leaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, leap) in self.0.iter().enumerate() {
            let blank = if nth > 0 { " " } else { "" };
            write!(f, "{blank}{leap}")?;
        }
        Ok(())
    }
}

impl FromStr for Leaps {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let leap = |text: &str| {
            let signs = [('!', Passed::Open), ('?', Passed::Lost), ('=', Passed::Ran)];
            let signed = |(sign, passed)| text.strip_suffix(sign).map(|text| (text, passed));
            let (text, passed) = signs.into_iter().find_map(signed).unwrap_or((text, Passed::Told));
            let (after, to) = text.split_once('-').ok_or(())?;
            let instant = |text: &str| text.parse().map(UtcMillis).map_err(|_| ());
            Ok(Leap { after: instant(after)?, to: instant(to)?, passed })
        };
        text.split_ascii_whitespace().map(leap).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
#[path = "leaps_tests.rs"]
mod tests;
