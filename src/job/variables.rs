//! The names of the variables that tell a command about its run.

/// Every one of them, and no file may set it. Other settings of this program are a job's own matter, for an `exec` in it.
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
