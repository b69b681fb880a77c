//! Which logs and journal lines are kept, and for how long. Planning is pure; a run that is running is never part of
//! a plan.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::config::LogRetention;
use crate::job::JobName;
use crate::time::UtcMillis;

use super::paths::RunFiles;

/// Returns the policy with `max_bytes` lowered to what these logs take now, less `shortage`: the bytes that the disk
/// lacks.
pub(crate) fn short_of(policy: LogRetention, shortage: u64, logs: &[RunFiles]) -> LogRetention {
    if shortage == 0 {
        return policy;
    }
    let taken: u64 = logs.iter().map(|run| run.bytes).sum();
    LogRetention { max_bytes: policy.max_bytes.min(taken.saturating_sub(shortage)), ..policy }
}

/// Returns the runs to delete, oldest first.
pub(crate) fn plan(mut files: Vec<RunFiles>, policy: &LogRetention, now: UtcMillis) -> Vec<RunFiles> {
    files.sort_by_key(|run| Reverse((run.running, run.modified, run.run)));
    let mut of_job: HashMap<JobName, u32> = HashMap::new();
    let mut bytes = 0u64;
    let mut full = false;
    let mut plan: Vec<_> = files
        .into_iter()
        .filter(|run| {
            let count = of_job.entry(run.job.clone()).or_default();
            *count += 1;
            if run.running {
                bytes = bytes.saturating_add(run.bytes);
                return false;
            }
            if now.since(run.modified) > policy.keep || *count > policy.keep_runs {
                return true;
            }
            // From the first one that does not fit, all older ones are deleted: no gaps in a history.
            full |= bytes.saturating_add(run.bytes) > policy.max_bytes;
            bytes = bytes.saturating_add(if full { 0 } else { run.bytes });
            full && run.bytes > 0
        })
        .collect();
    plan.reverse();
    plan
}

/// Returns for each line of the journal, oldest first, whether it is kept.
pub(crate) fn kept(lines: &[(JobName, UtcMillis)], policy: &LogRetention, now: UtcMillis) -> Vec<bool> {
    let mut of_job: HashMap<&JobName, u32> = HashMap::new();
    let mut kept: Vec<bool> = lines
        .iter()
        .rev()
        .map(|(job, finished)| {
            let count = of_job.entry(job).or_default();
            *count += 1;
            *count <= policy.keep_runs && now.since(*finished) <= policy.keep
        })
        .collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::job::RunId;

    use super::*;

    const NOW: UtcMillis = UtcMillis(1_000_000);
    const GENEROUS: LogRetention =
        LogRetention { keep: Duration::from_secs(600), keep_runs: 100, max_bytes: 1 << 30 };

    fn run(job: &str, age_seconds: u64, bytes: u64) -> RunFiles {
        let modified = NOW.minus(Duration::from_secs(age_seconds));
        RunFiles { job: JobName::parse(job).unwrap(), run: RunId::new(), modified, bytes, running: false }
    }

    fn running(job: &str, age_seconds: u64, bytes: u64) -> RunFiles {
        RunFiles { running: true, ..run(job, age_seconds, bytes) }
    }

    /// Returns the ages, in seconds, of what is deleted.
    fn deleted(files: Vec<RunFiles>, policy: LogRetention) -> Vec<u64> {
        plan(files, &policy, NOW).iter().map(|run| NOW.since(run.modified).as_secs()).collect()
    }

    #[test]
    fn logs_beyond_their_age_go_and_those_of_just_that_age_stay() {
        let files = vec![run("a", 599, 1), run("a", 600, 1), run("a", 601, 1), run("b", 9000, 1)];
        assert_eq!(deleted(files, GENEROUS), [9000, 601]);
    }

    #[test]
    fn the_newest_runs_of_each_job_stay() {
        let files = vec![run("a", 3, 1), run("a", 1, 1), run("b", 50, 1), run("a", 2, 1), run("b", 60, 1)];
        assert_eq!(deleted(files, LogRetention { keep_runs: 2, ..GENEROUS }), [3]);
    }

    #[test]
    fn the_oldest_logs_beyond_the_bytes_go_whosever_they_are() {
        let policy = LogRetention { max_bytes: 100, ..GENEROUS };
        assert_eq!(deleted(vec![run("a", 1, 50), run("b", 2, 50)], policy), [0; 0]);
        assert_eq!(deleted(vec![run("a", 1, 50), run("b", 2, 51), run("a", 3, 1)], policy), [3, 2]);
        assert_eq!(deleted(vec![run("a", 1, 101)], policy), [1]);
    }

    #[test]
    fn a_run_that_goes_on_stays_but_counts() {
        let policy = LogRetention { keep_runs: 1, max_bytes: 100, ..GENEROUS };
        assert_eq!(deleted(vec![running("a", 9000, 500), run("b", 1, 1), run("a", 2, 0)], policy), [2, 1]);
        assert_eq!(deleted(vec![running("a", 9000, 99), run("b", 1, 1)], policy), [0; 0]);
    }

    #[test]
    fn on_a_disk_that_is_short_of_room_the_oldest_logs_make_it() {
        let files = || vec![run("a", 1, 50), run("b", 2, 50), run("a", 3, 50)];
        assert_eq!(short_of(GENEROUS, 0, &files()), GENEROUS);
        for (shortage, gone) in [(1, &[3][..]), (50, &[3]), (51, &[3, 2]), (1_000, &[3, 2, 1])] {
            assert_eq!(deleted(files(), short_of(GENEROUS, shortage, &files())), gone, "{shortage}");
        }
    }

    #[test]
    fn journal_lines_stay_by_the_same_rules() {
        let line = |job: &str, age| (JobName::parse(job).unwrap(), NOW.minus(Duration::from_secs(age)));
        let lines = [line("a", 601), line("a", 9), line("b", 8), line("a", 7), line("a", 6)];
        let policy = LogRetention { keep_runs: 2, ..GENEROUS };
        assert_eq!(kept(&lines, &policy, NOW), [false, false, true, true, true]);
        assert_eq!(kept(&lines, &GENEROUS, NOW), [false, true, true, true, true]);
        assert_eq!(kept(&[], &GENEROUS, NOW), [true; 0]);
    }
}
