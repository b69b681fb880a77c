//! What honest replicas ask of the store, and what they make of the answers.

use std::time::Duration;

use solocron::job::{Cause, OnInterrupt, Outcome, Overlap, Reason, RunId, Verdict};
use solocron::lease::{Answer, Claim, Deadline, Gap, Lease, Pace, Request};

use crate::book::{at, secs, tick};
use crate::honest::{Active, EVERY, Grant, LEASES, World};
use crate::sample;

impl World {
    pub(crate) fn claim(&mut self, who: usize, back: u64, policy: usize, has_renewed_lately: bool) {
        let now = self.book.server.now;
        let every = i64::try_from(EVERY * 1000).expect("a small span");
        let newest = (now.0 + 200 - at(0.0).0).div_euclid(every);
        let second = |n: i64| (n * every) as f64 / 1000.0;
        let this = newest - i64::try_from(back).expect("a small number");
        let mut claim = sample::claim(self.caller(who), tick(second(this)));
        claim.prev = Some(tick(second(this - 1)));
        claim.gap = self.replicas[who].seen.map(|seen| Gap {
            after: seen,
            before: (1..this).map(|n| tick(second(n))).filter(|tick| tick.instant() <= seen).max(),
            count: (1..this).filter(|n| at(second(*n)) > seen).count() as u64,
        });
        claim.lease = secs(LEASES[policy % 2]);
        claim.start_deadline = secs(2 * EVERY);
        claim.overlap = [Overlap::Skip, Overlap::Wait, Overlap::Replace][policy % 3];
        claim.on_interrupt = [OnInterrupt::Skip, OnInterrupt::Rerun][policy / 3 % 2];
        self.ask_for_lock(who, claim, has_renewed_lately);
    }

    /// The same claim again, as after a reply that was not heard.
    pub(crate) fn repeat(&mut self, who: usize) {
        if let Some(claim) = self.replicas[who].claim.clone() {
            let caller = self.caller(who);
            self.ask_for_lock(who, Claim { wall: caller.expect, caller, ..claim }, true);
        }
    }

    fn ask_for_lock(&mut self, who: usize, claim: Claim, has_renewed_lately: bool) {
        self.replicas[who].claim = Some(claim.clone());
        let answer = self.send(who, Request::Claim(claim.clone()), has_renewed_lately);
        self.note_grant(who, (claim.run, claim.lease), answer, has_renewed_lately);
    }

    pub(crate) fn manual(&mut self, who: usize, policy: usize) {
        let mut manual = sample::manual(self.caller(who));
        manual.overlap = [Overlap::Skip, Overlap::Wait][policy % 2];
        manual.lease = secs(LEASES[policy % 2]);
        let asked = (manual.run, manual.lease);
        let answer = self.send(who, Request::Manual(manual), true);
        self.note_grant(who, asked, answer, true);
    }

    fn note_grant(
        &mut self,
        who: usize,
        (run, lease): (RunId, Duration),
        answer: Option<Answer>,
        has_renewed_lately: bool,
    ) {
        let Some(Answer::Won { fence, .. }) = answer else { return };
        // A replica goes by the lease it asked for; the record's may be longer, as a wait after a loss of memory.
        let lease = Lease { length: lease, ..sample::lease(self.book.record()) };
        assert_eq!((lease.run, lease.fence), (run, fence));
        if self.grants.iter().all(|grant| grant.fence != fence) {
            let Lease { tick, cause, .. } = lease;
            self.grants.push(Grant { tick, fence, cause, is_started: false, is_given_back: false });
        }
        // A replica runs one attempt at a time of a job; what it cannot start it leaves to its lease.
        if has_renewed_lately && self.replicas[who].active.is_none() {
            for grant in self.grants.iter_mut().filter(|grant| grant.fence == fence) {
                grant.is_started = true;
            }
            let era = self.book.server.era.clone();
            let deadline = Deadline::granted(Pace::new(lease.length, secs(10)), self.boot);
            self.replicas[who].active = Some(Active { lease, deadline, era });
        }
    }

    pub(crate) fn renew(&mut self, who: usize, has_renewed_lately: bool) {
        let Some(active) = self.replicas[who].active.clone() else { return };
        let renew = sample::renew(&active.lease, self.book.server.now);
        match self.send(who, Request::Renew(renew), has_renewed_lately) {
            Some(Answer::Renewed { .. }) if has_renewed_lately => {
                let era = self.book.server.era.clone();
                let deadline = active.deadline.renewed(self.boot);
                self.replicas[who].active = Some(Active { deadline, era, ..active });
            }
            Some(Answer::Lost) if has_renewed_lately => self.replicas[who].active = None,
            _ => {}
        }
    }

    pub(crate) fn finish(&mut self, who: usize, is_interrupted: bool) {
        let Some(active) = self.replicas[who].active.take() else { return };
        let mut finish = sample::finish(&active.lease, &active.era);
        if is_interrupted {
            finish.verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        }
        self.replicas[who].last_finish = Some(finish.clone());
        self.send(who, Request::Finish(finish), true);
    }

    pub(crate) fn abandon(&mut self, who: usize) {
        let Some(active) = self.replicas[who].active.take() else { return };
        let abandon = sample::abandon(active.lease.run, &active.era);
        let before = self.book.record.as_ref().map(|record| record.mark);
        if self.send(who, Request::Abandon(abandon), true) != Some(Answer::Abandoned) {
            return;
        }
        // Given back: the mark is below the tick again, or the rerun may be tried again.
        let is_rerun = active.lease.cause == Cause::Rerun;
        let is_given_back = before != self.book.record.as_ref().map(|record| record.mark) || is_rerun;
        for grant in self.grants.iter_mut().filter(|grant| grant.fence == active.lease.fence) {
            grant.is_given_back = is_given_back;
        }
    }
}
