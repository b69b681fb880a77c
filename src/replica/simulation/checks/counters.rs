//! Counts what happened in simulations: a campaign that injects nothing is recognised by these.

use std::collections::BTreeMap;

/// How often each event happened.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// It happened.
    pub(crate) fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    /// It happened this often.
    pub(crate) fn add(&mut self, what: &str, times: u64) {
        match self.0.get_mut(what) {
            Some(count) => *count += times,
            None => drop(self.0.insert(what.to_owned(), times)),
        }
    }

    /// How often it happened.
    pub(crate) fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Takes in another's counts.
    pub(crate) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(what, times)| self.add(what, *times));
    }
}
