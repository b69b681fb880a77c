//! What a replica does about its jobs: performs the actions of the contests, and feeds them the store's answers.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::job::{JobName, UtcMillis};
use crate::lease::{Answer, BootInstant, Deadline, Holder, Holding, Pace, Reply};
use crate::store::StoreError;

use super::action::{Action, Bid, Doubt, Finding, Won};
use super::contest::Contest;
use super::driver::Driver;
use super::errand::{self, Done};
use super::event::Event;
use super::keeper::{Grant, Line, keep};
use super::proposal::schedule_hash;

impl Driver {
    /// Looks whether a tick of the job is due by `now`, and does what follows.
    pub(super) fn look_at(&mut self, job: &JobName, now: UtcMillis) {
        if self.draining {
            return;
        }
        let roster = &self.watch.roster;
        let Some(contest) = self.contests.get_mut(job) else { return };
        if let Some(error) = self.watch.outage() {
            // The heartbeat finds out when the store answers again; then all jobs are looked at.
            if let Some(tick) = contest.unheard(now) {
                let error = error.to_owned();
                self.shop.events.tell(Event::TickUndecided { job: job.clone(), tick, error });
            }
            return;
        }
        let action = contest.wake(now, |tick| roster.stagger(job, tick));
        self.perform(job, action);
    }

    fn perform(&mut self, job: &JobName, action: Action) {
        match action {
            Action::Nothing => {}
            Action::WakeAt(at) => self.alarms.push(Reverse((at, job.clone()))),
            Action::Claim { bid, instead_of } => self.claim(job, &bid, instead_of),
            Action::Start { won, sent } => self.start(job, won, sent),
            Action::Resync(at) => {
                self.resync.notify_one();
                self.alarms.push(Reverse((at, job.clone())));
            }
        }
    }

    fn claim(&mut self, job: &JobName, bid: &Bid, instead_of: Option<Doubt>) {
        if let Some(doubt) = &instead_of {
            self.shop.events.tell(Event::ClaimAbandoned { job: job.clone(), run: doubt.run });
        }
        let contest = self.contests.get_mut(job).expect("only a contest claims");
        let caller = {
            let memory = self.shop.memory.borrow();
            let memory = memory.as_ref().expect("no record is open before the store was heard");
            memory.caller(&self.shop.node, self.shop.clock.boot(), contest.known())
        };
        contest.claims_in(&caller.era);
        let claim = contest.proposal().claim(bid, caller, self.shop.now());
        self.errands.spawn(errand::claim(Arc::clone(&self.shop), job.clone(), claim, instead_of));
    }

    /// An errand is done.
    pub(super) fn done(&mut self, done: Done) {
        match done {
            Done::Claimed { job, sent, result } => self.claimed(&job, sent, result),
            Done::Opened(opened) => self.opened(opened),
            Done::Abandoned => {}
            Done::Proven(job) => {
                if let Some(contest) = self.contests.get_mut(&job) {
                    contest.hurry(self.shop.now());
                }
                self.look_at(&job, self.shop.now());
            }
        }
    }

    fn claimed(&mut self, job: &JobName, sent: BootInstant, result: Result<Reply, StoreError>) {
        let now = self.shop.now();
        let contest = self.contests.get_mut(job).expect("only a contest claims");
        let tick = contest.tick();
        let (finding, action) = match result {
            Ok(reply) => {
                let deadline = deadline_of(contest, sent);
                let in_time = !deadline.is_over(self.shop.clock.boot()) && !self.stopping;
                contest.answered(&reply, now, sent, in_time)
            }
            Err(error) => {
                if let Some(tick) = tick.filter(|_| contest.first_failure()) {
                    let error = error.to_string();
                    self.shop.events.tell(Event::TickUndecided { job: job.clone(), tick, error });
                }
                (None, contest.failed(error.may_have_been_applied(), now))
            }
        };
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

    fn tell_finding(&mut self, job: &JobName, tick: crate::job::Tick, finding: Finding) {
        let job = job.clone();
        let event = match finding {
            Finding::Decided { by, how } => Event::TickDecided { job, tick, holder: by, how },
            Finding::Consumed(verdict) => Event::TickConsumed { job, tick, verdict },
            Finding::NewerSchema(schema) => Event::NewerSchema { job, schema },
            Finding::Held(holder) => {
                // A run of this very replica proves that it lives by renewing; then the tick can be decided.
                // One that began after the tick's instant has nothing to prove: the tick waits for its end.
                let began_before = |holder: &&Holder| holder.since <= tick.instant();
                let own = holder.as_ref().filter(began_before).and_then(|holder| self.lines.get(&holder.run));
                if let Some((_, line)) = own.filter(|_| !self.draining) {
                    self.errands.spawn(errand::prove(job.clone(), line.clone()));
                }
                Event::TickHeld { job, tick, holder: holder.map(|holder| holder.node) }
            }
        };
        self.shop.events.tell(event);
    }

    fn start(&mut self, job: &JobName, won: Won, sent: BootInstant) {
        let job = self.jobs.get(job).expect("only a job of the file is contested");
        let spec = Arc::clone(&job.spec);
        let grant = Grant {
            env: job.env.clone(),
            era: won.era,
            deadline: Deadline::granted(Pace::new(spec.lease, spec.kill_grace), sent),
            holding: Holding {
                run: won.run,
                fence: won.fence,
                tick: won.tick,
                lease: spec.lease,
                node: self.shop.node.clone(),
                cause: won.cause,
                tries: won.tries,
                started: won.started,
                mark: won.mark,
                sched: schedule_hash(&spec),
            },
            sent,
            spec,
        };
        let line = Line::new();
        self.lines.insert(won.run, (grant.spec.name.clone(), line.clone()));
        self.keepers.spawn(keep(Arc::clone(&self.shop), grant, line));
        self.update_beat();
    }

    /// Opens the records of all jobs that need it.
    pub(super) fn open_records(&mut self) {
        if self.draining {
            return;
        }
        let memory = self.shop.memory.borrow().clone();
        let Some(memory) = memory else { return };
        let now = self.shop.clock.boot();
        let mut opens = Vec::new();
        for (job, contest) in &self.contests {
            if !contest.is_unopened() || self.opening.contains(job) {
                continue;
            }
            let caller = memory.caller(&self.shop.node, now, contest.known());
            opens.push((job.clone(), contest.proposal().open(caller)));
        }
        if opens.is_empty() {
            return;
        }
        self.opening.extend(opens.iter().map(|(job, _)| job.clone()));
        self.errands.spawn(errand::open(Arc::clone(&self.shop), opens));
    }

    fn opened(&mut self, opened: Vec<(JobName, Result<Reply, StoreError>)>) {
        let now = self.shop.now();
        for (job, reply) in opened {
            self.opening.remove(&job);
            let Some(contest) = self.contests.get_mut(&job) else { continue };
            match reply.map(|reply| (reply.mark, reply.answer)) {
                Ok((mark, Answer::Opened { sched })) => {
                    contest.opened(mark.unwrap_or_default(), &sched, now);
                    self.look_at(&job, now);
                }
                Ok((_, Answer::NewerSchema(schema))) if contest.may_complain(now) => {
                    self.shop.events.tell(Event::NewerSchema { job, schema });
                }
                // Anything else is tried again after the next heartbeat, and said now and then.
                other => {
                    let error =
                        other.map_or_else(|error| error.to_string(), |(_, answer)| answer.name().to_owned());
                    if contest.may_complain(now) {
                        self.shop.events.tell(Event::OpenFailed { job, error });
                    }
                }
            }
        }
    }
}

fn deadline_of(contest: &Contest, sent: BootInstant) -> Deadline {
    let spec = contest.spec();
    Deadline::granted(Pace::new(spec.lease, spec.kill_grace), sent)
}
