//! Asks `status --check` every second, as monitoring does, beside everything else; and looks for itself whether a mark lies
//! in the future.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::keys::Key;
use crate::pause::pause;
use crate::world::now_ms;

/// From one look's end to the next one's beginning.
const EVERY: Duration = Duration::from_secs(1);

/// A mark may be ahead of the store's clock by what a claim may: more than this is in the future.
const FUTURE_MS: i64 = 2_000;

/// A server that does not answer within this time has no marks to show.
const PATIENCE: Duration = Duration::from_secs(1);

/// The exit code where the store cannot be asked.
const UNREACHABLE: i32 = 69;

/// What `status` can say of a job that does not run.
const STANDS_STILL: [&str; 9] = [
    "overdue",
    // Its last tick was missed, perhaps; the next one is overdue only after its deadline and a lease.
    "last_outcome",
    "mark_ahead",
    "lease_awaited",
    "holder_lost",
    "no_record",
    "unreadable",
    "newer_schema",
    "no_replica_fits",
];

/// What keeps every job from running, or may: a clock that is off now.
const ALL_STAND_STILL: [&str; 6] =
    ["no_replica", "store_unfit", "store_blocked", "store_reset", "clock_differs", "clock_slewed"];

/// One thing that is wrong, by `status`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named {
    pub(crate) kind: String,
    /// Its job, if it is one's.
    pub(crate) job: String,
}

/// What one look showed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    pub(crate) begun_ms: i64,
    pub(crate) ended_ms: i64,
    /// How long the server took to tell its marks, on the inspector's own connection.
    pub(crate) asked_ms: i64,
    /// The exit code of `status --check`.
    pub(crate) code: Option<i32>,
    /// What it named: kinds of trouble, with the job, or with nothing where it is the cluster's.
    pub(crate) named: Vec<Named>,
    /// Jobs of which ticks in the future are decided, by the store's own clock.
    pub(crate) ahead: Vec<String>,
}

impl Look {
    /// Whether nothing is wrong, by `status`.
    pub(crate) fn is_well(&self) -> bool {
        self.code == Some(0)
    }

    /// Whether somebody who wonders why this job does not run is told.
    pub(crate) fn tells_of(&self, job: &str) -> bool {
        self.names(job, &STANDS_STILL)
    }

    /// Whether somebody is told that ticks of the job which have not come are decided.
    pub(crate) fn tells_of_mark(&self, job: &str) -> bool {
        self.names(job, &["mark_ahead"])
    }

    /// Whether one of these is said of the job, or something that keeps every job from running.
    fn names(&self, job: &str, kinds: &[&str]) -> bool {
        let is_it = |named: &Named| {
            let kind = named.kind.as_str();
            named.job == job && kinds.contains(&kind)
                || named.job.is_empty() && ALL_STAND_STILL.contains(&kind)
        };
        match self.code {
            Some(1) => self.named.iter().any(is_it),
            code => code == Some(UNREACHABLE),
        }
    }
}

/// Somebody who looks until the value ends.
pub(crate) struct Inspector {
    jobs: Vec<String>,
    file: PathBuf,
    port: Arc<AtomicU16>,
    is_over: Arc<AtomicBool>,
    looks: Arc<Mutex<Vec<Look>>>,
    looking: Option<JoinHandle<()>>,
}

impl Inspector {
    /// Looks at these jobs of a file on the server at this port.
    pub(crate) fn start(jobs: Vec<String>, file: &Path, port: u16) -> Self {
        let (port, is_over) = (Arc::new(AtomicU16::new(port)), Arc::new(AtomicBool::new(false)));
        let looks = Arc::new(Mutex::new(Vec::new()));
        let (at, ends, kept) = (Arc::clone(&port), Arc::clone(&is_over), Arc::clone(&looks));
        let own = (jobs.clone(), file.to_owned());
        let looking = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let look = look(&own.0, &own.1, at.load(Ordering::Relaxed));
                kept.lock().expect("no thread panics").push(look);
                pause(EVERY);
            }
        });
        Self { jobs, file: file.to_owned(), port, is_over, looks, looking: Some(looking) }
    }

    /// One look more, now.
    pub(crate) fn look(&self) -> Look {
        look(&self.jobs, &self.file, self.port.load(Ordering::Relaxed))
    }

    /// The server is another one from now on.
    pub(crate) fn point_at(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }

    /// Since when marks have been in the future without a pause, if they are.
    pub(crate) fn ahead_since(&self) -> Option<i64> {
        let looks = self.looks.lock().expect("no thread panics");
        looks.iter().rev().take_while(|look| !look.ahead.is_empty()).last().map(|look| look.begun_ms)
    }

    /// Everything that was seen.
    pub(crate) fn end(&mut self) -> Vec<Look> {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(looking) = self.looking.take() {
            looking.join().expect("no thread panics");
        }
        std::mem::take(&mut *self.looks.lock().expect("no thread panics"))
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// One look.
fn look(jobs: &[String], file: &Path, port: u16) -> Look {
    let begun_ms = now_ms();
    // What cannot be asked shows nothing.
    let ahead = marks_ahead(jobs, port).unwrap_or_default();
    let asked_ms = now_ms() - begun_ms;
    let mut command = Command::new(env!("CARGO_BIN_EXE_solocron"));
    command.args(["status", "--check", "--format", "json", "--store", &format!("redis://127.0.0.1:{port}")]);
    command.arg("--config").arg(file).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().expect("the program was built");
    let view: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let all = view["problems"].as_array().into_iter().flatten().map(named).collect();
    Look { begun_ms, ended_ms: now_ms(), asked_ms, code: output.status.code(), named: all, ahead }
}

fn named(problem: &Value) -> Named {
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    Named { kind: text("kind"), job: text("job") }
}

fn marks_ahead(jobs: &[String], port: u16) -> redis::RedisResult<Vec<String>> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}"))?;
    let mut connection = client.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut asked = redis::pipe();
    for state in Key::State.names(jobs) {
        asked.cmd("HMGET").arg(state).arg("mark").arg("leaps");
    }
    let marks: Vec<(Option<i64>, Option<String>)> = asked.query(&mut connection)?;
    let (seconds, micros): (i64, i64) = redis::cmd("TIME").query(&mut connection)?;
    let latest = seconds * 1_000 + micros / 1_000 + FUTURE_MS;
    let is_ahead = |(mark, leaps): &(Option<i64>, Option<String>)| {
        mark.is_some_and(|mark| newest_closed(mark, leaps.as_deref().unwrap_or_default()) > latest)
    };
    let all = jobs.iter().zip(&marks).filter(|(_, mark)| is_ahead(mark));
    Ok(all.map(|(job, _)| job.clone()).collect())
}

/// The newest instant whose tick is decided: below the mark, in a leap, ticks that have not come run when they come. Those of a
/// lost leap (`?`) do not.
fn newest_closed(mark_ms: i64, leaps: &str) -> i64 {
    let leap = |text: &str| {
        let (after, to) = text.trim_end_matches('!').split_once('-')?;
        Some((after.parse::<i64>().ok()?, to.parse::<i64>().ok()?))
    };
    let below = |newest, (after, to)| if after < newest && newest <= to { after } else { newest };
    leaps.split_ascii_whitespace().rev().filter_map(leap).fold(mark_ms, below)
}

#[cfg(test)]
mod tests {
    use super::newest_closed;

    #[test]
    fn a_mark_takes_ticks_away_where_no_leap_reaches_up_to_it() {
        assert_eq!(newest_closed(90, ""), 90);
        assert_eq!(newest_closed(90, "0-5 20-90!"), 20);
        assert_eq!(newest_closed(90, "5-60! 60-90"), 5);
        assert_eq!(newest_closed(90, "20-80!"), 90);
        assert_eq!(newest_closed(90, "20-90?"), 90);
    }
}
