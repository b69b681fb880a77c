//! What happens on a replica, and how it is logged. Lower layers log by themselves only what no replica can act on: a run
//! log or a hint that is lost.

pub(crate) mod config_diff;
mod counter;
pub(crate) mod event;
mod lease_awaited;
pub(crate) mod log;
pub(crate) mod marks_ahead;
mod news;
pub(crate) mod peer_event;
pub(crate) mod run_ref;
mod start_stages;
mod store_change;

pub use config_diff::Changes;
pub use counter::EventCounter;
pub use event::Event;
pub use lease_awaited::LeaseAwaited;
pub use log::Events;
pub use marks_ahead::MarksAhead;
pub use news::{EventWord, NewsItem};
pub use peer_event::PeerEvent;
pub use run_ref::Run;
pub use start_stages::StartStages;
pub use store_change::StoreChange;
