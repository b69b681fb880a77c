//! One granted lock on a simulated replica: the counterpart of `holder.rs`, around the shipped `Hold`.

use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::hold::holder::renewal::{Duty, Hold};
use crate::job::{JobSpec, Outcome, Reason, RunId, Verdict};
use crate::lease::{
    Answer, Deadline, EARLY_TOLERANCE, Era, Finish, Lease, Protection, Renew, Reply, Request,
};
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::Ask;
use crate::run::StopReason;
use crate::store::StoreError;
use crate::time::BootInstant;

use super::errand::{Chore, Errand};
use super::node::{Deed, Node};

/// As in `holder.rs`.
const FINISH_PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A lock and its run.
#[derive(Debug, Clone)]
pub(crate) struct Keep {
    pub(crate) job: usize,
    pub(crate) lease: Lease,
    pub(crate) deadline: Deadline,
    /// When its claim was sent, or its last good renewal.
    pub(crate) sent: BootInstant,
    /// When to check it again.
    pub(crate) wake: Option<BootInstant>,
    kill_grace: Duration,
    hold: Hold,
    pub(crate) era: Era,
    /// The jobs that wait for a proof of life.
    proving: Vec<usize>,
    /// The end of the run, while it is not recorded.
    finish: Option<Finish>,
    pause: Duration,
    /// Whether its run waits for its instant, and which stop was ordered meanwhile.
    pub(crate) waits: Option<Ordered>,
    /// Whether nothing was started under it, and the store does not know that yet.
    pub(crate) is_given_back: bool,
    /// Its run was found to outlive SIGKILL.
    is_stuck: bool,
}

/// The stop that was ordered for a run that has not begun, if any.
pub(crate) type Ordered = Option<StopReason>;

impl Keep {
    pub(crate) fn granted(
        job: usize,
        spec: &JobSpec,
        lease: Lease,
        era: Era,
        sent: BootInstant,
        now: BootInstant,
    ) -> Self {
        let deadline = Deadline::of_job(spec, counted_from(sent, now));
        Self {
            job,
            lease,
            deadline,
            sent,
            wake: None,
            kill_grace: spec.kill_grace,
            hold: Hold::granted(deadline, sent),
            era,
            proving: Vec::new(),
            finish: None,
            pause: FINISH_PAUSES.0,
            waits: None,
            is_given_back: false,
            is_stuck: false,
        }
    }

    /// Orders the run to stop, now or when it would begin.
    fn stop(&mut self, grace: Duration, reason: StopReason) -> Option<Deed> {
        if let Some(ordered) = &mut self.waits {
            *ordered = Some(ordered.map_or(reason, |earlier| earlier.join(reason)));
            return None;
        }
        Some(Deed::Stop { run: self.lease.run, grace, reason })
    }

    /// Returns how much longer its run may wait for its instant: at most what the store grants ahead of one.
    pub(crate) fn may_wait(&self, now: BootInstant) -> Duration {
        EARLY_TOLERANCE.saturating_sub(now.since(self.sent))
    }

    /// Whether nothing of its run is left, even if the store does not know that yet.
    pub(crate) fn is_over(&self) -> bool {
        self.finish.is_some() || self.is_given_back
    }

    /// Returns when to report the end to the store again; each pause is longer than the one before.
    pub(crate) fn tell_again_at(&mut self, now: BootInstant) -> BootInstant {
        let again = now.plus(self.pause);
        self.pause = (self.pause * 2).min(FINISH_PAUSES.1);
        again
    }

    pub(crate) fn hurry(&mut self, now: BootInstant) {
        self.hold.hurry(now);
    }

    /// `LeaseNote::running`.
    pub(crate) fn note(&self) -> LeaseNote {
        LeaseNote::Running {
            lease: self.lease.clone(),
            era: self.era.clone(),
            loss_grace: self.hold.loss_grace(),
            site: None,
        }
    }

    /// A newer tick takes its place.
    pub(crate) fn give_way(&mut self) -> Option<Deed> {
        self.stop(self.kill_grace, StopReason::Replaced)
    }

    /// Notes that a job waits for a renewal which shows that the run lives.
    pub(crate) fn prove(&mut self, job: usize, now: BootInstant) {
        self.proving.push(job);
        self.hold.hurry(now);
    }
}

/// Returns what a deadline is counted from: the sending, unless a test switches that protection off.
fn counted_from(sent: BootInstant, received: BootInstant) -> BootInstant {
    if Protection::DeadlineFromSending.is_on() { sent } else { received }
}

impl Node {
    /// `HeldLock::hold_while`, for every keep.
    pub(crate) fn attend_all(&mut self) {
        for at in 0..self.keeps.len() {
            self.attend(at);
        }
    }

    fn attend(&mut self, at: usize) {
        let now = self.reads.boot;
        loop {
            let keep = &mut self.keeps[at];
            if keep.finish.is_some() || keep.is_given_back {
                keep.wake = None;
                return;
            }
            match keep.hold.duty(now) {
                Duty::Wait(until) => {
                    keep.wake = Some(until);
                    return;
                }
                Duty::Renew => self.renew(at),
                Duty::Stop => self.stop_for_loss(at),
                Duty::Rest => {
                    keep.wake = None;
                    return;
                }
            }
        }
    }

    /// `HeldLock::renew`.
    fn renew(&mut self, at: usize) {
        let (keep, sent) = (&self.keeps[at], self.reads.boot);
        let run = keep.lease.run;
        let renew = Renew { lease: keep.lease.clone(), expect: self.store_time(), leapt: self.leapt() };
        let errand = Errand::Renew { run, sent, era: self.era() };
        self.send(Ask::Submit(keep.job, Request::Renew(renew)), errand);
    }

    /// `HeldLock::renewal_answered`.
    pub(crate) fn renewal_answered(
        &mut self,
        run: RunId,
        sent: BootInstant,
        era: Era,
        answer: Result<Reply, StoreError>,
    ) {
        let now = self.reads.boot;
        let Some(at) = self.keeps.iter().position(|keep| keep.lease.run == run) else { return };
        let keep = &mut self.keeps[at];
        if keep.finish.is_some() || keep.is_given_back {
            return;
        }
        match answer.map(|reply| reply.answer) {
            Ok(Answer::Renewed { stop }) => {
                let from = counted_from(sent, now);
                keep.hold.renewed(from);
                keep.deadline = keep.deadline.renewed(from);
                keep.sent = from;
                keep.era = era;
                let proven = std::mem::take(&mut keep.proving);
                let deadline = Some(keep.deadline.at()).filter(|_| !keep.hold.is_lost());
                self.deeds.push(Deed::Renewed { run, sent, deadline });
                self.deeds
                    .extend(stop.and_then(|why| keep.stop(keep.kill_grace, StopReason::asked_for(why))));
                proven.into_iter().for_each(|job| self.proven(job));
            }
            Ok(Answer::Lost) => {
                if keep.hold.lose() {
                    self.stop_for_loss(at);
                }
            }
            Ok(_) | Err(_) => keep.hold.failed(now),
        }
    }

    fn stop_for_loss(&mut self, at: usize) {
        let keep = &mut self.keeps[at];
        let stop = keep.stop(keep.hold.loss_grace(), StopReason::LockLost);
        self.deeds.extend(stop);
    }

    /// `AttemptState::step_killing`: its processes outlive SIGKILL.
    pub(crate) fn found_stuck(&mut self, run: RunId) {
        self.keeps.iter_mut().filter(|keep| keep.lease.run == run).for_each(|keep| keep.is_stuck = true);
    }

    /// Nothing of the run is left: the end of `HeldLock::keep`.
    pub(crate) fn run_ended(&mut self, run: RunId, verdict: Verdict, reads: Reads) {
        self.reads = reads;
        let (ended, leapt) = (self.store_time(), self.leapt());
        let Some(keep) = self.keeps.iter_mut().find(|keep| keep.lease.run == run) else { return };
        let proven = std::mem::take(&mut keep.proving);
        let is_left_behind = keep.is_stuck && keep.hold.is_lost();
        let left_behind = Verdict::because(Outcome::Unknown, Reason::LeftBehind);
        let verdict = if is_left_behind { left_behind } else { verdict };
        let finish = Finish {
            lease: keep.lease.clone(),
            era: keep.era.clone(),
            attempt: 1,
            verdict,
            ended,
            exit_code: None,
            signal: None,
            tail: String::new(),
            leapt,
        };
        keep.finish = Some(finish.clone());
        let job = keep.job;
        self.jot(job, LeaseNote::Ended(finish));
        proven.into_iter().for_each(|job| self.proven(job));
        self.send_finish(run);
        self.attend_all();
    }

    /// `HeldLock::finish`.
    pub(crate) fn send_finish(&mut self, run: RunId) {
        let Some(keep) = self.keeps.iter().find(|keep| keep.lease.run == run) else { return };
        if let Some(finish) = keep.finish.clone() {
            self.send(Ask::Submit(keep.job, Request::Finish(finish)), Errand::Finish { run });
        }
    }

    pub(crate) fn finish_answered(&mut self, run: RunId, answer: Result<Reply, StoreError>) {
        let Some(at) = self.keeps.iter().position(|keep| keep.lease.run == run) else { return };
        let keep = &mut self.keeps[at];
        let answer = answer.map(|reply| reply.answer);
        if !matches!(answer, Ok(Answer::Finished | Answer::AlreadyDecided)) {
            let again = keep.tell_again_at(self.reads.boot);
            return self.chores.push((again, Chore::Finish(run)));
        }
        if let (Ok(Answer::Finished), Some(finish)) = (answer, &keep.finish) {
            self.deeds.push(Deed::Recorded { run, verdict: finish.verdict });
        }
        // `Driver::released`.
        let Keep { job, lease, finish, .. } = self.keeps.remove(at);
        let is_cut_short = |finish: &Finish| finish.verdict.outcome == Outcome::Interrupted;
        if lease.may_run_again() && finish.as_ref().is_some_and(is_cut_short) {
            let now = self.now();
            self.contests[job].cut_short_here(lease.tick, Some(self.name.clone()), now);
        }
        self.proven(job);
    }
}
