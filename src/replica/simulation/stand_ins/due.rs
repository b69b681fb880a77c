//! Runs that were granted ahead of their instant, and wait for it: the counterpart of `start_gate.rs`, and of what
//! `holder.rs` does about a run that was not tried.

use crate::hold::start_gate::has_overslept;
use crate::job::{Cause, Outcome, RunId};
use crate::lease::{Abandon, Answer, EARLY_TOLERANCE, Protection, Reply, Request};
use crate::replica::simulation::world::message::Ask;
use crate::replica::tick::action::{Doubt, Won};
use crate::run::StopReason;
use crate::store::StoreError;
use crate::time::BootInstant;

use super::errand::{Chore, Errand};
use super::keep::Keep;
use super::node::{Deed, Node};

impl Node {
    /// `Driver::start`, and `StartGates::of`: the run begins, or waits for its instant. `Driver::refuse`: not while
    /// another run of the job is going on this replica.
    pub(super) fn begin(&mut self, job: usize, won: Won, sent: BootInstant) {
        if self.keeps.iter().any(|keep| keep.job == job && !keep.is_over()) {
            self.give_back(job, Doubt { run: won.run, era: won.era, edited: false });
            if won.cause != Cause::Manual {
                self.contests[job].given_back(won.tick);
            }
            return;
        }
        let lease = won.lease(&self.jobs[job], &self.name);
        let mut keep = Keep::granted(job, &self.jobs[job], lease, won.era, sent, self.reads.boot);
        self.jot(job, keep.note());
        let left = won.tick.instant().since(self.now());
        if won.cause == Cause::Manual || left.is_zero() || !Protection::AtInstant.is_on() {
            self.deeds.push(Deed::Start(Box::new(keep.clone())));
        } else {
            keep.waits = Some(None);
            self.chores.push((self.reads.boot.plus(left.min(EARLY_TOLERANCE)), Chore::Begin(won.run)));
        }
        self.keeps.push(keep);
        self.attend_all();
    }

    /// `StartGate::begin`, and what `HeldLock::keep` makes of a run that was not tried.
    pub(super) fn begin_waiting(&mut self, run: RunId) {
        let (now, boot) = (self.now(), self.reads.boot);
        let Some(keep) = self.keeps.iter_mut().find(|keep| keep.lease.run == run) else { return };
        let left = keep.lease.tick.instant().since(now).min(keep.may_wait(boot));
        if keep.waits.is_some() && !left.is_zero() {
            // Its clock was set back meanwhile.
            return self.chores.push((boot.plus(left), Chore::Begin(run)));
        }
        let Some(ordered) = keep.waits.take() else { return };
        let (tick, start_deadline) =
            (keep.lease.tick, self.jobs[keep.job].start_deadline_of(keep.lease.tick));
        let is_late = has_overslept(tick.instant(), now, start_deadline) || keep.deadline.is_over(boot);
        match ordered.map(StopReason::verdict) {
            // A run that an operator or a newer tick has stopped does not run on another replica either.
            Some(verdict) if verdict.outcome == Outcome::Killed => self.run_ended(run, verdict, self.reads),
            None if !is_late => self.deeds.push(Deed::Start(Box::new(keep.clone()))),
            _ => {
                keep.is_given_back = true;
                self.send_abandon(run);
            }
        }
    }

    /// The `Abandon` of `HeldLock::keep`.
    pub(super) fn send_abandon(&mut self, run: RunId) {
        let Some(keep) = self.keeps.iter().find(|keep| keep.lease.run == run) else { return };
        let abandon = Abandon { run, era: keep.era.clone(), edited: false };
        self.send(Ask::Submit(keep.job, Request::Abandon(abandon)), Errand::GiveBack { run });
    }

    /// Handles the answer that the store knows that nothing was started.
    pub(super) fn abandon_answered(&mut self, run: RunId, answer: Result<Reply, StoreError>) {
        let Some(at) = self.keeps.iter().position(|keep| keep.lease.run == run) else { return };
        let keep = &mut self.keeps[at];
        if !matches!(answer.map(|reply| reply.answer), Ok(Answer::Abandoned | Answer::AlreadyDecided)) {
            let again = keep.tell_again_at(self.reads.boot);
            return self.chores.push((again, Chore::GiveBack(run)));
        }
        let Keep { job, lease, .. } = self.keeps.remove(at);
        // `LeaseFile::forget_run`.
        self.disk.retain(|of, note| *of != job || note.lease().run != run);
        match lease.cause {
            Cause::Rerun => {
                let now = self.now();
                self.contests[job].cut_short_here(lease.tick, Some(self.name.clone()), now);
            }
            _ => self.contests[job].given_back(lease.tick),
        }
        self.proven(job);
    }
}
