//! The side that asks. It collects what a replica left for it, in order and without gaps, asks again for what was lost, and
//! tells when a replica does not answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::job::{JobName, NodeName, RunId};
use crate::run::LogStart;
use crate::store::{Slip, Store, StoreError};

use super::answer::{OutputAnswer, OutputEnd};
use super::news::{OutputNews, OutputPiece};
use super::question::OutputQuestion;

/// A replica that has not answered the first question by then does not answer.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// The same for one that answered before: it tells every second that it is there.
pub(super) const SILENT_AFTER: Duration = Duration::from_secs(4);

/// A replica that answers too many others is asked again after this pause, for at most this long.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(20));

/// An outage of the store is waited out for this long, as other commands do.
const OUTAGE: Duration = Duration::from_secs(60);

/// The pauses between two looks into the slip: the first while output comes, and up to the second while none does.
const PAUSES: (Duration, Duration) = (Duration::from_millis(40), Duration::from_millis(320));

/// A question that no replica takes is gone from the store after this.
const TTL: Duration = Duration::from_secs(10);

/// A run whose output is asked for, and the replica that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSource {
    /// The replica.
    pub node: NodeName,
    /// The job.
    pub job: JobName,
    /// The run.
    pub run: RunId,
}

/// The output of a run that is elsewhere, of which one piece after the other is asked for.
#[derive(Debug)]
pub struct RemoteOutput {
    store: Arc<dyn Store>,
    source: OutputSource,
    asker: RunId,
    /// Where the next question begins.
    start: LogStart,
    /// Whether no more is wanted than what is printed so far.
    up_to_now: bool,
    /// The number of the last question.
    number: u32,
    /// The number of the next part of its answer.
    part: u32,
    /// When the question was asked; `None` if the next one is to be asked.
    asked: Option<Instant>,
    /// Parts of the answer that were collected.
    collected: VecDeque<OutputAnswer>,
    /// What is to be told next.
    ended: Option<OutputNews>,
    /// When the replica answered last; before that, when it was asked first.
    heard: Option<Instant>,
    has_answered: bool,
    /// Whether the caller knows that the replica does not answer.
    is_silence_told: bool,
    /// Since when the replica has been answering too many others, and when it is asked again.
    busy: Option<(Instant, Instant)>,
    /// Since when the store has not answered.
    outage: Option<Instant>,
    /// The pause after the next look without news.
    pause: Duration,
}

impl RemoteOutput {
    /// Returns the output of this run from `start` on. Nothing is asked yet.
    pub fn new(store: Arc<dyn Store>, source: OutputSource, start: LogStart) -> Self {
        Self {
            store,
            source,
            asker: RunId::new(),
            start,
            up_to_now: false,
            number: 0,
            part: 0,
            asked: None,
            collected: VecDeque::new(),
            ended: None,
            heard: None,
            has_answered: false,
            is_silence_told: false,
            busy: None,
            outage: None,
            pause: PAUSES.0,
        }
    }

    /// Returns the run and its replica.
    pub fn source(&self) -> &OutputSource {
        &self.source
    }

    /// Whether the replica has answered.
    pub fn has_answered(&self) -> bool {
        self.has_answered
    }

    /// Whether the store did not answer when it was asked last.
    pub fn is_store_away(&self) -> bool {
        self.outage.is_some()
    }

    /// Asks from now on for what is printed so far alone, or for what follows, too. An answer to the former takes no more of
    /// the replica's time than it needs.
    pub fn ask_up_to_now(&mut self, up_to_now: bool) {
        self.up_to_now = up_to_now;
    }

    /// Goes on from another place, by a new question. What was asked for before is not returned any more.
    pub fn go_on_from(&mut self, start: LogStart) {
        self.start = start;
        self.collected.clear();
        (self.asked, self.ended, self.heard, self.busy) = (None, None, None, None);
        self.is_silence_told = false;
    }

    /// Waits for the next news. While the run prints nothing, an empty piece tells every second that its replica is there.
    /// After news that are no piece, the next call asks again: a silent replica once the store has dropped the last question, so
    /// that it finds few of them when it is back.
    ///
    /// # Errors
    /// If the store refuses the question, or does not answer for a minute.
    pub async fn next(&mut self) -> Result<OutputNews, StoreError> {
        loop {
            if let Some(news) = self.look_for_a_moment().await? {
                return Ok(news);
            }
        }
    }

    /// Looks once and, if there is no news, waits for a moment, the longer the longer there is none.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn look_for_a_moment(&mut self) -> Result<Option<OutputNews>, StoreError> {
        let news = self.look().await?;
        if news.is_some() {
            self.pause = PAUSES.0;
        } else {
            sleep(self.pause).await;
            self.pause = (self.pause * 2).min(PAUSES.1);
        }
        Ok(news)
    }

    /// Looks once; `None` if there is no news yet.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn look(&mut self) -> Result<Option<OutputNews>, StoreError> {
        if let Some(news) = self.news() {
            return Ok(Some(news));
        }
        let now = Instant::now();
        if self.is_question_due(now) {
            let asked = self.ask(now).await;
            if self.answered(asked)?.is_none() {
                return Ok(None);
            }
        }
        let slip = Slip::Tell(self.asker);
        let texts = self.store.collect(&slip).await;
        let Some(texts) = self.answered(texts)? else { return Ok(None) };
        let answers = texts.iter().filter_map(|text| OutputAnswer::parse(text));
        self.collected.extend(answers.filter(|answer| answer.number == self.number));
        Ok(self.news().or_else(|| self.silence(Instant::now())))
    }

    /// Whether to ask, for the first time or again: a question may be lost, and so may an answer.
    fn is_question_due(&self, now: Instant) -> bool {
        if let Some((_, again)) = self.busy {
            return now >= again;
        }
        let Some(asked) = self.asked else { return true };
        if self.is_silence_told {
            return now.duration_since(asked) >= TTL;
        }
        let since = self.heard.map_or(asked, |heard| heard.max(asked));
        !self.is_silent(now) && now.duration_since(since) >= self.patience() / 2
    }

    fn patience(&self) -> Duration {
        if self.has_answered { SILENT_AFTER } else { ANSWER_WITHIN }
    }

    fn is_silent(&self, now: Instant) -> bool {
        self.heard.is_some_and(|heard| now.duration_since(heard) >= self.patience())
    }

    async fn ask(&mut self, now: Instant) -> Result<(), StoreError> {
        self.number = self.number.saturating_add(1);
        self.part = 0;
        self.collected.clear();
        self.asked = Some(now);
        if self.is_silence_told {
            self.heard = Some(now);
        }
        self.heard.get_or_insert(now);
        if let Some((_, again)) = &mut self.busy {
            *again = now + ASK_AGAIN.0;
        }
        let OutputSource { node, job, run } = self.source.clone();
        let (asker, number, start) = (self.asker, self.number, self.start);
        let question = OutputQuestion { asker, number, job, run, start, up_to_now: self.up_to_now };
        self.store.leave(&Slip::Ask(node), &question.to_text(), TTL).await
    }

    /// Returns what the store answered; `None` during an outage, after which the replica is asked again.
    fn answered<T>(&mut self, answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        let now = Instant::now();
        match answer {
            Ok(answer) => {
                if self.outage.take().is_some() {
                    self.heard = Some(now);
                }
                Ok(Some(answer))
            }
            Err(error @ StoreError::Refused(_)) if !self.has_answered => Err(error),
            Err(error) => {
                self.asked = None;
                let since = *self.outage.get_or_insert(now);
                if now.duration_since(since) >= OUTAGE { Err(error) } else { Ok(None) }
            }
        }
    }

    /// Returns the next news of what was collected.
    fn news(&mut self) -> Option<OutputNews> {
        if let Some(news) = self.ended.take() {
            return Some(news);
        }
        while let Some(answer) = self.collected.pop_front() {
            if answer.part < self.part {
                // It was left twice.
                continue;
            }
            if answer.part > self.part {
                // A part was lost.
                self.asked = None;
                self.collected.clear();
                return None;
            }
            if let Some(news) = self.news_of(answer) {
                return Some(news);
            }
        }
        None
    }

    fn news_of(&mut self, answer: OutputAnswer) -> Option<OutputNews> {
        let now = Instant::now();
        self.part = self.part.saturating_add(1);
        (self.heard, self.has_answered, self.is_silence_told) = (Some(now), true, false);
        if answer.end == Some(OutputEnd::Busy) {
            let since = self.busy.map_or(now, |(since, _)| since);
            self.busy = Some((since, now + ASK_AGAIN.0));
            return None;
        }
        self.busy = None;
        let is_over = match answer.end {
            None => None,
            Some(OutputEnd::Pause | OutputEnd::Busy) => {
                self.asked = None;
                None
            }
            Some(OutputEnd::Over) => Some(OutputNews::Over),
            Some(OutputEnd::Absent) => Some(OutputNews::Absent),
            Some(OutputEnd::Unreadable(why)) => Some(OutputNews::Unreadable(why)),
        };
        let OutputAnswer { from, missing, bytes, size, .. } = answer;
        let is_empty = bytes.is_empty() && missing == 0;
        let ended = is_over.map(|news| self.end(news));
        if ended.is_some() && is_empty {
            return ended;
        }
        self.ended = ended;
        let piece = OutputPiece { from, missing, bytes, size };
        self.start = LogStart::Byte(piece.from.saturating_add(piece.bytes.len() as u64));
        Some(OutputNews::Piece(piece))
    }

    /// Returns the news that the replica has been silent for too long, or too busy, if it has.
    fn silence(&mut self, now: Instant) -> Option<OutputNews> {
        if let Some((since, _)) = self.busy {
            return (now.duration_since(since) >= ASK_AGAIN.1).then(|| self.end(OutputNews::Busy));
        }
        if !self.is_silent(now) {
            return None;
        }
        (self.heard, self.is_silence_told) = (Some(now), true);
        Some(OutputNews::Silent)
    }

    /// Ends the answers: whoever goes on asks again.
    fn end(&mut self, news: OutputNews) -> OutputNews {
        (self.asked, self.heard, self.busy) = (None, None, None);
        news
    }
}

#[cfg(test)]
#[path = "asker_tests.rs"]
mod tests;
