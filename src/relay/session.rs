//! The answer to one question: what the run has printed, and what it prints within the next seconds.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::run::{Disk, LogRange, LogStart, RunLogs, read_range};
use crate::store::{Slip, Store};

use super::answer::{OutputAnswer, OutputEnd, PIECE_BYTES};
use super::budget::ByteBudget;
use super::question::OutputQuestion;

/// An answer lasts for so long: an asker that has gone costs no more.
const LASTS: Duration = Duration::from_secs(5);

/// How often the log is read for more: people take this delay for immediate.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// An asker hears this often that nothing new was printed.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// A run that is just being started has neither log nor sign for a moment.
const ABSENT_AFTER: Duration = Duration::from_secs(1);

/// The log of a run is read within this time, or not at all: an asker that waits is told why.
const DISK_PATIENCE: Duration = Duration::from_millis(1_500);

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
    pub(super) logs: Arc<RunLogs>,
    /// Its patience is not that of the runs: no reading holds up their writing.
    pub(super) disk: Disk,
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

/// What was found of a run.
#[derive(Debug)]
struct LogLook {
    is_running: bool,
    range: LogRange,
}

/// What to do after a look.
#[derive(Debug, PartialEq, Eq)]
enum AnswerStep {
    /// Leave what was read and, if there is an end, no more.
    Leave(Option<OutputEnd>),
    /// Look again later.
    Wait,
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
            let look = match self.look(start).await {
                Ok(look) => look,
                Err(error) => return self.end(OutputEnd::Unreadable(error.to_string()), read).await,
            };
            let step = step(&look, self.began, self.told, Instant::now());
            let has_more = look.range.next() < look.range.size && !look.range.bytes.is_empty();
            if let AnswerStep::Leave(end) = step {
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

    /// Reads the next piece of the log, off the runtime.
    async fn look(&self, start: LogStart) -> io::Result<LogLook> {
        let (logs, job, run) = (Arc::clone(&self.sources.logs), self.question.job.clone(), self.question.run);
        let work = move || {
            // Checked before reading, so that everything printed up to the end of the run is read.
            let is_running = logs.is_running(&job, run);
            let range = read_range(&logs.log_path(&job, run), start, PIECE_BYTES)?;
            Ok(LogLook { is_running, range })
        };
        self.sources.disk.work(DISK_PATIENCE, work, drop).await
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

/// Returns what to do after a look, in an answer that began then, and whose last part was left then.
fn step(look: &LogLook, began: Instant, told: Option<Instant>, now: Instant) -> AnswerStep {
    let LogLook { is_running, range } = look;
    let lasts = now.duration_since(began);
    let pause = (lasts >= LASTS).then_some(OutputEnd::Pause);
    if !range.bytes.is_empty() || range.missing > 0 {
        return AnswerStep::Leave(pause);
    }
    match (*is_running, range.exists) {
        (false, true) => AnswerStep::Leave(Some(OutputEnd::Over)),
        (false, false) if lasts >= ABSENT_AFTER => AnswerStep::Leave(Some(OutputEnd::Absent)),
        _ if pause.is_some() => AnswerStep::Leave(pause),
        _ if told.is_none_or(|told| now.duration_since(told) >= ALIVE_EVERY) => AnswerStep::Leave(None),
        _ => AnswerStep::Wait,
    }
}

#[cfg(test)]
mod tests {
    use crate::relay::asker::{ANSWER_WITHIN, SILENT_AFTER};

    use super::*;

    #[test]
    fn an_answer_goes_on_until_its_time_the_run_or_the_log_is_over() {
        use AnswerStep::{Leave, Wait};
        use OutputEnd::{Absent, Over, Pause};
        let began = Instant::now();
        let ms = |ms| began + Duration::from_millis(ms);
        for (bytes, is_running, exists, told, now, expected) in [
            ("one\n", true, true, None, 0, Leave(None)),
            ("one\n", false, true, Some(0), 1, Leave(None)),
            ("one\n", true, true, Some(4_900), 5_000, Leave(Some(Pause))),
            ("", true, false, None, 0, Leave(None)),
            ("", true, true, Some(0), 999, Wait),
            ("", true, true, Some(0), 1_000, Leave(None)),
            ("", true, true, Some(4_900), 5_000, Leave(Some(Pause))),
            ("", false, true, None, 0, Leave(Some(Over))),
            ("", false, true, Some(4_900), 5_000, Leave(Some(Over))),
            ("", false, false, None, 0, Leave(None)),
            ("", false, false, Some(0), 999, Wait),
            ("", false, false, Some(0), 1_000, Leave(Some(Absent))),
        ] {
            let range = LogRange { from: 0, missing: 0, bytes: bytes.into(), size: 4, exists };
            let found = step(&LogLook { is_running, range }, began, told.map(ms), ms(now));
            assert_eq!(found, expected, "{bytes:?} {is_running} {exists} {told:?} {now}");
        }
    }

    #[test]
    fn what_an_asker_may_wait_for_is_told_in_time() {
        assert!(DISK_PATIENCE < ANSWER_WITHIN && ALIVE_EVERY * 4 <= SILENT_AFTER);
        assert!(LASTS + TTL < Duration::from_secs(20), "nothing is left in the store 20 s after the asker");
    }
}
