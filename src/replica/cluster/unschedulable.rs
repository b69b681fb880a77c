//! Jobs that no live replica may run: logged once that has lasted for a while, and not too often. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::events::event::Event;
use crate::job::{JobName, JobSpec, Label};
use crate::time::BootInstant;

use super::roster::Roster;

/// Replicas that start or are replaced together are all live within this time.
const SAY_AFTER: Duration = Duration::from_secs(10);

/// What lasts is logged again after this long.
const SAY_AGAIN: Duration = Duration::from_secs(60);

/// One set of labels that no live replica has.
#[derive(Debug)]
struct Vacancy {
    /// Since when, without a break.
    since: BootInstant,
    said: Option<BootInstant>,
}

/// The sets of labels that some job needs and no live replica has.
#[derive(Debug, Default)]
pub(crate) struct Unschedulable {
    open: BTreeMap<Vec<Label>, Vacancy>,
}

impl Unschedulable {
    /// Returns what to log about these jobs now.
    pub(crate) fn look<'a>(
        &mut self,
        roster: &Roster,
        jobs: impl Iterator<Item = &'a Arc<JobSpec>>,
        now: BootInstant,
    ) -> Vec<Event> {
        let mut vacant: BTreeMap<Vec<Label>, Vec<JobName>> = BTreeMap::new();
        for spec in jobs.filter(|spec| !roster.has_one_for(spec)) {
            vacant.entry(spec.only_on.clone()).or_default().push(spec.name.clone());
        }
        let lately = |said: Option<BootInstant>| said.is_some_and(|said| now.since(said) < SAY_AGAIN);
        self.open.retain(|labels, vacancy| vacant.contains_key(labels) || lately(vacancy.said));
        self.open
            .iter_mut()
            .filter(|(labels, _)| !vacant.contains_key(*labels))
            .for_each(|(_, v)| v.since = now);
        let mut events = Vec::new();
        for (labels, mut jobs) in vacant {
            let vacancy = self.open.entry(labels.clone()).or_insert(Vacancy { since: now, said: None });
            if now.since(vacancy.since) >= SAY_AFTER && !lately(vacancy.said) {
                vacancy.said = Some(now);
                jobs.sort();
                events.push(Event::NoReplicaFits { labels, jobs });
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use crate::config::testing::config;
    use crate::job::NodeName;

    use super::*;

    fn jobs() -> Vec<Arc<JobSpec>> {
        let text = "cluster.store = \"local\"\ndefaults.only_on = [\"gpu\"]\n\
                    [jobs.b]\nschedule = \"@daily\"\nshell = \"x\"\n[jobs.a]\nschedule = \"@daily\"\nshell = \"x\"\n\
                    [jobs.c]\nschedule = \"@daily\"\nshell = \"x\"\nonly_on = []\n";
        config(text).jobs.into_values().collect()
    }

    fn at(seconds: u64) -> BootInstant {
        BootInstant(Duration::from_secs(seconds))
    }

    fn label(label: &str) -> Label {
        Label::parse(label).expect("a label")
    }

    #[test]
    fn jobs_that_nobody_may_run_are_said_together_after_a_while_and_once_a_minute() {
        let (jobs, mut unschedulable) = (jobs(), Unschedulable::default());
        let roster = Roster::alone(NodeName::parse("n").expect("name"));
        let said = Event::NoReplicaFits {
            labels: vec![label("gpu")],
            jobs: ["a", "b"].map(|name| JobName::parse(name).expect("name")).to_vec(),
        };
        let times: Vec<u64> = (0..200)
            .filter(|second| {
                let events = unschedulable.look(&roster, jobs.iter(), at(*second));
                assert!(events.is_empty() || events == [said.clone()], "{events:?}");
                !events.is_empty()
            })
            .collect();
        assert_eq!(times, [10, 70, 130, 190]);
    }

    #[test]
    fn a_fit_replica_stops_the_warning_and_one_that_comes_and_goes_adds_none() {
        let (jobs, mut unschedulable) = (jobs(), Unschedulable::default());
        let alone = Roster::alone(NodeName::parse("n").expect("name"));
        let mut fit = alone.clone();
        fit.carry(vec![label("eu"), label("gpu")]);
        assert!((0..100).all(|second| unschedulable.look(&fit, jobs.iter(), at(second)).is_empty()));
        let said = (100..220_u64).filter(|second| {
            let roster = if second % 20 == 19 { &fit } else { &alone };
            !unschedulable.look(roster, jobs.iter(), at(*second)).is_empty()
        });
        assert_eq!(said.collect::<Vec<_>>(), [110, 170]);
    }
}
