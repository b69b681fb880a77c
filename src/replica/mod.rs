//! The life of a tick on one replica: planned, due, claimed or decided elsewhere, running, recorded. What is decided
//! is decided by pure steps; the driver performs them.

mod action;
mod agenda;
mod clockwork;
#[cfg(test)]
mod clockwork_tests;
mod contest;
#[cfg(test)]
mod contest_tests;
mod draining;
mod driver;
mod errand;
mod event;
mod events;
mod heartbeat;
mod hold;
mod keeper;
mod life;
mod member;
mod memory;
mod moves;
mod opening;
mod patience;
mod planning;
mod proposal;
mod roster;
mod shop;
mod watch;

pub use action::{Action, Bid, Finding, Won};
pub use agenda::{Agenda, Coming};
pub use clockwork::ClockworkError;
pub use contest::Contest;
pub use event::{Event, RunRef};
pub use events::Events;
pub use member::{Alive, Job, Replica, Stop};
pub use memory::{Known, Learned, Memory, Reading};
pub use roster::{LIVE_FOR, Roster};
