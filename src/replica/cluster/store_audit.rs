//! Logs how the store is set up, where that is a concern: inspected whenever the store becomes reachable, and each
//! concern is logged once, until it changes.

use crate::events::event::Event;
use crate::lease::Era;
use crate::replica::core::{Core, Effect};
use crate::store::{Concern, Grade, Pulse, StoreError};

/// How the store was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sight {
    /// It answers, in this era.
    Answers(Era),
    /// It is reachable but refuses: its setup may be the reason.
    Refuses,
}

/// What was seen and logged of the store.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    sight: Option<Sight>,
    told: Vec<Concern>,
}

impl Inspection {
    /// Takes in a heartbeat's result. Returns whether the store is to be inspected: it has become reachable or
    /// changed its era, or has begun or ceased to refuse.
    pub(crate) fn is_due(&mut self, result: &Result<Pulse, StoreError>) -> bool {
        let sight = match result {
            Ok(pulse) => Some(Sight::Answers(pulse.era.clone())),
            Err(StoreError::Refused(_)) => Some(Sight::Refuses),
            Err(StoreError::NotSent(_) | StoreError::Unknown(_)) => None,
        };
        let is_due = sight.is_some() && sight != self.sight;
        self.sight = sight;
        is_due
    }

    /// Returns how many concerns of this grade the last inspection found.
    pub(crate) fn count(&self, grade: Grade) -> u64 {
        self.told.iter().filter(|concern| concern.grade == grade).count() as u64
    }

    /// Returns the concerns that have not been logged yet. `None`: the store did not answer the inspection, which is
    /// repeated.
    pub(crate) fn news_of(&mut self, found: Option<Vec<Concern>>) -> Vec<Concern> {
        let Some(found) = found else {
            self.sight = None;
            return Vec::new();
        };
        let is_new = |concern: &&Concern| concern.grade != Grade::Note && !self.told.contains(concern);
        let news = found.iter().filter(is_new).cloned().collect();
        self.told = found;
        news
    }
}

impl Core {
    /// Inspects the store's setup if this heartbeat's result requires it.
    pub(crate) fn inspect_if_due(&mut self, result: &Result<Pulse, StoreError>) {
        if self.inspection.is_due(result) && !self.draining {
            self.effects.push(Effect::InspectStore);
        }
    }

    /// Logs what an inspection found. If the store did not answer, the heartbeat logs that, and the next one with an
    /// answer starts another inspection.
    pub(crate) fn inspected(&mut self, found: Option<Vec<Concern>>) {
        for concern in self.inspection.news_of(found) {
            self.report(Event::StoreConcern(concern));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::time::UtcMillis;

    use super::*;

    fn pulse(era: &str) -> Result<Pulse, StoreError> {
        Ok(Pulse {
            now: UtcMillis(0),
            era: Era(era.into()),
            marker: None,
            count: 0,
            peers: Vec::new(),
            notices: Vec::new(),
        })
    }

    #[test]
    fn the_store_is_looked_at_when_it_comes_into_sight_or_begins_another_life() {
        let mut inspection = Inspection::default();
        let lost = Err(StoreError::NotSent("down".into()));
        let refused = Err(StoreError::Refused("READONLY".into()));
        let seen = [
            (&lost, false),
            (&refused, true),
            (&refused, false),
            (&pulse("a"), true),
            (&pulse("a"), false),
            (&pulse("b"), true),
            (&lost, false),
            (&pulse("b"), true),
        ];
        for (number, (result, due)) in seen.into_iter().enumerate() {
            assert_eq!(inspection.is_due(result), due, "{number}");
        }
    }

    #[test]
    fn a_look_that_was_not_answered_is_taken_again() {
        let mut inspection = Inspection::default();
        assert!(inspection.is_due(&pulse("a")));
        assert_eq!(inspection.news_of(None), []);
        assert!(inspection.is_due(&pulse("a")));
        inspection.news_of(Some(Vec::new()));
        assert!(!inspection.is_due(&pulse("a")));
    }

    #[test]
    fn each_thing_is_told_once_until_it_changes() {
        let mut inspection = Inspection::default();
        let everysec = Concern::warning("may lose", "everysec");
        let never = Concern::warning("may lose", "no");
        let note = Concern::note("role", "primary");
        assert_eq!(
            inspection.news_of(Some(vec![everysec.clone(), note.clone()])),
            std::slice::from_ref(&everysec)
        );
        assert_eq!(inspection.news_of(Some(vec![everysec.clone(), note])), []);
        assert_eq!(inspection.news_of(Some(vec![never.clone()])), [never]);
        assert_eq!(inspection.news_of(Some(vec![])), []);
        assert_eq!(inspection.news_of(Some(vec![everysec.clone()])), [everysec]);
    }
}
