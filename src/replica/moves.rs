//! What a replica does about its ticks: takes the actions that the contests decide, and passes the store's answers on
//! to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::events::event::Event;
use crate::hold::attempts::{Retries, first_attempt};
use crate::hold::granted::Grant;
use crate::hold::handle::RunExit;
use crate::hold::holder::ReleasedLock;
use crate::hold::start_gate::StartGate;
use crate::job::{JobName, Tick};
use crate::lease::{Abandon, Answer, Claim, Deadline, Protection, Reply};
use crate::run::{Identity, Launch, StopOrder, StopReason};
use crate::store::{BeatRun, StoreError, UnrecordedEnd};
use crate::time::millis::millis;
use crate::time::{BootInstant, UtcMillis};

use super::control::notices::Notices;
use super::core::{Core, Effect, OwnRun, RunStart};
use super::tick::action::{Action, Bid, Finding, Won};
use super::tick::claiming::Contest;

/// The most claims that share one call to the store.
const CLAIMS_TOGETHER: usize = 32;

impl Core {
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
                self.report(Event::TickUndecided { job: job.clone(), tick, error });
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
            Action::GiveBack(doubt) => self.give_back(job, doubt),
            Action::Resync(at) => {
                self.beats_now = true;
                self.alarms.push(Reverse((at, job.clone())));
            }
        }
    }

    fn claim(&mut self, job: &JobName, bid: &Bid, instead_of: Option<Abandon>) {
        if let Some(doubt) = &instead_of {
            self.tell_given_back(job, doubt);
        }
        if bid.unfit.is_none() {
            self.capacity.take(job);
        }
        let (now, wall) = (self.now(), self.at.wall);
        let live_runs = self.live_runs(job);
        let caller = self.caller(self.contests[job].known());
        let caller = caller.expect("no record is open before the store has answered");
        let contest = self.contests.get_mut(job).expect("only a contest claims");
        let claim = Claim { live_runs, ..contest.proposal().claim(bid, caller, now, wall) };
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
                let claim = Box::new(claim);
                self.effects.push(Effect::ClaimInstead { job: job.clone(), claim, doubt });
            }
        }
    }

    /// Sends together all claims collected since the last call.
    pub(super) fn send_claims(&mut self) {
        if !self.claims.is_empty() {
            self.effects.push(Effect::Claim(std::mem::take(&mut self.claims)));
        }
    }

    /// Takes in the answer to a claim, or that there was none.
    pub(super) fn claimed(&mut self, job: &JobName, sent: BootInstant, result: Result<Reply, StoreError>) {
        self.window.end();
        self.hear_answer(job, &result);
        let (now, boot) = (self.now(), self.at.boot);
        let sent = if Protection::DeadlineFromSending.is_on() { sent } else { boot };
        let contest = self.contests.get_mut(job).expect("only a contest claims");
        let tick = contest.tick();
        let (finding, action) = match result {
            Ok(reply) => {
                if reply.answer == Answer::Unsynced {
                    self.late_claims.add(boot);
                }
                let sent = reply.leased_from(sent);
                let is_late = Deadline::of_job(contest.spec(), sent).is_over(boot);
                let in_time = !is_late && !contest.is_overdue(now) && !self.stopping;
                contest.answered(&reply, now, sent, in_time)
            }
            Err(error) => {
                if let Some(tick) = tick.filter(|_| contest.first_failure()) {
                    self.effects.push(Effect::Report(unclaimed(job.clone(), tick, &error)));
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
    }

    /// Frees the slots that no run needs any more, and passes them on to the jobs that wait for one.
    pub(super) fn pass_slots_on(&mut self) {
        if !self.capacity.is_unlimited() {
            let running: BTreeSet<&JobName> = self.runs.values().map(|own| &own.job).collect();
            let (contests, notices) = (&self.contests, &self.notices);
            self.capacity.free_all_but(|job| running.contains(job) || may_be_granted(contests, notices, job));
        }
        while Protection::SlotPassedOn.is_on()
            && let Some(next) = self.capacity.call_next()
        {
            let now = self.now();
            self.contests.get_mut(&next).into_iter().for_each(|contest| contest.hurry(now));
            self.look_at(&next, now);
        }
    }

    /// Sets how many runs may be going at once. Those that are going keep their slots, however many they are.
    pub(super) fn resize_capacity(&mut self, limit: Option<u32>) {
        if self.capacity.limit() == limit {
            return;
        }
        let running = self.runs.values().map(|run| &run.job);
        let granted = self.contests.keys().filter(|job| may_be_granted(&self.contests, &self.notices, job));
        let taken: BTreeSet<JobName> = running.chain(granted).cloned().collect();
        self.capacity.resize(limit, taken);
    }

    pub(super) fn tell_finding(&mut self, job: &JobName, tick: Tick, finding: Finding) {
        let spec = Arc::clone(self.contests[job].spec());
        let job = job.clone();
        // A run of this replica proves that it is alive by renewing; then the tick can be decided.
        if let Some(run) = finding.awaits_proof(&spec, tick).map(|holder| holder.run)
            && let Some(own) = self.runs.get_mut(&run).filter(|_| !self.draining)
            && own.may_prove(self.at.boot)
        {
            self.effects.push(Effect::Prove { job: job.clone(), run });
        }
        // If the holder is a run of this replica, it learns at once that it is replaced, without waiting for its
        // renewal.
        if let Some(run) = finding.replaces(&spec).map(|holder| holder.run)
            && let Some(own) = self.runs.get(&run)
        {
            let order = StopOrder { reason: StopReason::Replaced, grace: own.kill_grace };
            self.effects.push(Effect::Stop { run, order });
        }
        let event = match finding {
            Finding::Decided { by, how } => Event::TickDecided { job, tick, holder: by, how },
            Finding::NotRerun => return self.effects.push(Effect::ExplainNotRerun { spec, tick }),
            Finding::Consumed(verdict) => Event::TickConsumed { job, tick, verdict, at: self.store_time() },
            Finding::NewerSchema(schema) => Event::NewerSchema { job, schema },
            Finding::Held(holder) => Event::TickHeld { job, tick, holder: holder.map(|holder| holder.node) },
        };
        self.report(event);
    }

    /// Starts the run that was granted.
    pub(super) fn start(&mut self, job: &JobName, won: Won, sent: BootInstant) {
        self.capacity.take(job);
        let definition = self.jobs.get(job).expect("only a job of the file is contested");
        let spec = Arc::clone(&definition.spec);
        let Won { lease, era, waited } = won;
        let (run, tick) = (lease.run, lease.tick);
        let identity = Identity {
            attempt: first_attempt(&spec, lease.tries),
            ..Identity::of(&spec.name, &lease, spec.schedule.local_text(tick))
        };
        let grant = Grant {
            launch: Launch::new(&spec, definition.env.clone(), Arc::clone(&definition.withheld), identity),
            retries: Retries::of(&spec),
            lease,
            deadline: Deadline::of_job(&spec, sent),
            era,
            waited,
            sent,
            start_gate: StartGate::default(),
        };
        self.runs.insert(run, OwnRun::new(spec.name.clone(), spec.kill_grace));
        self.past.noted.insert(spec.name.clone());
        let start_deadline = spec.start_deadline_of(tick);
        let (decided, is_last_attempt) = (self.at.boot, self.draining);
        let start = RunStart { grant, start_deadline, decided, is_last_attempt };
        self.effects.push(Effect::Start(Box::new(start)));
        let lease_ms = millis(spec.lease);
        let running = BeatRun { job: spec.name.clone(), run, lease_ms, end: None };
        self.update_beat(|beat| beat.running.push(running));
    }

    /// Takes in that the replica's own run of the job has had time to prove that it is alive.
    pub(super) fn proven(&mut self, job: &JobName) {
        let now = self.now();
        if let Some(contest) = self.contests.get_mut(job) {
            contest.hurry(now);
        }
        self.look_at(job, now);
    }

    /// Takes in that nothing of a run is left.
    pub(super) fn run_ended(&mut self, ended: RunExit) {
        let RunExit { run, was_cut_short } = ended;
        if let Some(own) = self.runs.get_mut(&run) {
            own.has_ended = true;
        }
        let end = if was_cut_short { UnrecordedEnd::CutShort } else { UnrecordedEnd::ByItself };
        self.update_beat(|beat| {
            beat.running.iter_mut().filter(|one| one.run == run).for_each(|one| one.end = Some(end));
        });
    }

    /// Takes in that a run is over and recorded.
    pub(super) fn released(&mut self, lock: &ReleasedLock) {
        self.runs.remove(&lock.run);
        self.update_beat(|beat| beat.running.retain(|one| one.run != lock.run));
        self.effects.push(Effect::PruneLogs(self.retention));
        if lock.cut_short.is_some() && self.reruns(&lock.job) {
            // The other replicas learn of it with their next heartbeat.
            self.effects.push(Effect::Announce(lock.job.clone()));
        }
        // A job that waits for the slot has its turn before the next tick of this one.
        self.pass_slots_on();
        let (now, is_going) = (self.now(), self.runs_itself(&lock.job));
        if let Some(contest) = self.contests.get_mut(&lock.job) {
            if !is_going {
                contest.own_run_is_over();
            }
            lock.given_back.into_iter().for_each(|tick| contest.given_back(tick));
            if let Some(tick) = lock.cut_short {
                contest.cut_short_here(tick, Some(self.node.clone()), now);
            }
            contest.hurry(now);
        }
        self.look_at(&lock.job, now);
    }
}

/// Whether this replica may be granted a run of the job at any moment.
fn may_be_granted(contests: &BTreeMap<JobName, Contest>, notices: &Notices, job: &JobName) -> bool {
    let may_be = |contest: &Contest| contest.is_asking() || contest.doubt().is_some();
    contests.get(job).is_some_and(may_be) || notices.may_be_granted(job)
}

/// Returns the event to log for a claim that failed.
fn unclaimed(job: JobName, tick: Tick, error: &StoreError) -> Event {
    let said = error.to_string();
    match error {
        StoreError::Refused(_) => Event::ClaimRefused { job, tick, error: said },
        StoreError::NotSent(_) | StoreError::Unknown(_) => Event::TickUndecided { job, tick, error: said },
    }
}
