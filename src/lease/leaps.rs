//! Ticks that the mark passed without deciding them one by one. While the mark lies in the past, all ticks up to it are
//! decided. A mark that lies in the future was set by a clock that was ahead: then only the ticks that were claimed one by
//! one are decided, and the leaps are open again.

use std::fmt;
use std::str::FromStr;

use crate::job::UtcMillis;

/// A record keeps this many leaps; the oldest is forgotten first, and its ticks stay decided.
const KEPT: usize = 8;

/// The mark passed every tick after `after`, up to `to`, and none of them ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leap {
    /// The leap begins after this instant.
    pub after: UtcMillis,
    /// The leap ends with this instant.
    pub to: UtcMillis,
    /// Whether the ticks have their entry. A leap that was opened again has none until its ticks are passed once more.
    pub told: bool,
}

impl Leap {
    /// Whether nobody knew the job before the leap: its ticks up to the instant when the leap is found to lie ahead came to
    /// nobody.
    pub(super) fn is_first(&self) -> bool {
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

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Leap> {
        self.0.iter_mut()
    }

    /// Adds a leap, unless it is empty; one that goes on where another ended is one with it, but for the first.
    pub(super) fn add(&mut self, leap: Leap) {
        if leap.after >= leap.to {
            return;
        }
        let at = self.0.partition_point(|other| other.after < leap.after);
        let before = at.checked_sub(1).map(|before| &mut self.0[before]);
        let goes_on =
            |before: &Leap| before.to == leap.after && before.told == leap.told && !before.is_first();
        if let Some(before) = before.filter(|before| goes_on(before)) {
            before.to = leap.to;
            return;
        }
        self.0.insert(at, leap);
        if self.0.len() > KEPT {
            self.0.remove(0);
        }
    }

    /// Opens the leaps again that end after `front`, by a clock that shows `now`: their ticks have no entries any more. Of the
    /// first, what lies before `now` stays passed. Returns those leaps.
    pub(super) fn reopen(&mut self, front: UtcMillis, now: UtcMillis) -> Vec<Leap> {
        let mut opened = Vec::new();
        for leap in std::mem::take(&mut self.0) {
            if !leap.told || leap.to <= front {
                self.0.push(leap);
                continue;
            }
            let mut after = leap.after;
            if leap.is_first() {
                after = now;
                self.0.push(Leap { to: now, ..leap });
            }
            self.0.push(Leap { after, told: false, ..leap });
            opened.push(Leap { told: false, ..leap });
        }
        let too_many = self.0.len().saturating_sub(KEPT);
        self.0.drain(..too_many);
        opened
    }

    /// The tick at this instant was decided: what lies before it in its leap was passed, and has been recorded.
    pub(super) fn decide(&mut self, instant: UtcMillis) {
        self.0.iter_mut().filter(|leap| leap.covers(instant)).for_each(|leap| leap.after = instant);
        self.0.retain(|leap| leap.after < leap.to);
    }

    /// The tick at this instant, which was decided, is open again.
    pub(super) fn give_back(&mut self, instant: UtcMillis) {
        let before = UtcMillis(instant.0 - 1);
        match self.0.iter_mut().find(|leap| leap.after == instant) {
            Some(leap) => leap.after = before,
            None => self.add(Leap { after: before, to: instant, told: false }),
        }
    }

    /// The ticks after one instant, up to another, were decided: they are no part of any leap.
    pub(super) fn except(&mut self, after: UtcMillis, to: UtcMillis) {
        for leap in std::mem::take(&mut self.0) {
            self.add(Leap { to: leap.to.min(after), ..leap });
            if leap.to > after {
                self.add(Leap { after: leap.after.max(to), ..leap });
            }
        }
    }

    /// Forgets every leap that ends after this instant.
    pub(super) fn cut(&mut self, instant: UtcMillis) {
        self.0.retain(|leap| leap.to <= instant);
    }
}

/// The stored form: `AFTER-TO`, with a `!` where the ticks have no entry, separated by blanks.
impl fmt::Display for Leaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, Leap { after, to, told }) in self.0.iter().enumerate() {
            let (blank, untold) = (if nth > 0 { " " } else { "" }, if *told { "" } else { "!" });
            write!(f, "{blank}{}-{}{untold}", after.0, to.0)?;
        }
        Ok(())
    }
}

impl FromStr for Leaps {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let leap = |text: &str| {
            let (text, told) = text.strip_suffix('!').map_or((text, true), |text| (text, false));
            let (after, to) = text.split_once('-').ok_or(())?;
            let instant = |text: &str| text.parse().map(UtcMillis).map_err(|_| ());
            Ok(Leap { after: instant(after)?, to: instant(to)?, told })
        };
        text.split_ascii_whitespace().map(leap).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaps(text: &str) -> Leaps {
        text.parse().expect("leaps")
    }

    #[test]
    fn leaps_survive_their_stored_form() {
        for text in ["", "0-5", "0-5 7-9!", "1-2! 3-4!"] {
            assert_eq!(leaps(text).to_string(), text);
        }
        for text in ["5", "a-b", "1-2?"] {
            assert_eq!(text.parse::<Leaps>(), Err(()), "{text}");
        }
    }

    #[test]
    fn a_decided_tick_leaves_what_comes_after_it_in_its_leap() {
        let mut leaps = leaps("0-5 10-20!");
        leaps.decide(UtcMillis(12));
        assert_eq!(leaps.to_string(), "0-5 12-20!");
        leaps.decide(UtcMillis(20));
        assert_eq!(leaps.to_string(), "0-5");
    }

    #[test]
    fn a_tick_that_is_given_back_is_open_again() {
        let mut leaps = leaps("10-20!");
        leaps.decide(UtcMillis(12));
        leaps.give_back(UtcMillis(12));
        assert_eq!(leaps.to_string(), "11-20!");
        leaps.decide(UtcMillis(20));
        leaps.give_back(UtcMillis(20));
        assert_eq!(leaps.to_string(), "19-20!");
    }

    #[test]
    fn of_many_leaps_the_oldest_is_forgotten() {
        let mut leaps = Leaps::default();
        for nth in 0..=KEPT as i64 {
            leaps.add(Leap { after: UtcMillis(nth * 10), to: UtcMillis(nth * 10 + 5), told: true });
        }
        assert_eq!(leaps.iter().count(), KEPT);
        assert_eq!(leaps.iter().next().map(|leap| leap.after), Some(UtcMillis(10)));
    }
}
