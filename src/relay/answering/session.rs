//! The answer to one question: what the run has printed, and what it prints within the next seconds.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::relay::answer::{OutputAnswer, OutputEnd, PIECE_BYTES};
use crate::relay::local::LocalOutput;
use crate::relay::look::{LOOK_EVERY, LogStep};
use crate::relay::question::OutputQuestion;
use crate::run::{LogRange, LogStart};
use crate::store::{Slip, Store};

use super::budget::ByteBudget;

/// An answer lasts for so long: an asker that has gone costs no more.
const LASTS: Duration = Duration::from_secs(5);

/// A part of the answer that does not fit into the slip is left again after this pause, for at most this long: the asker
/// collects slowly, or has gone.
const LEAVE_AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));

/// An answer that is not collected is gone from the store after this.
const TTL: Duration = Duration::from_secs(10);

/// What all answers of a replica share.
#[derive(Debug)]
pub(super) struct AnswerSources {
    pub(super) store: Arc<dyn Store>,
    /// The stored runs of its state folder.
    pub(super) local: LocalOutput,
    pub(super) budget: Mutex<ByteBudget>,
}

/// An answer that is under way.
#[derive(Debug)]
pub(super) struct AnswerSession {
    sources: Arc<AnswerSources>,
    question: OutputQuestion,
    slip: Slip,
    began: Instant,
    /// The number of the next part.
    part: u32,
    /// When the last part was left.
    told: Option<Instant>,
}

impl AnswerSession {
    /// Returns the session of a question that came now.
    pub(super) fn new(sources: Arc<AnswerSources>, question: OutputQuestion) -> Self {
        let slip = Slip::Tell(question.asker);
        Self { sources, question, slip, began: Instant::now(), part: 0, told: None }
    }

    /// Tells the asker that too many others are answered. Returns whether the store took that.
    pub(super) async fn turn_away(mut self) -> bool {
        self.end(OutputEnd::Busy, 0).await
    }

    /// Answers until the time is over, or the output. Returns whether the store took it all.
    pub(super) async fn answer(mut self) -> bool {
        let mut start = self.question.start;
        let mut read = 0;
        loop {
            let look = match self
                .sources
                .local
                .look(&self.question.job, self.question.run, start, PIECE_BYTES)
                .await
            {
                Ok(look) => look,
                Err(error) => return self.end(OutputEnd::Unreadable(error.to_string()), read).await,
            };
            let now = Instant::now();
            let step = look.step(self.began, self.told, now);
            let has_more = look.has_more();
            let is_enough = self.question.up_to_now && !has_more;
            if let LogStep::Tell(end) = within_its_time(step, now.duration_since(self.began), is_enough) {
                read = look.range.next();
                start = LogStart::Byte(read);
                let is_last = end.is_some();
                if !self.leave(look.range, end).await {
                    return false;
                }
                if is_last {
                    return true;
                }
            }
            if !has_more {
                sleep(LOOK_EVERY).await;
            }
        }
    }

    async fn end(&mut self, end: OutputEnd, from: u64) -> bool {
        let nothing = LogRange { from, missing: 0, bytes: Vec::new(), size: from, exists: false };
        self.leave(nothing, Some(end)).await
    }

    /// Leaves a part of the answer, within the budget of the replica. Returns whether the store took it.
    async fn leave(&mut self, range: LogRange, end: Option<OutputEnd>) -> bool {
        let LogRange { from, missing, bytes, size, .. } = range;
        let wait = {
            let mut budget = self.sources.budget.lock().unwrap_or_else(PoisonError::into_inner);
            budget.take(bytes.len(), Instant::now())
        };
        sleep(wait).await;
        let (number, part) = (self.question.number, self.part);
        let text = OutputAnswer { number, part, from, missing, bytes, size, end }.to_text();
        let until = Instant::now() + LEAVE_AGAIN.1;
        // What was left although the answer was lost is left twice: the asker knows it by its number.
        while self.sources.store.leave(&self.slip, &text, TTL).await.is_err() {
            if Instant::now() >= until {
                return false;
            }
            sleep(LEAVE_AGAIN.0).await;
        }
        self.part += 1;
        self.told = Some(Instant::now());
        true
    }
}

/// Returns what to do after a look: once the time of an answer is over, or everything is sent that is wanted, the next part
/// is its last one.
fn within_its_time(step: LogStep, lasts: Duration, is_enough: bool) -> LogStep {
    match step {
        LogStep::Tell(None) if is_enough => LogStep::Tell(Some(OutputEnd::Pause)),
        LogStep::Tell(None) | LogStep::Wait if lasts >= LASTS => LogStep::Tell(Some(OutputEnd::Pause)),
        step => step,
    }
}

#[cfg(test)]
mod tests {
    use crate::relay::asker::{ANSWER_WITHIN, SILENT_AFTER};
    use crate::relay::local::DISK_PATIENCE;
    use crate::relay::look::ALIVE_EVERY;

    use super::*;

    #[test]
    fn an_answer_goes_on_until_its_time_or_the_output_is_over() {
        use LogStep::{Tell, Wait};
        let over = || Tell(Some(OutputEnd::Over));
        for (step, ms, expected) in [
            (Tell(None), 4_999, Tell(None)),
            (Wait, 4_999, Wait),
            (Tell(None), 5_000, Tell(Some(OutputEnd::Pause))),
            (Wait, 5_000, Tell(Some(OutputEnd::Pause))),
            (over(), 5_000, over()),
        ] {
            assert_eq!(within_its_time(step, Duration::from_millis(ms), false), expected, "{ms}");
        }
        assert_eq!(within_its_time(Tell(None), Duration::ZERO, true), Tell(Some(OutputEnd::Pause)));
        assert_eq!(within_its_time(over(), Duration::ZERO, true), over());
    }

    #[test]
    fn what_an_asker_may_wait_for_is_told_in_time() {
        assert!(DISK_PATIENCE < ANSWER_WITHIN && ALIVE_EVERY * 4 <= SILENT_AFTER);
        assert!(LASTS + TTL < Duration::from_secs(20), "nothing is left in the store 20 s after the asker");
    }
}
