//! The life of a tick on one replica: planned, due, claimed or decided elsewhere, running, recorded. What is decided
//! is decided by pure steps; the driver performs them.

mod action;
mod agenda;
mod assurance;
mod attempts;
mod awaited;
mod changes;
mod clockwork;
#[cfg(test)]
mod clockwork_tests;
mod company;
mod contest;
#[cfg(test)]
mod contest_policy_tests;
#[cfg(test)]
mod contest_tests;
mod draining;
mod driver;
mod due;
mod errand;
mod event;
mod events;
mod files;
mod forgone;
mod former;
#[cfg(test)]
mod former_tests;
mod grant;
mod guest;
mod heard;
mod heartbeat;
mod hints;
mod hold;
mod inspection;
mod joining;
mod keeper;
mod ledger;
#[cfg(test)]
mod ledger_tests;
mod life;
mod line;
mod lost_runs;
mod marks_ahead;
mod member;
mod memory;
mod moves;
mod note;
mod notices;
mod offset;
mod opening;
mod orders;
mod patience;
mod pause;
mod peer_event;
mod planning;
mod proof;
mod proposal;
mod recall;
mod reloading;
#[cfg(test)]
mod rerun_tests;
#[cfg(test)]
mod revising_tests;
mod room;
mod roster;
mod run_ref;
mod rush;
mod settling;
mod shop;
mod silence;
#[cfg(test)]
mod simulation;
mod stages;
mod standing;
mod steady;
mod tenure;
mod unsynced;
mod vacancy;
mod wall;
mod watch;
mod window;

pub use action::{Action, Bid, Finding, Won};
pub use agenda::{Agenda, Coming};
pub use changes::Changes;
pub use clockwork::ClockworkError;
pub use contest::Contest;
pub use event::{Event, LeaseAwaited, MarksAhead, PeerEvent, RunRef};
pub use events::Events;
pub use guest::{Guest, Visit, Work};
pub use ledger::Ledger;
pub use member::{Alive, Job, Reload, Replica, Stop};
pub use memory::{Known, Learned, Memory, Reading};
pub use orders::order_waits;
pub use roster::{LIVE_FOR, Roster};
pub use standing::Standing;
pub use tenure::FolderTaken;
