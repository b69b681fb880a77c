//! The keys of every section of the file. With them, the problem of a key in the wrong section can name the right one.

/// Tables at the top of the file.
pub(crate) const ROOT: &[&str] = &["cluster", "defaults", "jobs", "replica", "logs"];
/// Keys of `[cluster]`.
pub(crate) const CLUSTER: &[&str] = &["name", "store", "replicas"];
/// Keys of `[replica]`.
pub(crate) const REPLICA: &[&str] = &["drain", "max_running", "listen", "labels"];
/// Keys of `[logs]`.
pub(crate) const LOGS: &[&str] = &["keep", "keep_runs", "max_bytes"];
/// Job keys that each job must give itself.
pub(crate) const OWN: &[&str] = &["schedule", "command", "shell"];
/// Job keys that `[defaults]` may give for all jobs.
pub(crate) const SHARED: &[&str] = &[
    "timezone",
    "env",
    "cwd",
    "user",
    "group",
    "lease",
    "timeout",
    "kill_grace",
    "overlap",
    "start_deadline",
    "catch_up",
    "on_interrupt",
    "retries",
    "retry_delay",
    "no_new_privileges",
    "max_processes",
    "max_output",
    "success_codes",
    "only_on",
    "enabled",
    "description",
];

/// Returns every key of a job.
pub(crate) fn job() -> Vec<&'static str> {
    [OWN, SHARED].concat()
}

/// Returns the section to which a known key belongs, for a key that was found elsewhere.
pub(crate) fn home_of(key: &str) -> Option<&'static str> {
    let homes = [
        (OWN, "`[jobs.NAME]`"),
        (SHARED, "`[defaults]` or `[jobs.NAME]`"),
        (CLUSTER, "`[cluster]`"),
        (REPLICA, "`[replica]`"),
        (LOGS, "`[logs]`"),
    ];
    homes.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, home)| *home)
}
