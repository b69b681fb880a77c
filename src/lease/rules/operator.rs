//! What an operator does to a job's record, from any machine that reaches the store. Each act is one atomic step. It is
//! refused if the request was held up on its way, and changes nothing if the record does not exist.

use std::time::Duration;

use crate::job::{Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::{Answer, Leap, LeaseInstant, Manual, Memory, Pace, Passed, Record, Server};
use crate::time::UtcMillis;

use super::transition::{Decision, Transition};

/// A holder whose renewal is late by more than this counts as silent: the same time as for heartbeats.
const RENEWAL_ALLOWANCE: Duration = Duration::from_secs(4);

/// An operator's request about one job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operate {
    /// The store's time at which the request should arrive.
    pub expect: UtcMillis,
    /// The name of the operator, for people: `ann@db1`.
    pub by: String,
    /// What to do.
    pub act: Act,
}

/// An operator's act.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Act {
    /// Skip scheduled ticks.
    Pause {
        /// For how long; `None`: until the job is resumed.
        lasts: Option<Duration>,
        /// Why, for people.
        why: Option<String>,
    },
    /// Run the job by hand, once: an order that is open or was the last one taken is not given again.
    Trigger {
        /// The id of the order.
        order: RunId,
        /// The tick to run the job for; `None`: the store's present time.
        tick: Option<Tick>,
    },
    /// Withdraw an order that no run has taken yet.
    Withdraw {
        /// The order to withdraw.
        order: RunId,
    },
    /// Release the lock of a run whose holder has not renewed it lately, or end a wait for a holder that the store forgot.
    Unlock {
        /// The run; `None` if the record knows no holder and still waits.
        run: Option<RunId>,
    },
    /// Set back a mark that lies in the future: the ticks up to it, which a clock that was ahead decided, may run.
    SetMark {
        /// The operator's wall clock. A mark that this clock has passed does not lie in the future: then the store's clock
        /// is behind.
        wall: UtcMillis,
    },
    /// Stop skipping scheduled ticks.
    Resume,
    /// Stop the current run.
    Kill {
        /// Only this run; `None`: whichever it is.
        run: Option<RunId>,
    },
}

/// A pause or resume of a job. Of two, the later one applies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pausing {
    /// Ticks are skipped before this instant; `None` if the job was resumed.
    pub until: Option<UtcMillis>,
    /// When the operator paused or resumed the job, by the store's clock.
    pub at: UtcMillis,
    /// The operator.
    pub by: String,
    /// The operator's reason.
    pub why: Option<String>,
}

impl Pausing {
    /// The end of a pause that lasts until the job is resumed: the year 9999, which every calendar still supports.
    pub const UNTIL_RESUMED: UtcMillis = UtcMillis(253_370_764_800_000);
}

impl Record {
    /// Returns the latest pause or resume of the job; `None` if there was none.
    pub fn pausing(&self) -> Option<Pausing> {
        Some(Pausing {
            until: self.paused,
            at: self.paused_at?,
            by: self.paused_by.clone().unwrap_or_default(),
            why: self.paused_why.clone(),
        })
    }

    /// Records a pause or resume of the job, unless a later one is recorded.
    pub(crate) fn merge_pausing(&mut self, said: &Pausing) {
        if self.paused_at.is_none_or(|at| at < said.at) {
            self.paused = said.until;
            self.paused_at = Some(said.at);
            self.paused_by = Some(said.by.clone()).filter(|by| !by.is_empty());
            self.paused_why = said.why.clone();
        }
    }
}

impl Record {
    /// Whether this order is open: it was given, and no run has taken it.
    pub(crate) fn has_open_order(&self, order: RunId) -> bool {
        self.order == Some(order) && self.order_taken != Some(order)
    }

    /// Whether this order was given before: it is open, or was the last one that was taken.
    fn knows_order(&self, order: RunId) -> bool {
        self.order == Some(order) || self.order_taken == Some(order)
    }

    /// Takes the order that a manual request carries out, if it has one: the order is run, or skipped.
    pub(crate) fn take_order(&mut self, manual: &Manual) {
        if let Some(order) = manual.order {
            self.order = None;
            self.order_taken = Some(order);
            self.order_taken_by = Some(manual.run);
        }
    }
}

impl Record {
    /// Returns the holder's last sign of life; `now` if there is none.
    fn last_alive(&self, now: UtcMillis) -> UtcMillis {
        self.ended.or(self.started).unwrap_or(now)
    }

    /// Whether the lock is not free although no holder is known: a holder that the store forgot may hold it.
    pub fn waits_without_holder(&self, lease_now: LeaseInstant) -> bool {
        !self.is_running() && self.locked_until > lease_now
    }

    /// Whether the holder has renewed the lock lately.
    pub fn has_renewed_lately(&self, now: UtcMillis) -> bool {
        let pace = Pace::new(self.lease, Duration::ZERO);
        self.is_running() && now.since(self.last_alive(now)) <= pace.renew_every() + RENEWAL_ALLOWANCE
    }

    /// Whether the holder has not renewed the lock for a whole lease.
    pub fn has_lapsed(&self, now: UtcMillis) -> bool {
        self.is_running() && self.lock_left(now).is_zero()
    }

    /// Returns how long the lock still holds if its holder does not renew it, counted from the holder's last sign of life.
    pub fn lock_left(&self, now: UtcMillis) -> Duration {
        self.lease.saturating_sub(now.since(self.last_alive(now)))
    }
}

/// Decides an operator's request.
pub(crate) fn decide_operate(mut transition: Transition<'_>, operate: &Operate) -> Decision {
    if transition.is_unsynced(operate.expect) {
        return transition.answer(Answer::Unsynced);
    }
    if transition.record.is_none() {
        return transition.answer(Answer::NoRecord);
    }
    transition.set_latest_correct_time(transition.server.now);
    match &operate.act {
        Act::Pause { lasts, why } => {
            let now = transition.server.now;
            let until = lasts.map_or(Pausing::UNTIL_RESUMED, |lasts| now.plus(lasts));
            say(&mut transition, operate, Some(until), why.clone())
        }
        Act::Kill { run } => {
            let lease_now = transition.server.lease_now;
            let record = transition.record_mut();
            if !record.is_running() || run.is_some() && record.run != *run {
                return transition.answer(Answer::AlreadyDecided);
            }
            (record.stop_run, record.stop_reason) = (record.run, None);
            record.stop_requested_by = Some(operate.by.clone());
            let held = Answer::Held { by: record.holder(), frees_in: record.locked_until.since(lease_now) };
            return transition.answer(held);
        }
        Act::Trigger { order, tick } => {
            let now = transition.server.now;
            let record = transition.record_mut();
            if !record.knows_order(*order) {
                record.order = Some(*order);
                record.order_tick = Some(tick.unwrap_or(Tick(now)));
                record.order_at = Some(now);
            }
        }
        Act::Withdraw { order } => {
            let record = transition.record_mut();
            if record.order != Some(*order) {
                return transition.answer(Answer::AlreadyDecided);
            }
            record.order = None;
        }
        Act::Unlock { run } => return unlock(transition, *run),
        Act::SetMark { wall } => return set_mark(transition, *wall),
        Act::Resume => {
            let now = transition.server.now;
            if transition.record_mut().paused.is_none_or(|until| until <= now) {
                return transition.answer(Answer::AlreadyDecided);
            }
            say(&mut transition, operate, None, None)
        }
    }
    transition.answer(Answer::Noted)
}

fn unlock(mut transition: Transition<'_>, run: Option<RunId>) -> Decision {
    let Server { now, lease_now, memory, .. } = *transition.server;
    let record = transition.record_mut();
    if run.is_none() && record.waits_without_holder(lease_now) {
        record.locked_until = LeaseInstant::FREE;
        return transition.answer(Answer::Noted);
    }
    if !record.is_running() || record.run != run {
        return transition.answer(Answer::AlreadyDecided);
    }
    let alive = record.last_alive(now);
    // A lock that ends later than its holder's last sign of life explains waits for a holder that the store forgot.
    let waits_for_another = memory == Memory::Forgetful && record.locked_until.0 > alive.plus(record.lease).0;
    if waits_for_another || record.has_renewed_lately(now) {
        let held = Answer::Held { by: record.holder(), frees_in: record.locked_until.since(lease_now) };
        return transition.answer(held);
    }
    transition.end_run(Verdict::because(Outcome::Interrupted, Reason::NodeLost), alive);
    transition.answer(Answer::Noted)
}

/// Opens every tick that has not come yet, by the store's clock and by the operator's. Those of them that did not run lose
/// their entry. What was decided about other ticks stays so, also between open leaps.
fn set_mark(mut transition: Transition<'_>, wall: UtcMillis) -> Decision {
    transition.set_latest_correct_time(wall);
    let (latest, front) = (transition.server.now.max(wall), transition.latest_correct_time);
    if transition.record_mut().mark <= front {
        return transition.answer(Answer::AlreadyDecided);
    }
    transition.reopen();
    let record = transition.record_mut();
    let before = record.mark;
    record.open_again_ahead(before);
    record.mark = front;
    record.leaps.cut(front);
    record.lost_after = record.lost_after.filter(|lost| *lost < front);
    record.schedule_since = if record.schedule_since > front { latest } else { record.schedule_since };
    if record.tick.is_some_and(|tick| tick.instant() > front) {
        // The tick runs when it comes, and then is no rerun of the interrupted run.
        record.forgo_rerun();
    }
    transition.retract(Leap { after: front, to: before, passed: Passed::Open });
    transition.answer(Answer::Noted)
}

/// Records a pause or resume. It counts as later than the one before, whatever the clock shows.
fn say(transition: &mut Transition<'_>, operate: &Operate, until: Option<UtcMillis>, why: Option<String>) {
    let now = transition.server.now;
    let record = transition.record_mut();
    let after = record.paused_at.map_or(now, |before| before.plus(Duration::from_millis(1)));
    record.merge_pausing(&Pausing { until, at: now.max(after), by: operate.by.clone(), why });
}
