//! The store of a cluster: decides the requests of the lease protocol atomically, keeps the history, and exchanges
//! heartbeats. Every call is bounded in time, and an error says whether the request may have been applied.

pub(crate) mod clock;
mod concern;
mod error;
mod exchange;
mod heartbeat;
mod hint;
mod local;
mod open;
mod redis;
mod trait_;

pub use clock::{ClockNews, ClockReading, Known, StoreClock};
pub use concern::{Concern, Grade};
pub use error::{Diagnosis, FailureCause, StoreError};
pub use exchange::{
    Feed, FeedId, FeedLine, GLANCED_ENTRIES, JobGlance, JobStanding, LONGEST_LINE, LONGEST_TTL, SLIP_BYTES,
    SLIP_TEXTS, Slip, Wake,
};
use exchange::{STANDING_FIELDS, SlipLoad};
pub use heartbeat::{Beat, BeatRun, LIVE_FOR, Marker, Notice, Peer, Pulse, Slewed, StageTimes, Told};
pub use hint::{Hint, Marked};
pub use local::LocalStore;
pub(crate) use open::{StartLocal, file_of, open};
#[cfg(feature = "test-switches")]
pub use redis::fuzz;
pub use redis::{RedisKeys, RedisStore};
pub use trait_::{Answered, JobEntries, KEPT_ENTRIES, Replied, Store};
pub(crate) use trait_::{FORGET_NODES_MS, FORGET_NOTICES_MS};
use trait_::{STANDINGS_TOGETHER, fail_from, within_limit};
