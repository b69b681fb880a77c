//! A lock that was granted, and what runs under it.

use crate::events::run_ref::Run;
use crate::lease::{Deadline, Era, Lease};
use crate::run::Launch;
use crate::time::BootInstant;

use super::attempts::Retries;
use super::start_gate::StartGate;

/// A lock that was just granted.
#[derive(Debug)]
pub(crate) struct Grant {
    /// The first attempt.
    pub(crate) launch: Launch,
    pub(crate) retries: Retries,
    pub(crate) lease: Lease,
    pub(crate) deadline: Deadline,
    /// When the claim was sent.
    pub(crate) sent: BootInstant,
    /// What the first attempt waits for, if the lock was granted before the tick's instant.
    pub(crate) start_gate: StartGate,
    /// The era in which the lock was granted.
    pub(crate) era: Era,
    /// Whether the claim waited for the end of another run.
    pub(crate) waited: bool,
}

impl Grant {
    /// The run as events name it.
    pub(crate) fn reference(&self) -> Run {
        Run::of(&self.launch.identity.job, &self.lease)
    }
}
