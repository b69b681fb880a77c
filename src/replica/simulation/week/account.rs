//! The account of the week: each tick has exactly one entry, which says what happened, and nothing else ran.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::job::{JobName, Tick};
use crate::lease::HistoryEntry;
use crate::replica::simulation::world::clock::Moment;

use super::log::{Phase, Span};
use super::world::{WEEK, World};

/// Ticks of the last hour may not be decided yet, and those of the first minute come while replicas start.
const LAST: Duration = Duration::from_secs(3_600);
const FIRST: Moment = Moment(60_000);

/// A tick may wait this long for its claim, and be dropped by an edit meanwhile.
const BEFORE_AN_EDIT: Duration = Duration::from_secs(180);

/// A definition of a job, while all replicas had it.
pub(super) struct InForce<'a> {
    pub(super) job: &'a JobName,
    pub(super) phase: &'a Phase,
    /// Its ticks from here to there must be accounted for.
    pub(super) span: Span,
    /// When the next definition was loaded by the first and by the last replica.
    pub(super) next: Option<Span>,
}

impl World {
    /// What is wrong, each with its job and tick.
    pub(super) fn account(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for in_force in self.in_force() {
            if !in_force.phase.spec.enabled {
                continue;
            }
            let entries = self.store.told.get(in_force.job).map(Vec::as_slice).unwrap_or_default();
            for tick in in_force.ticks() {
                let told: Vec<&HistoryEntry> = entries.iter().filter(|entry| covers(entry, tick)).collect();
                let what = match told[..] {
                    [entry] => {
                        *counts.entry(format!("tick {}", entry.verdict())).or_default() += 1;
                        self.is_wrong(&in_force, tick, entry)
                    }
                    [] => Some("has no record".to_owned()),
                    _ => Some("has more than one record".to_owned()),
                };
                if let Some(what) = what {
                    wrong.push(format!("{}, tick {tick}: {what}: {told:#?}", in_force.job));
                }
            }
        }
        wrong.extend(self.wrong_runs());
        self.log.counts.extend(counts);
        wrong
    }

    /// Every definition of every job.
    fn in_force(&self) -> Vec<InForce<'_>> {
        let end = Moment(WEEK.0 - LAST.as_millis() as u64);
        let mut all = Vec::new();
        for (job, phases) in &self.log.phases {
            let nexts = phases
                .iter()
                .skip(1)
                .map(|next| Some(Span { from: next.first, to: next.last }))
                .chain([None]);
            all.extend(phases.iter().zip(nexts).map(|(phase, next)| {
                let until = next.map_or(end, |next| next.from).0;
                let until = Moment(until.saturating_sub(BEFORE_AN_EDIT.as_millis() as u64));
                InForce { job, phase, span: Span { from: phase.last.max(FIRST), to: until }, next }
            }));
        }
        all
    }

    /// Returns runs for instants that were no tick of the job, and second runs.
    fn wrong_runs(&self) -> Vec<String> {
        let in_force = self.in_force();
        let mut ran: BTreeMap<(&JobName, Tick), usize> = BTreeMap::new();
        let mut wrong = Vec::new();
        for run in &self.runs {
            let tick = run.lease.tick;
            let was_there = |it: &InForce<'_>| *it.job == run.job && it.has(tick);
            let what = if !in_force.iter().any(was_there) {
                "ran, and was no tick of the job as it was then"
            } else if ran.insert((&run.job, tick), 1).is_some() {
                "ran twice"
            } else {
                continue;
            };
            wrong.push(format!("{}, tick {tick}: {what}: {:#?}", run.job, run.lease));
        }
        wrong
    }
}

impl InForce<'_> {
    /// The ticks that must be accounted for.
    fn ticks(&self) -> impl Iterator<Item = Tick> {
        let schedule = &self.phase.spec.schedule;
        let following = |tick: &Tick| schedule.next_after(tick.instant());
        let until = self.span.to.utc();
        std::iter::successors(schedule.next_after(self.span.from.utc()), following)
            .take_while(move |tick| tick.instant() < until)
    }

    /// Whether a replica may have planned this tick.
    fn has(&self, tick: Tick) -> bool {
        let spec = &self.phase.spec;
        let is_within = self.phase.first.utc() <= tick.instant()
            && self.next.is_none_or(|next| tick.instant() <= next.to.utc());
        spec.enabled && is_within && spec.schedule.at_or_before(tick.instant()) == Some(tick)
    }
}

/// Whether the entry stands for the tick.
fn covers(entry: &HistoryEntry, tick: Tick) -> bool {
    entry.tick == tick || entry.after.is_some_and(|after| after < tick.instant() && tick < entry.tick)
}
