//! The side of a replica: it takes questions from its slip and answers some of them at a time. It runs beside the replica's
//! work, and nothing of that waits for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::job::{NodeName, RunId};
use crate::metrics::{HttpTally, OutputResult};
use crate::relay::local::LocalOutput;
use crate::relay::question::OutputQuestion;
use crate::store::{Slip, Store, Wake};

use super::budget::ByteBudget;
use super::rates::AskerRates;
use super::session::{AnswerSession, AnswerSources};

/// At most so many questions are answered at once. The askers of as many others are told so; of more, nothing is said.
const AT_ONCE: usize = 8;

/// How often the slip is looked into without a wake, where the store sends wakes; wakes may be lost.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The same where the store sends none.
const LOOK_WITHOUT_WAKES: Duration = Duration::from_millis(400);

/// The time between two looks, however many wakes come: other programs may send them, too.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Answers the questions to one replica.
#[derive(Debug)]
pub struct OutputResponder {
    node: NodeName,
    local: LocalOutput,
}

/// The work of a responder.
#[derive(Debug)]
struct Responding {
    sources: Arc<AnswerSources>,
    tally: Arc<HttpTally>,
    rates: AskerRates,
    answers: JoinSet<bool>,
    /// The asker of each answer that is under way.
    askers: Vec<(RunId, AbortHandle)>,
    refusals: JoinSet<bool>,
}

impl OutputResponder {
    /// Returns the responder of this replica, for the runs of its state folder.
    pub fn new(node: NodeName, local: LocalOutput) -> Self {
        Self { node, local }
    }

    /// Answers until it is stopped, and counts what became of each question.
    pub async fn run(self, store: Arc<dyn Store>, tally: Arc<HttpTally>, stop: CancellationToken) {
        let slip = Slip::Ask(self.node);
        let mut wakes = Some(store.wakes());
        let mut responding = Responding::new(Arc::clone(&store), self.local, tally);
        let (mut last, mut next) = (Instant::now(), Instant::now());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(done) = responding.answers.join_next() => responding.count(done.ok()),
                Some(_) = responding.refusals.join_next() => {}
                wake = received(&mut wakes) => match wake {
                    Some(Wake::Slip(woken)) if woken == slip => next = next.min(last + BETWEEN_LOOKS),
                    Some(_) => {}
                    None => wakes = None,
                },
                () = sleep_until(next) => {
                    let texts = tokio::select! {
                        () = stop.cancelled() => return,
                        texts = store.collect(&slip) => texts,
                    };
                    match texts {
                        Ok(texts) => texts.iter().for_each(|text| responding.take(text)),
                        // The replica logs why the store does not answer.
                        Err(error) => debug!(%error, "questions for output not read"),
                    }
                    last = Instant::now();
                    next = last + if wakes.is_some() { LOOK_EVERY } else { LOOK_WITHOUT_WAKES };
                }
            }
        }
    }
}

/// Receives the next wake; `None` if the store sends none, and never again after that.
async fn received(wakes: &mut Option<mpsc::Receiver<Wake>>) -> Option<Wake> {
    match wakes {
        Some(wakes) => wakes.recv().await,
        None => std::future::pending().await,
    }
}

impl Responding {
    fn new(store: Arc<dyn Store>, local: LocalOutput, tally: Arc<HttpTally>) -> Self {
        let budget = Mutex::new(ByteBudget::new(Instant::now()));
        let sources = AnswerSources { store, local, budget };
        Self {
            sources: Arc::new(sources),
            tally,
            rates: AskerRates::default(),
            answers: JoinSet::new(),
            askers: Vec::new(),
            refusals: JoinSet::new(),
        }
    }

    /// Begins to answer a question, or refuses it.
    fn take(&mut self, text: &str) {
        let question = OutputQuestion::parse(text);
        let Some(question) = question.filter(|found| self.rates.admits(found.asker, Instant::now())) else {
            return self.tally.count_output_question(OutputResult::Refused);
        };
        self.forget(question.asker);
        let (asker, session) = (question.asker, AnswerSession::new(Arc::clone(&self.sources), question));
        if self.askers.len() < AT_ONCE {
            self.askers.push((asker, self.answers.spawn(session.answer())));
            return;
        }
        self.tally.count_output_question(OutputResult::Refused);
        if self.refusals.len() < AT_ONCE {
            self.refusals.spawn(session.turn_away());
        }
    }

    /// Ends the asker's earlier answer, which its new question replaces.
    fn forget(&mut self, asker: RunId) {
        self.askers.retain(|(other, answer)| {
            if *other == asker {
                answer.abort();
            }
            *other != asker && !answer.is_finished()
        });
    }

    /// Counts an answer that has ended; `None` if another question of its asker replaced it.
    fn count(&self, was_taken: Option<bool>) {
        let result = match was_taken {
            Some(true) | None => OutputResult::Answered,
            Some(false) => OutputResult::Unanswered,
        };
        self.tally.count_output_question(result);
    }
}
