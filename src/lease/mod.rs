//! The lease protocol, pure: a store makes [`decide()`] atomic, a holder obeys [`Deadline`]. No clock, no I/O.
//!
//! `decide(record, request, server) -> (record', entries, reply)` is the only place where it is settled who runs what.
//! The Redis scripts say the same rules once more in Lua, and a property test holds the two equal.

mod ahead;
mod bid;
mod claim;
mod deadline;
mod decide;
mod draft;
mod entry;
mod fields;
mod hold;
mod leaps;
mod longest;
mod marks;
mod operate;
mod passed;
mod raise;
mod record;
mod reopen;
mod reply;
mod request;
mod rerun;
mod switch;

pub(crate) use ahead::{EARLY_TOLERANCE, begins, holds_from};
pub use deadline::{BootInstant, Deadline, Pace};
pub use decide::decide;
pub use draft::Decision;
pub use entry::Entry;
pub use fields::FieldError;
pub use leaps::{Leap, Leaps, Leapt, Passed};
pub use operate::{Act, Operate, Pausing};
pub use record::{Era, LeaseInstant, Phase, Record, SCHEMA, ScheduleHash};
pub use reply::{Answer, Holder, Reply};
pub use request::{
    Abandon, Ahead, Caller, Claim, Dropped, Finish, Gap, Holding, Manual, Memory, Open, Renew, Request,
    Server,
};
pub use rerun::Rerun;
pub use switch::Protection;
