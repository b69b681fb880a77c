//! Runs a job once by hand: an order in its record, which the replica that takes it first carries out under
//! the job's own lock. An order that no replica takes in time is withdrawn.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::job::{Cause, JobSpec, RunId, Tick};
use crate::lease::{Act, Answer, HistoryEntry, Record};
use crate::operate::OperateError;
use crate::operate::operator::Operator;
use crate::operate::outage::OutageWait;
use crate::operate::wait::ClusterWait;
use crate::replica::{is_order_void, order_waits};
use crate::store::LIVE_FOR;
use crate::time::UtcMillis;
use crate::view::explanation::no_tick;
use crate::view::problems::{Prospect, prospect};
use crate::view::snapshot::Snapshot;
use crate::view::text::time_format::utc;

/// How long an order waits, unless it waits for a run; then it is withdrawn. Replicas read an order with
/// their next heartbeat.
const PATIENCE: Duration = Duration::from_secs(15);

/// A tick within this time counts as come: clocks differ a little.
const TICK_TOLERANCE: Duration = Duration::from_secs(1);

/// After this many reads of the record the order is announced again, because the notice may have been lost,
/// and its prospect is determined anew.
const LOOKS_PER_NOTICE: u32 = 5;

/// An order to run a job by hand, and the wait for a replica that takes it. The effect is the run.
#[derive(Debug)]
pub(crate) struct ManualOrder {
    pub(crate) operator: Operator,
    order: RunId,
    tick: Option<Tick>,
    /// Whether it was given before, and is void by now.
    is_void: bool,
    wait: OrderWait,
    outage: OutageWait,
    /// How often the record was read.
    looks: u32,
}

/// The state of the wait for an order.
#[derive(Debug)]
struct OrderWait {
    began: Instant,
    /// The store's time at the beginning of the wait.
    at: UtcMillis,
    /// The order is withdrawn after this time, not counting outages of the store.
    limit: Duration,
    prospect: Prospect,
    /// Since when no live replica can take the order; `None` if one can.
    hopeless_since: Option<Instant>,
}

/// What an order waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderProgress {
    /// What has to come first; `None` if a replica can take the order at once.
    pub(crate) first: Option<String>,
    /// When it is withdrawn, by the store's clock.
    pub(crate) until: UtcMillis,
}

impl ManualOrder {
    /// Plans an order with this id, and writes nothing yet. `tick` is what the run is for; `None`: the time
    /// of the order. An order that was given before is the same order, whatever its tick.
    ///
    /// # Errors
    ///
    /// Fails if no live replica can take it, or its tick lies ahead or is none of the job; not if one took it before.
    pub(crate) async fn plan(
        operator: Operator,
        order: RunId,
        tick: Option<Tick>,
    ) -> Result<Self, OperateError> {
        let began = Instant::now();
        let snapshot = operator.snapshot().await?;
        let spec = operator.spec().map(AsRef::as_ref);
        let record = snapshot.jobs.first().and_then(|job| job.record.as_ref());
        let is_taken = record.is_some_and(|record| run_of(order, record).is_some());
        let is_void = record
            .is_some_and(|record| record.order == Some(order) && is_order_void(record, spec, snapshot.now));
        let wait = OrderWait::begin(spec, &snapshot, began);
        let wait = if is_taken {
            wait
        } else {
            if let Some(tick) = tick {
                expect_come(tick, snapshot.now)?;
                expect_tick_of_job(&operator, tick, snapshot.now).await?;
            }
            wait.expect_replica()?
        };
        Ok(Self { operator, order, tick, is_void, wait, outage: OutageWait::default(), looks: 0 })
    }

    /// Writes the order to the store.
    ///
    /// # Errors
    ///
    /// The store may have the order although its reply was lost: the caller then withdraws it.
    pub(crate) async fn give(&self) -> Result<(), OperateError> {
        let Self { order, tick, is_void, .. } = *self;
        if is_void {
            // An order that is open is not given again: this one gets a new time.
            self.operator.act(&Act::Withdraw { order }).await?;
        }
        self.operator.act(&Act::Trigger { order, tick }).await.map(drop)
    }

    /// Withdraws the order. Returns its run if a replica has already taken it.
    pub(crate) async fn withdraw(&self) -> Result<Option<RunId>, OperateError> {
        match self.operator.act(&Act::Withdraw { order: self.order }).await? {
            Answer::AlreadyDecided => Ok(run_of(self.order, &self.operator.record().await?)),
            _ => Ok(None),
        }
    }

    /// Announces the order again, and determines its prospect anew.
    async fn announce_again(&mut self) -> Result<(), OperateError> {
        self.operator.announce().await;
        let snapshot = self.operator.snapshot().await;
        let now = Instant::now();
        if let Some(snapshot) = self.outage.wait_out(snapshot, now)? {
            self.wait.judge(self.operator.spec().map(AsRef::as_ref), &snapshot, now);
        }
        Ok(())
    }
}

impl ClusterWait for ManualOrder {
    type Effect = RunId;
    type Progress = OrderProgress;

    fn progress(&self, now: Instant) -> OrderProgress {
        self.wait.progress(self.outage.lasted(now))
    }

    fn outage(&self) -> &OutageWait {
        &self.outage
    }

    async fn step(&mut self) -> Result<Option<RunId>, OperateError> {
        let record = self.operator.record().await;
        if let Some(record) = self.outage.wait_out(record, Instant::now())? {
            if let Some(run) = run_of(self.order, &record) {
                return Ok(Some(run));
            }
            if record.order != Some(self.order) {
                return Err(OperateError::OrderGone(self.operator.job.name.clone()));
            }
            self.looks += 1;
            if self.looks.is_multiple_of(LOOKS_PER_NOTICE) {
                self.announce_again().await?;
            }
        }
        let now = Instant::now();
        match self.wait.why_over(self.outage.lasted(now), now) {
            Some(why) => self.withdraw().await?.map(Some).ok_or(why),
            None => Ok(None),
        }
    }
}

impl OrderWait {
    /// Begins the wait.
    fn begin(spec: Option<&JobSpec>, snapshot: &Snapshot, began: Instant) -> Self {
        let limit = spec.map_or(PATIENCE, |spec| PATIENCE.max(spec.lease * 2).min(order_waits(spec)));
        let mut wait =
            Self { began, at: snapshot.now, limit, prospect: Prospect::Open, hopeless_since: None };
        wait.judge(spec, snapshot, began);
        wait
    }

    /// Fails if no live replica can take the order.
    fn expect_replica(self) -> Result<Self, OperateError> {
        match &self.prospect {
            Prospect::Hopeless(why) => Err(OperateError::no_replica(why)),
            _ => Ok(self),
        }
    }

    /// Determines the prospect as of now. Nothing can be predicted for a job whose definition is not in the
    /// file at hand.
    fn judge(&mut self, spec: Option<&JobSpec>, snapshot: &Snapshot, now: Instant) {
        let Some(spec) = spec else { return };
        let prospect = prospect(spec, snapshot);
        if let Prospect::WaitsForRun(_) = prospect {
            // Replicas let the order wait no longer than this.
            self.limit = order_waits(spec);
        }
        // After a store has lost all data, the replicas' next heartbeats arrive a moment later.
        self.hopeless_since = match prospect {
            Prospect::Hopeless(_) => self.hopeless_since.or(Some(now)),
            _ => None,
        };
        self.prospect = prospect;
    }

    /// Returns what the order waits for, after outages of this total duration.
    fn progress(&self, outages: Duration) -> OrderProgress {
        let first = match &self.prospect {
            Prospect::Open | Prospect::Hopeless(_) => None,
            Prospect::Waits(what) | Prospect::WaitsForRun(what) => Some(what.clone()),
        };
        OrderProgress { first, until: self.at.plus(self.limit + outages) }
    }

    /// Returns why the order has to be withdrawn; `None` if it does not.
    fn why_over(&self, outages: Duration, now: Instant) -> Option<OperateError> {
        let is_hopeless = self.hopeless_since.is_some_and(|since| now.duration_since(since) > LIVE_FOR);
        let is_over = now.duration_since(self.began) > self.limit + outages;
        let within = self.limit;
        match &self.prospect {
            Prospect::Hopeless(why) if is_hopeless || is_over => Some(OperateError::no_replica(why)),
            _ if !is_over => None,
            Prospect::Waits(what) | Prospect::WaitsForRun(what) => {
                Some(OperateError::NotStarted { within, why: what.clone() })
            }
            Prospect::Open | Prospect::Hopeless(_) => Some(OperateError::NotTaken { within }),
        }
    }
}

impl fmt::Display for OrderProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.first {
            None => f.write_str("waiting for a replica to pick this up")?,
            Some(first) => write!(f, "waiting: {first}")?,
        }
        write!(f, ", until {} UTC at the latest", utc(self.until))
    }
}

/// Fails if the tick lies ahead.
fn expect_come(tick: Tick, now: UtcMillis) -> Result<(), OperateError> {
    match has_come(tick, now) {
        true => Ok(()),
        false => Err(OperateError::TickAhead { tick, now }),
    }
}

fn has_come(tick: Tick, now: UtcMillis) -> bool {
    tick.0 <= now.plus(TICK_TOLERANCE)
}

/// Fails if neither the schedule has the tick, nor the history: the schedule may have been another one then. Nothing is
/// known of a job whose definition is not in the file at hand.
async fn expect_tick_of_job(operator: &Operator, tick: Tick, now: UtcMillis) -> Result<(), OperateError> {
    let Some(schedule) = operator.spec().map(|spec| &spec.schedule) else { return Ok(()) };
    let is_it = |entry: &HistoryEntry| entry.tick == tick && entry.cause != Cause::Manual;
    if schedule.has_tick_at(tick.instant()) || operator.entries().await?.iter().any(is_it) {
        return Ok(());
    }
    let around = [schedule.at_or_before(tick.instant()), schedule.next_after(tick.instant())];
    let come = around.into_iter().flatten().filter(|tick| has_come(*tick, now));
    Err(OperateError::NoTick {
        what: no_tick(operator.job.name.as_str(), schedule, tick.instant()),
        come: come.map(|tick| format!("`{}`", schedule.local_text(tick))).collect(),
    })
}

/// Returns the run that was started for the order, if a replica has taken it.
fn run_of(order: RunId, record: &Record) -> Option<RunId> {
    record.order_taken_by.filter(|_| record.order_taken == Some(order))
}

#[cfg(test)]
#[path = "trigger_tests.rs"]
mod tests;
