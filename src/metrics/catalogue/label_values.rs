//! The values of labels that have a closed list.

/// How a tick counts for its job. `skipped` also stands for runs that an operator or a newer tick stopped:
/// neither is a success or a failure.
pub(crate) const JOB_RESULTS: [&str; 4] = ["ok", "failed", "missed", "skipped"];

/// Outcomes with their reasons, as events tell them. An empty reason: the outcome explains itself.
pub(super) const VERDICTS: &[&[&str]] = &[
    &["succeeded", ""],
    &["failed", ""],
    &["failed", "spawn_failed"],
    &["timed_out", ""],
    &["killed", "operator"],
    &["killed", "replaced"],
    &["interrupted", "shutdown"],
    &["interrupted", "lock_lost"],
    &["interrupted", "node_lost"],
    &["skipped", "overlap"],
    &["skipped", "paused"],
    &["missed", "late"],
    &["missed", "edited"],
    &["missed", "capacity"],
    &["missed", "no_replica"],
    &["unknown", "store_reset"],
    &["unknown", "left_behind"],
];

/// States of a replica. Those that are `full` are also `taking`: they take ticks as soon as a run ends.
pub(super) const REPLICA_STATES: &[&[&str]] = &[&["taking"], &["draining"], &["full"]];

/// States of a job; one job may have several.
pub(super) const JOB_STATES: &[&[&str]] =
    &[&["enabled"], &["disabled"], &["paused"], &["running"], &["failing"], &["overdue"]];

/// The kinds of problems that a job may have, by the names in `status`.
pub(super) const JOB_TROUBLES: &[&[&str]] = &[
    &["no_replica_fits"],
    &["newer_schema"],
    &["mark_ahead"],
    &["lease_awaited"],
    &["no_record"],
    &["unreadable"],
    &["overdue"],
    &["holder_lost"],
    &["last_outcome"],
];

/// Which jobs have series.
pub(super) const SERIES_MODES: &[&[&str]] = &[&["all"], &["trouble"], &["none"]];

/// The stages of a start, in their order.
pub(super) const START_STAGES: &[&[&str]] = &[&["claim"], &["grant"], &["prepare"], &["spawn"]];

/// How a run ended, for its duration. Runs that were stopped for an operator or a newer tick are not in it.
pub(super) const RUN_RESULTS: &[&[&str]] = &[&["ok"], &["failed"]];

/// What a tick waits for: another run, an answer of the store, or a free slot of the replica.
pub(super) const WAITS: &[&[&str]] = &[&["held"], &["undecided"], &["capacity"]];

/// Answers to claims. `refused` also stands for claims that have to be sent anew, because the store is in
/// another era or they came too late; `unknown` for those without an answer.
pub(super) const CLAIM_ANSWERS: &[&[&str]] =
    &[&["won"], &["decided"], &["consumed"], &["held"], &["early"], &["refused"], &["unknown"]];

/// Why a lock was given back under which nothing was started.
pub(super) const ABANDON_REASONS: &[&[&str]] = &[&["late"], &["edited"], &["shutdown"], &["lock_lost"]];

/// Results of renewals.
pub(super) const RENEWAL_RESULTS: &[&[&str]] = &[&["ok"], &["failed"], &["lost"]];

/// Signals that stopped runs, with their causes.
pub(super) const KILLS: &[&[&str]] = &[
    &["term", "timeout"],
    &["term", "operator"],
    &["term", "replaced"],
    &["term", "drain"],
    &["term", "lock_lost"],
    &["kill", "timeout"],
    &["kill", "operator"],
    &["kill", "replaced"],
    &["kill", "drain"],
    &["kill", "lock_lost"],
];

/// Kinds of requests to the store.
pub(super) const STORE_REQUESTS: &[&[&str]] =
    &[&["claim"], &["renew"], &["finish"], &["pulse"], &["open"], &["read"], &["other"]];

/// Results of requests to the store.
pub(super) const STORE_RESULTS: &[&[&str]] = &[&["applied"], &["refused"], &["not_sent"], &["unknown"]];

/// Grades of findings about the store's setup.
pub(super) const CONCERN_GRADES: &[&[&str]] = &[&["error"], &["warning"]];

/// What people do over HTTP, with what came of it.
pub(super) const HTTP_ACTS: &[&[&str]] = &[
    &["trigger", "done"],
    &["trigger", "refused"],
    &["trigger", "failed"],
    &["pause", "done"],
    &["pause", "refused"],
    &["pause", "failed"],
    &["resume", "done"],
    &["resume", "refused"],
    &["resume", "failed"],
    &["kill", "done"],
    &["kill", "refused"],
    &["kill", "failed"],
    &["unlock", "done"],
    &["unlock", "refused"],
    &["unlock", "failed"],
];

/// What came of questions for the output of a run.
pub(super) const OUTPUT_RESULTS: &[&[&str]] = &[&["answered"], &["refused"], &["unanswered"]];
