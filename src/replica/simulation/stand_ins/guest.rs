//! A guest: an `exec` under a job's lock, with a short lease of its own and no memory. It decides by the shipped
//! `Asking`; this is in place of `exec/session.rs` and `exec/store_watch.rs`.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::exec::acquire::{Asking, Held, Next};
use crate::hold::attempts::Retries;
use crate::hold::granted::Grant;
use crate::hold::holder::HolderInput;
use crate::hold::lock_request::{LockTerms, Won};
use crate::hold::start_gate::StartGate;
use crate::job::RunId;
use crate::lease::{Answer, Caller, Deadline, Open, Pace, Record, Reply, Request};
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Answered, Ask, Told};
use crate::replica::simulation::world::rng::Dice;
use crate::replica::simulation::world::{Event, Mend, World};
use crate::run::{Identity, Launch};
use crate::store::clock::{ClockNews, ClockReading, Known, StoreClock};
use crate::store::{Pulse, StoreError};
use crate::time::{BootInstant, UtcMillis};

use super::errand::{Chore, Errand, record, reply};
use super::node::Node;

/// The task of a guest.
#[derive(Debug)]
pub(crate) struct Visit {
    job: usize,
    asking: Asking,
    dice: Dice,
    /// The run that holds the lock.
    holds: Option<RunId>,
    /// The newest notice about the lock.
    notice: Option<i64>,
    is_over: bool,
}

impl Visit {
    /// Whether its command is over, or will not begin.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

/// How far a guest is on its way to the lock.
#[derive(Debug)]
pub(crate) enum Step {
    /// Reads the store's clock and era, since `sent`.
    Learn { sent: BootInstant },
    /// Reads whether the cluster knows the lock.
    Know,
    /// Opens the record.
    Open,
    /// Registers the lock.
    Enroll,
    /// Requests the lock.
    Ask { sent: BootInstant },
    /// Reads the record of a lock that is held, before it gives up.
    Read { reply: Box<Reply> },
    /// Reads whether the record still names it.
    Watch,
}

impl World {
    /// Sends a guest within some seconds, for the lock of this job or of any.
    pub(crate) fn invite(&mut self, job: Option<usize>) -> bool {
        let job = job.unwrap_or_else(|| self.dice.below(self.scenario.count()));
        let soon = self.dice.ms(0, 6_000);
        if self.seats[self.scenario.replicas].node.is_some() {
            return false;
        }
        self.at(soon, Event::Mend(Mend::Guest(job)));
        true
    }

    /// Starts a guest, unless there is one already.
    pub(crate) fn begin_visit(&mut self, job: usize) -> Result<(), Violation> {
        let seat = self.scenario.replicas;
        if self.seats[seat].node.is_some() || self.now < self.told_by {
            return Ok(());
        }
        let (reads, patience) = (self.reads(seat), self.dice.ms(8_000, 40_000));
        self.note(|| format!("a guest comes for j{job}, and waits for up to {patience:?}"));
        let visit = Visit {
            job,
            asking: Asking::begin(reads.boot.plus(patience)),
            dice: Dice::seeded(self.dice.between(0, u64::MAX - 1)),
            holds: None,
            notice: None,
            is_over: false,
        };
        let file = &self.scenario.files[seat];
        let mut node = Node::guest(&self.scenario.names[seat], Rc::clone(&file.jobs), visit, reads);
        node.begin_as_guest(reads);
        (self.seats[seat].node, self.seats[seat].heard) = (Some(node), None);
        self.perform(seat)
    }
}

impl Node {
    fn begin_as_guest(&mut self, reads: Reads) {
        self.reads = reads;
        self.learn_as_guest();
        self.wake(reads);
    }

    /// `ExecSession::learn`: first the store's clock and era.
    pub(super) fn learn_as_guest(&mut self) {
        self.send(Ask::Pulse(None), Errand::Guest(Step::Learn { sent: self.reads.boot }));
    }

    /// `ExecSession::take_lock`: what comes next.
    fn follow(&mut self, next: Next) {
        match next {
            Next::LearnAt(at) => self.chores.push((at, Chore::GuestLearns)),
            Next::AskAt(at) => self.chores.push((at, Chore::GuestAsks)),
            Next::Leave(_) => self.leave_as_guest(),
            Next::Start => unreachable!("only a request for the lock starts anything"),
        }
    }

    /// `ExecSession::give_back`.
    fn leave_as_guest(&mut self) {
        let Some(visit) = &mut self.visit else { return };
        visit.is_over = true;
        let job = visit.job;
        if let Some(doubt) = visit.asking.doubt() {
            self.abandon(job, doubt, None);
        }
    }

    /// A lock that came too late is given back: the guest begins anew.
    pub(super) fn guest_gave_back(&mut self) {
        let boot = self.reads.boot;
        let Some(visit) = self.visit.as_mut().filter(|visit| !visit.is_over) else { return };
        let next = visit.asking.begin_anew(boot);
        self.follow(next);
    }

    pub(super) fn guest_answered(&mut self, step: Step, answered: Answered) {
        let boot = self.reads.boot;
        let Some(job) = self.visit.as_ref().map(|visit| visit.job) else { return };
        let error = answered.as_ref().err().cloned();
        match (step, error) {
            (Step::Watch, Some(_)) => {}
            (Step::Learn { sent } | Step::Ask { sent }, Some(error)) => self.guest_failed(&error, sent),
            (Step::Know | Step::Open | Step::Enroll, Some(error)) => self.guest_failed(&error, boot),
            (Step::Read { reply }, Some(_)) => self.guest_asked(&reply, false),
            (Step::Learn { sent }, None) => {
                if let Ok(Told::Pulse(pulse)) = &answered {
                    self.guest_learn(sent, pulse);
                }
                self.send(Ask::Known(vec![job]), Errand::Guest(Step::Know));
            }
            (Step::Know, None) => {
                let is_known = matches!(&answered, Ok(Told::Known(known)) if known[0]);
                self.open_as_guest(is_known);
            }
            (Step::Open, None) => {
                let Ok(reply) = reply(answered) else { return };
                self.store_clock.hear(&reply);
                match reply.answer {
                    Answer::Opened { .. } => self.send(Ask::Enroll(vec![job]), Errand::Guest(Step::Enroll)),
                    _ => self.guest_asked(&reply, false),
                }
            }
            (Step::Enroll, None) => self.follow(Next::AskAt(boot)),
            (Step::Ask { sent }, None) => {
                let Ok(reply) = reply(answered) else { return };
                self.store_clock.hear(&reply);
                self.guest_asked_for(sent, reply);
            }
            (Step::Read { reply }, None) => {
                let is_silent = |record: &Record| match &reply.answer {
                    Answer::Held { by: Some(holder), .. } => {
                        record.run == Some(holder.run) && record.has_lapsed(reply.now)
                    }
                    _ => false,
                };
                let is_silent =
                    record(answered).is_ok_and(|record| record.is_some_and(|record| is_silent(&record)));
                self.guest_asked(&reply, is_silent);
            }
            (Step::Watch, None) => {
                let run = self.visit.as_ref().and_then(|visit| visit.holds);
                let is_kept =
                    record(answered).is_ok_and(|record| record.is_some_and(|record| record.run == run));
                if let Some(run) = run.filter(|_| !is_kept) {
                    self.send_only(Ask::Enroll(vec![job]));
                    self.tell_lock(run, HolderInput::Hurry);
                }
            }
        }
    }

    fn guest_failed(&mut self, error: &StoreError, sent: BootInstant) {
        let boot = self.reads.boot;
        let Some(visit) = &mut self.visit else { return };
        let next = visit.asking.failed(error, sent, boot);
        self.follow(next);
    }

    /// `StoreWatch::learn`.
    fn guest_learn(&mut self, sent: BootInstant, pulse: &Pulse) -> ClockNews {
        let reading = ClockReading { sent, received: self.reads.boot, store: pulse.now };
        let mut store_clock = self.store_clock.lock();
        let news = match store_clock.as_mut() {
            Some(store_clock) => store_clock.learn(reading, &pulse.era),
            None => {
                *store_clock = Some(StoreClock::first(reading, pulse.era.clone()));
                ClockNews::First
            }
        };
        store_clock.iter_mut().for_each(|store_clock| store_clock.hear_peers(&pulse.peers));
        news
    }

    /// `StoreWatch::keep_listening`.
    pub(super) fn guest_listened(&mut self, exchange: Exchange) {
        let Ok(pulse) = exchange.result else { return };
        let news = self.guest_learn(exchange.sent, &pulse);
        let Some(visit) = &mut self.visit else { return };
        let job = visit.job;
        let lock = &self.jobs[job].name;
        let notice = pulse.notices.iter().find(|notice| notice.job == *lock).map(|notice| notice.stamp);
        let is_noticed = notice.is_some() && std::mem::replace(&mut visit.notice, notice) != notice;
        let Some(run) = visit.holds.filter(|run| self.locks.contains_key(run)) else { return };
        if is_noticed || news == ClockNews::NewEra {
            self.tell_lock(run, HolderInput::Hurry);
        } else {
            self.send(Ask::Records(vec![job]), Errand::Guest(Step::Watch));
        }
    }

    fn guest_caller(&self, job: usize) -> Option<Caller> {
        let known = Known { largest_lease: self.jobs[job].lease, mark: None, answered: None };
        self.store_clock.caller(&self.name, self.reads.boot, known)
    }

    /// `ExecSession::learn`: a guest leaves it to replicas which ticks a job has.
    fn open_as_guest(&mut self, is_known: bool) {
        let Some(job) = self.visit.as_ref().map(|visit| visit.job) else { return };
        let Some(caller) = self.guest_caller(job) else { return };
        let Reads { boot, wall } = self.reads;
        let earlier = self.store_clock.read(|store_clock| store_clock.earlier(wall, boot));
        let open = Open::by_exec(caller, self.jobs[job].lease, wall);
        let latest_of_earlier_eras = earlier.unwrap_or(UtcMillis(0));
        let open = Open { is_known_job: is_known, latest_of_earlier_eras, ..open };
        self.send(Ask::Submit(job, Box::new(Request::Open(open))), Errand::Guest(Step::Open));
    }

    /// `ExecSession::ask`.
    pub(super) fn ask_as_guest(&mut self) {
        let (asked, sent) = (self.store_time(), self.reads.boot);
        let Some(job) = self.visit.as_ref().map(|visit| visit.job) else { return };
        let Some(caller) = self.guest_caller(job) else { return };
        let Some(visit) = &mut self.visit else { return };
        let spec = &self.jobs[job];
        let manual = visit.asking.ask(caller, asked, spec.lease, Some(&**spec));
        let request = Box::new(Request::Manual(manual));
        self.send(Ask::Submit(job, request), Errand::Guest(Step::Ask { sent }));
    }

    /// The store answered a request for the lock.
    fn guest_asked_for(&mut self, sent: BootInstant, reply: Reply) {
        let boot = self.reads.boot;
        let Some(visit) = &mut self.visit else { return };
        let job = visit.job;
        let is_held = matches!(reply.answer, Answer::Held { by: Some(_), .. });
        if is_held && visit.asking.is_impatient(boot) {
            let step = Step::Read { reply: Box::new(reply) };
            return self.send(Ask::Records(vec![job]), Errand::Guest(step));
        }
        let spec = Arc::clone(&self.jobs[job]);
        let Some(won) = visit.asking.won(&reply, LockTerms::of_job(&spec, &self.name)) else {
            return self.guest_asked(&reply, false);
        };
        visit.asking.answered(&reply.answer, || Held::WithoutHolder, boot, 0.0);
        let deadline = Deadline::granted(Pace::new(spec.lease, spec.kill_grace), sent);
        if deadline.is_over(boot) {
            return self.abandon(job, won.abandon(), None);
        }
        let Won { lease, era, waited } = won;
        visit.holds = Some(lease.run);
        visit.is_over = true;
        let launch = Launch::new(
            &spec,
            BTreeMap::new(),
            Arc::default(),
            Identity::of(&spec.name, &lease, String::new()),
        );
        let (retries, start_gate) = (Retries::default(), StartGate::default());
        let grant = Grant { launch, retries, lease, deadline, sent, start_gate, era, waited };
        self.send_only(Ask::Announce(job));
        self.keep_lock(&grant, Duration::ZERO);
    }

    /// Takes the next step after an answer of the store. `is_silent`: whether the holder has not renewed its lock for a lease.
    fn guest_asked(&mut self, reply: &Reply, is_silent: bool) {
        let boot = self.reads.boot;
        let Some(visit) = &mut self.visit else { return };
        let held = || match &reply.answer {
            Answer::Held { by: Some(holder), .. } if !is_silent => Held::By(holder.clone()),
            Answer::Held { by: None, .. } if reply.rerun.as_ref().is_some_and(|rerun| !rerun.goes_on) => {
                Held::ForRerun
            }
            _ => Held::WithoutHolder,
        };
        let chance = f64::from(u32::try_from(visit.dice.between(0, 100)).unwrap_or_default()) / 100.0;
        let next = visit.asking.answered(&reply.answer, held, boot, chance);
        self.follow(next);
    }
}
