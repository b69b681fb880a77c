//! The account of the week: each tick has exactly one entry, which says what happened, and nothing else ran.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::job::{RunId, Tick, Verdict};
use crate::lease::{HistoryEntry, Lease};
use crate::replica::simulation::checks::records::covers;
use crate::replica::simulation::world::World;
use crate::replica::simulation::world::clock::Moment;

use super::WEEK;
use super::log::{Log, Phase, Span};

/// Ticks of the last hour may not be decided yet, and those of the first minute come while replicas start.
const LAST: Duration = Duration::from_secs(3_600);
const FIRST: Moment = Moment(60_000);

/// A tick may wait this long for its claim, and be dropped by an edit meanwhile.
const BEFORE_AN_EDIT: Duration = Duration::from_secs(180);

/// A definition of a job, while all replicas had it.
pub(super) struct InForce<'a> {
    pub(super) job: usize,
    pub(super) phase: &'a Phase,
    /// Its ticks from here to there must be accounted for.
    pub(super) span: Span,
    /// When the next definition was loaded by the first and by the last replica.
    pub(super) next: Option<Span>,
}

/// A run, in all its attempts.
#[derive(Debug)]
pub(super) struct PastRun<'a> {
    pub(super) job: usize,
    pub(super) seat: usize,
    pub(super) lease: &'a Lease,
    pub(super) started: Moment,
    /// When nothing of it was left, and how it ended.
    pub(super) ended: Option<(Moment, Verdict)>,
    pub(super) attempt: u32,
    /// When the store had recorded its end, as its replica knows.
    pub(super) recorded: Option<Moment>,
}

/// What the account is made from.
pub(super) struct Account<'a> {
    pub(super) world: &'a World,
    pub(super) log: &'a Log,
    pub(super) runs: Vec<PastRun<'a>>,
}

impl World {
    /// What is wrong, each with its job and tick.
    pub(super) fn account(&mut self) -> Vec<String> {
        let week = self.week.take().expect("only a week is accounted for");
        let account = Account { world: self, log: &week.log, runs: self.past_runs() };
        let (mut wrong, told) = account.of_ticks();
        wrong.extend(account.wrong_runs());
        told.iter().for_each(|what| self.tally.count(what));
        self.week = Some(week);
        wrong
    }

    /// Returns every run.
    fn past_runs(&self) -> Vec<PastRun<'_>> {
        let mut places: BTreeMap<RunId, usize> = BTreeMap::new();
        let mut runs: Vec<PastRun<'_>> = Vec::new();
        for process in &self.witness.runs {
            let at = *places.entry(process.lease.run).or_insert(runs.len());
            let (job, seat, lease, started) = (process.job, process.seat, &process.lease, process.started);
            if at == runs.len() {
                runs.push(PastRun { job, seat, lease, started, ended: None, attempt: 0, recorded: None });
            }
            let run = &mut runs[at];
            run.attempt = process.attempt;
            run.ended = process.is_over.then_some((process.ends, process.verdict));
            run.recorded = process.recorded;
        }
        runs
    }
}

impl<'a> Account<'a> {
    /// Returns what is wrong with the entries of ticks, and what every tick came to.
    fn of_ticks(&self) -> (Vec<String>, Vec<String>) {
        let (mut wrong, mut all) = (Vec::new(), Vec::new());
        for in_force in self.in_force().iter().filter(|in_force| in_force.phase.spec.enabled) {
            let entries = &self.world.server.told[in_force.job];
            for tick in in_force.ticks() {
                let told: Vec<&HistoryEntry> = entries.iter().filter(|entry| covers(entry, tick)).collect();
                let what = match told[..] {
                    [entry] => {
                        all.push(format!("tick {}", entry.verdict()));
                        self.is_wrong(in_force, tick, entry)
                    }
                    [] => Some("has no record".to_owned()),
                    _ => Some("has more than one record".to_owned()),
                };
                let name = &in_force.phase.spec.name;
                wrong.extend(what.map(|what| format!("{name}, tick {tick}: {what}: {told:#?}")));
            }
        }
        (wrong, all)
    }

    /// Every definition of every job.
    fn in_force(&self) -> Vec<InForce<'a>> {
        let end = Moment(WEEK.0 - LAST.as_millis() as u64);
        let mut all = Vec::new();
        for (job, phases) in self.log.phases.iter().enumerate() {
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

    /// Returns runs for instants that were no tick of the job.
    fn wrong_runs(&self) -> Vec<String> {
        let in_force = self.in_force();
        let is_wrong =
            |run: &&PastRun<'_>| !in_force.iter().any(|it| it.job == run.job && it.has(run.lease.tick));
        let wrong = self.runs.iter().filter(is_wrong);
        wrong.map(|run| format!("ran, and was no tick of the job as it was then: {run:#?}")).collect()
    }
}

impl InForce<'_> {
    /// The ticks that must be accounted for.
    fn ticks(&self) -> impl Iterator<Item = Tick> {
        let until = self.span.to.utc();
        let ticks = self.phase.spec.schedule.ticks_after(self.span.from.utc());
        ticks.take_while(move |tick| tick.instant() < until)
    }

    /// Whether a replica may have planned this tick.
    fn has(&self, tick: Tick) -> bool {
        let spec = &self.phase.spec;
        let is_within = self.phase.first.utc() <= tick.instant()
            && self.next.is_none_or(|next| tick.instant() <= next.to.utc());
        spec.enabled && is_within && spec.schedule.at_or_before(tick.instant()) == Some(tick)
    }
}
