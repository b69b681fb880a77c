//! Checks the store for `check --probe`: its settings, whether it takes a write, whether its clock agrees, and whether this
//! release can read its records. A store that cannot be reached is a finding, too.

use std::time::Duration;

use serde::Serialize;

use crate::cli::exit::{Exit, Failure, UNREACHABLE};
use crate::cli::print::output::counted;
use crate::cli::session::{Session, expect_store_file};
use crate::config;
use crate::config::{Problem, Source};
use crate::job::{JobName, RunId};
use crate::lease::{Record, SCHEMA};
use crate::store::{Concern, FailureCause, Grade, Slip, Store, StoreError};
use crate::time::{Clock, SystemClock};
use crate::view::text::time_format::span;

/// How often the store's clock is read: the quickest answer shows it best.
const CLOCK_READINGS: usize = 5;

/// If clocks differ by more, ticks start late, and a request may be refused as delayed.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(500);

/// How long the text of a trial stays in the store if it cannot be removed.
const TRIAL_TTL: Duration = Duration::from_secs(1);

/// The findings.
#[derive(Debug, Serialize)]
pub(crate) struct Probe {
    store: String,
    findings: Vec<ProbeFinding>,
    #[serde(skip)]
    exit: Exit,
}

/// One finding, for programs.
#[derive(Debug, Serialize)]
struct ProbeFinding {
    severity: &'static str,
    what: String,
    value: String,
    help: Option<String>,
}

impl Probe {
    /// Probes the store of this session.
    pub(crate) async fn of(session: &Session) -> Result<Self, Failure> {
        let store = session.open_store()?;
        let (mut concerns, exit) = match look(session, store.as_ref()).await {
            Ok(concerns) => {
                let exit = if has_errors(&concerns) { Exit::Failed } else { Exit::Done };
                (concerns, exit)
            }
            Err(error) => (vec![unreachable(&error)], Exit::StoreUnreachable),
        };
        concerns.sort_by_key(|concern| concern.grade);
        Ok(Self { store: store.label(), findings: concerns.into_iter().map(finding).collect(), exit })
    }

    /// Returns the exit code of the command.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Draws errors and warnings like those of the file.
    pub(crate) fn drawn(&self, colour: bool) -> String {
        let problem = |finding: &ProbeFinding| {
            let message = format!("{}: {}", finding.what, finding.value);
            let problem = match finding.severity {
                "error" => Problem::error(message),
                "warning" => Problem::warning(message),
                _ => return None,
            };
            Some(problem.help(finding.help.clone()))
        };
        let problems: Vec<Problem> = self.findings.iter().filter_map(problem).collect();
        config::draw(&problems, &Source::new(&self.store, ""), colour)
    }

    /// Returns how many errors and warnings were found, and the notes.
    pub(crate) fn summary(&self) -> String {
        let count = |severity| self.findings.iter().filter(|finding| finding.severity == severity).count();
        let (errors, warnings) = (counted(count("error"), "error"), counted(count("warning"), "warning"));
        let mut text = format!("{}: {errors}, {warnings}\n", self.store);
        for note in self.findings.iter().filter(|finding| finding.severity == "note") {
            text += &format!("  {}: {}\n", note.what, note.value);
        }
        text
    }
}

fn finding(concern: Concern) -> ProbeFinding {
    let severity = match concern.grade {
        Grade::Error => "error",
        Grade::Warning | Grade::Unchecked => "warning",
        Grade::Note => "note",
    };
    ProbeFinding { severity, what: concern.what, value: concern.value, help: concern.help }
}

fn has_errors(concerns: &[Concern]) -> bool {
    concerns.iter().any(|concern| concern.grade == Grade::Error)
}

fn unreachable(error: &StoreError) -> Concern {
    let what = match error.cause() {
        Some(_) => "the store cannot be used",
        None => "the store cannot be reached",
    };
    Concern::error(what, error.to_string()).help(error.help().unwrap_or(UNREACHABLE))
}

async fn look(session: &Session, store: &dyn Store) -> Result<Vec<Concern>, StoreError> {
    if session.config.store.is_local() {
        let concerns = store.inspect().await?;
        // A store file that does not exist yet is not created here, and has no records to read.
        if has_errors(&concerns) || expect_store_file(&session.config.store, &session.state_dir).is_err() {
            return Ok(concerns);
        }
        store.ready().await?;
        return Ok([concerns, records(session, store).await?].concat());
    }
    store.ready().await?;
    let mut concerns = store.inspect().await?;
    if !has_errors(&concerns) {
        concerns.extend(refused_write(store).await?);
    }
    for more in [clock(store).await, records(session, store).await] {
        match more {
            Ok(more) => concerns.extend(more),
            // A finding already tells why the store no longer answers.
            Err(_) if has_errors(&concerns) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(concerns)
}

/// Stores a text that expires by itself, and removes it. Returns a finding if the store refuses that: its disk may be full.
async fn refused_write(store: &dyn Store) -> Result<Option<Concern>, StoreError> {
    let slip = Slip::Tell(RunId::new());
    let written = async {
        store.leave(&slip, "", TRIAL_TTL).await?;
        store.collect(&slip).await
    };
    let Err(error) = written.await else { return Ok(None) };
    match (&error, error.cause()) {
        // The settings have a finding for each of them.
        (_, Some(FailureCause::NoRight | FailureCause::NotificationsFull)) => Ok(None),
        (StoreError::Refused(_), _) => {
            let help = error.help().unwrap_or("read the log of the server: it shows why the write failed");
            Ok(Some(Concern::error("the store refuses a write", error.to_string()).help(help)))
        }
        _ => Err(error),
    }
}

/// Measures how far the store's clock is from this machine's, and how long an answer takes.
async fn clock(store: &dyn Store) -> Result<Vec<Concern>, StoreError> {
    let mut best: Option<(Duration, i64)> = None;
    for _ in 0..CLOCK_READINGS {
        let (sent, at) = (SystemClock.boot(), SystemClock.utc());
        let pulse = match store.pulse(None).await {
            Ok(pulse) => pulse,
            Err(StoreError::Refused(why)) => {
                return Ok(vec![Concern::unchecked("the store's clock", why.to_string())]);
            }
            Err(error) => return Err(error),
        };
        let took = SystemClock.boot().since(sent);
        // Assumes that the store read its clock at half of the round trip.
        let ahead = pulse.now.0.saturating_sub(at.plus(took / 2).0);
        if best.is_none_or(|(quickest, _)| took < quickest) {
            best = Some((took, ahead));
        }
    }
    let (took, ahead) = best.expect("it was asked at least once");
    let trip = Concern::note("round trip", format!("{:.2} ms", took.as_secs_f64() * 1_000.0));
    Ok(vec![trip, difference(ahead, took / 2)])
}

/// Grades a difference in milliseconds that may be off by `error`.
fn difference(ahead: i64, error: Duration) -> Concern {
    let off = Duration::from_millis(ahead.unsigned_abs());
    let direction = if ahead < 0 { "behind" } else { "ahead of" };
    let found = format!("{} {direction} this machine's, give or take {}", span(off), span(error));
    if off <= CLOCK_TOLERANCE + error {
        return Concern::note("store's clock", found);
    }
    let what =
        "the store's clock differs from this machine's: a replica here starts ticks late, or has to wait";
    Concern::warning(what, found).help("run NTP on both machines")
}

/// Checks whether this release can read the records in the store.
async fn records(session: &Session, store: &dyn Store) -> Result<Vec<Concern>, StoreError> {
    let jobs: Vec<JobName> = session.config.jobs.keys().cloned().collect();
    let records = match store.records(&jobs).await {
        Ok(records) => records,
        // A lack of rights has a finding of its own.
        Err(error) if error.cause() == Some(&FailureCause::NoRight) => return Ok(Vec::new()),
        Err(StoreError::Refused(why)) => {
            let help = "update this release, or see what wrote to the store's keys besides solocron";
            let what = "records in the store cannot be read";
            return Ok(vec![Concern::error(what, why.to_string()).help(help)]);
        }
        Err(error) => return Err(error),
    };
    let known = records.iter().flatten().count();
    let newer = |(job, record): (&JobName, &Option<Record>)| {
        let schema = record.as_ref()?.schema;
        (schema > SCHEMA).then(|| {
            let what =
                format!("`{job}` has a record of a newer release: replicas of this release do not run it");
            let found = format!("schema {schema}, and this release knows up to {SCHEMA}");
            Concern::error(what, found).help("update this release")
        })
    };
    let mut concerns: Vec<Concern> = jobs.iter().zip(&records).filter_map(newer).collect();
    concerns.push(Concern::note("jobs with a record", format!("{known} of {}", jobs.len())));
    Ok(concerns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_where_no_slow_answer_can_explain_it() {
        let grade = |ahead, error| difference(ahead, Duration::from_millis(error)).grade;
        assert_eq!(grade(500, 0), Grade::Note);
        assert_eq!(grade(-501, 0), Grade::Warning);
        assert_eq!(grade(1_400, 900), Grade::Note);
        assert_eq!(grade(1_401, 900), Grade::Warning);
        let found = difference(-2_000, Duration::from_millis(3)).value;
        assert_eq!(found, "2s behind this machine's, give or take 3ms");
    }
}
