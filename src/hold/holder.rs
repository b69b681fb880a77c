//! Keeps one granted lock while its run is going: starts the command, renews, stops the run in time when the lock is
//! lost, and records the end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::events::StartStages;
use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::job::{Cause, JobName, Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::{Answer, Era, Protection, Renew, Reply, Request};
use crate::run::{Ended, RunLog, StopOrder, StopReason};
use crate::store::StoreError;
use crate::time::BootInstant;

use super::attempts::Attempts;
use super::context::Context;
use super::granted::Grant;
use super::handle::LockHandle;
use super::lease_file::entry::LeaseNote;
use super::pacing::finish_window::FinishTurn;
use super::pacing::start_latency::Start;
use super::renewal::{Duty, Hold};

/// How long the loop sleeps at [`Duty::Rest`]; the run's end and a renewal's answer wake it.
const REST: Duration = Duration::from_secs(3_600);

/// A lock whose run is over. The end of the run is recorded, unless the replica gave up.
#[derive(Debug)]
pub(crate) struct ReleasedLock {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
    /// The tick that is open again because nothing was started for it.
    pub(crate) given_back: Option<Tick>,
    /// The tick that may run once more because its run was interrupted or its rerun was not started.
    pub(crate) cut_short: Option<Tick>,
    /// How the last attempt ended.
    pub(crate) ended: Ended,
}

/// Runs the command under the lock. Returns when nothing of the run is left and its end is recorded, as far as
/// possible.
pub(crate) async fn keep(context: Arc<Context>, grant: Grant, handle: LockHandle) -> ReleasedLock {
    let held = HeldLock {
        finish_turn: context.traffic.finish_window.join(),
        run: grant.reference(),
        hold: Hold::granted(grant.deadline, grant.sent),
        failing: false,
        deadlines: watch::Sender::new(grant.deadline.at()),
        era: grant.era.clone(),
        stages: None,
        context,
        grant,
        handle,
    };
    held.keep().await
}

pub(crate) struct HeldLock {
    pub(crate) context: Arc<Context>,
    pub(crate) finish_turn: FinishTurn,
    pub(crate) grant: Grant,
    pub(crate) run: Run,
    hold: Hold,
    pub(crate) handle: LockHandle,
    /// The era in which the lock was last granted or renewed.
    pub(crate) era: Era,
    /// Whether the last renewal failed. Only the first failure in a row is logged.
    failing: bool,
    /// The deadline of the run, for the attempts and their guards, which enforce it as well.
    deadlines: watch::Sender<BootInstant>,
    /// How long the stages of the start took, once they are measured.
    pub(crate) stages: Option<StartStages>,
}

/// A run of which nothing is left.
struct RunEnd {
    /// When its tick was due, by the boot clock.
    instant: BootInstant,
    log: RunLog,
    /// The number of the last attempt.
    attempt: u32,
    /// How the last attempt ended.
    ended: Ended,
}

/// A renewal under way: when and in which era it was sent, and its answer.
type Renewing = BoxFuture<'static, (BootInstant, Era, Result<Reply, StoreError>)>;

impl HeldLock {
    async fn keep(mut self) -> ReleasedLock {
        let granted = self.context.clock.boot();
        let whole = self.whole_run();
        let RunEnd { instant, log, attempt, mut ended } = self.hold_while(whole).await;
        if ended.was_stuck && self.hold.is_lost() {
            // It is unknown whether the whole run had ended when the lock was over.
            ended.verdict = Verdict::because(Outcome::Unknown, Reason::LeftBehind);
        }
        // A run that waited for another run does not show how quickly this replica starts what is due.
        if self.run.cause == Cause::Schedule && !self.grant.waited {
            let start = Start { instant, sent: self.grant.sent, granted, birth: ended.birth };
            self.stages = self.context.traffic.start_latency.count(&start);
        }
        // A manual run decides no tick, so it gives none back. A rerun gives back only itself.
        let decides = matches!(self.run.cause, Cause::Schedule | Cause::CatchUp);
        let given_back = Some(self.run.tick).filter(|_| !ended.was_tried && decides);
        let cut_short = Some(self.run.tick).filter(|_| self.grant.has_rerun_left(&ended));
        if ended.was_tried {
            self.finish(log, attempt, &ended).await;
        } else {
            self.abandon(log, &ended).await;
        }
        ReleasedLock { job: self.run.job, run: self.run.run, given_back, cut_short, ended }
    }

    /// Returns a future for the whole run: the wait for its instant, all attempts, its log, and its note in the lease
    /// file.
    fn whole_run(&mut self) -> impl Future<Output = RunEnd> + use<> {
        let start_gate = std::mem::take(&mut self.grant.start_gate);
        let (context, grant, handle, run) =
            (Arc::clone(&self.context), &self.grant, self.handle.clone(), self.run.clone());
        let (sent, waited, launch) = (grant.sent, grant.waited, grant.launch.clone());
        let identity = launch.identity.clone();
        let note =
            LeaseNote::running(&grant.lease, &self.era, self.hold.loss_grace(), context.lease_file.site());
        context.lease_file.put(&identity.job, note);
        let attempts = Attempts {
            context: Arc::clone(&context),
            retries: grant.retries,
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
                RunEnd { instant, log, attempt, ended }
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

    /// Renews until the run is over, and orders it to stop when the lock is lost.
    async fn hold_while<T>(&mut self, running: impl Future<Output = T>) -> T {
        let clock = Arc::clone(&self.context.clock);
        let nudge = Arc::clone(&self.handle.renew);
        let mut running = std::pin::pin!(running);
        let mut renewing: Option<Renewing> = None;
        loop {
            let now = clock.boot();
            let wake_at = match self.hold.duty(now) {
                Duty::Wait(until) => until,
                Duty::Renew => {
                    renewing = Some(self.renew(now));
                    continue;
                }
                Duty::Stop => {
                    self.stop_for_loss(self.hold.loss_grace(), "could not renew it in time");
                    continue;
                }
                Duty::Rest => now.plus(REST),
            };
            let answer = async {
                match renewing.as_mut() {
                    Some(renewing) => renewing.await,
                    None => std::future::pending().await,
                }
            };
            // Every arm is cancel-safe: the run and the renewal are pinned outside, the others hold nothing.
            tokio::select! {
                biased;
                () = clock.wait_until_boot(wake_at) => {}
                (sent, era, answer) = answer => {
                    renewing = None;
                    self.renewal_answered( sent, era, answer);
                }
                () = nudge.notified() => self.hold.hurry(clock.boot()),
                ended = &mut running => return ended,
            }
        }
    }

    fn renew(&self, now: BootInstant) -> Renewing {
        let context = Arc::clone(&self.context);
        let expect = context.store_clock.read(|store_clock| store_clock.store_time(now)).unwrap_or_default();
        let leapt = context.store_clock.leapt();
        let request = Request::Renew(Renew { lease: self.grant.lease.clone(), expect, leapt });
        let job = self.run.job.clone();
        let era = context.store_clock.era();
        Box::pin(async move { (now, era, context.store.submit(&job, &request).await) })
    }

    fn renewal_answered(&mut self, sent: BootInstant, era: Era, answer: Result<Reply, StoreError>) {
        let now = self.context.clock.boot();
        match answer.map(|reply| reply.answer) {
            Ok(Answer::Renewed { stop }) => {
                let (left, lease) = (self.hold.lease_left(now), self.grant.lease.length);
                self.hold.renewed(if Protection::DeadlineFromSending.is_on() { sent } else { now });
                if !self.hold.is_lost() {
                    self.deadlines.send_replace(self.hold.deadline());
                }
                self.era = era;
                self.failing = false;
                self.handle.renewed.send_modify(|count| *count += 1);
                self.tell(Event::Renewed { run: self.run.clone(), sent, left, lease });
                if let Some(why) = stop {
                    let grace = self.grant.launch.kill_grace;
                    StopOrder { reason: StopReason::asked_for(why), grace }.give(&self.handle.stops);
                }
            }
            Ok(Answer::Lost) => {
                if self.hold.lose() {
                    // Another holder may be running already: no time is left for a grace.
                    self.stop_for_loss(
                        Duration::ZERO,
                        "another replica has it, or it was released with `unlock`",
                    );
                }
            }
            Ok(other) => self.renewal_failed(now, format!("the store answered {}", other.name())),
            Err(error) => self.renewal_failed(now, error.to_string()),
        }
    }

    fn renewal_failed(&mut self, now: BootInstant, error: String) {
        self.hold.failed(now);
        if !std::mem::replace(&mut self.failing, true) {
            self.tell(Event::RenewalFailed { run: self.run.clone(), error });
        }
    }

    fn stop_for_loss(&self, grace: Duration, why: &'static str) {
        StopOrder { reason: StopReason::LockLost, grace }.give(&self.handle.stops);
        self.tell(Event::LockLost { run: self.run.clone(), why });
    }

    pub(crate) fn tell(&self, event: Event) {
        self.context.events.tell(event);
    }
}
