//! What a replica knows of itself and the others at the moment of a scrape, as plain numbers.

use std::borrow::Cow;

use crate::metrics::catalogue;
use crate::metrics::samples::{Sample, Samples, number_if_known, numbers};

/// The state of a replica, as plain numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaFigures {
    /// The replica's name.
    pub node: String,
    /// The release that it is of.
    pub version: String,
    /// Hash of the jobs.toml in effect.
    pub file: String,
    /// The kind of its store: `redis` or `local`.
    pub store_kind: &'static str,
    /// Whether it takes ticks: it does not drain, and its store answers.
    pub is_taking_ticks: bool,
    /// The live replicas.
    pub replicas: ReplicaCounts,
    /// The jobs of the file.
    pub jobs: JobCounts,
    /// The jobs with a problem.
    pub troubles: TroubleCounts,
    /// Runs of this replica.
    pub runs_running: u64,
    /// How many runs it may have at once; `None`: any number.
    pub runs_limit: Option<u64>,
    /// Ticks that wait on this replica.
    pub waiting: WaitingCounts,
    /// Locks that it holds.
    pub locks_held: u64,
    /// The clock of this machine minus the store's, in seconds; `None` until the store has answered.
    pub clock_difference: Option<f64>,
    /// Findings about the store's setup because of which jobs cannot run, or a promise is void.
    pub concerns_error: u64,
    /// Findings about the store's setup because of which data may be lost, or requests refused later.
    pub concerns_warning: u64,
    /// Guard processes of this replica.
    pub guards: u64,
    /// The size of its run logs, in bytes.
    pub run_log_bytes: u64,
    /// Whether the disk of its state folder answers and has room for run logs.
    pub is_disk_ok: bool,
    /// Lines of its log that were dropped, since it started.
    pub log_lines_dropped: u64,
}

/// The live replicas, as this one sees them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplicaCounts {
    /// Those that take ticks, also while they are full.
    pub taking: u64,
    /// Those that drain.
    pub draining: u64,
    /// Those that run as many jobs as they may.
    pub full: u64,
    /// How many the jobs file expects; `None` if it does not say.
    pub expected: Option<u64>,
    /// How many different jobs files they have loaded.
    pub files: u64,
    /// How many different releases they are of.
    pub versions: u64,
}

/// The jobs of the file by state. One job may count several times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Those that are scheduled.
    pub enabled: u64,
    /// Those that are not.
    pub disabled: u64,
    /// Those that are paused.
    pub paused: u64,
    /// Those that run, on any replica.
    pub running: u64,
    /// Those whose last tick did not end well.
    pub failing: u64,
    /// Those with a tick that should have been decided by now.
    pub overdue: u64,
}

/// The jobs with a problem, by its kind as in the output of `status`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TroubleCounts {
    /// No live replica has the labels of the job.
    pub no_replica_fits: u64,
    /// Its record was written by a newer release.
    pub newer_schema: u64,
    /// Its mark lies in the future.
    pub mark_ahead: u64,
    /// It waits for a long lease that no replica is known to hold.
    pub lease_awaited: u64,
    /// It has no record.
    pub no_record: u64,
    /// The store's data of it cannot be read.
    pub unreadable: u64,
    /// A tick should have been decided by now.
    pub overdue: u64,
    /// The holder of its lock sends no heartbeats.
    pub holder_lost: u64,
    /// Its last tick did not end well.
    pub last_outcome: u64,
}

/// Ticks that wait on this replica.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingCounts {
    /// For a lock that another run holds or may hold.
    pub held: u64,
    /// For an answer of the store.
    pub undecided: u64,
    /// For a free slot of this replica.
    pub capacity: u64,
}

impl ReplicaFigures {
    /// Returns the samples.
    pub(crate) fn samples(&self) -> Vec<Samples> {
        let texts = [&self.node, &self.version, &self.file].map(|text| Cow::Owned(text.clone()));
        let labels = texts.into_iter().chain([Cow::Borrowed(self.store_kind)]);
        let mut samples = vec![(&catalogue::INFO, vec![Sample::number(labels, 1.0)])];
        samples.extend(self.replicas.samples());
        samples.extend([self.jobs.samples(), self.troubles.samples()]);
        samples.extend(self.own_samples());
        samples
    }

    fn own_samples(&self) -> [Samples; 11] {
        let flag = |is_so| [f64::from(u8::from(is_so))];
        let count = |count: u64| [count as f64];
        let WaitingCounts { held, undecided, capacity } = self.waiting;
        [
            numbers(&catalogue::TAKING_TICKS, &flag(self.is_taking_ticks)),
            numbers(&catalogue::RUNS_RUNNING, &count(self.runs_running)),
            number_if_known(&catalogue::RUNS_LIMIT, self.runs_limit.map(|limit| limit as f64)),
            numbers(&catalogue::TICKS_WAITING, &[held, undecided, capacity].map(|count| count as f64)),
            numbers(&catalogue::LOCKS_HELD, &count(self.locks_held)),
            number_if_known(&catalogue::CLOCK_DIFFERENCE, self.clock_difference),
            numbers(
                &catalogue::STORE_CONCERNS,
                &[self.concerns_error, self.concerns_warning].map(|count| count as f64),
            ),
            numbers(&catalogue::GUARDS, &count(self.guards)),
            numbers(&catalogue::RUN_LOG_BYTES, &count(self.run_log_bytes)),
            numbers(&catalogue::DISK_OK, &flag(self.is_disk_ok)),
            numbers(&catalogue::LOG_LINES_DROPPED, &count(self.log_lines_dropped)),
        ]
    }
}

impl ReplicaCounts {
    fn samples(self) -> [Samples; 4] {
        let Self { taking, draining, full, expected, files, versions } = self;
        [
            numbers(&catalogue::REPLICAS, &[taking, draining, full].map(|count| count as f64)),
            number_if_known(&catalogue::REPLICAS_EXPECTED, expected.map(|count| count as f64)),
            numbers(&catalogue::FILES_SEEN, &[files as f64]),
            numbers(&catalogue::VERSIONS_SEEN, &[versions as f64]),
        ]
    }
}

impl JobCounts {
    fn samples(self) -> Samples {
        let Self { enabled, disabled, paused, running, failing, overdue } = self;
        let counts = [enabled, disabled, paused, running, failing, overdue];
        numbers(&catalogue::JOBS, &counts.map(|count| count as f64))
    }
}

impl TroubleCounts {
    fn samples(self) -> Samples {
        let counts = [
            self.no_replica_fits,
            self.newer_schema,
            self.mark_ahead,
            self.lease_awaited,
            self.no_record,
            self.unreadable,
            self.overdue,
            self.holder_lost,
            self.last_outcome,
        ];
        numbers(&catalogue::JOBS_IN_TROUBLE, &counts.map(|count| count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::samples::SampleValue;

    fn figures() -> ReplicaFigures {
        ReplicaFigures {
            node: "a".into(),
            version: "1.0.0".into(),
            file: "26b0c1d2".into(),
            store_kind: "redis",
            is_taking_ticks: true,
            replicas: ReplicaCounts {
                taking: 1,
                draining: 2,
                full: 3,
                expected: Some(4),
                files: 5,
                versions: 6,
            },
            jobs: JobCounts { enabled: 1, disabled: 2, paused: 3, running: 4, failing: 5, overdue: 6 },
            troubles: TroubleCounts { no_replica_fits: 1, last_outcome: 9, ..TroubleCounts::default() },
            runs_limit: Some(8),
            clock_difference: Some(-0.25),
            ..ReplicaFigures::default()
        }
    }

    /// Returns the numbers of a metric with their labels.
    fn numbers_of(figures: &ReplicaFigures, name: &str) -> Vec<(String, f64)> {
        let samples =
            figures.samples().into_iter().find(|(family, _)| family.name == name).expect("it is there").1;
        let number = |sample: Sample| match sample.value {
            SampleValue::Number(number) => (sample.labels.join(" "), number),
            SampleValue::Histogram(_) => panic!("a number"),
        };
        samples.into_iter().map(number).collect()
    }

    #[test]
    fn each_number_stands_under_its_own_labels() {
        let counted = |name, expected: &[(&str, f64)]| {
            let expected: Vec<_> = expected.iter().map(|(labels, n)| ((*labels).to_owned(), *n)).collect();
            assert_eq!(numbers_of(&figures(), name), expected, "{name}");
        };
        counted("solocron_info", &[("a 1.0.0 26b0c1d2 redis", 1.0)]);
        counted("solocron_replica_taking_ticks", &[("", 1.0)]);
        counted("solocron_replicas", &[("taking", 1.0), ("draining", 2.0), ("full", 3.0)]);
        counted("solocron_replicas_expected", &[("", 4.0)]);
        counted("solocron_files_seen", &[("", 5.0)]);
        counted("solocron_versions_seen", &[("", 6.0)]);
        counted("solocron_runs_limit", &[("", 8.0)]);
        counted("solocron_store_clock_difference_seconds", &[("", -0.25)]);
        let jobs = numbers_of(&figures(), "solocron_jobs");
        assert_eq!(jobs.first(), Some(&("enabled".to_owned(), 1.0)));
        assert_eq!(jobs.last(), Some(&("overdue".to_owned(), 6.0)));
        let troubles = numbers_of(&figures(), "solocron_jobs_in_trouble");
        assert_eq!(troubles.first(), Some(&("no_replica_fits".to_owned(), 1.0)));
        assert_eq!(troubles.last(), Some(&("last_outcome".to_owned(), 9.0)));
    }

    #[test]
    fn what_does_not_apply_has_no_sample() {
        let unlimited = ReplicaFigures { runs_limit: None, clock_difference: None, ..figures() };
        assert_eq!(numbers_of(&unlimited, "solocron_runs_limit"), []);
        assert_eq!(numbers_of(&unlimited, "solocron_store_clock_difference_seconds"), []);
    }
}
