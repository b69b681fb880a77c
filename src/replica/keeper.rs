//! Keeps one granted lock while its run goes on: starts the command, renews, stops the run in good time when the lock
//! is lost, and records the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::job::{JobName, JobSpec, RunId};
use crate::lease::{Answer, BootInstant, Deadline, Era, Finish, Holding, Renew, Reply, Request};
use crate::run::{Ended, Identity, Launch, StopOrder, StopReason, attempt};
use crate::store::StoreError;

use super::event::{Event, RunRef};
use super::hold::{Duty, Hold};
use super::shop::Shop;

/// The end of a run that cannot be recorded is tried again after these pauses, from the first to the second.
const FINISH_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A resting hold looks at nothing for this long.
const REST: Duration = Duration::from_secs(3_600);

/// A lock that was just granted.
pub(super) struct Grant {
    pub(super) spec: Arc<JobSpec>,
    /// The job's own variables, resolved.
    pub(super) env: BTreeMap<String, String>,
    pub(super) holding: Holding,
    pub(super) deadline: Deadline,
    /// When the claim was sent.
    pub(super) sent: BootInstant,
    /// The life of the store in which it was granted.
    pub(super) era: Era,
}

/// How others reach a keeper.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Orders to the run.
    pub(super) stops: watch::Sender<Option<StopOrder>>,
    /// Renew now, which proves that the holder lives.
    pub(super) renew: Arc<Notify>,
    /// Counts good renewals.
    pub(super) renewed: watch::Sender<u64>,
    /// Nothing of the run is left; its end may not be recorded yet.
    pub(super) over: CancellationToken,
    /// Try once more to record the end, and then leave it.
    pub(super) give_up: CancellationToken,
}

impl Line {
    /// A line to a keeper that is about to start.
    pub(super) fn new() -> Self {
        Self {
            stops: watch::Sender::new(None),
            renew: Arc::new(Notify::new()),
            renewed: watch::Sender::new(0),
            over: CancellationToken::new(),
            give_up: CancellationToken::new(),
        }
    }
}

/// A run that is over.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) job: JobName,
    pub(super) run: RunId,
}

/// Runs the command under the lock, and returns when nothing of it is left and its end is recorded.
pub(super) async fn keep(shop: Arc<Shop>, grant: Grant, line: Line) -> Kept {
    let kept = Kept { job: grant.spec.name.clone(), run: grant.holding.run };
    let keeper = Keeper {
        run: grant.reference(),
        hold: Hold::granted(grant.deadline, grant.sent),
        failing: false,
        era: grant.era.clone(),
        shop,
        grant,
        line,
    };
    keeper.keep().await;
    kept
}

impl Grant {
    fn reference(&self) -> RunRef {
        RunRef {
            job: self.spec.name.clone(),
            tick: self.holding.tick,
            run: self.holding.run,
            fence: self.holding.fence,
            cause: self.holding.cause,
        }
    }

    fn identity(&self) -> Identity {
        Identity {
            job: self.spec.name.clone(),
            tick: self.holding.tick,
            tick_local: self.spec.schedule.local_text(self.holding.tick),
            fence: self.holding.fence,
            run: self.holding.run,
            attempt: 1,
            cause: self.holding.cause,
            node: self.holding.node.clone(),
        }
    }
}

struct Keeper {
    shop: Arc<Shop>,
    grant: Grant,
    run: RunRef,
    hold: Hold,
    line: Line,
    /// The life of the store in which the lock was last granted or renewed.
    era: Era,
    /// Whether the last renewal failed: said once, not each time.
    failing: bool,
}

/// A renewal under way: when and in which life of the store it was sent, and its answer.
type Renewing = BoxFuture<'static, (BootInstant, Era, Result<Reply, StoreError>)>;

impl Keeper {
    async fn keep(mut self) {
        let shop = Arc::clone(&self.shop);
        let late = shop.now().since(self.run.tick.instant());
        shop.events.tell(Event::RunStarted { run: self.run.clone(), late });
        let identity = self.grant.identity();
        let launch = Launch::new(&self.grant.spec, self.grant.env.clone(), identity.clone());
        let stops = self.line.stops.subscribe();
        // Beginning the log may take as long as the disk does: the lock is renewed meanwhile.
        let running = async {
            let log = shop.logs.begin(&identity).await;
            let ended = attempt(&launch, &log, shop.output, stops).await;
            (log, ended)
        };
        let (log, ended) = self.hold_while(running).await;
        self.line.over.cancel();
        self.tell_end(&ended);
        // The store first: until then the lock is held, and others wait for it.
        let finished = self.finish(1, &ended);
        tokio::join!(finished, shop.logs.finish(log, 1, &ended));
    }

    /// Renews until the run is over, and orders it to stop when the lock is lost.
    async fn hold_while<T>(&mut self, running: impl Future<Output = T>) -> T {
        let clock = Arc::clone(&self.shop.clock);
        let nudge = Arc::clone(&self.line.renew);
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
                    self.stop_for_loss("could not renew it in time");
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
                    self.renewal_answered((sent, era), answer);
                }
                () = nudge.notified() => self.hold.hurry(clock.boot()),
                ended = &mut running => return ended,
            }
        }
    }

    fn renew(&self, now: BootInstant) -> Renewing {
        let shop = Arc::clone(&self.shop);
        let expect = shop.memory.borrow().as_ref().map(|memory| memory.store_time(now)).unwrap_or_default();
        let request = Request::Renew(Renew { holding: self.grant.holding.clone(), expect });
        let job = self.run.job.clone();
        let era = shop.era();
        Box::pin(async move { (now, era, shop.store.submit(&job, &request).await) })
    }

    fn renewal_answered(&mut self, (sent, era): (BootInstant, Era), answer: Result<Reply, StoreError>) {
        let now = self.shop.clock.boot();
        match answer.map(|reply| reply.answer) {
            Ok(Answer::Renewed { stop }) => {
                self.hold.renewed(sent);
                self.era = era;
                self.failing = false;
                self.line.renewed.send_modify(|count| *count += 1);
                self.tell(Event::Renewed { run: self.run.clone() });
                if stop {
                    let grace = self.grant.spec.kill_grace;
                    StopOrder { reason: StopReason::Operator, grace }.give(&self.line.stops);
                }
            }
            Ok(Answer::Lost) => {
                if self.hold.lose() {
                    self.stop_for_loss("the store gave it to another, or it was removed");
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

    fn stop_for_loss(&self, why: &'static str) {
        StopOrder { reason: StopReason::LockLost, grace: self.hold.loss_grace() }.give(&self.line.stops);
        self.tell(Event::LockLost { run: self.run.clone(), why });
    }

    fn tell_end(&self, ended: &Ended) {
        self.tell(Event::RunEnded {
            run: self.run.clone(),
            attempt: 1,
            verdict: ended.verdict,
            exit_code: ended.exit_code,
            signal: ended.signal,
            took: ended.finished.since(ended.started),
            error: ended.error.as_ref().map(ToString::to_string),
        });
    }

    /// Records the end, however long the store takes to answer, unless the replica gives up.
    async fn finish(&self, attempt: u32, ended: &Ended) {
        let request = Request::Finish(Finish {
            holding: self.grant.holding.clone(),
            era: self.era.clone(),
            attempt,
            verdict: ended.verdict,
            ended: self.shop.store_time(),
            exit_code: ended.exit_code,
            signal: ended.signal,
            tail: ended.tail.clone(),
        });
        let mut pause = FINISH_PAUSES.0;
        loop {
            let last_try = self.line.give_up.is_cancelled();
            let error = match self.shop.store.submit(&self.run.job, &request).await.map(|reply| reply.answer)
            {
                Ok(Answer::Finished) => return self.tell(Event::RunRecorded { run: self.run.clone() }),
                Ok(Answer::AlreadyDecided) => return,
                Ok(other) => format!("the store answered {}", other.name()),
                Err(error) => error.to_string(),
            };
            if last_try {
                return;
            }
            if pause == FINISH_PAUSES.0 {
                self.tell(Event::FinishDelayed { run: self.run.clone(), error });
            }
            tokio::select! {
                () = self.line.give_up.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(FINISH_PAUSES.1);
        }
    }

    fn tell(&self, event: Event) {
        self.shop.events.tell(event);
    }
}
