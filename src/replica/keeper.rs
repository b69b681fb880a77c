//! Keeps one granted lock while its run goes on: starts the command, renews, stops the run in good time when the lock
//! is lost, and records the end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::job::{Cause, JobName, Reason, RunId, Tick};
use crate::lease::{Abandon, Answer, BootInstant, Era, Finish, Protection, Renew, Reply, Request};
use crate::run::{Ended, StopOrder, StopReason};
use crate::store::StoreError;

use super::attempts::Attempts;
use super::company::Member;
use super::event::{Event, RunRef};
use super::grant::Grant;
use super::hold::{Duty, Hold};
use super::line::Line;
use super::note::Note;
use super::shop::Shop;
use super::stages::Start;

/// The end of a run that cannot be recorded is tried again after these pauses, from the first to the second.
const FINISH_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A resting hold looks at nothing for this long.
const REST: Duration = Duration::from_secs(3_600);

/// A run that is over.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) job: JobName,
    pub(super) run: RunId,
    /// The tick that is open again, as nothing was started for it.
    pub(super) given_back: Option<Tick>,
    /// The tick that may run once more, as its run was cut short, or its rerun not started.
    pub(super) cut_short: Option<Tick>,
    /// How its last attempt ended.
    pub(super) ended: Ended,
}

/// Runs the command under the lock, and returns when nothing of it is left and its end is recorded.
pub(super) async fn keep(shop: Arc<Shop>, grant: Grant, line: Line) -> Kept {
    let keeper = Keeper {
        member: shop.traffic.company.join(),
        run: grant.reference(),
        hold: Hold::granted(grant.deadline, grant.sent),
        failing: false,
        deadlines: watch::Sender::new(grant.deadline.at()),
        era: grant.era.clone(),
        shop,
        grant,
        line,
    };
    keeper.keep().await
}

struct Keeper {
    shop: Arc<Shop>,
    member: Member,
    grant: Grant,
    run: RunRef,
    hold: Hold,
    line: Line,
    /// The life of the store in which the lock was last granted or renewed.
    era: Era,
    /// Whether the last renewal failed: said once, not each time.
    failing: bool,
    /// Until when the run may go on: for whoever enforces it beside this keeper.
    deadlines: watch::Sender<BootInstant>,
}

/// A renewal under way: when and in which life of the store it was sent, and its answer.
type Renewing = BoxFuture<'static, (BootInstant, Era, Result<Reply, StoreError>)>;

impl Keeper {
    async fn keep(mut self) -> Kept {
        let shop = Arc::clone(&self.shop);
        let (granted, sent) = (shop.clock.boot(), self.grant.sent);
        let due = std::mem::take(&mut self.grant.due);
        let line = self.line.clone();
        let begun = due.clone().begin(&shop, (self.run.clone(), &line), sent);
        let launch = self.grant.launch.clone();
        let identity = launch.identity.clone();
        let attempts = Attempts {
            shop: Arc::clone(&shop),
            retries: self.grant.retries,
            launch,
            run: self.run.clone(),
            line: self.line.clone(),
            deadlines: self.deadlines.subscribe(),
        };
        let note = Note::running(&self.grant.holding, &self.era, self.hold.loss_grace(), shop.ledger.boot());
        shop.ledger.put(&identity.job, note);
        let noted = async {
            due.come().await;
            shop.traffic.rush.over().await;
            shop.ledger.write(&identity.job).await;
        };
        // Beginning the log may take as long as the disk does: the lock is renewed meanwhile. A crash right after the
        // command has started finds the log's sign, and the note as well if other starts have left time for it.
        let running = async {
            let ((instant, born), log) = tokio::join!(begun, shop.logs.begin(&identity));
            let (count, ended) = attempts.make(&log, &born).await;
            (instant, log, count, ended)
        };
        let running = async {
            let mut running = std::pin::pin!(running);
            tokio::select! {
                biased;
                // Its end is noted instead.
                over = &mut running => return over,
                () = noted => {}
            }
            running.await
        };
        let (instant, log, count, ended) = self.hold_while(running).await;
        if self.run.cause == Cause::Schedule {
            shop.traffic.stages.count(&Start { instant, sent, granted, birth: ended.birth });
        }
        // A manual run decides no tick, and so gives none back; a rerun gives back itself alone.
        let decides = matches!(self.run.cause, Cause::Schedule | Cause::CatchUp);
        let given_back = Some(self.run.tick).filter(|_| !ended.was_tried && decides);
        let cut_short = Some(self.run.tick).filter(|_| self.grant.has_rerun_left(&ended));
        // The store first: until then the lock is held, and others wait for it.
        if ended.was_tried {
            self.tell_end(count, &ended);
            let finish = self.note_end(count, &ended).await;
            shop.traffic.rush.over().await;
            self.line.over.cancel();
            let recorded = async {
                self.rest_until(Instant::now() + self.member.wait(shop.store_time())).await;
                self.record(Request::Finish(finish)).await;
            };
            tokio::join!(recorded, shop.logs.finish(log, count, &ended));
        } else {
            self.line.over.cancel();
            let reason = ended.verdict.reason.unwrap_or(Reason::Late);
            self.tell(Event::ClaimAbandoned { job: self.run.job.clone(), run: self.run.run, reason });
            let abandon = Abandon { run: self.run.run, era: self.era.clone(), edited: false };
            let unnoted = shop.ledger.forget_run(&self.run.job, self.run.run);
            tokio::join!(unnoted, self.record(Request::Abandon(abandon)), shop.logs.forget(log));
        }
        Kept { job: self.run.job, run: self.run.run, given_back, cut_short, ended }
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
                self.hold.renewed(if Protection::DeadlineFromSending.is_on() { sent } else { now });
                self.deadlines.send_replace(self.hold.deadline());
                self.era = era;
                self.failing = false;
                self.line.renewed.send_modify(|count| *count += 1);
                self.tell(Event::Renewed { run: self.run.clone(), sent });
                if let Some(why) = stop {
                    let grace = self.grant.launch.kill_grace;
                    StopOrder { reason: StopReason::asked_for(why), grace }.give(&self.line.stops);
                }
            }
            Ok(Answer::Lost) => {
                if self.hold.lose() {
                    // Somebody else may be running already: there is no time left for a grace.
                    self.stop_for_loss(Duration::ZERO, "the store gave it to another, or it was removed");
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
        StopOrder { reason: StopReason::LockLost, grace }.give(&self.line.stops);
        self.tell(Event::LockLost { run: self.run.clone(), why });
    }

    fn tell_end(&self, attempt: u32, ended: &Ended) {
        self.tell(Event::RunEnded {
            run: self.run.clone(),
            attempt,
            verdict: ended.verdict,
            exit_code: ended.exit_code,
            signal: ended.signal,
            took: ended.finished.since(ended.started),
            error: ended.error.as_ref().map(ToString::to_string),
        });
    }

    /// Notes the end, and returns what the store is to be told of it.
    async fn note_end(&self, attempt: u32, ended: &Ended) -> Finish {
        let finish = Finish {
            holding: self.grant.holding.clone(),
            era: self.era.clone(),
            attempt,
            verdict: ended.verdict,
            ended: self.shop.store_time().minus(ended.ago),
            exit_code: ended.exit_code,
            signal: ended.signal,
            tail: ended.tail.clone(),
        };
        self.shop.ledger.keep(&self.run.job, Note::Ended(finish.clone())).await;
        finish
    }

    /// Records the end, however long the store takes to answer, unless the replica gives up.
    async fn record(&self, request: Request) {
        let mut pause = FINISH_PAUSES.0;
        loop {
            let last_try = self.line.give_up.is_cancelled();
            let error = match self.shop.store.submit(&self.run.job, &request).await.map(|reply| reply.answer)
            {
                Ok(Answer::Finished) => return self.tell(Event::RunRecorded { run: self.run.clone() }),
                Ok(Answer::AlreadyDecided | Answer::Abandoned) => return,
                Ok(other) => format!("the store answered {}", other.name()),
                Err(error) => error.to_string(),
            };
            if last_try {
                return;
            }
            if pause == FINISH_PAUSES.0 {
                self.tell(Event::FinishDelayed { run: self.run.clone(), error });
            }
            self.rest_until(Instant::now() + pause).await;
            pause = (pause * 2).min(FINISH_PAUSES.1);
        }
    }

    /// Waits until then, unless the replica gives up.
    async fn rest_until(&self, then: Instant) {
        // It ends either way, and with it the wait.
        let _ = timeout_at(then, self.line.give_up.cancelled()).await;
    }

    fn tell(&self, event: Event) {
        self.shop.events.tell(event);
    }
}
