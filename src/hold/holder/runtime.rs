//! Waits for what happens to a granted lock and its run, passes it to the holder, and performs the effects.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::hold::attempts::Attempts;
use crate::hold::context::Context;
use crate::hold::granted::Grant;
use crate::hold::handle::LockHandle;
use crate::hold::lease_file::entry::LeaseNote;
use crate::hold::pacing::finish_window::FinishTurn;
use crate::hold::pacing::start_latency::Start;
use crate::job::{Cause, JobName};
use crate::lease::{Era, Finish, Renew, Request};
use crate::run::{Ended, RunLog};
use crate::time::{BootInstant, Clock, Now};

use super::{HolderEffect, HolderInput, LockHolder, ReleasedLock, RunEnd};

/// A lock that was kept until its run was over.
#[derive(Debug)]
pub(crate) struct KeptLock {
    pub(crate) lock: ReleasedLock,
    /// How the last attempt ended.
    pub(crate) ended: Ended,
}

/// Runs the command under the lock. Returns when nothing of the run is left and its end is recorded, as far as
/// possible.
pub(crate) async fn keep(context: Arc<Context>, grant: Grant, handle: LockHandle) -> KeptLock {
    let runtime = HolderRuntime {
        holder: LockHolder::new(&grant, context.store_clock.clone()),
        finish_turn: context.traffic.finish_window.join(),
        deadlines: watch::Sender::new(grant.deadline.at()),
        granted: context.clock.boot(),
        context,
        grant,
        handle,
        running: None,
        renewing: None,
        tasks: FuturesUnordered::new(),
        log: None,
        ended: None,
        lock: None,
    };
    runtime.keep().await
}

/// Performs what the holder of one lock decides.
struct HolderRuntime {
    holder: LockHolder,
    finish_turn: FinishTurn,
    /// The deadline of the run, for the attempts and their guards, which enforce it as well.
    deadlines: watch::Sender<BootInstant>,
    context: Arc<Context>,
    grant: Grant,
    /// When the grant was received.
    granted: BootInstant,
    handle: LockHandle,
    /// The run, until nothing of it is left.
    running: Option<BoxFuture<'static, LoggedEnd>>,
    /// The renewal under way.
    renewing: Option<BoxFuture<'static, HolderInput>>,
    /// The tasks that note and record the end of the run, and close its log.
    tasks: FuturesUnordered<BoxFuture<'static, TaskResult>>,
    /// The log of the run, once nothing of the run is left.
    log: Option<RunLog>,
    /// How the run ended, once its log is closed.
    ended: Option<Ended>,
    /// The lock, once the end of the run is recorded.
    lock: Option<ReleasedLock>,
}

/// The end of a run, and its log.
struct LoggedEnd {
    end: RunEnd,
    log: RunLog,
}

/// The result of a task.
enum TaskResult {
    /// The holder is to learn of it.
    Input(HolderInput),
    /// The note of the run is deleted.
    NoteForgotten,
    /// The log is closed or deleted.
    LogClosed(Ended),
}

impl HolderRuntime {
    async fn keep(mut self) -> KeptLock {
        self.step(HolderInput::Granted);
        while self.lock.is_none() {
            let input = self.next_input().await;
            self.step(input);
        }
        while let Some(done) = self.tasks.next().await {
            self.take_result(done);
        }
        let lock = self.lock.expect("the loop ends with it");
        KeptLock {
            lock,
            ended: self.ended.expect("the log is closed before the lock is released or right after"),
        }
    }

    fn step(&mut self, input: HolderInput) {
        let now = Now::read(&*self.context.clock);
        let effects = self.holder.step(input, now);
        effects.into_iter().for_each(|effect| self.perform(effect));
    }

    /// Waits for what the holder is to learn of next.
    async fn next_input(&mut self) -> HolderInput {
        loop {
            let (clock, wakes_at) = (&self.context.clock, self.holder.wakes_at());
            let is_running = self.running.is_some();
            // Every arm is cancel-safe: what is under way is stored outside, the others hold nothing.
            tokio::select! {
                biased;
                () = wait_until(&**clock, wakes_at) => return HolderInput::Woke,
                answered = or_never(&mut self.renewing) => {
                    self.renewing = None;
                    return answered;
                }
                () = self.handle.renew.notified(), if is_running => return HolderInput::Hurry,
                over = or_never(&mut self.running) => return self.run_over(over),
                Some(done) = self.tasks.next() => {
                    if let Some(input) = self.take_result(done) {
                        return input;
                    }
                }
                () = self.handle.give_up.cancelled(), if !self.holder.has_given_up() => {
                    return HolderInput::GiveUp;
                }
            }
        }
    }

    fn run_over(&mut self, over: LoggedEnd) -> HolderInput {
        self.running = None;
        // The answer does not count any more.
        self.renewing = None;
        self.log = Some(over.log);
        HolderInput::RunOver(Box::new(over.end))
    }

    /// Returns what the holder is to learn of; `None` if it is nothing.
    fn take_result(&mut self, done: TaskResult) -> Option<HolderInput> {
        match done {
            TaskResult::Input(input) => return Some(input),
            TaskResult::NoteForgotten => {}
            TaskResult::LogClosed(ended) => self.ended = Some(ended),
        }
        None
    }

    fn perform(&mut self, effect: HolderEffect) {
        match effect {
            HolderEffect::Report(event) => self.context.events.tell(event),
            HolderEffect::NoteRun { era, loss_grace } => self.note_run(&era, loss_grace),
            HolderEffect::StartRun => self.running = Some(Box::pin(self.whole_run())),
            HolderEffect::Renew { renew, sent, era } => self.renew(*renew, sent, era),
            HolderEffect::Renewed { deadline } => {
                if let Some(deadline) = deadline {
                    self.deadlines.send_replace(deadline);
                }
                self.handle.renewed.send_modify(|count| *count += 1);
            }
            HolderEffect::Stop(order) => order.give(&self.handle.stops),
            HolderEffect::NoteEnd(finish) => self.note_end(*finish),
            HolderEffect::ForgetNote => {
                let run = self.grant.lease.run;
                self.spawn(|context, job| async move {
                    context.lease_file.forget_run(&job, run).await;
                    TaskResult::NoteForgotten
                });
            }
            HolderEffect::ReportEnd(run) => self.handle.end(run),
            HolderEffect::Record { request, is_first } => self.record(*request, is_first),
            HolderEffect::CloseLog(end) => {
                let log = self.taken_log();
                self.spawn(|context, _| async move {
                    context.logs.finish(log, end.attempt, &end.ended).await;
                    TaskResult::LogClosed(end.ended)
                });
            }
            HolderEffect::ForgetLog(end) => {
                let log = self.taken_log();
                self.spawn(|context, _| async move {
                    context.logs.forget(log).await;
                    TaskResult::LogClosed(end.ended)
                });
            }
            HolderEffect::Release(lock) => self.lock = Some(lock),
        }
    }

    fn job(&self) -> &JobName {
        &self.grant.launch.identity.job
    }

    /// Begins a task about the end of the run.
    fn spawn<T>(&self, task: impl FnOnce(Arc<Context>, JobName) -> T)
    where
        T: Future<Output = TaskResult> + Send + 'static,
    {
        self.tasks.push(Box::pin(task(Arc::clone(&self.context), self.job().clone())));
    }

    fn taken_log(&mut self) -> RunLog {
        self.log.take().expect("it is closed once, after the run")
    }

    fn note_run(&self, era: &Era, loss_grace: Duration) {
        let lease_file = &self.context.lease_file;
        let note = LeaseNote::running(&self.grant.lease, era, loss_grace, lease_file.site());
        lease_file.put(self.job(), note);
    }

    /// Returns a future for the whole run: the wait for its instant, all attempts, its log, and the writing of its note
    /// in the lease file.
    fn whole_run(&mut self) -> impl Future<Output = LoggedEnd> + Send + use<> {
        let (context, handle) = (Arc::clone(&self.context), self.handle.clone());
        let start_gate = std::mem::take(&mut self.grant.start_gate);
        let (run, launch) = (self.grant.reference(), self.grant.launch.clone());
        let (sent, waited, granted) = (self.grant.sent, self.grant.waited, self.granted);
        let identity = launch.identity.clone();
        let attempts = Attempts {
            context: Arc::clone(&context),
            retries: self.grant.retries,
            launch,
            run: run.clone(),
            handle: handle.clone(),
            deadlines: self.deadlines.subscribe(),
        };
        async move {
            let noted = async {
                start_gate.clone().wait().await;
                context.traffic.start_priority.wait_for_starts().await;
                context.lease_file.write(&identity.job).await;
            };
            // Beginning the log takes as long as the disk needs; the lock is renewed meanwhile. After a crash right
            // after the start of the command, the next process finds the sign of the log, and the note if it was
            // written by then.
            let running = async {
                let begun = start_gate.clone().begin(&context, run, &handle, sent, waited);
                let ((instant, born), log) = tokio::join!(begun, context.logs.begin(&identity));
                let (attempt, ended) = attempts.make(&log, &born).await;
                // A run that waited for another run does not show how quickly this replica starts what is due.
                let is_measured = identity.cause == Cause::Schedule && !waited;
                let start = Start { instant, sent, granted, birth: ended.birth };
                let stages = is_measured.then(|| context.traffic.start_latency.count(&start)).flatten();
                LoggedEnd { end: RunEnd { attempt, ended, stages }, log }
            };
            let mut running = std::pin::pin!(running);
            tokio::select! {
                biased;
                // The end of the run is noted instead.
                over = &mut running => return over,
                () = noted => {}
            }
            running.await
        }
    }

    fn renew(&mut self, renew: Renew, sent: BootInstant, era: Era) {
        let (context, job) = (Arc::clone(&self.context), self.job().clone());
        self.renewing = Some(Box::pin(async move {
            let reply = context.store.submit(&job, &Request::Renew(renew)).await;
            let sent = reply.as_ref().map_or(sent, |reply| reply.leased_from(sent));
            HolderInput::RenewalAnswered { sent, era, answer: reply.map(|reply| reply.answer) }
        }));
    }

    fn note_end(&self, finish: Finish) {
        self.spawn(|context, job| async move {
            context.lease_file.keep(&job, LeaseNote::Ended(finish)).await;
            context.traffic.start_priority.wait_for_starts().await;
            TaskResult::Input(HolderInput::EndNoted)
        });
    }

    /// Sends the request. The end of a run first waits for others that end within the same moment.
    fn record(&self, request: Request, is_first: bool) {
        let give_up = self.handle.give_up.clone();
        let waits = is_first && matches!(request, Request::Finish(_));
        let wait = waits.then(|| self.finish_turn.wait(self.context.store_time()));
        self.spawn(|context, job| async move {
            if let Some(wait) = wait {
                // The wait is over in both cases. An `exec` whose lock is lost orders it to give up in this moment.
                let _ = timeout(wait, give_up.cancelled()).await;
            }
            let is_last = give_up.is_cancelled();
            let reply = context.store.submit(&job, &request).await;
            TaskResult::Input(HolderInput::RecordAnswered {
                answer: reply.map(|reply| reply.answer),
                is_last,
            })
        });
    }
}

/// Waits until then; for ever if nothing is due. A timer costs system calls, and an end that is recorded at once needs
/// none.
async fn wait_until(clock: &dyn Clock, at: Option<BootInstant>) {
    match at {
        Some(at) => clock.wait_until_boot(at).await,
        None => std::future::pending().await,
    }
}

/// Waits for a future that is stored; for ever if there is none. The caller takes it out once it has ended.
async fn or_never<T>(stored: &mut Option<BoxFuture<'static, T>>) -> T {
    match stored.as_mut() {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
