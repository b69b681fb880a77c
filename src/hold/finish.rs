//! Records the end of a run: in the event log, the lease file, the store (however long it takes to answer), and the
//! run's log.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::events::event::Event;
use crate::job::Reason;
use crate::lease::{Answer, Finish, Request};
use crate::run::{Ended, RunLog};
use crate::time::UtcMillis;

use super::give_back::Doubt;
use super::holder::HeldLock;
use super::lease_file::entry::LeaseNote;

/// If the end of a run cannot be recorded, it is tried again after intervals that double from the first of these to
/// the second.
const FINISH_BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

impl HeldLock {
    /// Records how a run ended with its last attempt.
    pub(crate) async fn finish(&self, log: RunLog, attempt: u32, ended: &Ended) {
        let at = self.context.store_time().minus(ended.ago);
        self.tell_end(attempt, ended, at);
        let finish = self.note_end(attempt, ended, at).await;
        self.context.traffic.start_priority.wait_for_starts().await;
        self.handle.end(self.run.run);
        let recorded = async {
            self.rest_until(Instant::now() + self.finish_turn.wait(self.context.store_time())).await;
            self.record(Request::Finish(finish)).await;
        };
        // At the same time: until the store has the end, the lock is held, and other replicas may wait for it.
        tokio::join!(recorded, self.context.logs.finish(log, attempt, ended));
    }

    /// Gives back a lock under which nothing was started.
    pub(crate) async fn abandon(&self, log: RunLog, ended: &Ended) {
        self.handle.end(self.run.run);
        let reason = ended.verdict.reason.unwrap_or(Reason::Late);
        self.tell(Event::ClaimAbandoned { job: self.run.job.clone(), run: self.run.run, reason });
        let abandon = Doubt { run: self.run.run, era: self.era.clone(), edited: false }.abandon();
        let unnoted = self.context.lease_file.forget_run(&self.run.job, self.run.run);
        tokio::join!(unnoted, self.record(Request::Abandon(abandon)), self.context.logs.forget(log));
    }

    /// Logs the end of the run. `at` is its time by the store's clock, so that the logged duration agrees with the
    /// record.
    fn tell_end(&self, attempt: u32, ended: &Ended, at: UtcMillis) {
        self.tell(Event::RunEnded {
            run: self.run.clone(),
            attempt,
            verdict: ended.verdict,
            exit_code: ended.exit_code,
            signal: ended.signal,
            took: at.since(self.grant.lease.started),
            at,
            stop_signals: ended.stop_signals,
            stages: self.stages,
            error: ended.error.as_ref().map(ToString::to_string),
        });
    }

    /// Writes the end to the lease file, and returns the finish for the store.
    async fn note_end(&self, attempt: u32, ended: &Ended, at: UtcMillis) -> Finish {
        let finish = Finish {
            lease: self.grant.lease.clone(),
            era: self.era.clone(),
            attempt,
            verdict: ended.verdict,
            ended: at,
            exit_code: ended.exit_code,
            signal: ended.signal,
            tail: ended.tail.clone(),
            leapt: self.context.store_clock.leapt(),
        };
        self.context.lease_file.keep(&self.run.job, LeaseNote::Ended(finish.clone())).await;
        finish
    }

    /// Sends the request until the store has answered it. Once the replica gives up, tries one last time.
    async fn record(&self, request: Request) {
        let mut backoff = FINISH_BACKOFF.0;
        loop {
            let last_try = self.handle.give_up.is_cancelled();
            let error =
                match self.context.store.submit(&self.run.job, &request).await.map(|reply| reply.answer) {
                    Ok(Answer::Finished) => return self.tell(Event::RunRecorded { run: self.run.clone() }),
                    Ok(Answer::AlreadyDecided | Answer::Abandoned) => return,
                    Ok(other) => format!("the store answered {}", other.name()),
                    Err(error) => error.to_string(),
                };
            if last_try {
                return;
            }
            if backoff == FINISH_BACKOFF.0 {
                self.tell(Event::FinishDelayed { run: self.run.clone(), error });
            }
            self.rest_until(Instant::now() + backoff).await;
            backoff = (backoff * 2).min(FINISH_BACKOFF.1);
        }
    }

    /// Waits until then, or until the replica gives up.
    async fn rest_until(&self, then: Instant) {
        // The wait is over in both cases.
        let _ = timeout_at(then, self.handle.give_up.cancelled()).await;
    }
}
