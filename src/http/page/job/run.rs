//! The parts of a run's page: its story as a list, and what it printed.

use askama::Template;

use crate::http::page::shell::{PageFrame, PagePart, StoreSight, UtcTime, top_part};
use crate::job::Outcome;
use crate::time::UtcMillis;
use crate::view::history::TickView;
use crate::view::job::JobState;
use crate::view::problems::ClusterProblem;
use crate::view::snapshot::Snapshot;
use crate::view::text::reason::{outcome_in_words, reason_in_words};
use crate::view::text::time_format::{Rfc3339, span};

use super::outcome::{TickLine, in_zone};
use super::output::{RunOutput, output_part};

/// What the page of a run shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunFacts<'a> {
    /// Its job.
    pub(crate) job: &'a JobState,
    /// The run.
    pub(crate) tick: &'a TickView,
    /// The replicas.
    pub(crate) snapshot: &'a Snapshot,
    /// What is wrong with the cluster and with any of its jobs.
    pub(crate) problems: &'a [ClusterProblem],
    /// What it printed.
    pub(crate) output: RunOutput<'a>,
    /// Whether the store answers.
    pub(crate) store: StoreSight,
}

/// One step of a run.
#[derive(Debug)]
struct RunStep {
    at: Option<UtcTime>,
    /// How long after the step before.
    after: Option<String>,
    text: String,
}

#[derive(Template)]
#[template(path = "story.html")]
struct Story<'a> {
    base: &'a str,
    name: &'a str,
    run: String,
    line: TickLine,
    steps: Vec<RunStep>,
}

/// Returns the parts of the page.
pub(crate) fn run_parts(frame: &PageFrame<'_>, facts: &RunFacts<'_>) -> Vec<PagePart> {
    let (tick, schedule) = (facts.tick, facts.job.spec().map(|spec| &spec.schedule));
    let story = Story {
        base: frame.base,
        name: facts.job.name.as_str(),
        run: tick.run.map(|run| run.to_string()).unwrap_or_default(),
        line: TickLine::of(tick, schedule, facts.snapshot.ages_to),
        steps: steps(facts),
    };
    let top = top_part(frame, facts.snapshot, facts.problems, facts.store);
    let output = output_part(frame.base, tick, facts.output);
    [top, PagePart::of("story", &story)].into_iter().chain(output).collect()
}

/// Returns what happened to a run, in the order in which it happened.
fn steps(facts: &RunFacts<'_>) -> Vec<RunStep> {
    let (tick, schedule) = (facts.tick, facts.job.spec().map(|spec| &spec.schedule));
    let Rfc3339(due) = tick.tick;
    let mut all: Vec<(Option<UtcMillis>, String)> =
        vec![(Some(due), format!("its tick, {}", in_zone(due, schedule)))];
    if let Some(Rfc3339(started)) = tick.started {
        let on = tick.node.as_ref().map_or_else(String::new, |node| format!(" to {node}"));
        let fence = tick.fence.map_or_else(String::new, |fence| format!(", with fence {fence}"));
        all.push((Some(started), format!("the lock was granted{on}{fence}")));
    }
    let record = facts.job.record.as_ref().filter(|record| record.run == tick.run && record.is_running());
    match (tick.outcome, tick.finished) {
        (Outcome::Running, _) => {
            let alive = record.and_then(|record| record.ended);
            all.extend(alive.map(|at| (Some(at), "the lock was last renewed".to_owned())));
            let stop = record.and_then(|record| record.stop_run).filter(|run| Some(*run) == tick.run);
            all.extend(stop.map(|_| (None, "it has been told to stop".to_owned())));
            all.push((None, "it goes on".to_owned()));
        }
        (outcome, finished) => {
            let why = tick.reason.map(reason_in_words);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let exit = tick.exit().map_or_else(String::new, |exit| match tick.signal {
                Some(_) => format!(" by {exit}"),
                None => format!(" with exit code {exit}"),
            });
            let attempt = tick.attempt.filter(|attempt| *attempt > 1);
            let attempt = attempt.map_or_else(String::new, |last| format!(", in attempt {last}"));
            let words = outcome_in_words(outcome);
            all.push((finished.map(|Rfc3339(at)| at), format!("{words}{exit}{attempt}{why}")));
        }
    }
    let mut before = None;
    let step = |(at, text): (Option<UtcMillis>, String)| {
        let after =
            at.zip(before).filter(|(at, before)| at > before).map(|(at, before)| span(at.since(before)));
        before = at.or(before);
        RunStep { at: at.map(UtcTime), after, text }
    };
    all.into_iter().map(step).collect()
}
