//! Gives starts priority: when many ticks come at once, recording ended runs and writing notes wait for up to 250 ms,
//! so that no start waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The longest wait, however many starts come. It is part of the second by which every run ends before its lock is
/// over. A start that takes longer no longer counts.
const LONGEST: Duration = Duration::from_millis(250);

/// The starts of a replica that are under way.
#[derive(Debug, Default)]
pub(crate) struct StartPriority(Arc<StartsUnderWay>);

#[derive(Debug, Default)]
struct StartsUnderWay {
    starting: AtomicUsize,
    none: Notify,
}

impl StartPriority {
    /// Counts a start until its command has begun, or will not begin: the caller then cancels the returned token.
    pub(crate) fn begin(&self) -> CancellationToken {
        let (born, count) = (CancellationToken::new(), Arc::clone(&self.0));
        count.starting.fetch_add(1, Ordering::AcqRel);
        let token = born.clone();
        tokio::spawn(async move {
            let _ = timeout(LONGEST, token.cancelled()).await;
            if count.starting.fetch_sub(1, Ordering::AcqRel) == 1 {
                count.none.notify_waiters();
            }
        });
        born
    }

    /// Waits until no command is being started, at most 250 ms.
    pub(crate) async fn wait_for_starts(&self) {
        let none = async {
            loop {
                let mut notified = std::pin::pin!(self.0.none.notified());
                // From here on no notification is missed.
                notified.as_mut().enable();
                if self.0.starting.load(Ordering::Acquire) == 0 {
                    return;
                }
                notified.await;
            }
        };
        // After the timeout the caller continues all the same.
        let _ = timeout(LONGEST, none).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ends_wait_until_the_last_start_is_over() {
        let start_priority = StartPriority::default();
        start_priority.wait_for_starts().await;
        let (first, second) = (start_priority.begin(), start_priority.begin());
        let mut waiting = std::pin::pin!(start_priority.wait_for_starts());
        let begun = tokio::time::Instant::now();
        first.cancel();
        tokio::select! {
            () = &mut waiting => panic!("one is still being started"),
            () = tokio::time::sleep(LONGEST / 2) => {}
        }
        second.cancel();
        waiting.await;
        assert_eq!(begun.elapsed(), LONGEST / 2);
        start_priority.wait_for_starts().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_that_takes_long_delays_ends_by_a_quarter_of_a_second() {
        let start_priority = StartPriority::default();
        let _starting = start_priority.begin();
        let begun = tokio::time::Instant::now();
        start_priority.wait_for_starts().await;
        assert_eq!(begun.elapsed(), LONGEST);
    }
}
