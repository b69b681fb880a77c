//! Waits for the effect of an act: in steps, so that the caller can show what is waited for, or leave.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use super::OperateError;
use super::outage::OutageWait;

/// How often a caller takes a step: how often the record whose change it waits for is read.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A wait for the effect of an act. Its caller takes a step every [`LOOK_EVERY`], until the effect is there
/// or the wait fails; each wait has a limit after which it fails.
pub(crate) trait ClusterWait {
    /// The effect.
    type Effect;
    /// What it waits for, and until when; in words for people by `Display`.
    type Progress: fmt::Display;

    /// Returns what it waits for, and until when, while the store answers.
    fn progress(&self, now: Instant) -> Self::Progress;

    /// Returns the outages of the store so far.
    fn outage(&self) -> &OutageWait;

    /// Looks once. Returns the effect, if it is there. Between two steps the wait can be dropped.
    ///
    /// # Errors
    ///
    /// Fails if the effect will not be there, or the store cannot be reached for too long.
    fn step(&mut self) -> impl Future<Output = Result<Option<Self::Effect>, OperateError>> + Send;

    /// Describes for people what it waits for now: the cluster or, during an outage, the store.
    fn awaits(&self, now: Instant) -> String {
        if self.outage().is_under_way() { self.outage().to_string() } else { self.progress(now).to_string() }
    }
}
