//! What a store carries besides records: heartbeats; hints, which save requests; feeds of what happened, slips with questions
//! and answers, and wakes that announce both; and what it tells about many jobs at once.

mod feed;
mod glance;
mod heartbeat;
mod hint;
mod slip;
mod standing;
mod wake;

pub use feed::{Feed, FeedId, FeedLine, LONGEST_LINE};
pub use glance::{GLANCED_ENTRIES, JobGlance};
pub(crate) use heartbeat::MOST_BEATS;
pub use heartbeat::{
    Beat, BeatRun, LIVE_FOR, Marker, Notice, Peer, Pulse, Slewed, StageTimes, Told, UnrecordedEnd,
};
pub use hint::{Hint, Marked};
pub(crate) use slip::SlipLoad;
pub use slip::{LONGEST_TTL, SLIP_BYTES, SLIP_TEXTS, Slip};
pub use standing::JobStanding;
pub(crate) use standing::STANDING_FIELDS;
pub use wake::Wake;
