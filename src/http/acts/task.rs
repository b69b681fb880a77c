//! Carries out acts, each in a task of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::request::Parts;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep};

use crate::http::access::client_slots::ClientSlot;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::serve::ConnectionPeer;
use crate::http::route::table::{AdmittedRequest, part_of_path};
use crate::http::state::HttpState;
use crate::job::{JobName, Outcome, RunId, Tick, TokenName};
use crate::metrics::HttpActResult;
use crate::operate::OperateError;
use crate::operate::acts::kill::KillOrder;
use crate::operate::acts::pause::{Resumed, pause, resume};
use crate::operate::acts::trigger::ManualOrder;
use crate::operate::acts::unlock::{SilentLock, Unlocked};
use crate::operate::audit::{ActNote, ActRequest, ActResult, tell_act};
use crate::operate::operator::Operator;
use crate::operate::wait::{ClusterWait, LOOK_EVERY};
use crate::replica::ReplicaFacts;
use crate::store::Store;
use crate::view::job::KnownJob;
use crate::view::text::time_format::Rfc3339;

use super::act_of;
use super::answer::{ActAnswer, ActState};
use super::wanted::WantedAct;

/// The answer to an order waits this long for a replica that takes it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);

/// What became of an order because its replica drains.
const WITHDRAWN: &str = "the replica that gave the order stops; cancelled, nothing ran";

/// An act that was admitted: who wants what of which job.
#[derive(Debug, Clone)]
pub(crate) struct AdmittedAct {
    /// The name of the operator's token.
    pub(crate) by: TokenName,
    /// The address of the client.
    pub(crate) from: String,
    pub(crate) job: KnownJob,
    pub(crate) wanted: WantedAct,
}

/// An act that is being carried out.
struct ActTask {
    shared: Arc<HttpState>,
    store: Arc<dyn Store>,
    act: AdmittedAct,
    /// Who waits for the answer, until it is given.
    client: Option<oneshot::Sender<Result<ActAnswer, ProblemDetails>>>,
    facts: watch::Receiver<ReplicaFacts>,
    /// Whether the replica was draining when the act began: it then ends with the server.
    began_draining: bool,
    _slot: ClientSlot<TokenName>,
}

/// What a wait for a replica or a run came to.
enum WaitEnd<T> {
    Effect(Result<T, OperateError>),
    /// It took too long for the answer.
    Later,
    Drain,
}

impl AdmittedAct {
    /// Returns the act of a request; `None` if it carries no token.
    pub(crate) fn of(call: &AdmittedRequest, job: KnownJob, wanted: WantedAct) -> Option<Self> {
        let (by, from) = (call.visitor.name()?.clone(), Self::from_of(&call.parts));
        Some(Self { by, from, job, wanted })
    }

    /// Returns the address of the client that sent a request.
    fn from_of(parts: &Parts) -> String {
        let peer = parts.extensions.get::<ConnectionPeer>();
        peer.map_or_else(|| "unknown".to_owned(), |peer| peer.0.ip().to_canonical().to_string())
    }
}

/// Carries out an act, and returns its answer. The act goes on if the caller goes away.
///
/// # Errors
/// Why it was refused, or failed.
pub(crate) async fn perform(shared: &Arc<HttpState>, act: AdmittedAct) -> Result<ActAnswer, ProblemDetails> {
    let kind = act.wanted.kind();
    let refused = |problem: ProblemDetails| {
        shared.tally.count_act(kind.as_str(), HttpActResult::Refused);
        problem
    };
    if let Some(wait) = shared.acts.count(&act.job.name, &act.by, shared.clock.boot()) {
        let problem = ProblemDetails::new(StatusCode::TOO_MANY_REQUESTS, "too many acts")
            .help("within a minute there may be 10 on one job, and 60 in all, with one token")
            .retry_after(wait.as_secs().max(1));
        return Err(refused(problem));
    }
    let Some(slot) = shared.acts.slot(&act.by) else {
        let problem = ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "too many acts at once");
        return Err(refused(problem.help("wait until earlier ones have ended").retry_after(1)));
    };
    let Some(store) = shared.board.store() else { return Err(refused(no_store())) };
    let (client, answer) = oneshot::channel();
    let facts = shared.facts.clone();
    let began_draining = facts.borrow().is_draining;
    let task = ActTask {
        shared: Arc::clone(shared),
        store,
        act,
        client: Some(client),
        facts,
        began_draining,
        _slot: slot,
    };
    tokio::spawn(task.run());
    answer.await.map_err(|_| no_store())?
}

/// Looks at the lock of a job, for those who may release it.
///
/// # Errors
/// Why it cannot be released.
pub(crate) async fn silent_lock(
    shared: &HttpState,
    job: KnownJob,
    by: TokenName,
) -> Result<SilentLock, ProblemDetails> {
    let Some(store) = shared.board.store() else { return Err(no_store()) };
    let _turn = shared.board.turn().await;
    let operator = Operator { store, job, by: by.to_string() };
    SilentLock::look(operator).await.map_err(|error| problem_of(&error))
}

/// An act that its token does not allow, or not from there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusedAct<'a> {
    /// The path of its route.
    pub(crate) route: &'static str,
    pub(crate) parts: &'a Parts,
    /// The name of the token.
    pub(crate) by: &'a TokenName,
    /// Why it was refused.
    pub(crate) problem: &'a ProblemDetails,
}

/// Notes an act that its token does not allow, or not from there. Of many, some are noted.
pub(crate) async fn note_refused(shared: &HttpState, refused: RefusedAct<'_>) {
    let RefusedAct { route, parts, by, problem } = refused;
    let job = part_of_path(route, parts.uri.path(), "job").and_then(|name| JobName::parse(name).ok());
    let (Some(act), Some(job)) = (act_of(route), job) else { return };
    shared.tally.count_act(act.as_str(), HttpActResult::Refused);
    let Some(store) = shared.board.store() else { return };
    if shared.acts.count_refused(by, shared.clock.boot()) {
        let from = AdmittedAct::from_of(parts);
        let request = ActRequest { by: by.as_str(), from: &from, act, job: &job, why: None };
        let note = ActNote::of(&request, &ActResult::Refused(&problem.title), shared.clock.utc());
        tell_act(store.as_ref(), &shared.events, &note).await;
        shared.seen_acts.note_change();
    }
}

fn no_store() -> ProblemDetails {
    ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer")
        .help("`/readyz` says whether this replica reaches it, and the replica's log says why not")
        .retry_after(1)
}

/// Returns the error for the client, in the words of the commands.
fn problem_of(error: &OperateError) -> ProblemDetails {
    let problem = match error {
        OperateError::NoTick { .. } => ProblemDetails::new(StatusCode::BAD_REQUEST, "bad field"),
        _ if error.is_unreachable() => no_store(),
        _ => ProblemDetails::new(StatusCode::CONFLICT, "the act was refused"),
    };
    let problem = problem.detail(error.to_string());
    match error.help() {
        Some(help) => problem.help(help),
        None => problem,
    }
}

impl ActTask {
    /// Carries out the act, and what goes on after its answer.
    async fn run(mut self) {
        match self.act.wanted.clone() {
            WantedAct::Trigger { order, tick } => self.trigger(order, tick).await,
            WantedAct::Pause { lasts, why } => {
                let paused = pause(&self.operator(), lasts, why).await.map(|paused| ActAnswer {
                    message: match paused.is_running {
                        true => format!("{paused}; its run is not stopped"),
                        false => paused.to_string(),
                    },
                    until: paused.until.map(Rfc3339),
                    ..self.said(ActState::Paused, &"")
                });
                self.conclude(paused).await;
            }
            WantedAct::Resume => {
                let resumed = resume(&self.operator()).await.map(|resumed| match resumed {
                    Resumed::NoLongerPaused => self.said(ActState::Resumed, &resumed),
                    Resumed::WasNotPaused => self.said(ActState::NotPaused, &resumed),
                });
                self.conclude(resumed).await;
            }
            WantedAct::Kill { run } => self.kill(run).await,
            WantedAct::Unlock { run } => {
                let unlocked = self.unlock(run).await.map(|unlocked| ActAnswer {
                    run: match unlocked {
                        Unlocked::OfRun(run) => Some(run),
                        Unlocked::OfWait => None,
                    },
                    ..self.said(ActState::Unlocked, &unlocked)
                });
                self.conclude(unlocked).await;
            }
        }
    }

    fn operator(&self) -> Operator {
        let AdmittedAct { by, job, .. } = &self.act;
        Operator { store: Arc::clone(&self.store), job: job.clone(), by: by.to_string() }
    }

    /// Returns the answer with this state in these words.
    fn said(&self, state: ActState, words: &dyn fmt::Display) -> ActAnswer {
        ActAnswer {
            act: self.act.wanted.kind(),
            job: self.act.job.name.clone(),
            by: self.act.by.to_string(),
            state,
            message: words.to_string(),
            order: None,
            run: None,
            node: None,
            until: None,
        }
    }

    /// Notes what came of the act, and answers the client.
    async fn conclude(&mut self, result: Result<ActAnswer, OperateError>) {
        let note = self.note_of(&ActResult::from(&result));
        self.tell(&note).await;
        let order = match self.act.wanted {
            WantedAct::Trigger { order, .. } => Some(order),
            _ => None,
        };
        self.answer(result.map_err(|error| match order.filter(|_| error.is_unreachable()) {
            // A request whose reply was lost may have reached the store.
            Some(order) => problem_of(&error).help(format!(
                "send the same again, with `Idempotency-Key: {order}`: it gives one run at most"
            )),
            None => problem_of(&error),
        }));
    }

    /// Answers the client, unless it has its answer.
    fn answer(&mut self, answer: Result<ActAnswer, ProblemDetails>) {
        if let Some(client) = self.client.take() {
            // One that has gone away gets none.
            let _ = client.send(answer);
        }
    }

    /// Returns the note of what came of the act, and counts it with its answer.
    fn note_of(&self, result: &ActResult<'_>) -> ActNote {
        let AdmittedAct { by, from, job, wanted } = &self.act;
        let (act, job, why) = (wanted.kind(), &job.name, wanted.why());
        if self.client.is_some() {
            self.shared.tally.count_act(act.as_str(), counted(result));
        }
        let request = ActRequest { by: by.as_str(), from, act, job, why };
        ActNote::of(&request, result, self.shared.clock.utc())
    }

    /// Logs a note, appends it to the feed of acts, and lets the page show what it changed.
    async fn tell(&self, note: &ActNote) {
        tell_act(self.store.as_ref(), &self.shared.events, note).await;
        self.shared.seen_acts.note_change();
        self.shared.board.note_change(&self.act.job.name);
    }

    async fn trigger(&mut self, id: RunId, tick: Option<Tick>) {
        let mut order = match self.given(id, tick).await {
            Ok(order) => order,
            Err(error) => return self.conclude(Err(error)).await,
        };
        let until = Instant::now() + ANSWERED_WITHIN;
        let mut end = self.wait(&mut order, Some(until)).await;
        if let WaitEnd::Later = end {
            let now = Instant::now();
            let progress = order.progress(now);
            let waiting = ActAnswer {
                order: Some(id),
                until: Some(Rfc3339(progress.until)),
                ..self.said(ActState::Waiting, &order.awaits(now))
            };
            self.conclude(Ok(waiting)).await;
            end = self.wait(&mut order, None).await;
        }
        let taken = match end {
            WaitEnd::Effect(taken) => taken.map(Some),
            WaitEnd::Drain | WaitEnd::Later => order.withdraw().await,
        };
        match taken {
            Ok(Some(run)) => {
                let answer = self.taken(id, run).await;
                self.conclude(Ok(answer)).await;
            }
            Ok(None) => {
                let note = self.note_of(&ActResult::Refused(&WITHDRAWN));
                self.tell(&note).await;
                let problem = ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "this replica stops");
                self.answer(Err(problem.detail(WITHDRAWN).help("ask another replica")));
            }
            Err(error) => self.conclude(Err(error)).await,
        }
    }

    /// Writes the order to run the job to the store.
    async fn given(&self, id: RunId, tick: Option<Tick>) -> Result<ManualOrder, OperateError> {
        let operator = self.operator();
        let file = self.shared.facts.borrow().beat.as_ref().map(|beat| beat.file.clone());
        operator.expect_known_to_replicas(file.as_deref()).await?;
        let order = ManualOrder::plan(operator, id, tick).await?;
        match order.give().await {
            Ok(()) => Ok(order),
            // The store may have the order although its reply was lost. If a replica has taken it, the wait ends at once.
            Err(error) => match order.withdraw().await? {
                Some(_) => Ok(order),
                None => Err(error),
            },
        }
    }

    /// Returns the answer for an order that a replica has taken.
    async fn taken(&self, order: RunId, run: RunId) -> ActAnswer {
        let entry = self.operator().entry(run).await.ok().flatten();
        let answer = match entry.filter(|entry| entry.outcome == Outcome::Skipped) {
            Some(entry) => {
                let why = format!("{}: another run of `{}` is running", entry.verdict(), self.act.job.name);
                self.said(ActState::Skipped, &why)
            }
            None => self.said(ActState::Started, &format!("a replica has picked this up: run {run}")),
        };
        ActAnswer { order: Some(order), run: Some(run), ..answer }
    }

    async fn kill(&mut self, run: Option<RunId>) {
        let mut order = match KillOrder::give(self.operator(), run).await {
            Ok(order) => order,
            Err(error) => return self.conclude(Err(error)).await,
        };
        let stopping = ActAnswer {
            run: Some(order.holder.run),
            node: Some(order.holder.node.clone()),
            ..self.said(ActState::Stopping, &order)
        };
        self.conclude(Ok(stopping)).await;
        // How the run ended is in the history.
        if let WaitEnd::Effect(Err(error)) = self.wait(&mut order, None).await {
            self.conclude(Err(error)).await;
        }
    }

    async fn unlock(&self, run: Option<RunId>) -> Result<Unlocked, OperateError> {
        let lock = SilentLock::look(self.operator()).await?;
        match run {
            Some(run) if lock.run() != Some(run) => Err(OperateError::EndedMeanwhile(run)),
            _ => lock.release().await,
        }
    }

    /// Waits for an effect; with `until`, no longer than that.
    async fn wait<W: ClusterWait>(&mut self, wait: &mut W, until: Option<Instant>) -> WaitEnd<W::Effect> {
        loop {
            match wait.step().await {
                Ok(Some(effect)) => return WaitEnd::Effect(Ok(effect)),
                Ok(None) => {}
                Err(error) => return WaitEnd::Effect(Err(error)),
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return WaitEnd::Later;
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = self.drain() => return WaitEnd::Drain,
            }
        }
    }

    /// Waits until the replica begins to drain.
    async fn drain(&mut self) {
        let began_draining = self.began_draining;
        let is_gone = self.facts.wait_for(|facts| facts.is_draining && !began_draining).await.is_err();
        if is_gone {
            std::future::pending::<()>().await;
        }
    }
}

fn counted(result: &ActResult<'_>) -> HttpActResult {
    match result {
        ActResult::Done(_) => HttpActResult::Done,
        ActResult::Refused(_) => HttpActResult::Refused,
        ActResult::Failed(_) => HttpActResult::Failed,
    }
}
