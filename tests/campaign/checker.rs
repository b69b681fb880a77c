//! Judges the evidence of a campaign: every violation of the promise, by name. What the processes themselves did is
//! judged here; what the stores recorded of it in `coverage`.

use crate::evidence::Evidence;
use crate::fault::Kind;
use crate::jobs::{JobPlan, Policy};
use crate::testimony::Testimony;
use crate::violation::Violation;
use crate::{coverage, liveness};

/// A run is dead this long before its lock may be another's.
const SPARE_MS: i64 = 500;

/// A clock that was wrong is right again in the eyes of all replicas this long after.
const CLOCK_NEWS_MS: i64 = 10_000;

/// A tick that was run this long before its time was another one's by the right clock.
const FAR_MS: i64 = 600_000;

/// Everything that is wrong.
pub(crate) fn check(evidence: &Evidence) -> Vec<Violation> {
    let mut violations: Vec<Violation> = evidence.troubles.iter().cloned().map(Violation::Trouble).collect();
    for job in &evidence.jobs {
        let runs = evidence.runs_of(&job.name);
        violations.extend(overlaps(evidence, &runs));
        violations.extend(doubles(evidence, job, &runs));
        violations.extend(fences(evidence, &runs));
        violations.extend(overstays(evidence, job, &runs));
        violations.extend(coverage::check(evidence, job, &runs));
    }
    violations.extend(early(evidence));
    violations.extend(liveness::check(evidence));
    violations.sort();
    violations
}

/// No two runs of a job at a time, their descendants included. Runs are in order of their start. The exception: a store that went
/// back a moment ago did not know the lock of the first.
fn overlaps(evidence: &Evidence, runs: &[&Testimony]) -> Vec<Violation> {
    let mut latest: Option<&Testimony> = None;
    let mut violations = Vec::new();
    for &run in runs {
        if let Some(before) = latest
            .filter(|before| before.last_ms() > run.started_ms && !evidence.forgot_lock_between(before, run))
        {
            violations.push(Violation::Overlap {
                job: run.job.clone(),
                runs: [before.run.clone(), run.run.clone()],
                nodes: [before.node.clone(), run.node.clone()],
                by_ms: before.last_ms().min(run.last_ms()) - run.started_ms,
            });
        }
        latest = latest.filter(|before| before.last_ms() > run.last_ms()).or(Some(run));
    }
    violations
}

/// No tick twice, but for the one rerun after the first run that its job may ask for, and for a replica that was not told of the
/// first run by a store that went back a moment ago.
fn doubles(evidence: &Evidence, job: &JobPlan, runs: &[&Testimony]) -> Vec<Violation> {
    let judged = |run: &&&Testimony| run.cause != "manual" && is_of_its_time(run);
    let mut by_tick: Vec<&&Testimony> = runs.iter().filter(judged).collect();
    // What starts later comes later among those of the same tick.
    by_tick.sort_by_key(|run| run.tick_ms);
    let is_rerun = |run: &Testimony| run.cause == "rerun";
    let may_be =
        |pair: &[&&Testimony]| job.policy == Policy::Reruns && !is_rerun(pair[0]) && is_rerun(pair[1]);
    let was_not_told = |pair: &[&&Testimony]| evidence.forgot_tick_between(pair[0], pair[1]);
    let same = by_tick.windows(2).filter(|pair| pair[0].tick_ms == pair[1].tick_ms);
    let same = same.filter(|pair| !may_be(pair) && !was_not_told(pair));
    same.map(|pair| Violation::Twice {
        job: pair[1].job.clone(),
        tick_ms: pair[1].tick_ms,
        runs: [pair[0].run.clone(), pair[1].run.clone()],
        nodes: [pair[0].node.clone(), pair[1].node.clone()],
    })
    .collect()
}

/// Whether it has its own name, and not one that a clock that was wrong by hours took from a later one.
fn is_of_its_time(run: &Testimony) -> bool {
    run.tick_ms < run.started_utc_ms + FAR_MS
}

/// Fences rise in order of start. The exception: the store went back between two runs, and a replica that had never claimed
/// the job got the second.
fn fences(evidence: &Evidence, runs: &[&Testimony]) -> Vec<Violation> {
    let went_back = |pair: &[&Testimony]| {
        let between = evidence.asked_ms(pair[0])..=pair[1].started_utc_ms;
        evidence.faults.iter().any(|fault| fault.kind.goes_back() && between.contains(&fault.ended_ms))
    };
    let falling = runs.windows(2).filter(|pair| pair[1].fence <= pair[0].fence && !went_back(pair));
    falling
        .map(|pair| Violation::Fence {
            job: pair[1].job.clone(),
            run: pair[1].run.clone(),
            fence: pair[1].fence,
            before: pair[0].fence,
        })
        .collect()
}

/// No sign of life later than the last good request was sent + lease − half a second. That half second is for whoever is frozen
/// together with its guards when the run is to be killed: then it is dead by the end of the lease.
fn overstays(evidence: &Evidence, job: &JobPlan, runs: &[&Testimony]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for run in runs {
        let was_frozen = |life: i64| {
            let at_ms = run.started_utc_ms + life - run.started_ms;
            let mut faults = evidence.faults.iter();
            faults.any(|it| {
                it.kind == Kind::StopBoth && it.target == run.node && it.touches(at_ms - SPARE_MS, at_ms)
            })
        };
        let reach = |life| job.lease_ms - if was_frozen(life) { 0 } else { SPARE_MS };
        let none = Vec::new();
        let sent = evidence.renewals.get(&run.run).unwrap_or(&none);
        let over = |life: i64| {
            let last = sent.partition_point(|sent| *sent <= life).checked_sub(1).map(|at| sent[at]);
            last.map_or(0, |last| life - last - reach(life))
        };
        let by_ms = run.lives_ms.iter().map(|life| over(*life)).max().unwrap_or(0);
        if by_ms > 0 {
            let (job, run, node) = (run.job.clone(), run.run.clone(), run.node.clone());
            violations.push(Violation::Overstay { job, run, node, by_ms });
        }
    }
    violations
}

/// No tick granted before its instant, by the store's own record; and no command begun before it, where all clocks were right.
fn early(evidence: &Evidence) -> Vec<Violation> {
    // What is run by hand has no instant to wait for; its tick is when it was ordered, by whatever clock.
    let waits = |cause: &str| cause != "manual";
    let granted = evidence.entries.iter().filter(|entry| waits(&entry.cause));
    let granted = granted.filter_map(|entry| Some((&entry.job, entry.tick_ms, entry.started_ms?)));
    let was_right = |tick_ms: i64| {
        let mut clocks = evidence.faults.iter().filter(|fault| fault.kind.steps_a_clock());
        !clocks.any(|fault| fault.touches(tick_ms - CLOCK_NEWS_MS, tick_ms))
    };
    // A clock that is wrong by hours names ticks that are far from the start.
    let granted_at = |run: &Testimony| if is_of_its_time(run) { run.tick_ms } else { run.started_utc_ms };
    let is_judged = |run: &&Testimony| waits(&run.cause) && was_right(granted_at(run));
    let begun = evidence.runs.iter().filter(is_judged);
    let begun = begun.map(|run| (&run.job, run.tick_ms, run.started_utc_ms));
    let found = granted.chain(begun).filter(|(_, tick_ms, at_ms)| at_ms < tick_ms);
    found
        .map(|(job, tick_ms, at_ms)| Violation::Early { job: job.clone(), tick_ms, by_ms: tick_ms - at_ms })
        .collect()
}
