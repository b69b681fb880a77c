//! The store of a cluster: decides the requests of the lease protocol atomically, keeps the history, and exchanges
//! heartbeats. Every call is bounded in time, and an error says whether the request may have been applied.

mod cells;
pub(crate) mod clock;
mod concern;
mod error;
mod exchange;
mod local;
mod network;
mod open;
mod postgres;
mod redis;
mod trait_;

pub use clock::{ClockNews, ClockReading, Known, StoreClock};
pub use concern::{Concern, Grade};
pub use error::{Diagnosis, FailureCause, StoreError};
pub use exchange::{
    Beat, BeatRun, Feed, FeedId, FeedLine, GLANCED_ENTRIES, Hint, JobGlance, JobStanding, LIVE_FOR,
    LONGEST_LINE, LONGEST_TTL, Marked, Marker, Notice, Peer, Pulse, SLIP_BYTES, SLIP_TEXTS, Slewed, Slip,
    StageTimes, Told, UnrecordedEnd, Wake,
};
use exchange::{MOST_BEATS, STANDING_FIELDS, SlipLoad};
pub use local::LocalStore;
pub(crate) use open::{StartLocal, file_of, open};
pub(crate) use postgres::schema_sql;
pub use postgres::{init_postgres, start_postgres};
#[cfg(feature = "test-switches")]
pub use redis::fuzz;
pub use redis::{RedisKeys, RedisStore};
pub use trait_::{Answered, JobEntries, KEPT_ENTRIES, Replied, Store};
pub(crate) use trait_::{FORGET_NODES_MS, FORGET_NOTICES_MS};
use trait_::{STANDINGS_TOGETHER, fail_from, within_limit};
