//! The numbers of one job in one scrape.

use std::time::Duration;

use crate::job::JobName;
use crate::metrics::catalogue::{self, JOB_RESULTS, MetricFamily};
use crate::metrics::samples::seconds;
use crate::time::UtcMillis;

use super::mode::SeriesMode;

/// The jobs of one scrape.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPart {
    /// Which jobs have series.
    pub mode: SeriesMode,
    /// Those jobs, by name.
    pub rows: Vec<JobRow>,
}

/// The numbers of one job. What is `None` has no sample.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRow {
    /// The job.
    pub job: JobName,
    /// The instants that alerts rest on.
    pub(super) instants: Option<JobInstants>,
    /// What this replica counted.
    pub(super) counts: Option<JobCounted>,
    /// The run on this replica: when it began, and by when it is expected to end.
    pub(super) running: Option<(UtcMillis, UtcMillis)>,
    /// Whether the job is paused.
    pub(super) is_paused: bool,
}

/// Four instants that never go back, as far as this replica knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobInstants {
    /// By when the first undecided tick has to be decided; `None` if no tick is left.
    pub(super) decision_due: Option<UtcMillis>,
    /// By when the next success is expected; `None` if no tick is left.
    pub(super) success_due: Option<UtcMillis>,
    /// When the newest successful run ended; 0 before the first.
    pub(super) success: UtcMillis,
    /// When a tick last failed or was missed; 0 before the first.
    pub(super) failure: UtcMillis,
}

/// What this replica counted of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobCounted {
    /// How many ticks count under each of [`JOB_RESULTS`].
    pub(super) results: [u64; JOB_RESULTS.len()],
    /// The time that runs took.
    pub(super) run_time: Duration,
}

/// A metric with samples for each job.
pub(crate) struct JobFamily {
    pub(crate) family: &'static MetricFamily,
    /// Returns the samples of one job: the second label, if there is one, and the number.
    pub(crate) samples: fn(&JobRow) -> JobSamples,
}

/// The samples of one job.
pub(crate) type JobSamples = [Option<(Option<&'static str>, f64)>; JOB_RESULTS.len()];

/// The metrics with samples for each job, in the order of the catalogue.
pub(crate) const JOB_FAMILIES: [JobFamily; 10] = [
    JobFamily {
        family: &catalogue::JOB_DECISION_DUE,
        samples: |row| one(row.instants.and_then(|at| at.decision_due).map(seconds)),
    },
    JobFamily {
        family: &catalogue::JOB_SUCCESS_DUE,
        samples: |row| one(row.instants.and_then(|at| at.success_due).map(seconds)),
    },
    JobFamily {
        family: &catalogue::JOB_SUCCESS,
        samples: |row| one(row.instants.map(|at| seconds(at.success))),
    },
    JobFamily {
        family: &catalogue::JOB_FAILURE,
        samples: |row| one(row.instants.map(|at| seconds(at.failure))),
    },
    JobFamily { family: &catalogue::JOB_TICKS, samples: results },
    JobFamily {
        family: &catalogue::JOB_RUN_SECONDS,
        samples: |row| one(row.counts.map(|counts| counts.run_time.as_secs_f64())),
    },
    JobFamily { family: &catalogue::JOB_RUNNING, samples: |row| one(row.running.map(|_| 1.0)) },
    JobFamily {
        family: &catalogue::JOB_RUN_START,
        samples: |row| one(row.running.map(|(start, _)| seconds(start))),
    },
    JobFamily {
        family: &catalogue::JOB_RUN_EXPECTED_END,
        samples: |row| one(row.running.map(|(_, end)| seconds(end))),
    },
    JobFamily { family: &catalogue::JOB_PAUSED, samples: |row| one(row.is_paused.then_some(1.0)) },
];

fn one(number: Option<f64>) -> JobSamples {
    let mut samples = JobSamples::default();
    samples[0] = number.map(|number| (None, number));
    samples
}

fn results(row: &JobRow) -> JobSamples {
    let mut samples = JobSamples::default();
    let Some(counts) = row.counts else { return samples };
    for ((sample, result), count) in samples.iter_mut().zip(JOB_RESULTS).zip(counts.results) {
        *sample = Some((Some(result), count as f64));
    }
    samples
}
