//! Runs one attempt of a job under a guard, and stores what a node keeps of its runs. This module knows neither the
//! store nor the schedule, and of the lock only the deadline of the run: its callers decide which replica runs, and
//! when.
//!
//! Under the state directory, folders with mode 0750 and files with 0640:
//!
//! ```text
//! runs/JOB/RUN.log      output of one run, all its attempts; absent for a silent run (see `output`)
//! runs/JOB/RUN.log.N    newest part of an output longer than half of its limit, from its byte N on (see `log_parts`)
//! runs/JOB/RUN.running  the run's entry while it is running, locked by its replica and its guard: a free lock
//!                       shows a crash
//! runs.jsonl            one entry per finished run, oldest first
//! runs.lock             held while runs.jsonl is written, as replicas may share the directory
//! ```

mod attempt;
mod error;
mod guard;
mod history;
mod job;
mod output;
mod procs;

pub use attempt::launch::{Identity, Launch, Streams};
pub use attempt::preview::Preview;
#[cfg(test)]
pub(crate) use attempt::process::HEARING;
pub use attempt::stop::{RunControl, StopOrder, StopReason, StopSignals};
pub use attempt::user::has_user;
pub use attempt::{Birth, Ended, attempt};
pub use error::RunError;
#[cfg(feature = "test-switches")]
pub use guard::fuzz_request;
pub use guard::{Guards, guards_main};
pub use history::archive::{RunLogs, WallClock};
pub(crate) use history::disk::Disk;
pub use history::run_entry::RunEntry;
pub use history::run_log::RunLog;
pub use history::running_sign::{Sign, SignState};
pub use history::site::Site;
pub use job::Job;
pub(crate) use output::log_parts::{LogPart, parts};
pub use output::log_range::{LogRange, LogStart};
pub(crate) use output::log_range::{read_range, start_of_last};
pub use output::sink::JobOutput;
pub use output::tail::tail_of_attempts;
pub use procs::ancestry::{Enclosing, enclosing_runs, is_descendant};
pub use procs::limits::raise_file_limit;
pub use procs::privilege::escapes;
pub use procs::sweep::{processes_of, sweep};
pub use procs::syscalls::{end_by, lower_thread_priority, release_free_memory};
