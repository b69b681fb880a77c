//! Performs the actions that the contests decide, and passes the store's answers on to them.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use crate::events::event::Event;
use crate::hold::attempts::{Retries, first_attempt};
use crate::hold::give_back::Doubt;
use crate::hold::granted::Grant;
use crate::hold::handle::LockHandle;
use crate::hold::holder::{ReleasedLock, keep};
use crate::job::{JobName, Tick};
use crate::lease::{Answer, Deadline, Protection, Reply};
use crate::run::{Identity, Launch, StopOrder, StopReason};
use crate::store::{BeatRun, StoreError};
use crate::time::{BootInstant, UtcMillis};

use super::driver::Driver;
use super::errand;
use super::errand::Done;
use super::recovery::not_rerun;
use super::tick::action::{Action, Bid, Finding, Won};
use super::tick::claiming::Contest;

/// The most claims that share one call to the store.
const CLAIMS_TOGETHER: usize = 32;

impl Driver {
    /// Checks whether a tick of the job is due by `now`, and performs the action that follows.
    pub(super) fn look(&mut self, job: &JobName, now: UtcMillis) {
        if self.draining {
            return;
        }
        self.health.roster.fill(self.capacity.is_full());
        let roster = &self.health.roster;
        let Some(contest) = self.contests.get_mut(job).filter(|contest| !contest.is_retired()) else {
            return;
        };
        if let Some(error) = self.health.outage() {
            // A heartbeat notices when the store answers again; then all jobs are checked.
            if let Some(tick) = contest.unheard(now) {
                let error = error.to_owned();
                self.context.events.tell(Event::TickUndecided { job: job.clone(), tick, error });
            }
            return;
        }
        let action = contest.look(now, roster, self.capacity.has_slot_for(job));
        self.looks.extend(contest.takes_look(now).then(|| job.clone()));
        if contest.waits_for_slot(now) {
            self.capacity.wait(job);
        }
        self.perform(job, action);
    }

    fn perform(&mut self, job: &JobName, action: Action) {
        match action {
            Action::Nothing => {}
            Action::WakeAt(at) => self.alarms.push(Reverse((at, job.clone()))),
            Action::Claim { bid, instead_of } => self.claim(job, &bid, instead_of),
            Action::Start { won, .. } if self.runs_itself(job) => self.refuse(job, won),
            Action::Start { won, sent } => self.start(job, won, sent),
            Action::GiveBack(doubt) => {
                self.give_back(job, doubt);
                self.free_slot(job);
            }
            Action::Resync(at) => {
                self.resync.notify_one();
                self.alarms.push(Reverse((at, job.clone())));
            }
        }
    }

    fn claim(&mut self, job: &JobName, bid: &Bid, instead_of: Option<Doubt>) {
        if let Some(doubt) = &instead_of {
            self.tell_given_back(job, doubt);
        }
        if bid.unfit.is_none() {
            self.capacity.take(job);
        }
        let contest = self.contests.get_mut(job).expect("only a contest claims");
        let caller =
            self.context.caller(contest.known()).expect("no record is open before the store has answered");
        let claim = contest.proposal().claim(bid, caller, self.context.now(), self.context.clock.utc());
        contest.claims(&claim);
        self.window.begin();
        match instead_of {
            None => {
                self.claims.push((job.clone(), claim));
                if self.claims.len() >= CLAIMS_TOGETHER {
                    self.send_claims();
                }
            }
            Some(doubt) => {
                self.errands.spawn(errand::claim_instead(
                    Arc::clone(&self.context),
                    job.clone(),
                    claim,
                    doubt,
                ));
            }
        }
    }

    /// Takes in the result of an errand.
    pub(super) fn done(&mut self, done: Done) {
        match done {
            Done::Claimed { sent, answered, others } => {
                if !others.is_empty() {
                    self.errands.spawn(errand::claims_answered(sent, others));
                }
                answered.into_iter().for_each(|(job, replied)| self.claimed(&job, sent, replied));
            }
            Done::Recalled(orphans) => self.recalled(orphans),
            Done::Opened { opened, told } => self.opened(opened, told),
            Done::Obeyed { job, run, sent, result } => self.obeyed(&job, run, sent, result),
            Done::Looked { job, record } => self.looked(&job, record),
            Done::Marked { jobs, marks } => self.marked(&jobs, &marks),
            Done::Searched { running, unread } => self.searched(&running, unread),
            Done::Settled { run, settled } => self.settled_lost(&run, settled),
            Done::Abandoned | Done::Announced | Done::Forgotten => {}
            Done::Inspected(found) => self.inspected(found),
            Done::Proven(job) => {
                if let Some(contest) = self.contests.get_mut(&job) {
                    contest.hurry(self.context.now());
                }
                self.look_at(&job, self.context.now());
            }
        }
    }

    fn claimed(&mut self, job: &JobName, sent: BootInstant, result: Result<Reply, StoreError>) {
        self.window.end();
        self.hear_answer(job, &result);
        let now = self.context.now();
        let sent = if Protection::DeadlineFromSending.is_on() { sent } else { self.context.clock.boot() };
        let contest = self.contests.get_mut(job).expect("only a contest claims");
        let tick = contest.tick();
        let (finding, action) = match result {
            Ok(reply) => {
                if reply.answer == Answer::Unsynced {
                    self.late_claims.add(self.context.clock.boot());
                }
                let is_late = Deadline::of_job(contest.spec(), sent).is_over(self.context.clock.boot());
                let in_time = !is_late && !contest.is_overdue(now) && !self.stopping;
                contest.answered(&reply, now, sent, in_time)
            }
            Err(error) => {
                if let Some(tick) = tick.filter(|_| contest.first_failure()) {
                    self.context.events.tell(unclaimed(job.clone(), tick, &error));
                }
                (None, contest.failed(error.may_have_been_applied(), now))
            }
        };
        self.outdate_opening(job);
        if let (Some(finding), Some(tick)) = (finding, tick) {
            self.tell_finding(job, tick, finding);
        }
        if self.draining && !matches!(action, Action::Start { .. }) {
            return self.leave(job, action);
        }
        // A run that was granted just before may still finish in the drain.
        self.perform(job, action);
        // The next tick may be due already.
        self.look_at(job, now);
        self.free_slot(job);
    }

    /// Frees the job's slot, unless the job still needs it, and passes it on to jobs that wait for one.
    pub(super) fn free_slot(&mut self, job: &JobName) {
        let is_needed =
            || self.may_be_granted(job) || self.handles.values().any(|(running, _)| running == job);
        if self.capacity.is_unlimited() || is_needed() {
            return;
        }
        self.capacity.free(job);
        self.wake_slot_waiters();
    }

    /// Sets how many runs may be going at once. Those that are going keep their slots, however many they are.
    pub(super) fn resize_capacity(&mut self, limit: Option<u32>) {
        if self.capacity.limit() == limit {
            return;
        }
        let running = self.handles.values().map(|(job, _)| job);
        let granted = self.contests.keys().filter(|job| self.may_be_granted(job));
        let taken: HashSet<JobName> = running.chain(granted).cloned().collect();
        self.capacity.resize(limit, taken);
        self.hurry_ends();
        self.wake_slot_waiters();
    }

    /// Whether this replica may be granted a run of the job at any moment.
    fn may_be_granted(&self, job: &JobName) -> bool {
        let may_be = |contest: &Contest| contest.is_asking() || contest.doubt().is_some();
        self.contests.get(job).is_some_and(may_be) || self.notices.may_be_granted(job)
    }

    fn wake_slot_waiters(&mut self) {
        while let Some(next) = self.capacity.call_next() {
            let now = self.context.now();
            self.contests.get_mut(&next).into_iter().for_each(|contest| contest.hurry(now));
            self.look_at(&next, now);
        }
    }

    pub(super) fn tell_finding(&mut self, job: &JobName, tick: Tick, finding: Finding) {
        let job = job.clone();
        let spec = self.contests[&job].spec();
        // A run of this replica proves that it is alive by renewing; then the tick can be decided.
        let own = finding.awaits_proof(spec, tick).and_then(|holder| self.handles.get(&holder.run));
        let may_prove = |handle: &LockHandle| {
            !handle.run_ended.is_cancelled() && handle.may_prove(self.context.clock.boot())
        };
        if let Some((_, handle)) = own.filter(|(_, handle)| !self.draining && may_prove(handle)) {
            self.errands.spawn(errand::prove(job.clone(), handle.clone()));
        }
        // If the holder is a run of this replica, it learns at once that it is replaced, without waiting for its
        // renewal.
        if let Some((_, handle)) = finding.replaces(spec).and_then(|holder| self.handles.get(&holder.run)) {
            StopOrder { reason: StopReason::Replaced, grace: handle.kill_grace }.give(&handle.stops);
        }
        let event = match finding {
            Finding::Decided { by, how } => Event::TickDecided { job, tick, holder: by, how },
            Finding::NotRerun => {
                let (context, spec) = (Arc::clone(&self.context), Arc::clone(spec));
                self.errands.spawn(not_rerun::tell(context, spec, tick));
                return;
            }
            Finding::Consumed(verdict) => {
                Event::TickConsumed { job, tick, verdict, at: self.context.store_time() }
            }
            Finding::NewerSchema(schema) => Event::NewerSchema { job, schema },
            Finding::Held(holder) => Event::TickHeld { job, tick, holder: holder.map(|holder| holder.node) },
        };
        self.context.events.tell(event);
    }

    /// Starts the run that was granted.
    pub(super) fn start(&mut self, job: &JobName, won: Won, sent: BootInstant) {
        self.capacity.take(job);
        let definition = self.jobs.get(job).expect("only a job of the file is contested");
        let spec = Arc::clone(&definition.spec);
        let lease = won.lease(&spec, &self.context.node);
        let identity = Identity {
            attempt: first_attempt(&spec, lease.tries),
            ..Identity::of(&spec.name, &lease, spec.schedule.local_text(won.tick))
        };
        let grant = Grant {
            launch: Launch::new(&spec, definition.env.clone(), Arc::clone(&definition.withheld), identity),
            retries: Retries::of(&spec),
            lease,
            deadline: Deadline::of_job(&spec, sent),
            era: won.era,
            waited: won.waited,
            sent,
            start_gate: self.start_gates.of(
                won.cause,
                won.tick,
                spec.start_deadline_of(won.tick),
                &self.context,
            ),
        };
        let handle = LockHandle::new(spec.kill_grace);
        if self.draining {
            handle.no_more_attempts.cancel();
        }
        self.handles.insert(won.run, (spec.name.clone(), handle.clone()));
        self.holders.spawn(keep(Arc::clone(&self.context), grant, handle));
        let lease_ms = u64::try_from(spec.lease.as_millis()).unwrap_or(u64::MAX);
        let running = BeatRun { job: spec.name.clone(), run: won.run, lease_ms };
        self.update_beat(|beat| beat.running.push(running));
    }

    /// Takes in that a run is over and recorded.
    pub(super) fn released(&mut self, lock: &ReleasedLock) {
        self.handles.remove(&lock.run);
        self.update_beat(|beat| beat.running.retain(|one| one.run != lock.run));
        self.prune();
        if lock.cut_short.is_some() && self.reruns(&lock.job) {
            // The other replicas learn of it with their next heartbeat.
            self.errands.spawn(errand::announce(Arc::clone(&self.context), lock.job.clone()));
        }
        if let Some(contest) = self.contests.get_mut(&lock.job) {
            lock.given_back.into_iter().for_each(|tick| contest.given_back(tick));
            if let Some(tick) = lock.cut_short {
                contest.cut_short_here(tick, Some(self.context.node.clone()), self.context.now());
            }
            contest.hurry(self.context.now());
        }
        self.look_at(&lock.job, self.context.now());
        self.free_slot(&lock.job);
    }

    /// Deletes logs that are past their retention, outside of the loop.
    pub(super) fn prune(&mut self) {
        while self.pruning.try_join_next().is_some() {}
        if self.pruning.is_empty() {
            let (context, retention) = (Arc::clone(&self.context), self.retention);
            self.pruning.spawn(async move { context.logs.prune(retention).await });
        }
    }
}

/// Returns the event to log for a claim that failed.
fn unclaimed(job: JobName, tick: Tick, error: &StoreError) -> Event {
    let said = error.to_string();
    match error {
        StoreError::Refused(_) => Event::ClaimRefused { job, tick, error: said },
        StoreError::NotSent(_) | StoreError::Unknown(_) => Event::TickUndecided { job, tick, error: said },
    }
}
