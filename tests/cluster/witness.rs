//! What the jobs themselves wrote down, and what must be true of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;

/// One run, as its job wrote it down.
#[derive(Debug, Clone)]
pub(crate) struct Witnessed {
    pub(crate) job: String,
    pub(crate) tick_ms: i64,
    pub(crate) node: String,
    pub(crate) fence: i64,
    pub(crate) pid: i32,
    pub(crate) start_us: i64,
    pub(crate) attempt: u32,
    pub(crate) cause: String,
    /// Absent when the job was cut short.
    pub(crate) end_us: Option<i64>,
}

/// Something that must never be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// A tick was started twice.
    Twice { job: String, tick_ms: i64, nodes: (String, String) },
    /// A tick between the first and the last was not started.
    Missed { job: String, tick_ms: i64 },
    /// A run started while the one before was still going.
    Overlap { job: String, tick_ms: i64 },
    /// A later run did not have a higher fence.
    Fence { job: String, tick_ms: i64 },
    /// A run started too long before its instant.
    Early { job: String, tick_ms: i64, by_ms: i64 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A run may start this much before its instant by the store's clock: 200 ms, and what reading clocks may cost.
const MAX_EARLY_MS: i64 = 250;

/// Reads the file that all jobs append to.
pub(crate) fn read(file: &Path) -> Vec<Witnessed> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut runs: Vec<Witnessed> = Vec::new();
    let mut by_run: HashMap<String, usize> = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, at_us, job, tick_ms, node, fence, run, pid, attempt, cause] = words[..] else {
            panic!("a torn line: {line}");
        };
        let at_us = at_us.parse().expect("microseconds");
        if what == "end" {
            runs[by_run[run]].end_us = Some(at_us);
            continue;
        }
        by_run.insert(run.to_owned(), runs.len());
        runs.push(Witnessed {
            job: job.to_owned(),
            tick_ms: tick_ms.parse().expect("a tick"),
            node: node.to_owned(),
            fence: fence.parse().expect("a fence"),
            pid: pid.parse().expect("a process id"),
            start_us: at_us,
            attempt: attempt.parse().expect("an attempt"),
            cause: cause.to_owned(),
            end_us: None,
        });
    }
    runs
}

/// Everything that is wrong with these runs of jobs whose ticks come every `period_ms`.
pub(crate) fn check(runs: &[Witnessed], period_ms: i64) -> Vec<Violation> {
    let mut jobs: BTreeMap<&str, Vec<&Witnessed>> = BTreeMap::new();
    for run in runs {
        jobs.entry(&run.job).or_default().push(run);
    }
    let mut violations: Vec<Violation> =
        jobs.values_mut().flat_map(|runs| check_job(runs, period_ms)).collect();
    violations.sort();
    violations
}

/// Nothing ran twice, together, early, or under an older fence; what is missing is another matter.
pub(crate) fn assert_safe(runs: &[Witnessed], period_ms: i64) {
    let mut found = check(runs, period_ms);
    found.retain(|violation| !matches!(violation, Violation::Missed { .. }));
    assert_eq!(found, []);
}

fn check_job(runs: &mut [&Witnessed], period_ms: i64) -> Vec<Violation> {
    let mut violations = Vec::new();
    runs.sort_by_key(|run| run.tick_ms);
    for pair in runs.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        let job = || later.job.clone();
        if earlier.tick_ms == later.tick_ms {
            let nodes = (earlier.node.clone(), later.node.clone());
            violations.push(Violation::Twice { job: job(), tick_ms: later.tick_ms, nodes });
        }
        let missed = (earlier.tick_ms + period_ms..later.tick_ms)
            .step_by(usize::try_from(period_ms).expect("a period"));
        violations.extend(missed.map(|tick_ms| Violation::Missed { job: job(), tick_ms }));
    }
    runs.sort_by_key(|run| run.start_us);
    for pair in runs.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        let (job, tick_ms) = (later.job.clone(), later.tick_ms);
        if later.fence <= earlier.fence {
            violations.push(Violation::Fence { job: job.clone(), tick_ms });
        }
        if earlier.end_us.is_none_or(|end| later.start_us < end) {
            violations.push(Violation::Overlap { job, tick_ms });
        }
    }
    for run in runs {
        let by_ms = run.tick_ms - run.start_us / 1_000;
        if by_ms > MAX_EARLY_MS {
            violations.push(Violation::Early { job: run.job.clone(), tick_ms: run.tick_ms, by_ms });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tick_ms: i64, fence: i64, start_ms: i64, end_ms: i64) -> Witnessed {
        Witnessed {
            job: "a".into(),
            tick_ms,
            node: "n".into(),
            fence,
            pid: 0,
            attempt: 1,
            cause: "schedule".into(),
            start_us: start_ms * 1_000,
            end_us: Some(end_ms * 1_000),
        }
    }

    #[test]
    fn the_checker_sees_every_kind_of_violation() {
        let good = [run(1_000, 1, 1_001, 1_050), run(2_000, 2, 2_001, 2_050)];
        assert_eq!(check(&good, 1_000), []);

        let kinds = [
            vec![run(1_000, 1, 1_001, 1_050), run(1_000, 2, 1_100, 1_150)],
            vec![run(1_000, 1, 1_001, 1_050), run(3_000, 2, 3_001, 3_050)],
            vec![run(1_000, 1, 1_001, 2_500), run(2_000, 2, 2_001, 2_050)],
            vec![run(1_000, 2, 1_001, 1_050), run(2_000, 2, 2_001, 2_050)],
            vec![run(1_000, 1, 700, 750)],
        ];
        let names = ["Twice", "Missed", "Overlap", "Fence", "Early"];
        for (runs, name) in kinds.iter().zip(names) {
            let found = check(runs, 1_000);
            assert!(found.len() == 1 && found[0].to_string().starts_with(name), "{name}: {found:?}");
        }
    }
}
