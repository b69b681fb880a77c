//! One attempt of one job under a guard, and what a node keeps of it. It knows no store and no schedule, and of the lock
//! only until when the run may go on: who may run, and when, is decided above.
//!
//! Under the state directory, folders with mode 0750 and files with 0640:
//!
//! ```text
//! runs/JOB/RUN.log      output of one run, all its attempts; not there for a silent run (see `output`)
//! runs/JOB/RUN.log.N    the newest of an output that is longer than half of its limit, from its byte N on (see `log_parts`)
//! runs/JOB/RUN.running  the run's entry while it goes on, locked by its replica and its guard: a crash is seen by the
//!                       lock being free
//! runs.jsonl            one entry per finished run, oldest first
//! runs.lock             held while runs.jsonl is written, as replicas may share the directory
//! ```

mod account;
mod ask;
mod attempt;
mod blows;
mod cgroup;
mod complaints;
mod course;
mod disk;
mod drive;
mod enclosing;
mod entry;
mod environment;
mod error;
mod guard;
mod journal;
mod launch;
mod limits;
mod line;
mod log_file;
mod log_parts;
mod marker;
mod output;
mod preview;
mod privilege;
mod process;
mod reserve;
mod retention;
mod run_files;
mod run_log;
mod run_logs;
mod sink;
mod site;
mod start_error;
mod stop;
mod sweep;
mod system;
mod tail;
mod tree;

pub use account::has_user;
pub use attempt::{Birth, Ended, attempt};
pub(crate) use disk::Disk;
pub use enclosing::{Enclosing, enclosing_runs, is_descendant};
pub use entry::RunEntry;
pub use error::RunError;
#[cfg(feature = "test-switches")]
pub use guard::fuzz_request;
pub use guard::{Guards, guards_main};
pub use launch::{Identity, Launch, Streams};
pub use limits::raise_file_limit;
pub(crate) use log_parts::{Part, parts};
pub use marker::{Sign, SignState};
pub use preview::Preview;
pub use privilege::escapes;
pub use retention::LogRetention;
pub use run_log::RunLog;
pub use run_logs::{RunLogs, WallClock};
pub use sink::JobOutput;
pub use site::Site;
pub use stop::{Reins, StopOrder, StopReason};
pub use sweep::{processes_of, sweep};
pub use system::end_by;
pub use tail::tail_of_attempts;
