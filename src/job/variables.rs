//! The names of the environment variables that describe a run to its command.

/// All of them. A jobs.toml may set none of these; it may set the other variables of this program, for an `exec` within
/// a job.
pub const RUN_VARIABLES: [&str; 9] = [
    "SOLOCRON_JOB",
    "SOLOCRON_TICK",
    "SOLOCRON_TICK_MS",
    "SOLOCRON_TICK_LOCAL",
    "SOLOCRON_FENCE",
    "SOLOCRON_RUN",
    "SOLOCRON_ATTEMPT",
    "SOLOCRON_CAUSE",
    "SOLOCRON_NODE",
];
