//! The whole life of a replica, from its making to its end.

use super::clockwork::ClockworkError;
use super::driver::Driver;
use super::member::{Replica, Stop};

impl Replica {
    /// Takes part until it is told to stop, and returns when nothing of it runs any more. A store that is down ends
    /// nothing.
    pub async fn run(self, stop: Stop) -> Result<(), ClockworkError> {
        Driver::build(self).run(stop).await
    }
}
