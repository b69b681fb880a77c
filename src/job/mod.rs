//! The values of the domain (names, ticks, jobs, outcomes) and the computation of schedules. No code here uses a
//! runtime, a clock or I/O.

mod duration;
mod name;
pub(crate) mod nearest;
mod outcome;
pub(crate) mod quoted;
mod schedule;
mod spec;
mod tick;
mod variables;

pub use duration::{DurationError, format_duration, parse_duration};
pub use name::{ClusterName, JobName, Label, NameError, NodeName, RunId, TokenName};
pub use nearest::nearest;
pub use outcome::{Cause, Outcome, Reason, Verdict};
pub use quoted::{quoted, quoted_within};
pub use schedule::{Schedule, ScheduleError};
pub(crate) use spec::MAX_DEFAULT_START_DEADLINE;
pub use spec::{CatchUp, Command, JobSpec, OnInterrupt, Overlap};
pub use tick::{Fence, Tick};
pub use variables::RUN_VARIABLES;
