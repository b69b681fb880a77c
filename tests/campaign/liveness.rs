//! Judges whether jobs ran at all, by what they witnessed, and whether `status` told people when they did not. Nothing that
//! was done excuses that nobody is told; what is well must not be reported.

use crate::evidence::Evidence;
use crate::fault::Kind;
use crate::hands::PAUSED;
use crate::inspector::Look;
use crate::jobs::JobPlan;
use crate::testimony::Testimony;
use crate::violation::Violation;

/// What it takes besides a tick's time, its `start_deadline` and a lease, until a job runs again or `status` reports it.
const MORE_MS: i64 = 5_000;

/// A mark in the future, or a false alarm, that is seen for longer than this is one.
const LASTING_MS: i64 = 6_000;
const ALARM_MS: i64 = 12_000;

/// Where nothing was lost, nobody is told for no longer than this.
const MISSED_MS: i64 = 3_000;

/// Nothing is expected of a world that has just begun.
const SETTLING_MS: i64 = 10_000;

/// After the last fault, the last outcome of every job that had a bad one is a good one by then.
const ALL_WELL_MS: i64 = 50_000;

/// Everything that is wrong with what people were told.
pub(crate) fn check(evidence: &Evidence) -> Vec<Violation> {
    let of_jobs = evidence.jobs.iter().flat_map(|job| {
        let idle = unnoticed(evidence, job, &evidence.runs_of(&job.name));
        idle.into_iter().chain(unnoticed_mark(evidence, &job.name))
    });
    of_jobs.chain(false_alarms(evidence)).collect()
}

/// Whether a look is one of those that count: at the end of the campaign somebody stops the replicas.
fn counts(evidence: &Evidence, look: &Look) -> bool {
    look.begun_ms > evidence.from_ms + SETTLING_MS && look.ended_ms < evidence.to_ms
}

/// The longest that a job may do nothing without anybody being told.
pub(crate) fn patience_ms(job: &JobPlan) -> i64 {
    job.period_ms + job.start_deadline_ms + job.lease_ms + MORE_MS
}

/// A job that does not run although it is due, and `status` says nothing of it. Once for each time that it stands.
fn unnoticed(evidence: &Evidence, job: &JobPlan, runs: &[&Testimony]) -> Vec<Violation> {
    // Only who paused it knows until when; and nothing is said of a job that nobody asks about.
    if job.name == PAUSED || !job.is_inspected() {
        return Vec::new();
    }
    let patience_ms = patience_ms(job);
    let misses = |(since_ms, until_ms): (i64, i64)| {
        let is_due = |look: &&Look| {
            let since_ms = since_ms.max(set_back(evidence, look));
            look.begun_ms > since_ms + patience_ms && look.ended_ms < until_ms
        };
        let is_excused = |look: &&Look| evidence.was_held_up(look.begun_ms - patience_ms, look.ended_ms);
        let looks = evidence.looks.iter().filter(|look| counts(evidence, look));
        let due: Vec<&Look> = looks.filter(|look| is_due(look) && !is_excused(look)).collect();
        let is_silent = |look: &Look| !look.tells_of(&job.name);
        let mut in_a_row = due.chunk_by(|one, next| is_silent(one) && is_silent(next));
        // A store that has just lost everything knows of no tick, and is well while the job waits for its lease.
        let may_last_ms = |begun_ms| match evidence.forgot(begun_ms - job.lease_ms, begun_ms) {
            0 => MISSED_MS,
            _ => MISSED_MS.max(job.lease_ms),
        };
        let told = in_a_row.find(|row| {
            let (begun_ms, ended_ms) = (row[0].begun_ms, row[row.len() - 1].ended_ms);
            is_silent(row[0]) && ended_ms - begun_ms > may_last_ms(begun_ms)
        })?;
        let at_ms = told[0].begun_ms;
        Some(Violation::Unnoticed { job: job.name.clone(), what: "it does not run".into(), since_ms, at_ms })
    };
    idle(evidence, runs).into_iter().filter_map(misses).collect()
}

/// When an operator set all marks back last, before this look: what was due before is none any more, and jobs wait as after a loss.
fn set_back(evidence: &Evidence, look: &Look) -> i64 {
    let by_hand = evidence.faults.iter().filter(|fault| fault.kind == Kind::SetBack);
    let before = by_hand.filter(|fault| fault.begun_ms <= look.begun_ms);
    before.map(|fault| fault.ended_ms.min(look.begun_ms)).max().unwrap_or(i64::MIN)
}

/// From when to when no process of a job lived.
fn idle(evidence: &Evidence, runs: &[&Testimony]) -> Vec<(i64, i64)> {
    let (mut idle, mut since_ms) = (Vec::new(), evidence.from_ms + SETTLING_MS);
    for run in runs {
        if run.started_utc_ms > since_ms {
            idle.push((since_ms, run.started_utc_ms));
        }
        since_ms = since_ms.max(run.started_utc_ms + run.last_ms() - run.started_ms);
    }
    idle.push((since_ms, evidence.to_ms));
    idle
}

/// A mark that stays in the future: its job does not run until then, and `status` says nothing of it.
fn unnoticed_mark(evidence: &Evidence, job: &str) -> Option<Violation> {
    let mut since_ms = None;
    for look in evidence.looks.iter().filter(|look| counts(evidence, look)) {
        if !look.ahead.iter().any(|name| name == job) {
            since_ms = None;
            continue;
        }
        let since_ms = *since_ms.get_or_insert(look.begun_ms);
        if look.begun_ms - since_ms > LASTING_MS && !look.tells_of_mark(job) {
            let (job, what, at_ms) = (job.to_owned(), "its mark is in the future".into(), look.begun_ms);
            return Some(Violation::Unnoticed { job, what, since_ms, at_ms });
        }
    }
    None
}

/// `status` says for long that something is wrong, and nothing is: no fault for a while, and everything ran.
fn false_alarms(evidence: &Evidence) -> Vec<Violation> {
    let is_calm = |look: &Look| {
        let begun_ms = (look.begun_ms - ALL_WELL_MS).max(evidence.from_ms);
        counts(evidence, look)
            && !evidence.had_fault(begun_ms, look.ended_ms)
            && !evidence.was_held_up(begun_ms, look.ended_ms)
    };
    let mut alarms: Vec<Violation> = Vec::new();
    let (mut since_ms, mut is_told) = (None, false);
    for look in &evidence.looks {
        if look.is_well() || !is_calm(look) {
            (since_ms, is_told) = (None, false);
            continue;
        }
        let from_ms = *since_ms.get_or_insert(look.begun_ms);
        if look.ended_ms - from_ms > ALARM_MS && !std::mem::replace(&mut is_told, true) {
            alarms.push(Violation::FalseAlarm { from_ms, at_ms: look.ended_ms, named: look.named.clone() });
        }
    }
    alarms
}
