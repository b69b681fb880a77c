//! Ticks that the mark passed without deciding them one by one. While the mark lies in the past, all ticks up to it are
//! decided. A mark that lies in the future was set by a clock that was ahead: then only the ticks that were claimed one by
//! one are decided, and the leaps are open. If the store lost decisions, ticks of an open leap may be among them: those
//! that had come stay decided.

use std::fmt;
use std::str::FromStr;

use crate::time::UtcMillis;

/// A record has at most this many leaps. The shortest is forgotten first, and its ticks stay decided.
const KEPT: usize = 32;

/// What is known of the ticks in a leap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Passed {
    /// None of the ticks ran, and all have their entry.
    Told,
    /// None of the ticks ran, and they are open again: they have no entry until the mark passes them once more.
    Open,
    /// The ticks were open when the store lost decisions: they may have run, stay decided, and have no entry yet.
    Lost,
    /// The newest of the ticks ran, and has the entry of its run: the store had forgotten it among others, and its holder
    /// reported it again.
    Ran,
}

impl Passed {
    /// Whether the ticks are open, or may be opened again.
    pub(crate) fn may_open(self) -> bool {
        matches!(self, Self::Told | Self::Open)
    }
}

/// A span of ticks, after `after` and up to `to`, that the mark passed without a decision on each of them.
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
    /// Whether no replica knew the job before the leap. If such a leap is found to lie ahead, its ticks up to that moment
    /// stay passed: no replica was there to run them.
    pub(crate) fn is_first(&self) -> bool {
        self.after == UtcMillis(0)
    }

    /// Whether the instant lies in the leap.
    pub fn covers(&self, instant: UtcMillis) -> bool {
        self.after < instant && instant <= self.to
    }
}

/// The leaps of a record, in order; they do not overlap, and none goes beyond the mark.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Leaps(Vec<Leap>);

impl Leaps {
    /// Returns the leaps, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Leap> {
        self.0.iter()
    }

    /// Adds a leap, unless it is empty. It is merged into a leap of the same kind that ends where it begins, except into
    /// the first leap ([`Leap::is_first`]).
    pub(crate) fn add(&mut self, leap: Leap) {
        let leap = Leap { after: leap.after.max(UtcMillis(0)), ..leap };
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

    /// Whether a new leap would displace one whose ticks would then have no entry, or two.
    pub(crate) fn is_full(&self) -> bool {
        self.0.iter().filter(|leap| leap.passed != Passed::Told).count() >= KEPT
    }

    /// Takes out the lost leaps of one tick each, up to this instant, and returns these ticks.
    pub(crate) fn take_lost_ticks(&mut self, to: UtcMillis) -> Vec<UtcMillis> {
        let is_one =
            |leap: &Leap| leap.passed == Passed::Lost && leap.to.0 - leap.after.0 == 1 && leap.to <= to;
        let ticks = self.0.iter().filter(|leap| is_one(leap)).map(|leap| leap.to).collect();
        self.0.retain(|leap| !is_one(leap));
        ticks
    }

    /// Drops leaps above the limit, the shortest told leap first: its ticks stay decided. Others are dropped only if no
    /// told leap is left: their ticks would have no entry, or two.
    fn forget_shortest(&mut self) {
        let weight = |leap: &Leap| (leap.passed != Passed::Told, leap.to.since(leap.after));
        while self.0.len() > KEPT {
            let least = (0..self.0.len()).min_by_key(|at| weight(&self.0[*at]));
            self.0.remove(least.unwrap_or_default());
        }
    }

    /// Opens the told leaps that end after `front`, by a clock that shows `now`: their ticks no longer have entries. Of the
    /// first leap ([`Leap::is_first`]), the part up to `now` stays passed. Returns these leaps as they were.
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

    /// Marks open leaps as lost after one instant, up to another: the store lost decisions, and any tick there may have been
    /// decided.
    pub(crate) fn lose(&mut self, after: UtcMillis, to: UtcMillis) {
        if self.0.iter().any(|leap| leap.passed == Passed::Open) {
            self.replace(after, to, |passed| passed == Passed::Open, Some(Passed::Lost));
        }
    }

    /// Returns the start of the lost leap that covers this tick: the ticks after it were lost and have no entry.
    pub(crate) fn lost_before(&self, tick: UtcMillis) -> Option<UtcMillis> {
        self.covering(tick, Passed::Lost).map(|leap| leap.after)
    }

    /// Takes the lost ticks after one instant, up to another, out of their leaps: they get their entry.
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

    /// Returns the start of the last part of a span: the ticks after the returned instant, up to `to`, all lie in one leap,
    /// or all in none. Also returns what is known of that leap; `None` if they lie in none. Lost leaps do not count.
    pub(crate) fn last_part(&self, after: UtcMillis, to: UtcMillis) -> (UtcMillis, Option<Passed>) {
        let is_in = |leap: &&Leap| leap.passed != Passed::Lost && leap.after < to && after < leap.to;
        match self.0.iter().rfind(is_in) {
            None => (after, None),
            Some(leap) if leap.to < to => (leap.to, None),
            Some(leap) => (leap.after.max(after), Some(leap.passed)),
        }
    }

    /// Whether the ticks after one instant, up to another, all lie in one leap, or all in none. Lost leaps do not count.
    pub(crate) fn has_all_or_none(&self, after: UtcMillis, to: UtcMillis) -> bool {
        self.last_part(after, to).0 == after
    }

    /// Decides the tick at this instant. The ticks before it in its leap were passed and have been recorded, so the leap
    /// begins here.
    pub(crate) fn decide(&mut self, instant: UtcMillis) {
        self.0.iter_mut().filter(|leap| leap.covers(instant)).for_each(|leap| leap.after = instant);
        self.0.retain(|leap| leap.after < leap.to);
    }

    /// Opens the tick at this instant again, which was decided.
    pub(crate) fn give_back(&mut self, instant: UtcMillis) {
        let before = UtcMillis(instant.0 - 1);
        match self.0.iter_mut().find(|leap| leap.after == instant && leap.passed.may_open()) {
            Some(leap) => leap.after = before,
            None => self.add(Leap { after: before, to: instant, passed: Passed::Open }),
        }
    }

    /// Takes the ticks after one instant, up to another, out of told and open leaps: they were decided. Lost leaps stay
    /// until their ticks have their entry.
    pub(crate) fn except(&mut self, after: UtcMillis, to: UtcMillis) {
        self.replace(after, to, Passed::may_open, None);
    }

    /// Takes the tick at this instant out of every leap: it was decided and has its entry.
    pub(crate) fn except_told(&mut self, instant: UtcMillis) {
        self.replace(UtcMillis(instant.0 - 1), instant, |_| true, None);
    }

    /// Records that the last one of the ticks after one instant, up to another, ran and has its entry; the others have none.
    pub(crate) fn tell_ran(&mut self, after: UtcMillis, to: UtcMillis) {
        self.replace(after, to, |_| true, None);
        self.add(Leap { after, to, passed: Passed::Ran });
    }

    /// Whether the instant lies in a leap, of whatever kind.
    pub(crate) fn cover(&self, instant: UtcMillis) -> bool {
        self.0.iter().any(|leap| leap.covers(instant))
    }

    /// Whether the tick at this instant ran, while ticks around it have no entry yet.
    pub(crate) fn has_ran(&self, instant: UtcMillis) -> bool {
        self.ran_up_to(instant).is_some()
    }

    /// Returns the tick that is known to have run in the span around this instant.
    pub(crate) fn ran_up_to(&self, instant: UtcMillis) -> Option<UtcMillis> {
        self.covering(instant, Passed::Ran).map(|leap| leap.to)
    }

    /// Forgets ran leaps for which `is_over` returns true: all ticks up to them have their entry, or they did not run after all.
    pub(crate) fn forget_ran(&mut self, is_over: impl Fn(&Leap) -> bool) {
        self.0.retain(|leap| leap.passed != Passed::Ran || !is_over(leap));
    }

    fn covering(&self, instant: UtcMillis, passed: Passed) -> Option<&Leap> {
        self.0.iter().find(|leap| leap.passed == passed && leap.covers(instant))
    }

    /// Takes the ticks after one instant, up to another, out of the leaps of some kinds, and puts them into leaps of the kind
    /// `by`, if there is one.
    fn replace(
        &mut self,
        after: UtcMillis,
        to: UtcMillis,
        is_one: impl Fn(Passed) -> bool,
        by: Option<Passed>,
    ) {
        for leap in std::mem::take(&mut self.0) {
            if !is_one(leap.passed) {
                self.add(leap);
                continue;
            }
            self.add(Leap { to: leap.to.min(after), ..leap });
            if let Some(passed) = by {
                self.add(Leap { after: leap.after.max(after), to: leap.to.min(to), passed });
            }
            self.add(Leap { after: leap.after.max(to), ..leap });
        }
    }

    /// Ends every leap at this instant at the latest.
    pub(crate) fn cut(&mut self, instant: UtcMillis) {
        self.0.iter_mut().for_each(|leap| leap.to = leap.to.min(instant));
        self.0.retain(|leap| leap.after < leap.to);
    }
}

/// The stored form: `AFTER-TO`, followed by `!` if the leap is open, `?` if it is lost, and `=` if its newest tick ran.
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

/// The stored form: the leaps, separated by blanks.
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
