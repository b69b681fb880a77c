//! Requests that are under way, and what was put off: in place of `runtime/errand.rs`.

use crate::events::run_ref::Run;
use crate::hold::give_back::{ABANDON_PAUSE, ABANDON_TRIES};
use crate::hold::holder::HolderInput;
use crate::job::{JobName, RunId};
use crate::lease::{Abandon, Claim, Era, Record, Reply, Request};
use crate::replica::core::CoreInput;
use crate::replica::recovery::orphans::{Orphan, Seen};
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Answered, Ask, Told};
use crate::replica::tick::action::Bid;
use crate::store::{Replied, StoreError};
use crate::time::BootInstant;

use super::guest::Step;
use super::node::Node;
use super::replica::Settling;

/// A request under way.
#[derive(Debug)]
pub(crate) enum Errand {
    Pulse {
        sent: BootInstant,
    },
    Claim {
        job: JobName,
        run: RunId,
        sent: BootInstant,
    },
    ClaimAgain {
        job: JobName,
        bid: Bid,
        sent: BootInstant,
    },
    Abandon {
        job: usize,
        doubt: Abandon,
        tries: u32,
        then: Option<Box<Claim>>,
    },
    Manual {
        job: JobName,
        run: RunId,
        sent: BootInstant,
    },
    Marks(Vec<JobName>),
    Known(u64),
    Reopen {
        opening: u64,
        at: usize,
    },
    Enroll(u64),
    Record(JobName),
    Locks(Vec<(JobName, RunId)>),
    Find(Vec<JobName>),
    Settle {
        run: Run,
        settling: Settling,
    },
    Renew {
        run: RunId,
        sent: BootInstant,
        era: Era,
    },
    RecordEnd {
        run: RunId,
        is_last: bool,
    },
    Orphan {
        orphan: Box<Orphan>,
        seen: Seen,
        is_first: bool,
    },
    Guest(Step),
    /// A request whose answer changes nothing.
    WithoutResult,
}

/// Something put off.
#[derive(Debug)]
pub(crate) enum Chore {
    /// Give a lock back, and then claim.
    Abandon {
        job: usize,
        doubt: Abandon,
        tries: u32,
        then: Option<Box<Claim>>,
    },
    ReadRecord(JobName),
    /// A replica's own run had enough time to renew.
    EndProof(RunId, JobName),
    /// The pause before the next attempt of a run is over.
    NextAttempt(RunId),
    /// Check again what is left of a run of an earlier process.
    CheckOrphan(Box<Orphan>),
    /// An `exec` reads the store's clock and era.
    GuestLearns,
    /// An `exec` requests its lock.
    GuestAsks,
}

/// The reply in an answer.
pub(super) fn reply(answered: Answered) -> Result<Reply, StoreError> {
    answered.map(|told| match told {
        Told::Reply(reply) => *reply,
        other => unreachable!("a reply to a request, and no {other:?}"),
    })
}

/// The records in an answer.
pub(super) fn records(answered: Answered) -> Result<Vec<Option<Record>>, StoreError> {
    answered.map(|told| match told {
        Told::Records(records) => records,
        other => unreachable!("records, and no {other:?}"),
    })
}

/// The one record in an answer, if it exists.
pub(super) fn record(answered: Answered) -> Result<Option<Record>, StoreError> {
    records(answered).map(|mut records| records.pop().flatten())
}

impl Node {
    pub(super) fn do_chore(&mut self, chore: Chore) {
        match chore {
            Chore::Abandon { job, doubt, tries, then } => {
                let request = Box::new(Request::Abandon(doubt.clone()));
                self.send(Ask::Submit(job, request), Errand::Abandon { job, doubt, tries, then });
            }
            Chore::ReadRecord(job) => {
                let number = self.number(&job);
                self.send(Ask::Records(vec![number]), Errand::Record(job));
            }
            Chore::EndProof(run, job) => self.give_up_proof(run, &job),
            Chore::NextAttempt(run) => self.begin_next_attempt(run),
            Chore::CheckOrphan(orphan) => self.check_orphan(orphan, false),
            Chore::GuestLearns => self.learn_as_guest(),
            Chore::GuestAsks => self.ask_as_guest(),
        }
    }

    /// The store answered, or did not.
    pub(crate) fn answered(&mut self, id: u64, answered: Answered, reads: Reads) {
        self.reads = reads;
        // Nothing waits for an answer that comes after its request was given up.
        let Some(errand) = self.errands.remove(&id) else { return };
        match errand {
            Errand::Pulse { sent } => self.exchanged(sent, answered),
            Errand::Claim { job, run, sent } => {
                self.claim_answered(job, run, sent, reply(answered));
                self.line_is_free();
            }
            Errand::ClaimAgain { job, bid, sent } => {
                self.claimed_again(&job, &bid, sent, reply(answered));
            }
            Errand::Abandon { job, doubt, tries, then } => {
                self.gave_back(job, doubt, tries, then, reply(answered));
            }
            Errand::Manual { job, run, sent } => {
                let reply = reply(answered);
                self.note_grant(run, sent, &reply);
                self.tell_core(CoreInput::ManualRunAnswered { job, run, sent, reply });
            }
            Errand::Marks(jobs) => {
                let marks = if let Ok(Told::Marks(marks)) = answered { marks } else { Vec::new() };
                self.tell_core(CoreInput::MarksRead { jobs, marks });
            }
            Errand::Known(opening) => self.knows(opening, answered),
            Errand::Reopen { opening, at } => self.reopened(opening, at, reply(answered)),
            Errand::Enroll(opening) => self.enrolled(opening),
            Errand::Record(job) => {
                let record = record(answered).map(|record| record.map(Box::new));
                self.tell_core(CoreInput::RecordRead { job, record });
            }
            Errand::Locks(locks) => self.looked_at_locks(&locks, answered),
            Errand::Find(jobs) => self.found_runs(jobs, answered),
            Errand::Settle { run, settling } => self.settle_on(run, settling, answered),
            Errand::Renew { run, sent, era } => {
                let answer = reply(answered).map(|reply| reply.answer);
                self.tell_lock(run, HolderInput::RenewalAnswered { sent, era, answer });
            }
            Errand::RecordEnd { run, is_last } => {
                let answer = reply(answered).map(|reply| reply.answer);
                self.tell_lock(run, HolderInput::RecordAnswered { answer, is_last });
            }
            Errand::Orphan { orphan, seen, is_first } => {
                self.end_orphan(*orphan, seen, is_first, answered);
            }
            Errand::Guest(step) => self.guest_answered(step, answered),
            Errand::WithoutResult => {}
        }
        self.take_in_all();
    }

    pub(super) fn abandon(&mut self, job: usize, doubt: Abandon, then: Option<Box<Claim>>) {
        self.do_chore(Chore::Abandon { job, doubt, tries: 0, then });
    }

    /// `give_back::give_back`: after the last try, the lock is left to its time limit.
    fn gave_back(
        &mut self,
        job: usize,
        doubt: Abandon,
        tries: u32,
        then: Option<Box<Claim>>,
        replied: Replied,
    ) {
        if replied.is_err() && tries + 1 < ABANDON_TRIES {
            return self.put_off(ABANDON_PAUSE, Chore::Abandon { job, doubt, tries: tries + 1, then });
        }
        if replied.is_ok_and(|reply| reply.rerun.is_some_and(|rerun| !rerun.goes_on)) {
            self.send_only(Ask::Announce(job));
        }
        match then {
            Some(claim) => self.send_claim(self.jobs[job].name.clone(), *claim),
            None => self.guest_gave_back(),
        }
    }
}
