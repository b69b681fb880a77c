//! What must hold after every step of a history.

use std::collections::BTreeMap;

use solocron::job::{Cause, Fence, Tick};
use solocron::lease::HistoryEntry;

use crate::book::tick;
use crate::honest::{EVERY, Grant, World};

impl World {
    pub(crate) fn one_holder_at_most(&self) -> Result<(), String> {
        let active: Vec<_> = self.replicas.iter().filter_map(|r| r.active.as_ref()).collect();
        if active.len() > 1 {
            return Err(format!("{} runs at once: {active:#?}", active.len()));
        }
        Ok(())
    }

    pub(crate) fn grants_are_in_order(&self) -> Result<(), String> {
        let mut granted: BTreeMap<Tick, &Grant> = BTreeMap::new();
        let mut last = Fence(0);
        for grant in &self.grants {
            if grant.fence <= last {
                return Err(format!("fence {} after {last}", grant.fence));
            }
            last = grant.fence;
            // Of a store that forgets only what was started is promised to start once.
            if grant.cause == Cause::Manual || self.has_forgotten && !grant.is_started {
                continue;
            }
            let before = granted.insert(grant.tick, grant);
            let is_first_rerun = |before: &Grant| {
                grant.cause == Cause::Rerun && (before.cause != Cause::Rerun || before.is_given_back)
            };
            if before.is_some_and(|before| !before.is_given_back && !is_first_rerun(before)) {
                return Err(format!("tick {} granted twice: {:#?}", grant.tick, self.grants));
            }
        }
        Ok(())
    }

    /// Every tick that the mark has passed is told of once, or is running, or is still to be told of as forgotten.
    pub(crate) fn ticks_are_told_of(&self) -> Result<(), String> {
        let Some(record) = self.book.record.as_ref() else { return Ok(()) };
        let told = record.lost_after.unwrap_or(record.mark);
        let entries =
            || self.book.entries.iter().filter(|e| !matches!(e.cause, Cause::Manual | Cause::Rerun));
        let all = (1..).map(|n| tick((n * EVERY) as f64));
        for tick in all.take_while(|tick| tick.instant() <= told).filter(|t| t.instant() > self.first_mark) {
            let covers = |entry: &&HistoryEntry| {
                entry.tick == tick
                    || entry.after.is_some_and(|after| after < tick.instant() && tick < entry.tick)
            };
            let count = entries().filter(covers).count();
            let is_first = record.tries == 1 && record.cause != Some(Cause::Manual);
            let is_running = record.is_running() && record.tick == Some(tick) && is_first;
            let is_right = match (is_running, self.has_forgotten) {
                (true, false) => count == 0,
                (false, false) => count == 1,
                (true, true) => true,
                // What was granted may be forgotten together with its holder.
                (false, true) => count >= 1 || self.grants.iter().any(|grant| grant.tick == tick),
            };
            if !is_right {
                return Err(format!(
                    "tick {tick} has {count} entries: {:#?}\n{record:#?}",
                    self.book.entries
                ));
            }
        }
        Ok(())
    }
}
