//! Runs by hand: a replica that finds an order in a record requests the lock, and again with each heartbeat while the
//! lock is held, until a replica has taken the order or its time is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::events::event::Event;
use crate::job::{Cause, JobName, JobSpec, RunId, Tick};
use crate::lease::{Answer, Deadline, Manual, Record, Reply};
use crate::replica::core::{Core, Effect};
pub(crate) use crate::replica::tick::action::{LockRequest, LockTerms};
use crate::replica::tick::eligibility::Eligibility;
use crate::store::StoreError;
use crate::time::{BootInstant, UtcMillis};

/// How long an order waits for the lock if the job has no `start_deadline`.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// An order that a replica first reads later than this, and that waits for no run, is void: the command that gave it
/// has ended.
const NEWS: Duration = Duration::from_secs(60);

/// Returns how long replicas let an order for the job wait for the lock.
pub fn order_waits(spec: &JobSpec) -> Duration {
    spec.start_deadline.unwrap_or(LONGEST_WAIT)
}

/// Whether the order in the record is void at `now`: no replica takes it up any more.
pub fn is_order_void(record: &Record, spec: Option<&JobSpec>, now: UtcMillis) -> bool {
    let age = record.order_at.map_or(Duration::MAX, |at| now.since(at));
    !record.is_running() && age > NEWS || spec.is_some_and(|spec| age > order_waits(spec))
}

/// An order that this replica tries to take.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    id: RunId,
    tick: Tick,
    /// When it was given, by the store's clock.
    at: UtcMillis,
    /// The request that takes it.
    request: LockRequest,
    /// Whether a request is under way.
    asking: bool,
    /// The definition of the job in the newest request for it: a grant is for the lease of that definition.
    spec: Option<Arc<JobSpec>>,
}

impl Order {
    /// Returns the order in the record; `None` if there is none, or if it is void at `now`.
    fn of(record: &Record, now: UtcMillis) -> Option<Self> {
        if is_order_void(record, None, now) {
            return None;
        }
        Some(Self {
            id: record.order?,
            tick: record.order_tick?,
            at: record.order_at?,
            request: LockRequest::new(),
            asking: false,
            spec: None,
        })
    }

    /// Whether its lock may be granted to this replica at any moment, or already is.
    pub(crate) fn may_be_granted(&self) -> bool {
        self.asking || self.request.unsure
    }
}

/// The orders that this replica tries to take, one per job.
pub(crate) type Orders = BTreeMap<JobName, Order>;

impl Core {
    /// Takes up the order in a record that was read.
    pub(crate) fn hear_order(&mut self, job: &JobName, record: &Record) {
        let now = self.store_time();
        let Some(order) = Order::of(record, now) else { return };
        // An order whose request is under way is answered first. The notice of another order is sent again by the
        // command that gave it.
        if self.notices.orders.get(job).is_none_or(|known| known.id != order.id && !known.asking) {
            self.drop_order(job);
            self.notices.orders.insert(job.clone(), order);
            self.ask_for_order(job);
        }
    }

    /// Requests the lock for every order whose request is not under way.
    pub(crate) fn ask_for_orders(&mut self) {
        let jobs: Vec<JobName> = self.notices.orders.keys().cloned().collect();
        for job in jobs {
            self.ask_for_order(&job);
        }
    }

    fn ask_for_order(&mut self, job: &JobName) {
        let now = self.store_time();
        let (Some(order), Some(contest)) = (self.notices.orders.get_mut(job), self.contests.get(job)) else {
            return;
        };
        // What may have been granted was requested with that definition, and is requested with it again.
        let spec =
            order.spec.clone().filter(|_| order.request.unsure).unwrap_or_else(|| Arc::clone(contest.spec()));
        if order.asking {
            return;
        }
        if contest.is_retired() || self.draining || now.since(order.at) > order_waits(&spec) {
            return self.drop_order(job);
        }
        if self.health.roster.standing(&spec, self.capacity.has_slot_for(job)) != Eligibility::Takes
            && !order.request.unsure
        {
            // Other replicas may have the labels, or a free slot.
            return;
        }
        let caller = self.store_clock.caller(&self.node, self.at.boot, contest.known());
        let Some(caller) = caller else { return };
        order.asking = true;
        order.request.sent_in(&caller.era);
        order.spec = Some(Arc::clone(&spec));
        self.capacity.take(job);
        let manual = Manual {
            order: Some(order.id),
            overlap: spec.overlap,
            rerun_deadline: contest.rerun_deadline(&spec, order.tick),
            ..order.request.manual(caller, order.tick, order.at, spec.lease)
        };
        self.effects.push(Effect::RequestManualRun { job: job.clone(), manual: Box::new(manual) });
    }

    /// Takes in the answer of the store, or that there was none.
    pub(crate) fn obeyed(
        &mut self,
        job: &JobName,
        run: RunId,
        sent: BootInstant,
        result: Result<Reply, StoreError>,
    ) {
        let Some(order) = self.notices.orders.get_mut(job).filter(|order| order.request.run == run) else {
            return;
        };
        order.asking = false;
        self.obey(job, sent, result);
    }

    fn obey(&mut self, job: &JobName, sent: BootInstant, result: Result<Reply, StoreError>) {
        let Some(order) = self.notices.orders.get_mut(job) else { return };
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => {
                order.request.unsure |= error.may_have_been_applied();
                if self.draining {
                    self.drop_order(job);
                }
                return;
            }
        };
        let sent = reply.leased_from(sent);
        self.store_clock.hear(&reply);
        let now = self.store_clock.due_time(self.at);
        if let Some(contest) = self.contests.get_mut(job) {
            contest.saw(reply.lease);
            contest.hear_of_rerun(reply.rerun.as_ref(), now);
        }
        match reply.answer {
            Answer::Won { .. } => self.take(job, &reply, sent),
            // The lock may have been granted to an earlier request for this order.
            Answer::Held { by, .. } => order.request.unsure &= order.request.is_held(by.as_ref()),
            Answer::Unsynced | Answer::NewEra(_) => self.beats_now = true,
            Answer::Consumed(verdict) => {
                let tick = order.tick;
                self.notices.orders.remove(job);
                let at = self.store_time();
                self.report(Event::TickConsumed { job: job.clone(), tick, verdict, at });
            }
            _ => {
                self.notices.orders.remove(job);
            }
        }
        if self.draining {
            self.drop_order(job);
        }
    }

    /// Starts the run of an order that was granted to this replica: if there is time left, the job's definition is
    /// still the one of the request, and no run of the job is going here that the store forgot. Otherwise gives the
    /// lock back.
    fn take(&mut self, job: &JobName, reply: &Reply, sent: BootInstant) {
        let Some(Order { request, tick, spec: Some(spec), .. }) = self.notices.orders.remove(job) else {
            return;
        };
        let terms = LockTerms::of_job(&spec, &self.node);
        let won = request.won(reply, tick, Cause::Manual, terms).expect("the answer is a grant");
        let is_defined = self.jobs.get(job).is_some_and(|job| job.spec == spec);
        let in_time = is_defined && !Deadline::of_job(&spec, sent).is_over(self.at.boot);
        if self.stopping || !in_time || self.runs_itself(job) {
            self.give_back(job, won.abandon());
        } else {
            self.start(job, won, sent);
        }
    }

    /// Stops requesting an order. What may have been granted is given back.
    fn drop_order(&mut self, job: &JobName) {
        if self.notices.orders.get(job).is_none_or(|order| order.asking) {
            return;
        }
        if let Some(order) = self.notices.orders.remove(job).filter(|order| order.request.unsure) {
            self.give_back(job, order.request.abandon());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lease::{Era, Phase};

    use super::*;

    #[test]
    fn an_order_that_nobody_took_in_time_is_none_any_more_unless_it_waits_for_a_run() {
        let at = UtcMillis(1_800_000_000_000);
        let mut record = Record {
            order: Some(RunId::new()),
            order_tick: Some(Tick(at)),
            order_at: Some(at),
            ..Record::empty(Era::default())
        };
        assert!(Order::of(&record, at.plus(NEWS)).is_some());
        let late = at.plus(NEWS).plus(Duration::from_millis(1));
        assert!(Order::of(&record, late).is_none());
        record.phase = Phase::Running;
        assert!(Order::of(&record, late).is_some());
    }
}
