//! What the jobs themselves wrote down.

use std::collections::HashMap;
use std::path::Path;

/// One run, as its processes wrote it down. Times are the machine's own, which no shim reaches.
#[derive(Debug, Clone)]
pub(crate) struct Testimony {
    pub(crate) job: String,
    pub(crate) tick_ms: i64,
    pub(crate) run: String,
    pub(crate) fence: i64,
    pub(crate) cause: String,
    pub(crate) node: String,
    /// By the wall clock.
    pub(crate) started_utc_ms: i64,
    /// By `CLOCK_BOOTTIME`, as all that follows.
    pub(crate) started_ms: i64,
    /// Every sign of life, its processes' first and last ones included, in order.
    pub(crate) lives_ms: Vec<i64>,
    /// `normal`, `failed` or `sigterm`, if it ended by itself, by its last attempt.
    pub(crate) end: Option<String>,
}

impl Testimony {
    /// Its last sign of life, on `CLOCK_BOOTTIME`.
    pub(crate) fn last_ms(&self) -> i64 {
        self.lives_ms.last().copied().unwrap_or(self.started_ms)
    }

    /// Whether it was going on at this instant of the wall clock, give or take.
    pub(crate) fn covers(&self, utc_ms: i64, tolerance_ms: i64) -> bool {
        let ended = self.started_utc_ms + self.last_ms() - self.started_ms;
        self.started_utc_ms - tolerance_ms <= utc_ms && utc_ms <= ended + tolerance_ms
    }
}

/// Reads the files of a folder, one for each job.
pub(crate) fn read(folder: &Path) -> Vec<Testimony> {
    let mut runs = Vec::new();
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        runs.extend(read_text(&std::fs::read_to_string(file.path()).expect("records are text")));
    }
    runs
}

fn read_text(text: &str) -> Vec<Testimony> {
    let mut runs: Vec<Testimony> = Vec::new();
    let mut by_run: HashMap<&str, usize> = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["beat", boot_ns, run, _pid] => runs[by_run[run]].lives_ms.push(millis(boot_ns)),
            ["end", boot_ns, _, _, _, run, .., how] => {
                let run = &mut runs[by_run[run]];
                run.lives_ms.push(millis(boot_ns));
                run.end = Some(how.to_owned());
            }
            ["start", boot_ns, utc_ns, job, tick_ms, run, fence, _attempt, cause, node, _pid, _parent, _] => {
                if let Some(at) = by_run.get(run) {
                    // Another attempt.
                    runs[*at].lives_ms.push(millis(boot_ns));
                    continue;
                }
                by_run.insert(run, runs.len());
                runs.push(Testimony {
                    job: job.to_owned(),
                    tick_ms: tick_ms.parse().expect("a tick"),
                    run: run.to_owned(),
                    fence: fence.parse().expect("a fence"),
                    cause: cause.to_owned(),
                    node: node.to_owned(),
                    started_utc_ms: millis(utc_ns),
                    started_ms: millis(boot_ns),
                    lives_ms: vec![millis(boot_ns)],
                    end: None,
                });
            }
            _ => panic!("a torn line: {line}"),
        }
    }
    // Several processes of a run write side by side.
    runs.iter_mut().for_each(|run| run.lives_ms.sort_unstable());
    runs
}

fn millis(nanos: &str) -> i64 {
    nanos.parse::<i64>().expect("nanoseconds") / 1_000_000
}
