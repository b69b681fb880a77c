//! The store of the week: `lease::decide` over records of which nothing is forgotten. It can be away, and begin another
//! era.

use std::collections::{BTreeMap, BTreeSet};

use crate::job::{JobName, RunId};
use crate::lease::{Answer, Era, HistoryEntry, LeaseInstant, Memory, Record, Reply, Request, Server, decide};
use crate::replica::simulation::world::rng::Dice;
use crate::store::StoreError;
use crate::time::UtcMillis;

/// So many of ten thousand requests are applied, and their answers lost.
const LOST_ANSWERS: u64 = 20;

/// One store.
#[derive(Default)]
pub(super) struct Store {
    pub(super) is_down: bool,
    pub(super) life: u32,
    pub(super) records: BTreeMap<JobName, Record>,
    /// Every entry ever written.
    pub(super) told: BTreeMap<JobName, Vec<HistoryEntry>>,
    pub(super) known: BTreeSet<JobName>,
    /// Runs whose grant did not reach the replica.
    pub(super) unheard: BTreeSet<RunId>,
    /// When answers about a job were lost: to the replica that had sent the request, the store was away.
    pub(super) lost: BTreeMap<JobName, Vec<UtcMillis>>,
}

impl Store {
    pub(super) fn era(&self) -> Era {
        Era(format!("life {}", self.life))
    }

    /// Answers at once, or not at all.
    pub(super) fn submit(
        &mut self,
        job: &JobName,
        request: &Request,
        now: UtcMillis,
        dice: &mut Dice,
    ) -> Result<Reply, StoreError> {
        if self.is_down {
            let why = "no answer".to_owned();
            return Err(if dice.percent(50) {
                StoreError::NotSent(why.into())
            } else {
                StoreError::Unknown(why.into())
            });
        }
        let server =
            Server { now, lease_now: LeaseInstant(now.0), era: self.era(), memory: Memory::Forgetful };
        let decision = decide(self.records.get(job), request, &server);
        decision.append_to(self.told.entry(job.clone()).or_default());
        if let Some(record) = decision.record {
            self.records.insert(job.clone(), record);
        }
        if dice.between(0, 9_999) < LOST_ANSWERS {
            if let (Request::Claim(claim), Answer::Won { .. }) = (request, &decision.reply.answer) {
                self.unheard.insert(claim.run);
            }
            self.lost.entry(job.clone()).or_default().push(now);
            return Err(StoreError::Unknown("answer lost".into()));
        }
        Ok(decision.reply)
    }
}
