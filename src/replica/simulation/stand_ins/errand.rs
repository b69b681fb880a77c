//! Requests of a simulated replica that are under way, and what it has put off: the counterpart of `errand.rs`.

use std::time::Duration;

use crate::job::{Cause, Overlap, RunId, Tick};
use crate::lease::{Claim, Era, Finish, Manual, Open, Request};
use crate::replica::simulation::world::message::{Ask, Wish};
use crate::replica::tick::action::{Bid, Doubt};
use crate::time::BootInstant;

use super::node::Node;

/// As in `give_back.rs`: tries to give a lock back, and the pause between two.
const ABANDON_TRIES: u32 = 5;
const ABANDON_PAUSE: Duration = Duration::from_millis(200);

/// A request under way.
#[derive(Debug)]
pub(crate) enum Errand {
    Pulse {
        sent: BootInstant,
    },
    Claim {
        job: usize,
        sent: BootInstant,
    },
    Wish {
        job: usize,
        sent: BootInstant,
        run: RunId,
        tick: Tick,
        era: Era,
        is_manual: bool,
    },
    Abandon {
        job: usize,
        doubt: Doubt,
        tries: u32,
        then: Option<Box<Claim>>,
    },
    Mark {
        job: usize,
    },
    Known(Vec<(usize, Open)>, Vec<(usize, Finish)>),
    Open {
        job: usize,
    },
    Renew {
        run: RunId,
        sent: BootInstant,
        era: Era,
    },
    Finish {
        run: RunId,
    },
    /// Nothing was started under a lock.
    GiveBack {
        run: RunId,
    },
    /// Reports the end of a run to the store, which may not know it.
    Tell {
        job: usize,
    },
    /// Reads the record that this run should be in.
    Look {
        run: RunId,
    },
    /// A request whose answer changes nothing.
    Told,
}

/// Something put off.
#[derive(Debug)]
pub(crate) enum Chore {
    /// Give a lock back, and then claim.
    Abandon { job: usize, doubt: Doubt, tries: u32, then: Option<Box<Claim>> },
    /// A guest claims its lock.
    Ask,
    /// The instant of a run has come that waited for it.
    Begin(RunId),
    /// Try once more to record the end of a run.
    Finish(RunId),
    /// Try once more to report that nothing was started.
    GiveBack(RunId),
    /// The replica's own run had enough time to renew.
    Proven(usize),
}

impl Node {
    pub(crate) fn do_chore(&mut self, chore: Chore) {
        match chore {
            Chore::Abandon { job, doubt, tries, then } => {
                let request = Request::Abandon(doubt.abandon());
                self.send(Ask::Submit(job, request), Errand::Abandon { job, doubt, tries, then });
            }
            Chore::Ask => self.ask_as_guest(),
            Chore::Begin(run) => self.begin_waiting(run),
            Chore::Finish(run) => self.send_finish(run),
            Chore::GiveBack(run) => self.send_abandon(run),
            Chore::Proven(job) => self.proven(job),
        }
    }

    /// `give_back::give_back`: after the last try, the lock is left to its time limit.
    pub(crate) fn gave_back(
        &mut self,
        job: usize,
        doubt: Doubt,
        tries: u32,
        then: Option<Box<Claim>>,
        is_done: bool,
    ) {
        if !is_done && tries + 1 < ABANDON_TRIES {
            let again = Chore::Abandon { job, doubt, tries: tries + 1, then };
            return self.chores.push((self.reads.boot.plus(ABANDON_PAUSE), again));
        }
        if let Some(claim) = then {
            self.send_claim(job, *claim);
        }
    }

    /// Sends the request for a wish, if the record is open: `Driver::ask_for_order`, `ExecSession::ask`, or a claim
    /// that no shipped code makes.
    pub(crate) fn wish(&mut self, job: usize, wish: Wish) {
        let Some(store_clock) = self.store_clock.as_ref().filter(|_| !self.contests[job].is_unopened())
        else {
            return;
        };
        let (sent, spec) = (self.reads.boot, &self.jobs[job]);
        let caller = store_clock.caller(&self.name, sent, self.known(job));
        let era = caller.era.clone();
        let asked = caller.expect;
        let (run, tick, request) = match wish {
            Wish::Again(tick) => {
                let bid = Bid::new(tick);
                let proposal = self.contests[job].proposal();
                let claim = proposal.claim(&bid, caller, self.now(), self.reads.wall);
                (bid.run, tick, Request::Claim(claim))
            }
            Wish::Exec | Wish::Order(_) => {
                let order = if let Wish::Order(order) = wish { Some(order) } else { None };
                let (run, tick) = (RunId::new(), Tick(asked));
                let overlap = if self.visit.is_some() { Overlap::Wait } else { spec.overlap };
                let lease = spec.lease;
                let rerun_deadline = self.contests[job].rerun_deadline(spec, tick);
                let manual = Manual { caller, run, tick, asked, order, lease, overlap, rerun_deadline };
                (run, tick, Request::Manual(manual))
            }
        };
        let is_manual = matches!(request, Request::Manual(_));
        self.send(Ask::Submit(job, request), Errand::Wish { job, sent, run, tick, era, is_manual });
    }
}

/// Returns the cause of a run that was wished for.
pub(crate) fn cause_of(is_manual: bool, tries: u32) -> Cause {
    match (is_manual, tries > 1) {
        (true, _) => Cause::Manual,
        (false, true) => Cause::Rerun,
        (false, false) => Cause::Schedule,
    }
}
