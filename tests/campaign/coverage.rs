//! Judges what the stores recorded: every tick stands in exactly one record, records are true, and what no fault came
//! near has run.

use std::collections::BTreeSet;

use crate::evidence::Evidence;
use crate::fault::Fault;
use crate::hands::PAUSED;
use crate::jobs::{JobPlan, Policy};
use crate::ledger::{CONTRADICTION, Recorded};
use crate::testimony::Testimony;
use crate::violation::Violation;

/// First starts wait two seconds, and nothing is judged before the replicas are at work.
const SETTLING_MS: i64 = 10_000;

/// Where nothing is wrong, a tick is decided this soon.
const AT_ONCE_MS: i64 = 2_000;

/// A store whose clock was wrong by a minute is wrong about what it has seen for as long.
const CLOCK_ERROR_MS: i64 = 70_000;

/// From a tick's instant to a grant, where nothing is in the way.
const AT_HAND_MS: i64 = 300;

/// Verdicts of ticks that were not to run.
const OVERLAP: &str = "skipped (overlap)";
const PAUSED_THEN: &str = "skipped (paused)";

/// What the clocks of store and witness, and the time from a grant to a start, may differ.
const TOLERANCE_MS: i64 = 1_000;

/// Everything that is wrong with the records of one job.
pub(crate) fn check(evidence: &Evidence, job: &JobPlan, runs: &[&Testimony]) -> Vec<Violation> {
    let book = Book::of(evidence, job, runs);
    let mut violations: Vec<Violation> =
        judged_ticks(evidence, job).flat_map(|tick| book.tick(tick)).collect();
    violations.extend(book.entries.iter().flat_map(|entry| book.entry(entry)));
    violations.extend(book.contradictions());
    violations
}

/// The ticks that must have a record by now.
pub(crate) fn judged_ticks(evidence: &Evidence, job: &JobPlan) -> impl Iterator<Item = i64> {
    let wait_ms = if is_clear(evidence, job, evidence.to_ms) { AT_ONCE_MS } else { 4 * job.lease_ms };
    let last = evidence.to_ms - job.start_deadline_ms - wait_ms;
    job.ticks(evidence.from_ms + SETTLING_MS, last)
}

/// Whether no fault came near enough to a tick to keep it from running.
pub(crate) fn is_clear(evidence: &Evidence, job: &JobPlan, tick_ms: i64) -> bool {
    let (from, to) = (tick_ms - job.start_deadline_ms - 3 * job.lease_ms, tick_ms + job.start_deadline_ms);
    !evidence.had_fault(from, to)
}

/// The records and runs of one job.
struct Book<'a> {
    evidence: &'a Evidence,
    job: &'a JobPlan,
    entries: Vec<&'a Recorded>,
    runs: &'a [&'a Testimony],
    ran: BTreeSet<i64>,
}

impl<'a> Book<'a> {
    fn of(evidence: &'a Evidence, job: &'a JobPlan, runs: &'a [&'a Testimony]) -> Self {
        let entries = evidence.entries.iter().filter(|entry| entry.job == job.name).collect();
        let ran = runs.iter().filter(|run| run.cause != "manual").map(|run| run.tick_ms).collect();
        Self { evidence, job, entries, runs, ran }
    }

    /// What is wrong with the records of one tick.
    fn tick(&self, tick_ms: i64) -> Vec<Violation> {
        let job = || self.job.name.clone();
        let covering: Vec<&&Recorded> = self.entries.iter().filter(|entry| entry.covers(tick_ms)).collect();
        let definite: Vec<&&Recorded> =
            covering.iter().copied().filter(|entry| entry.is_definite()).collect();
        let mut violations = Vec::new();
        if covering.is_empty() && !self.may_lack(tick_ms) {
            violations.push(Violation::Uncovered { job: job(), tick_ms });
        }
        if definite.is_empty() && !covering.is_empty() && !self.may_be_forgotten(tick_ms) {
            violations.push(Violation::NeedlesslyUnknown { job: job(), tick_ms });
        }
        for (at, one) in definite.iter().enumerate() {
            let others = definite[at + 1..].iter().filter(|other| !self.is_same(one, other));
            violations.extend(others.map(|other| {
                let records = [one, other].map(|entry| entry.to_string());
                Violation::CoveredTwice { job: job(), tick_ms, records }
            }));
        }
        let is_right = self.ran.contains(&tick_ms)
            || definite.iter().any(|it| self.is_by_right(it, tick_ms))
            || self.evidence.was_held_up(tick_ms - TOLERANCE_MS, tick_ms + self.job.start_deadline_ms);
        if is_clear(self.evidence, self.job, tick_ms) && !is_right {
            let records = covering.iter().map(|entry| entry.verdict()).collect();
            violations.push(Violation::NotRun { job: job(), tick_ms, records });
        }
        violations
    }

    /// Pairs of records that were in one store at a time, and never may be.
    fn contradictions(&self) -> Vec<Violation> {
        let pairs = self.evidence.contradictions.iter().filter(|[one, _]| one.job == self.job.name);
        let wrong = pairs.filter(|[one, other]| !self.are_of_who_was_not_told(one, other));
        wrong
            .map(|[one, other]| Violation::Trouble(format!("{CONTRADICTION}: {one:?} and {other:?}")))
            .collect()
    }

    /// Whether one is of a claim by a replica that was not told of the other by a store which went back a moment ago: it may have
    /// run a tick that had run or had been skipped, or have found that nobody had run it.
    fn are_of_who_was_not_told(&self, one: &Recorded, other: &Recorded) -> bool {
        let run = |entry: &Recorded| {
            let run = entry.run.as_ref()?;
            self.runs.iter().copied().find(|witnessed| witnessed.run == *run)
        };
        let is_not_told = |told: &Recorded, other: &Recorded| match (run(told), run(other)) {
            (Some(told), Some(other)) => self.evidence.forgot_tick_between(told, other),
            (Some(told), None) => self.is_of_who_was_not_told(told, other),
            (None, Some(run)) => self.is_of_who_was_not_told(run, told),
            (None, None) => self
                .claimed_at(other)
                .is_some_and(|at_ms| self.evidence.forgot_tick(self.evidence.read_ms(told), at_ms)),
        };
        is_not_told(one, other) || is_not_told(other, one)
    }

    /// The same of a run, and of a record that says that its tick did not run.
    fn is_of_who_was_not_told(&self, run: &Testimony, not_run: &Recorded) -> bool {
        let (asked_ms, started_ms) = (self.evidence.asked_ms(run), run.started_utc_ms);
        self.claimed_at(not_run).is_some_and(|at_ms| self.evidence.forgot_tick(asked_ms, at_ms))
            || self.evidence.forgot_tick(self.evidence.read_ms(not_run), (started_ms, started_ms))
    }

    /// From when to when a tick that did not run may have been found so: by its own claim, by the next tick's, or later where no
    /// lock was granted meanwhile. Its entry was written by then.
    fn claimed_at(&self, entry: &Recorded) -> Option<(i64, i64)> {
        let usual_ms = entry.tick_ms + self.job.period_ms + self.job.start_deadline_ms;
        let last_ms = usual_ms.max(entry.written_ms().min(self.evidence.read_ms(entry)));
        (entry.outcome == "missed" && entry.run.is_none()).then_some((entry.tick_ms, last_ms))
    }

    /// What is wrong with one record by itself.
    fn entry(&self, entry: &Recorded) -> Vec<Violation> {
        let (job, tick_ms, record) = (self.job.name.clone(), entry.tick_ms, entry.verdict());
        let mut violations = Vec::new();
        // A run by hand has the instant of its order, which may be that of a tick.
        let says_not_run = matches!(entry.outcome.as_str(), "skipped" | "missed") && entry.cause != "manual";
        let ticks: Vec<i64> = self.ticks_of(entry).collect();
        let ran = self.runs.iter().filter(|run| run.cause != "manual" && ticks.contains(&run.tick_ms));
        let was_told = |run: &&&Testimony| !self.is_of_who_was_not_told(run, entry);
        if says_not_run && ran.filter(was_told).count() > 0 {
            violations.push(Violation::Untrue { job: job.clone(), tick_ms, record: record.clone() });
        }
        let has_run = |run: &String| self.runs.iter().any(|witnessed| witnessed.run == *run);
        if entry.outcome == "succeeded" && !entry.run.as_ref().is_some_and(has_run) {
            violations.push(Violation::Untrue { job: job.clone(), tick_ms, record: record.clone() });
        }
        let is = i64::try_from(ticks.len()).expect("few");
        if let Some(says) = entry.count.filter(|says| *says != is) {
            violations.push(Violation::Miscounted { job: job.clone(), tick_ms, says, is });
        }
        let is_for_nothing = record == OVERLAP && !self.was_going_on(tick_ms) && !self.may_be_held(tick_ms)
            || record == PAUSED_THEN && !self.was_paused(tick_ms);
        if is_for_nothing {
            violations.push(Violation::SkippedForNothing { job, tick_ms });
        }
        violations
    }

    /// Whether a lock was perhaps held at a tick's instant although nobody saw it: by a clock that was wrong, or by who did
    /// not hear of its grant, asks again, and so proves that it lives.
    fn may_be_held(&self, tick_ms: i64) -> bool {
        let since_ms = tick_ms - self.job.lease_ms - self.job.start_deadline_ms;
        let unheard = |fault: &Fault| fault.kind.loses_answers() && fault.touches(since_ms, tick_ms);
        self.clock_was_wrong(tick_ms) || self.evidence.faults.iter().any(unheard)
    }

    /// Whether a tick that no fault came near did not run for the reason that its record gives.
    fn is_by_right(&self, entry: &Recorded, tick_ms: i64) -> bool {
        match entry.verdict().as_str() {
            OVERLAP => self.was_going_on(tick_ms),
            PAUSED_THEN => self.was_paused(tick_ms),
            "missed (late)" => self.was_busy(tick_ms, tick_ms + self.job.start_deadline_ms),
            _ => false,
        }
    }

    /// Whether a tick had to wait for so long: for runs one after the other, or, where it does not wait for runs that go on
    /// at its instant, for one by hand that began right after it.
    fn was_busy(&self, from_ms: i64, until_ms: i64) -> bool {
        let queues = matches!(self.job.policy, Policy::Waits | Policy::Replaces);
        let gap_ms = if queues { TOLERANCE_MS } else { AT_HAND_MS };
        let in_the_way = self.runs.iter().filter(|run| queues || run.cause == "manual");
        let until = in_the_way.fold(from_ms, |until, run| match run.started_utc_ms <= until + gap_ms {
            true => until.max(run.started_utc_ms + run.last_ms() - run.started_ms),
            false => until,
        });
        until + AT_HAND_MS >= until_ms
    }

    /// Whether somebody had paused the job about then, or while the tick could still start: it may have waited for the lock.
    fn was_paused(&self, tick_ms: i64) -> bool {
        // The pause's end is reckoned by the store's clock.
        let after = if self.clock_was_wrong(tick_ms) { CLOCK_ERROR_MS } else { TOLERANCE_MS };
        let mut pauses = self.evidence.pauses_ms.iter().filter(|_| self.job.name == PAUSED);
        let before = TOLERANCE_MS + self.job.start_deadline_ms;
        pauses.any(|(from, to)| from - before <= tick_ms && tick_ms <= to + after)
    }

    /// The ticks that a record stands for, since the campaign began.
    fn ticks_of(&self, entry: &Recorded) -> impl Iterator<Item = i64> {
        let first = entry.begins_after() + 1;
        self.job.ticks(first.max(self.evidence.from_ms - SETTLING_MS), entry.tick_ms)
    }

    fn was_going_on(&self, tick_ms: i64) -> bool {
        self.runs.iter().any(|run| run.covers(tick_ms, TOLERANCE_MS))
    }

    /// One run's end may be recorded in two lives of the store, and so may a tick that did not run, alone or with those after
    /// it; and a run that was cut short has a rerun.
    fn is_same(&self, one: &Recorded, other: &Recorded) -> bool {
        // Also of a run that ended well, and whose replica was frozen before it could tell.
        let is_rerun = (one.cause == "rerun") != (other.cause == "rerun");
        let is_both_lives = self.may_be_forgotten(one.tick_ms) || self.may_be_forgotten(other.tick_ms);
        is_both_lives && one.run.is_none() && other.run.is_none() && self.evidence.forgot_between(one, other)
            || self.was_never_started(one, other)
            || self.was_never_started(other, one)
            || self.job.policy == Policy::Reruns && is_rerun
            || one.run.is_some() && one.run == other.run && !self.evidence.losses_ms.is_empty()
            || self.are_of_who_was_not_told(one, other)
    }

    /// A grant that nobody heard of was given back, and its tick missed, or granted once more; and then a store took over that
    /// had seen only the first grant.
    fn was_never_started(&self, decided: &Recorded, interrupted: &Recorded) -> bool {
        let is_witnessed = self.runs.iter().any(|run| Some(&run.run) == interrupted.run.as_ref());
        let is_missed =
            decided.outcome == "missed" && decided.run.is_none() && decided.cause == interrupted.cause;
        let is_of_next_grant = decided.run.is_some() && decided.run != interrupted.run;
        let given_up = ["interrupted (lock_lost)", "interrupted (node_lost)"];
        let is_given_up = interrupted.run.is_some() && given_up.contains(&interrupted.verdict().as_str());
        (is_missed || is_of_next_grant)
            && is_given_up
            && !is_witnessed
            && self.may_be_forgotten(interrupted.tick_ms)
    }

    /// A store forgot about then, or had a minute in hand when it did.
    fn may_be_forgotten(&self, tick_ms: i64) -> bool {
        let after = self.after_effect();
        if self.clock_was_far_off(tick_ms) {
            return true;
        }
        let before = if self.clock_was_wrong(tick_ms) { CLOCK_ERROR_MS } else { after };
        self.evidence.forgot(tick_ms - before, tick_ms + after) > 0
    }

    /// Two losses of memory in a row may leave ticks without any record.
    fn may_lack(&self, tick_ms: i64) -> bool {
        self.evidence.forgot(tick_ms - CLOCK_ERROR_MS, tick_ms + self.after_effect()) > 1
            || self.clock_was_far_off(tick_ms)
    }

    fn after_effect(&self) -> i64 {
        3 * self.job.lease_ms + self.job.start_deadline_ms + self.job.period_ms
    }

    /// Its ticks had other names then, and what is recorded of them is of the future.
    fn clock_was_far_off(&self, tick_ms: i64) -> bool {
        let (from_ms, to_ms) = (tick_ms - self.after_effect(), tick_ms + self.after_effect());
        let mut wrong = self.evidence.faults.iter().filter(|fault| fault.kind.is_far_off());
        wrong.any(|fault| fault.touches(from_ms, to_ms))
    }

    fn clock_was_wrong(&self, tick_ms: i64) -> bool {
        let mut wrong = self.evidence.faults.iter().filter(|fault| fault.kind.steps_the_store());
        wrong.any(|fault| fault.touches(tick_ms - CLOCK_ERROR_MS, tick_ms + CLOCK_ERROR_MS))
    }
}
