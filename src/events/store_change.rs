//! What a replica notices of the store's clock and memory.

use std::fmt;

/// A change of the store after which jobs may have to wait, or are planned again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreChange {
    /// It is in a new era.
    NewEra,
    /// It is in the same era, and lost data.
    DataLost,
    /// Its clock was stepped.
    ClockStepped,
    /// Its clock is slewed.
    ClockSlewed,
}

impl fmt::Display for StoreChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewEra => "restart or failover: every job waits one lease",
            Self::DataLost => "it lost data: every job waits one lease",
            Self::ClockStepped => "its clock was stepped",
            Self::ClockSlewed => "its clock is slewed by more than 1 %",
        })
    }
}
