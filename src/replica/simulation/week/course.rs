//! The course of a run: `holder.rs` around the shipped `Hold`, and `attempts.rs`.

use std::sync::Arc;
use std::time::Duration;

use crate::hold::attempts::Retries;
use crate::hold::holder::renewal::{Duty, Hold};
use crate::job::{JobName, JobSpec, Outcome, Reason, Verdict};
use crate::lease::{Answer, Deadline, Era, Finish, Lease, Renew, Request};
use crate::replica::simulation::world::clock::Moment;
use crate::replica::tick::action::Won;
use crate::run::StopReason;
use crate::store::clock::StoreClock;
use crate::time::BootInstant;

use super::jobs::length_ms;
use super::life::Life;
use super::world::{Event, World};

/// The end of a run is reported to the store again after this long.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// One run, in all its attempts.
pub(super) struct Run {
    pub(super) job: JobName,
    spec: Arc<JobSpec>,
    pub(super) seat: usize,
    life: u32,
    pub(super) lease: Lease,
    era: Era,
    pub(super) hold: Hold,
    pub(super) started: Moment,
    /// When nothing of it was left, and how it ended.
    pub(super) ended: Option<(Moment, Verdict)>,
    pub(super) attempt: u32,
    /// How the attempt under way will end, if nothing stops it.
    outcome: Outcome,
    stopped_for: Option<StopReason>,
    step: u32,
    /// When the store had recorded its end.
    pub(super) recorded: Option<Moment>,
}

impl Run {
    /// Whether it is in progress, in this process of this seat.
    pub(super) fn is_of(&self, seat: usize, life: u32) -> bool {
        self.ended.is_none() && (self.seat, self.life) == (seat, life)
    }
}

impl World {
    /// `Driver::start`.
    pub(super) fn begin(&mut self, seat: usize, life: &Life, job: &JobName, won: Won, sent: BootInstant) {
        let spec = Arc::clone(life.contests[job].spec());
        let lease = won.lease(&spec, &self.seats[seat].name);
        let deadline = Deadline::of_job(&spec, sent);
        self.log.count(format!("run {}", lease.cause));
        self.runs.push(Run {
            job: job.clone(),
            spec,
            seat,
            life: life.number,
            lease,
            era: won.era,
            hold: Hold::granted(deadline, sent),
            started: self.now,
            ended: None,
            attempt: 0,
            outcome: Outcome::Succeeded,
            stopped_for: None,
            step: 0,
            recorded: None,
        });
        let run = self.runs.len() - 1;
        self.next_attempt(run, Duration::ZERO);
        self.at(self.now, Event::Attend(run));
    }

    fn next_attempt(&mut self, run: usize, pause: Duration) {
        let length = Duration::from_millis(length_ms(&self.runs[run].spec, &mut self.dice));
        let fails = self.dice.percent(20);
        let its = &mut self.runs[run];
        its.attempt += 1;
        its.step += 1;
        its.outcome = if fails { Outcome::Failed } else { Outcome::Succeeded };
        let step = its.step;
        self.after(pause + length, Event::Step { run, step });
    }

    /// An attempt is over, or a stop has its way.
    pub(super) fn step(&mut self, run: usize, step: u32) {
        let its = &self.runs[run];
        if its.ended.is_some() || its.step != step {
            return;
        }
        if self.seats[its.seat].sleeps {
            // The command sleeps with its machine.
            return self.after(TELL_AGAIN, Event::Step { run, step });
        }
        if let Some(reason) = its.stopped_for {
            return self.end(run, reason.verdict());
        }
        match Retries::of(&its.spec).pause_after(its.attempt, its.outcome) {
            Some(pause) => {
                self.log.count("attempt failed, trying again");
                self.next_attempt(run, pause);
            }
            None => self.end(run, Verdict::plain(its.outcome)),
        }
    }

    /// Orders a run to stop: it takes a part of its grace.
    pub(super) fn stop(&mut self, run: usize, reason: StopReason) {
        if self.runs[run].stopped_for.is_some() {
            return;
        }
        self.log.count(format!("stop {reason:?}"));
        let grace = self.runs[run].spec.kill_grace.as_millis() as u64;
        let takes = self.dice.ms(0, grace);
        let its = &mut self.runs[run];
        its.stopped_for = Some(reason);
        its.step += 1;
        let step = its.step;
        self.after(takes, Event::Step { run, step });
    }

    /// `LockHolder::do_duty`, and the guard while the replica's machine sleeps.
    pub(super) fn attend(&mut self, run: usize) {
        let its = &self.runs[run];
        if its.ended.is_some() {
            return;
        }
        let (seat, boot) = (its.seat, self.boot(its.seat));
        if self.seats[seat].sleeps {
            // A machine that sleeps stops nothing, and nothing runs on it. What is left dies as it wakes.
            return self.after(TELL_AGAIN, Event::Attend(run));
        }
        match self.runs[run].hold.duty(boot) {
            Duty::Wait(until) => {
                let at = self.seats[seat].clock.when(until, self.now);
                self.at(at, Event::Attend(run));
            }
            Duty::Renew => self.renew(run, boot),
            Duty::Stop => self.end(run, StopReason::LockLost.verdict()),
            Duty::Rest => {}
        }
    }

    /// `LockHolder::renew`, and `LockHolder::renewal_answered`.
    fn renew(&mut self, run: usize, boot: BootInstant) {
        let its = &self.runs[run];
        let (job, seat) = (its.job.clone(), its.seat);
        let known = self.seats[seat].life.as_ref();
        let store_clock = known.and_then(|life| life.store_clock.as_ref());
        let expect = store_clock.map_or(self.utc(), |clock| clock.store_time(boot));
        let era = store_clock.map(|clock| clock.era().clone()).unwrap_or_default();
        let leapt = store_clock.and_then(StoreClock::leapt);
        let renew = Request::Renew(Renew { lease: its.lease.clone(), expect, leapt });
        let reply = self.store.submit(&job, &renew, self.now.utc(), &mut self.dice);
        let its = &mut self.runs[run];
        match reply.map(|reply| reply.answer) {
            Ok(Answer::Renewed { stop }) => {
                its.hold.renewed(boot);
                its.era = era;
                if let Some(why) = stop {
                    self.stop(run, StopReason::asked_for(why));
                }
            }
            Ok(Answer::Lost) => {
                its.hold.lose();
                return self.end(run, StopReason::LockLost.verdict());
            }
            Ok(_) | Err(_) => its.hold.failed(boot),
        }
        self.at(self.now, Event::Attend(run));
    }

    /// Nothing is left of a run.
    pub(super) fn end(&mut self, run: usize, verdict: Verdict) {
        self.runs[run].ended = Some((self.now, verdict));
        self.log.count(format!("ended {verdict}"));
        self.at(self.now, Event::Tell(run));
    }

    /// The runs of a replica that was killed die with it.
    pub(super) fn orphan(&mut self, seat: usize) {
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        for run in 0..self.runs.len() {
            let its = &mut self.runs[run];
            if its.seat != seat || its.recorded.is_some() {
                continue;
            }
            its.ended = its.ended.or(Some((self.now, lost)));
            if !self.seats[seat].untold.contains(&run) {
                self.seats[seat].untold.push(run);
            }
        }
    }

    /// `LockHolder::record`, and `resync.rs` for what an earlier process left.
    pub(super) fn tell(&mut self, run: usize) {
        let its = &self.runs[run];
        let (Some((ended, verdict)), None) = (its.ended, its.recorded) else { return };
        let place = &self.seats[its.seat];
        let Some(life) = place.life.as_ref().filter(|_| !place.sleeps) else {
            if place.life.is_some() {
                self.after(TELL_AGAIN, Event::Tell(run));
            }
            return;
        };
        let finish = Finish {
            lease: its.lease.clone(),
            era: its.era.clone(),
            attempt: its.attempt,
            verdict,
            ended: ended.utc(),
            exit_code: None,
            signal: None,
            tail: String::new(),
            leapt: life.store_clock.as_ref().and_then(StoreClock::leapt),
        };
        let (job, seat, number) = (its.job.clone(), its.seat, life.number);
        let reply = self.store.submit(&job, &Request::Finish(finish), self.now.utc(), &mut self.dice);
        if reply.is_err() {
            return self.after(TELL_AGAIN, Event::Tell(run));
        }
        self.runs[run].recorded = Some(self.now);
        // `Driver::released`.
        self.with(seat, |world, life| {
            let now = life.now();
            if let Some(contest) = life.contests.get_mut(&job).filter(|_| life.number == number) {
                contest.hurry(now);
                world.look_at(seat, life, &job);
            }
        });
    }
}
