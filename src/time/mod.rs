//! The one place where clocks are read. Everything else takes `now` as an argument, or a [`Clock`], so that tests run
//! days in milliseconds.

mod boot;
mod clock;
pub(crate) mod millis;
mod now;
mod system;
mod utc;

pub use boot::BootInstant;
pub use clock::{Clock, Waiting, Woke};
pub use now::Now;
pub use system::{SystemClock, boot_clock_lead, boot_id, raw_clock};
pub use utc::UtcMillis;
