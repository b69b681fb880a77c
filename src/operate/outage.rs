//! Outages of the store while an act takes effect: each is waited out, and does not count as waiting time.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::view::text::time_format::span;

use super::OperateError;

/// The longest outage that is waited for: a failover, or a restart, takes less.
const LONGEST: Duration = Duration::from_secs(60);

/// The outages of the store during one wait.
#[derive(Debug, Default)]
pub(crate) struct OutageWait {
    since: Option<Instant>,
    /// The total duration of earlier outages.
    before: Duration,
}

impl OutageWait {
    /// Returns for how long the store has been unreachable in total: a wait for a replica is extended by this
    /// time.
    pub(crate) fn lasted(&self, now: Instant) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| now.duration_since(since))
    }

    /// Whether the store did not answer when it was asked last.
    pub(crate) fn is_under_way(&self) -> bool {
        self.since.is_some()
    }

    /// Returns what the store answered, or `None` during an outage: the caller may then ask again.
    ///
    /// # Errors
    ///
    /// Fails if the outage has lasted too long, and on any other failure.
    pub(crate) fn wait_out<T>(
        &mut self,
        answer: Result<T, OperateError>,
        now: Instant,
    ) -> Result<Option<T>, OperateError> {
        let error = match answer {
            Ok(answer) => {
                self.before = self.lasted(now);
                self.since = None;
                return Ok(Some(answer));
            }
            Err(error) => error,
        };
        match self.since {
            _ if !error.is_unreachable() => Err(error),
            Some(since) if now.duration_since(since) > LONGEST => Err(error),
            _ => {
                self.since.get_or_insert(now);
                Ok(None)
            }
        }
    }
}

impl fmt::Display for OutageWait {
    /// Writes what is waited for during an outage.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store does not answer: waiting for it, {} at most", span(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn too_late<T>() -> Result<T, OperateError> {
        Err(OperateError::TooLate { label: "redis://a".into() })
    }

    #[tokio::test]
    async fn outages_of_up_to_a_minute_are_waited_out_and_added_up() {
        let (mut outage, mut now) = (OutageWait::default(), Instant::now());
        for _ in 0..2 {
            for _ in 0..3 {
                assert_eq!(outage.wait_out(too_late::<u8>(), now), Ok(None));
                now += LONGEST / 3;
            }
            assert!(outage.is_under_way());
            assert_eq!(outage.wait_out(Ok(1), now), Ok(Some(1)));
            assert!(!outage.is_under_way());
            now += LONGEST;
        }
        assert_eq!(outage.lasted(now), LONGEST * 2);
    }

    #[tokio::test]
    async fn a_longer_outage_is_an_error() {
        let (mut outage, began) = (OutageWait::default(), Instant::now());
        assert_eq!(outage.wait_out(too_late::<u8>(), began), Ok(None));
        assert_eq!(outage.wait_out(too_late::<u8>(), began + LONGEST), Ok(None));
        assert!(outage.wait_out(too_late::<u8>(), began + LONGEST + Duration::from_millis(1)).is_err());
    }

    #[tokio::test]
    async fn what_else_is_wrong_is_not_waited_out() {
        let refused = Err::<u8, _>(OperateError::NoReplica { why: "nobody".into(), help: None });
        assert!(OutageWait::default().wait_out(refused, Instant::now()).is_err());
    }
}
