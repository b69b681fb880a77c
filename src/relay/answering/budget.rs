//! How many bytes a replica sends per second, to all askers together.

use std::time::Duration;

use tokio::time::Instant;

/// A replica sends no more bytes of output per second: far below what a store and its line carry.
pub(super) const BYTES_PER_SECOND: usize = 512_000;

/// The bytes of a replica's answers, spread over time. Pure.
#[derive(Debug)]
pub(super) struct ByteBudget {
    /// When everything that was taken so far is sent.
    free_at: Instant,
}

impl ByteBudget {
    /// Returns the budget of a replica that has sent nothing.
    pub(super) fn new(now: Instant) -> Self {
        Self { free_at: now }
    }

    /// Takes this many bytes. Returns how long to wait before they are sent.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let begins = self.free_at.max(now);
        let micros = (bytes as u64).saturating_mul(1_000_000) / BYTES_PER_SECOND as u64;
        self.free_at = begins + Duration::from_micros(micros);
        begins.duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_sent_in_any_second_and_pauses_are_not_saved_up() {
        let now = Instant::now();
        let mut budget = ByteBudget::new(now);
        let ms = Duration::from_millis;
        assert_eq!(budget.take(51_200, now), ms(0));
        assert_eq!(budget.take(51_200, now), ms(100));
        assert_eq!(budget.take(0, now), ms(200));
        assert_eq!(budget.take(512_000, now + ms(50)), ms(150));
        assert_eq!(budget.take(1, now + ms(60_000)), ms(0));
        assert_eq!(budget.take(512_000, now + ms(60_001)), ms(0));
        assert_eq!(budget.take(1, now + ms(60_001)), ms(1_000));
    }
}
