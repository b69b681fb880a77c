//! The lease protocol as pure functions: a store makes [`decide()`] atomic, a holder obeys [`Deadline`]. No clock, no I/O.
//!
//! `decide(record, request, server) -> (record', entries, reply)` is the only place that decides which replica runs what.
//! The Redis scripts implement the same rules in Lua, and a property test holds the two equal.

mod deadline;
mod decide;
mod exchange;
mod message;
mod protections;
mod record;
mod rules;
#[cfg(test)]
pub(crate) mod testing;

pub use deadline::{Deadline, Pace};
pub use decide::decide;
pub use exchange::{CellExchange, Conditions, ExchangeStep, Remembered, Swap, Version};
pub use message::reply::{Answer, Holder, Reply};
pub use message::request::{
    Abandon, Ahead, Caller, Claim, Dropped, Finish, Gap, LiveRuns, MOST_AHEAD, Manual, Memory, Open, Renew,
    Request, Server,
};
pub use protections::Protection;
pub use record::codec::FieldError;
pub(crate) use record::codec::{fields_as_ascii_json, fields_as_json};
pub use record::history_entry::HistoryEntry;
pub use record::leaps::{Leap, Leaps, Passed};
pub use record::lease::Lease;
pub use record::{Era, LeaseInstant, Phase, Record, SCHEMA, ScheduleHash};
pub(crate) use rules::early::{EARLY_TOLERANCE, begins, holds_from};
pub use rules::operator::{Act, Operate, Pausing};
pub use rules::rerun::Rerun;
pub use rules::transition::Decision;
#[cfg(test)]
pub(crate) use rules::transition::SYNC_TOLERANCE;
