//! The one place where clocks are read. Everything else takes `now` as an argument, or a [`Clock`], so that tests run
//! days in milliseconds.

mod system;
mod trait_;

pub use system::{SystemClock, boot_clock_lead, boot_id, raw_clock};
pub use trait_::{Clock, Waiting, Woke};
