//! Makes the attempts of one run, all under its lock. After a failed attempt the command is tried again until one
//! succeeds, none is left, or the run has to end: the lock is lost, a stop order came, or the replica drains.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::job::{JobSpec, Outcome};
use crate::run::{Ended, Launch, RunControl, RunLog, StopReason, StopSignals, attempt, tail_of_attempts};
use crate::time::BootInstant;

use super::context::Context;
use super::handle::LockHandle;

/// How often a failed attempt is tried again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Retries {
    /// How many attempts may follow the first one.
    pub(crate) count: u32,
    /// The pause before the first retry; it doubles each time.
    pub(crate) delay: Duration,
}

/// The attempts of a run.
pub(crate) struct Attempts {
    pub(crate) context: Arc<Context>,
    pub(crate) retries: Retries,
    /// The first attempt. Later attempts differ only in their number.
    pub(crate) launch: Launch,
    pub(crate) run: Run,
    pub(crate) handle: LockHandle,
    /// The deadline of the run.
    pub(crate) deadlines: watch::Receiver<BootInstant>,
}

/// How the pause before the next attempt ended.
enum Waited {
    /// The pause is over.
    Long,
    /// The replica drains: no attempt follows.
    NoMore,
    /// The run has been ordered to stop.
    Stopped(StopReason),
}

impl Attempts {
    /// Makes the attempts, and returns the number of the last one and how it ended. Cancels `born` once the first
    /// attempt has begun or has failed to begin. The returned birth is that of the first attempt.
    pub(crate) async fn make(mut self, log: &RunLog, born: &CancellationToken) -> (u32, Ended) {
        let first = self.launch.identity.attempt;
        let mut count = 1;
        let mut ended = self.attempt(log, born).await;
        let birth = ended.birth;
        // An attempt that did not begin no longer counts as a start under way.
        born.cancel();
        while let Some(pause) = self.retries.pause_after(count, ended.verdict.outcome) {
            self.tell_failed(first.saturating_add(count - 1), &ended, pause);
            // They are told, and are no signals of an attempt that does not follow.
            ended.stop_signals = StopSignals::default();
            match self.wait(pause).await {
                Waited::Long => {}
                Waited::NoMore => break,
                Waited::Stopped(reason) => {
                    ended.verdict = reason.verdict();
                    break;
                }
            }
            self.launch.identity.attempt = first.saturating_add(count);
            let next = self.attempt(log, born).await;
            // The attempt came too late and was not started. The failure before it is how the run ended; its tick did
            // run.
            if !next.was_tried {
                break;
            }
            let tail = tail_of_attempts(&ended.tail, first, self.launch.identity.attempt, &next.tail);
            (count, ended) = (count + 1, Ended { tail, ..next });
        }
        (first.saturating_add(count - 1), Ended { birth, ..ended })
    }

    async fn attempt(&self, log: &RunLog, born: &CancellationToken) -> Ended {
        let (stops, deadlines) = (self.handle.stops.subscribe(), self.deadlines.clone());
        let clock = Arc::clone(&self.context.clock);
        let control = RunControl { stops, deadlines, born: born.clone(), clock };
        attempt(&self.context.guards, &self.launch, log, self.context.output, control).await
    }

    /// Waits for the next attempt, or until it is certain that none follows.
    async fn wait(&self, pause: Duration) -> Waited {
        let clock = &self.context.clock;
        let mut stops = self.handle.stops.subscribe();
        tokio::select! {
            biased;
            Ok(order) = stops.wait_for(Option::is_some) => {
                order.map_or(Waited::NoMore, |order| Waited::Stopped(order.reason))
            }
            () = self.handle.no_more_attempts.cancelled() => Waited::NoMore,
            () = clock.wait_until_boot(clock.boot().plus(pause)) => Waited::Long,
        }
    }

    fn tell_failed(&self, attempt: u32, ended: &Ended, again_in: Duration) {
        self.context.events.tell(Event::AttemptFailed {
            run: self.run.clone(),
            attempt,
            verdict: ended.verdict,
            exit_code: ended.exit_code,
            signal: ended.signal,
            error: ended.error.as_ref().map(ToString::to_string),
            stop_signals: ended.stop_signals,
            again_in,
        });
    }
}

/// Returns the number of a run's first attempt under the `tries`th grant of its tick. It is above every number that
/// earlier grants may have used: a replica that died did not report how many attempts it made.
pub(crate) fn first_attempt(spec: &JobSpec, tries: u32) -> u32 {
    let made_before = tries.saturating_sub(1).saturating_mul(spec.retries.saturating_add(1));
    made_before.saturating_add(1)
}

impl Retries {
    pub(crate) fn of(spec: &JobSpec) -> Self {
        Self { count: spec.retries, delay: spec.retry_delay }
    }

    /// Returns the pause before the next attempt, after so many attempts of which the last ended with `outcome`.
    /// `None` if no attempt follows.
    pub(crate) fn pause_after(self, attempts: u32, outcome: Outcome) -> Option<Duration> {
        let has_failed = matches!(outcome, Outcome::Failed | Outcome::TimedOut);
        let doubled = 2_u32.saturating_pow(attempts - 1);
        (has_failed && attempts <= self.count).then(|| self.delay.saturating_mul(doubled))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::testing::spec;

    use super::*;

    #[test]
    fn after_a_failure_the_delay_doubles_until_no_attempt_is_left() {
        let spec = spec("schedule = \"@hourly\"\nretries = 3\nretry_delay = \"10s\"");
        let pause =
            |attempts, outcome| Retries::of(&spec).pause_after(attempts, outcome).map(|at| at.as_secs());
        let pauses: Vec<_> = (1..=4).map(|attempts| pause(attempts, Outcome::Failed)).collect();
        assert_eq!(pauses, [Some(10), Some(20), Some(40), None]);
        assert_eq!(pause(1, Outcome::TimedOut), Some(10));
        for outcome in [Outcome::Succeeded, Outcome::Killed, Outcome::Interrupted] {
            assert_eq!(pause(1, outcome), None, "{outcome}");
        }
    }

    #[test]
    fn a_rerun_goes_on_counting_after_the_last_attempt_that_the_first_run_may_have_made() {
        let with = |keys: &str| spec(&format!("schedule = \"@hourly\"\n{keys}"));
        let numbers = |keys| [1, 2].map(|tries| first_attempt(&with(keys), tries));
        assert_eq!(numbers(""), [1, 2]);
        assert_eq!(numbers("retries = 3"), [1, 5]);
        assert_eq!(numbers("retries = 4294967295"), [1, u32::MAX], "and never beyond what there is");
    }

    #[test]
    fn without_retries_there_is_one_attempt() {
        let spec = spec("schedule = \"@hourly\"");
        assert_eq!(Retries::of(&spec).pause_after(1, Outcome::Failed), None);
    }
}
