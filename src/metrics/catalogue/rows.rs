//! The rows of the catalogue.

use super::family::LabelSets::{Closed, Open};
use super::family::MetricKind::{Counter, Gauge, Histogram, Info};
use super::family::{LabelSets, MetricFamily};
use super::label_values as values;

/// From a thousandth of a second, within which a replica starts what is due, to the longest that a tick may
/// wait.
const LATENESS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0];

/// From half a thousandth of a second to what a request to the store may take.
const LATENCY: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0];

/// From a tenth of a second to half a day.
const RUN_DURATION: &[f64] = &[0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 10_800.0, 43_200.0];

/// Five sixths are usual, as a holder renews each sixth of the lease. A run is stopped at about a fifth.
const SLACK: &[f64] = &[0.0, 0.1, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9];

/// Defines one static for each row, and `CATALOGUE` with all of them in their order.
macro_rules! catalogue {
    ($($row:ident = $kind:expr, $name:literal, $labels:expr, $sets:expr, $help:literal;)+) => {
        $(
            #[doc = $help]
            pub(crate) static $row: MetricFamily =
                MetricFamily { name: $name, kind: $kind, labels: &$labels, sets: $sets, help: $help };
        )+

        /// Every metric, in the order of exposition.
        pub(crate) static CATALOGUE: &[&MetricFamily] = &[$(&$row),+];
    };
}

catalogue! {
    INFO = Info, "solocron_info", ["node", "version", "file", "store_kind"], Open,
        "Name, release, hash of jobs.toml and kind of store of this replica";
    TAKING_TICKS = Gauge, "solocron_replica_taking_ticks", [], LabelSets::SINGLE,
        "1 if this replica takes ticks, 0 if it drains or its store does not answer";
    REPLICAS = Gauge, "solocron_replicas", ["state"], Closed(values::REPLICA_STATES),
        "Live replicas that take ticks, those that drain, and those of the former that are full";
    REPLICAS_EXPECTED = Gauge, "solocron_replicas_expected", [], Open,
        "How many replicas the jobs file expects; absent if it expects no number";
    FILES_SEEN = Gauge, "solocron_files_seen", [], LabelSets::SINGLE,
        "How many different jobs files live replicas have loaded";
    VERSIONS_SEEN = Gauge, "solocron_versions_seen", [], LabelSets::SINGLE,
        "How many different releases live replicas are of";
    JOBS = Gauge, "solocron_jobs", ["state"], Closed(values::JOB_STATES),
        "Jobs of the file by state; one job may have several states";
    JOBS_IN_TROUBLE = Gauge, "solocron_jobs_in_trouble", ["kind"], Closed(values::JOB_TROUBLES),
        "Jobs with a problem, by its kind as in the output of status";
    JOB_SERIES = Gauge, "solocron_job_series", ["mode"], Closed(values::SERIES_MODES),
        "1 for the mode of this scrape: series of all jobs, of those in trouble, or of none";
    TICKS = Counter, "solocron_ticks_total", ["outcome", "reason"], Closed(values::VERDICTS),
        "Ticks that this replica decided by a claim of their own, and runs whose end it recorded";
    TICK_LATENESS = Histogram(LATENESS), "solocron_tick_lateness_seconds", [], LabelSets::SINGLE,
        "How late scheduled ticks began to start, without those that waited for another run of their job";
    START_STAGE = Histogram(LATENCY), "solocron_start_stage_seconds", ["stage"], Closed(values::START_STAGES),
        "How long each stage of a start took, from the instant of the tick to the first process";
    RUN_DURATION_SECONDS = Histogram(RUN_DURATION), "solocron_run_duration_seconds", ["result"],
        Closed(values::RUN_RESULTS),
        "How long runs took that were not stopped for an operator or a newer tick";
    RUNS_RUNNING = Gauge, "solocron_runs_running", [], LabelSets::SINGLE, "Runs of this replica";
    RUNS_LIMIT = Gauge, "solocron_runs_limit", [], Open,
        "How many runs this replica may have at once; absent if any number";
    TICKS_WAITING = Gauge, "solocron_ticks_waiting", ["why"], Closed(values::WAITS),
        "Ticks that wait on this replica: for another run, for an answer of the store, or for a free slot";
    ATTEMPTS_FAILED = Counter, "solocron_attempts_failed_total", [], LabelSets::SINGLE,
        "Attempts that failed and were followed by another one";
    CLAIMS = Counter, "solocron_claims_total", ["answer"], Closed(values::CLAIM_ANSWERS),
        "Claims of this replica, by the answer of the store";
    CLAIMS_ABANDONED = Counter, "solocron_claims_abandoned_total", ["reason"],
        Closed(values::ABANDON_REASONS),
        "Locks that were given back, or may have been granted, and under which nothing was started";
    LOCKS_HELD = Gauge, "solocron_locks_held", [], LabelSets::SINGLE, "Locks that this replica holds";
    LOCKS_LOST = Counter, "solocron_locks_lost_total", [], LabelSets::SINGLE,
        "Locks that this replica lost while their runs were going; the runs were stopped";
    RENEWALS = Counter, "solocron_renewals_total", ["result"], Closed(values::RENEWAL_RESULTS),
        "Renewals of locks, by result";
    RENEWAL_SLACK = Histogram(SLACK), "solocron_renewal_slack_ratio", [], LabelSets::SINGLE,
        "Which part of the lease was left when a renewal came through; at about a fifth a run is stopped";
    KILLS = Counter, "solocron_kills_total", ["signal", "cause"], Closed(values::KILLS),
        "Signals that stopped runs of this replica, by cause; counted when the attempt has ended";
    STORE_UP = Gauge, "solocron_store_up", [], LabelSets::SINGLE,
        "1 if the store answered the last heartbeat of this replica, else 0";
    STORE_ANSWER = Gauge, "solocron_store_answer_timestamp_seconds", [], LabelSets::SINGLE,
        "When the store last answered this replica; 0 before the first time";
    STORE_REQUEST = Histogram(LATENCY), "solocron_store_request_duration_seconds", ["request"],
        Closed(values::STORE_REQUESTS),
        "How long requests of the scheduler to the store took, answered or not";
    STORE_RESULTS = Counter, "solocron_store_requests_total", ["result"], Closed(values::STORE_RESULTS),
        "Requests of the scheduler to the store, by result; not_sent and unknown have no answer";
    STORE_ERAS = Counter, "solocron_store_eras_total", [], LabelSets::SINGLE,
        "How often the store was found to be in a new era, or to have lost data";
    CLOCK_STEPS = Counter, "solocron_clock_steps_total", [], LabelSets::SINGLE,
        "Steps of the clock of this machine, and of the store's";
    CLOCK_DIFFERENCE = Gauge, "solocron_store_clock_difference_seconds", [], Open,
        "The clock of this machine minus that of the store; absent until the store has answered";
    STORE_CONCERNS = Gauge, "solocron_store_concerns", ["grade"], Closed(values::CONCERN_GRADES),
        "Findings about how the store is set up; solocron check --probe lists them";
    FILE_LOAD_SUCCESS = Gauge, "solocron_file_load_success", [], LabelSets::SINGLE,
        "1 if the jobs file was loaded when it was last read, 0 if it was refused and the former jobs stay";
    FILE_LOAD = Gauge, "solocron_file_load_timestamp_seconds", [], LabelSets::SINGLE,
        "When the jobs file in effect was loaded";
    GUARDS = Gauge, "solocron_guards", [], LabelSets::SINGLE, "Guard processes of this replica";
    RUN_LOG_BYTES = Gauge, "solocron_run_log_bytes", [], LabelSets::SINGLE,
        "Size of the run logs in the state folder";
    DISK_OK = Gauge, "solocron_disk_ok", [], LabelSets::SINGLE,
        "1 if the disk of the state folder answers and has room for run logs, else 0";
    LOG_LINES_DROPPED = Counter, "solocron_log_lines_dropped_total", [], LabelSets::SINGLE,
        "Lines of the log that were dropped because nobody read them in time";
    HTTP_REQUESTS = Counter, "solocron_http_requests_total", ["route", "code"], Open,
        "HTTP requests by route and class of the answer";
    HTTP_STREAMS = Gauge, "solocron_http_streams", [], LabelSets::SINGLE, "Open streams of pages and output";
    HTTP_REFUSED = Counter, "solocron_http_refused_total", [], LabelSets::SINGLE,
        "HTTP connections and requests that were refused because of a limit";
    HTTP_WRONG_TOKENS = Counter, "solocron_http_wrong_tokens_total", [], LabelSets::SINGLE,
        "HTTP requests with a wrong token";
    HTTP_ACTS = Counter, "solocron_http_acts_total", ["act", "result"], Closed(values::HTTP_ACTS),
        "What people asked for over HTTP, and what came of it";
    OUTPUT_QUESTIONS = Counter, "solocron_output_questions_total", ["result"], Closed(values::OUTPUT_RESULTS),
        "Questions of other replicas and commands for the output of runs";
    FEED_LOST = Counter, "solocron_feed_lost_total", [], LabelSets::SINGLE,
        "News for other replicas that the store did not take in time, and news of others that cannot be read";
    PROCESS_CPU = Counter, "process_cpu_seconds_total", [], LabelSets::SINGLE,
        "Processor time of this process, in user mode and in the kernel";
    PROCESS_RESIDENT = Gauge, "process_resident_memory_bytes", [], LabelSets::SINGLE,
        "Memory of this process that is in RAM";
    PROCESS_VIRTUAL = Gauge, "process_virtual_memory_bytes", [], LabelSets::SINGLE,
        "Address space of this process";
    PROCESS_OPEN_FDS = Gauge, "process_open_fds", [], LabelSets::SINGLE,
        "Open file descriptors of this process";
    PROCESS_MAX_FDS = Gauge, "process_max_fds", [], LabelSets::SINGLE,
        "How many file descriptors this process may have open";
    PROCESS_START = Gauge, "process_start_time_seconds", [], LabelSets::SINGLE, "When this process started";
    JOB_DECISION_DUE = Gauge, "solocron_job_decision_due_timestamp_seconds", ["job_name"], Open,
        "By then the first undecided tick has to be decided: run, or recorded as not run";
    JOB_SUCCESS_DUE = Gauge, "solocron_job_success_due_timestamp_seconds", ["job_name"], Open,
        "By then the next success is expected";
    JOB_SUCCESS = Gauge, "solocron_job_success_timestamp_seconds", ["job_name"], Open,
        "When the newest successful run ended; 0 before the first";
    JOB_FAILURE = Gauge, "solocron_job_failure_timestamp_seconds", ["job_name"], Open,
        "When a tick last failed, was missed or became unknown, as far as known here; 0 before the first";
    JOB_TICKS = Counter, "solocron_job_ticks_total", ["job_name", "result"], Open,
        "Ticks of the job that this replica decided, and runs whose end it recorded";
    JOB_RUN_SECONDS = Counter, "solocron_job_run_seconds_total", ["job_name"], Open,
        "Time spent in runs of the job that this replica recorded";
    JOB_RUNNING = Gauge, "solocron_job_running", ["job_name"], Open,
        "1 while the job runs on this replica, else absent";
    JOB_RUN_START = Gauge, "solocron_job_run_start_timestamp_seconds", ["job_name"], Open,
        "When the run on this replica began; absent while there is none";
    JOB_RUN_EXPECTED_END = Gauge, "solocron_job_run_expected_end_timestamp_seconds", ["job_name"], Open,
        "By then the run on this replica is expected to end; absent while there is none";
    JOB_PAUSED = Gauge, "solocron_job_paused", ["job_name"], Open, "1 while the job is paused, else absent";
}
