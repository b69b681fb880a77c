//! Waits for the effect of a request that the store has: reports an outage of the store during the wait, and waits for its end.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::view::text::time_format::span;

use super::client::LOOK_EVERY;

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
    /// Returns for how long the store has been unreachable in total: a wait for a replica is extended by this time.
    pub(crate) fn lasted(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Shows what the command waits for. During an outage that is the store, and this has no effect.
    pub(crate) fn wait_for(&self, what: &str, screen: &mut Screen<'_>) {
        if self.since.is_none() {
            screen.wait(what);
        }
    }

    /// Calls `ask` until the store answers, and treats outages as `wait_out` does.
    pub(crate) async fn ask<T, A: Future<Output = Result<T, Failure>>>(
        &mut self,
        screen: &mut Screen<'_>,
        ask: impl Fn() -> A,
    ) -> Result<T, Failure> {
        loop {
            if let Some(answer) = self.wait_out(ask().await, screen)? {
                return Ok(answer);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Returns what the store answered, or `None` during an outage: the caller may then ask again. Fails if the outage has
    /// lasted too long, and on any other failure.
    pub(crate) fn wait_out<T>(
        &mut self,
        answer: Result<T, Failure>,
        screen: &mut Screen<'_>,
    ) -> Result<Option<T>, Failure> {
        let failure = match answer {
            Ok(answer) => {
                self.before = self.lasted();
                if self.since.take().is_some() {
                    screen.end_wait();
                }
                return Ok(Some(answer));
            }
            Err(failure) => failure,
        };
        match self.since {
            _ if failure.exit != Exit::StoreUnreachable => Err(failure),
            Some(since) if since.elapsed() > LONGEST => Err(failure),
            _ => {
                self.since.get_or_insert_with(Instant::now);
                screen.wait(&format!("the store does not answer: waiting for it, {} at most", span(LONGEST)));
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed<T>(exit: Exit) -> Result<T, Failure> {
        Err(Failure::new(exit, "why"))
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_told_once_and_waited_out_for_a_minute() {
        let mut said = Vec::new();
        let mut screen = Screen::plain(std::io::sink(), &mut said);
        let mut outage = OutageWait::default();
        for _ in 0..2 {
            for _ in 0..3 {
                let answer = outage.wait_out(failed::<u8>(Exit::StoreUnreachable), &mut screen);
                assert!(answer.is_ok_and(|answer| answer.is_none()));
                tokio::time::advance(LONGEST / 3).await;
            }
            assert!(outage.wait_out(Ok(1), &mut screen).is_ok_and(|answer| answer == Some(1)));
            tokio::time::advance(LONGEST).await;
        }
        assert_eq!(outage.lasted(), LONGEST * 2);
        for _ in 0..2 {
            assert!(outage.wait_out(failed::<u8>(Exit::StoreUnreachable), &mut screen).is_ok());
            tokio::time::advance(LONGEST / 2 + Duration::from_millis(1)).await;
        }
        assert!(outage.wait_out(failed::<u8>(Exit::StoreUnreachable), &mut screen).is_err());
        drop(screen);
        let said = String::from_utf8(said).expect("text");
        assert_eq!(said, "the store does not answer: waiting for it, 1m at most\n".repeat(3));
    }

    #[test]
    fn what_else_is_wrong_is_not_waited_out() {
        let mut screen = Screen::plain(std::io::sink(), std::io::sink());
        assert!(OutageWait::default().wait_out(failed::<u8>(Exit::Failed), &mut screen).is_err());
    }
}
