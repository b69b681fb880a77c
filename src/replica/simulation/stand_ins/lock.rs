//! One granted lock on a simulated machine: the shipped holder. This stands in for `hold/holder/runtime.rs`,
//! `start_gate.rs` and `attempts.rs`: it waits for the instant, and starts the attempts.

use std::time::Duration;

use crate::events::event::Event;
use crate::hold::attempts::Retries;
use crate::hold::granted::Grant;
use crate::hold::holder::tests::ended_at;
use crate::hold::holder::{HolderEffect, HolderInput, LockHolder, RunEnd};
use crate::hold::lease_file::entry::LeaseNote;
use crate::hold::start_gate::has_overslept;
use crate::job::{Cause, JobName, Outcome, RunId, Verdict};
use crate::lease::{EARLY_TOLERANCE, Lease, Protection, Request};
use crate::replica::core::CoreInput;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::Ask;
use crate::run::{Ended, StopOrder, StopReason};
use crate::time::{BootInstant, Now, UtcMillis};

use super::errand::{Chore, Errand};
use super::node::{Deed, Node, NodeInput, StartedRun};

/// A lock and its run.
pub(crate) struct Lock {
    job: usize,
    lease: Lease,
    start_deadline: Duration,
    loss_grace: Duration,
    holder: LockHolder,
    /// When the request was sent that was granted.
    sent: BootInstant,
    /// The deadline of the run.
    deadline: BootInstant,
    /// Until when the run waits for its instant at the most; `None` once it waits no more.
    waits_until: Option<BootInstant>,
    retries: Retries,
    /// How many attempts have begun.
    attempt: u32,
    /// How the attempt before ended, while the run waits for its next one.
    failed: Option<Verdict>,
    /// The stop orders so far, joined.
    ordered: Option<StopOrder>,
    /// Its run was found to outlive SIGKILL.
    is_stuck: bool,
    /// The jobs that wait for a renewal which shows that the run is alive.
    proving: Vec<JobName>,
    /// How the run ended, once that is noted.
    verdict: Option<Verdict>,
}

impl Lock {
    /// Returns when it has something to do by itself.
    pub(super) fn wakes_at(&self, now: Now, due_time: UtcMillis) -> Option<BootInstant> {
        let instant = now.boot.plus(self.lease.tick.instant().since(due_time));
        let begins = self.waits_until.map(|limit| instant.min(limit));
        self.holder.wakes_at().into_iter().chain(begins).min()
    }

    /// Whether its run waits for its instant, and that has come.
    fn may_begin(&self, now: Now, due_time: UtcMillis) -> bool {
        self.waits_until.is_some_and(|limit| due_time >= self.lease.tick.instant() || now.boot >= limit)
    }
}

impl Node {
    /// Keeps a lock that was granted, and starts its run at the instant.
    pub(super) fn keep_lock(&mut self, grant: &Grant, start_deadline: Duration) {
        let run = grant.lease.run;
        let lock = Lock {
            job: self.number(&grant.launch.identity.job),
            lease: grant.lease.clone(),
            start_deadline,
            loss_grace: grant.launch.loss_grace,
            holder: LockHolder::new(grant, self.store_clock.clone()),
            sent: self.granted_by.remove(&run).unwrap_or(grant.sent),
            deadline: grant.deadline.at(),
            waits_until: None,
            retries: grant.retries,
            attempt: 0,
            failed: None,
            ordered: None,
            is_stuck: false,
            proving: Vec::new(),
            verdict: None,
        };
        self.locks.insert(run, lock);
        self.tell_lock(run, HolderInput::Granted);
    }

    pub(super) fn step_lock(&mut self, run: RunId, input: HolderInput, now: Now) {
        let Some(lock) = self.locks.get_mut(&run) else { return };
        for effect in lock.holder.step(input, now) {
            self.perform_for_lock(run, effect);
        }
    }

    /// Tells the holders and the runs that wait for their instants that it is time.
    pub(super) fn wake_locks(&mut self) {
        let (now, due_time) = (self.now(), self.due_time());
        let is_due = |lock: &Lock| lock.holder.wakes_at().is_some_and(|at| at <= now.boot);
        let due: Vec<RunId> =
            self.locks.iter().filter(|(_, lock)| is_due(lock)).map(|(run, _)| *run).collect();
        due.into_iter().for_each(|run| self.tell_lock(run, HolderInput::Woke));
        self.take_in_all();
        let may_begin = |(_, lock): &(&RunId, &Lock)| lock.may_begin(now, due_time);
        let begin: Vec<RunId> = self.locks.iter().filter(may_begin).map(|(run, _)| *run).collect();
        begin.into_iter().for_each(|run| self.begin_run(run));
    }

    /// `HolderRuntime::perform`.
    fn perform_for_lock(&mut self, run: RunId, effect: HolderEffect) {
        let Some(lock) = self.locks.get_mut(&run) else { return };
        let job = lock.job;
        match effect {
            HolderEffect::Report(Event::Renewed { sent, .. }) => self.deeds.push(Deed::Renewed { run, sent }),
            HolderEffect::Report(Event::RunRecorded { .. }) => {
                let recorded = lock.verdict.map(|verdict| Deed::Recorded { run, verdict });
                self.deeds.extend(recorded);
            }
            HolderEffect::Report(_) | HolderEffect::CloseLog(_) | HolderEffect::ForgetLog(_) => {}
            HolderEffect::NoteRun { era, loss_grace } => {
                let note = LeaseNote::running(&lock.lease, &era, loss_grace, None);
                self.jot(job, note);
            }
            HolderEffect::StartRun => self.wait_for_instant(run),
            HolderEffect::Renew { renew, sent, era } => {
                self.send(
                    Ask::Submit(job, Box::new(Request::Renew(*renew))),
                    Errand::Renew { run, sent, era },
                );
            }
            HolderEffect::Renewed { deadline } => {
                if let Some(deadline) = deadline {
                    lock.deadline = lock.deadline.max(deadline);
                    self.deeds.push(Deed::SetDeadline { run, deadline });
                }
                self.prove_all(run);
            }
            HolderEffect::Stop(order) => self.stop_run(run, order),
            HolderEffect::NoteEnd(finish) => {
                lock.verdict = Some(finish.verdict);
                self.jot(job, LeaseNote::Ended(*finish));
                self.tell_lock(run, HolderInput::EndNoted);
            }
            HolderEffect::ForgetNote => self.forget_note_of(job, run),
            HolderEffect::ReportEnd(ended) => {
                // The core learns of it before everything else.
                self.inputs.push_front(NodeInput::Core(Box::new(CoreInput::RunEnded(ended))));
                self.prove_all(run);
            }
            HolderEffect::Record { request, .. } => {
                let is_last = lock.holder.has_given_up();
                self.send(Ask::Submit(job, request), Errand::RecordEnd { run, is_last });
            }
            HolderEffect::Release(released) => {
                self.locks.remove(&run);
                self.tell_core(CoreInput::LockReleased(Box::new(released)));
            }
        }
    }

    /// `StartGates::of`: the run begins, or waits for its instant.
    fn wait_for_instant(&mut self, run: RunId) {
        let (due_time, boot) = (self.due_time(), self.reads.boot);
        let Some(lock) = self.locks.get_mut(&run) else { return };
        let has_come = lock.lease.tick.instant() <= due_time;
        if lock.lease.cause == Cause::Manual || has_come || !Protection::AtInstant.is_on() {
            self.start_attempt(run);
        } else {
            lock.waits_until = Some(boot.plus(EARLY_TOLERANCE));
        }
    }

    /// `StartGate::begin`.
    fn begin_run(&mut self, run: RunId) {
        let due_time = self.due_time();
        let Some(lock) = self.locks.get_mut(&run).filter(|lock| lock.waits_until.is_some()) else { return };
        lock.waits_until = None;
        if has_overslept(lock.lease.tick.instant(), due_time, lock.start_deadline) {
            lock.order(StopOrder { reason: StopReason::LockLost, grace: Duration::ZERO });
        }
        self.start_attempt(run);
    }

    /// `Attempts::attempt`: starts the command, unless the run was ordered to stop before, or its guard finds that its
    /// deadline has passed.
    fn start_attempt(&mut self, run: RunId) {
        let now = self.now();
        let Some(lock) = self.locks.get_mut(&run) else { return };
        if lock.deadline <= now.boot {
            lock.order(StopOrder { reason: StopReason::LockLost, grace: Duration::ZERO });
        }
        if let Some(StopOrder { reason, .. }) = lock.ordered {
            // `AttemptEnd::untried`.
            let verdict = reason.verdict();
            let was_tried = verdict.outcome == Outcome::Killed;
            return self.run_over(run, Ended { was_tried, ..ended_at(now.wall, verdict) });
        }
        lock.attempt += 1;
        let start = StartedRun {
            job: lock.job,
            lease: lock.lease.clone(),
            attempt: lock.attempt,
            deadline: lock.deadline,
            sent: lock.sent,
            may_wait: EARLY_TOLERANCE.saturating_sub(now.boot.since(lock.sent)),
            loss_grace: lock.loss_grace,
        };
        self.deeds.push(Deed::Start(Box::new(start)));
    }

    /// Orders a run to stop, now or when it would begin.
    pub(super) fn stop_run(&mut self, run: RunId, order: StopOrder) {
        let Some(lock) = self.locks.get_mut(&run) else { return };
        lock.order(order);
        if lock.failed.is_some() {
            return self.end_between_attempts(run, order.reason.verdict());
        }
        if lock.waits_until.is_none() {
            self.deeds.push(Deed::Stop { run, order });
        }
    }

    /// `Attempts::make`: the pause after a failed attempt is over.
    pub(super) fn begin_next_attempt(&mut self, run: RunId) {
        let boot = self.reads.boot;
        let Some(lock) = self.locks.get_mut(&run) else { return };
        let Some(verdict) = lock.failed else { return };
        if lock.deadline <= boot {
            // The attempt came too late. The failure before it is how the run ended.
            return self.end_between_attempts(run, verdict);
        }
        lock.failed = None;
        self.start_attempt(run);
    }

    fn end_between_attempts(&mut self, run: RunId, verdict: Verdict) {
        self.locks.get_mut(&run).into_iter().for_each(|lock| lock.failed = None);
        self.run_over(run, ended_at(self.reads.wall, verdict));
    }

    /// The replica drains: no attempt of the run follows, and one that has yet to come does not begin.
    pub(super) fn end_attempts(&mut self, run: RunId) {
        let Some(lock) = self.locks.get_mut(&run) else { return };
        lock.retries = Retries::default();
        if let Some(verdict) = lock.failed {
            return self.end_between_attempts(run, verdict);
        }
        if lock.waits_until.take().is_some() {
            lock.order(StopOrder { reason: StopReason::Shutdown, grace: Duration::ZERO });
            self.start_attempt(run);
        }
    }

    /// `AttemptState::step_killing`: its processes outlive SIGKILL.
    pub(crate) fn found_stuck(&mut self, run: RunId) {
        self.locks.get_mut(&run).into_iter().for_each(|lock| lock.is_stuck = true);
    }

    /// Nothing is left of a run that was started.
    pub(crate) fn run_ended(&mut self, run: RunId, verdict: Verdict, ago: Duration, reads: Reads) {
        self.reads = reads;
        let Some(lock) = self.locks.get_mut(&run) else { return };
        match lock.retries.pause_after(lock.attempt, verdict.outcome) {
            Some(pause) if lock.ordered.is_none() => {
                lock.failed = Some(verdict);
                self.deeds.push(Deed::Count("attempt failed, tried again"));
                self.put_off(pause, Chore::NextAttempt(run));
            }
            _ => {
                let was_stuck = lock.is_stuck;
                self.run_over(run, Ended { was_stuck, ago, ..ended_at(reads.wall.minus(ago), verdict) });
            }
        }
        self.take_in_all();
    }

    fn run_over(&mut self, run: RunId, ended: Ended) {
        self.errands.retain(|_, errand| !matches!(errand, Errand::Renew { run: of, .. } if *of == run));
        let attempt = self.locks.get(&run).map_or(1, |lock| lock.attempt.max(1));
        self.tell_lock(run, HolderInput::RunOver(Box::new(RunEnd { attempt, ended, stages: None })));
    }

    /// Renews the lock of a run at once, to prove that it is alive.
    pub(super) fn prove(&mut self, run: RunId, job: JobName) {
        if let Some(lock) = self.locks.get_mut(&run) {
            lock.proving.push(job);
            self.tell_lock(run, HolderInput::Hurry);
        }
    }

    /// A proof has taken too long.
    pub(super) fn give_up_proof(&mut self, run: RunId, job: &JobName) {
        let Some(lock) = self.locks.get_mut(&run) else { return };
        if let Some(at) = lock.proving.iter().position(|proving| proving == job) {
            let job = lock.proving.remove(at);
            self.tell_core(CoreInput::RunProven(job));
        }
    }

    /// The run has renewed its lock, or has ended: the jobs that wait for that are claimed again.
    fn prove_all(&mut self, run: RunId) {
        let proving = self.locks.get_mut(&run).map(|lock| std::mem::take(&mut lock.proving));
        proving.into_iter().flatten().for_each(|job| self.tell_core(CoreInput::RunProven(job)));
    }

    /// `Book::turn`: notes this, unless a lock that was granted later is noted.
    pub(super) fn jot(&mut self, job: usize, note: LeaseNote) {
        let is_newer = |known: &LeaseNote| known.lease().fence > note.lease().fence;
        if !self.disk.get(&job).is_some_and(is_newer) {
            self.disk.insert(job, note);
        }
    }
}

impl Lock {
    fn order(&mut self, order: StopOrder) {
        self.ordered = Some(self.ordered.map_or(order, |earlier| earlier.join(order)));
    }
}
