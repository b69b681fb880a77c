//! The life of a tick on one replica: planned, due, claimed or decided elsewhere, running, recorded. What is decided
//! is decided by pure steps; the driver performs them.

mod agenda;
mod clockwork;
mod contest;
mod driver;
mod errand;
mod event;
mod heartbeat;
mod hold;
mod keeper;
mod memory;
mod moves;
mod patience;
mod replica;
mod roster;
mod watch;

pub use agenda::{Agenda, Coming};
pub use clockwork::ClockworkError;
pub use contest::{Action, Bid, Contest, Finding, Won};
pub use event::{Event, Events, RunRef};
pub use memory::{Learned, Memory, Reading};
pub use replica::{Alive, Job, Replica, Stop};
pub use roster::{LIVE_FOR, Roster};
