//! Requests that share a call are decided as if each had come alone: those by the short cuts, those by the rules, those that
//! fail, and several of one job.

use proptest::test_runner::{RngAlgorithm, TestRng};
use solocron::lease::{Record, Request};
use solocron::store::{Replied, StoreError};
use solocron::time::UtcMillis;

use crate::first_seed;
use crate::history::History;
use crate::pair::{Pair, Stored};
use crate::support::redis_server::RedisServer;

/// Jobs that share calls.
const JOBS: [&str; 3] = ["a", "b", "c"];

const HISTORIES: usize = 25;
const BATCHES_PER_HISTORY: usize = 160;

/// Calls of each sort that must be met.
const MET: usize = 50;

/// Calls of each sort that were met.
#[derive(Debug, Default)]
struct Met {
    /// Some requests were decided by the short cuts and some by the rules.
    mixed: usize,
    /// One failed, and others did not.
    failing: usize,
    /// Two were for one job.
    repeated: usize,
}

/// The jobs side by side, and what is stored of each.
struct Jobs {
    pairs: Vec<Pair>,
    records: Vec<Option<Record>>,
}

impl Jobs {
    async fn meet(server: &RedisServer) -> Self {
        let mut pairs = Vec::new();
        for name in JOBS {
            pairs.push(Pair::of_job(server, name).await);
        }
        Self { records: vec![None; pairs.len()], pairs }
    }

    /// Nothing is stored of any of them.
    fn begin(&mut self) {
        self.records.fill(None);
        self.pairs.iter_mut().for_each(Pair::begin);
    }

    fn tamper(&mut self, history: &mut History, now: UtcMillis) {
        for (pair, record) in self.pairs.iter_mut().zip(&mut self.records) {
            if history.tamper(record, now) {
                pair.store_record(record.as_ref());
            }
        }
    }

    async fn by_scripts(&mut self, batch: &[(usize, Request)]) -> Vec<Replied> {
        let named = |(job, request): &(usize, Request)| (self.pairs[*job].job().clone(), request.clone());
        let requests: Vec<_> = batch.iter().map(named).collect();
        self.pairs[0].submit_all(&requests).await
    }

    /// The first difference between what the scripts answered and stored, and what the function decides; `unreadable` is the
    /// job that fails.
    fn differs(
        &mut self,
        batch: &[(usize, Request)],
        replies: &[Replied],
        unreadable: Option<usize>,
    ) -> Option<String> {
        for (at, pair) in self.pairs.iter_mut().enumerate() {
            let mut expected = Stored { record: self.records[at].clone(), history: pair.newest().collect() };
            for ((_, request), reply) in batch.iter().zip(replies).filter(|((job, _), _)| *job == at) {
                match reply {
                    Err(StoreError::Refused(_)) if unreadable == Some(at) => {}
                    Ok(reply) if unreadable != Some(at) => {
                        let decision = pair.by_function(expected.record.as_ref(), request, reply.now);
                        if decision.reply != *reply {
                            return Some(format!("{request:#?}\n{reply:#?} and not {:#?}", decision.reply));
                        }
                        decision.append_to(&mut expected.history);
                        expected.record = decision.record;
                    }
                    other => return Some(format!("{request:#?}\n{other:?}")),
                }
            }
            if unreadable == Some(at) {
                pair.store_record(expected.record.as_ref());
            }
            let found = pair.stored();
            if found != expected {
                return Some(format!("{}: {found:#?} and not {expected:#?}", pair.job()));
            }
            pair.go_on_from(&found.history);
            self.records[at] = found.record;
        }
        None
    }
}

/// Goes through one history; the error is its first difference.
async fn compare(jobs: &mut Jobs, seed: u128, met: &mut Met) -> Result<(), String> {
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &seed.to_le_bytes());
    let mut history = History::new(rng, jobs.pairs[0].era.clone());
    jobs.begin();
    let mut now = jobs.pairs[0].now().await;
    for step in 0..BATCHES_PER_HISTORY {
        jobs.tamper(&mut history, now);
        let batch = history.batch(&jobs.records, now);
        let unreadable = history.unreadable(JOBS.len());
        if let Some(job) = unreadable {
            jobs.pairs[job].store_unreadable();
        }
        let before = jobs.pairs[0].read_whole();
        let replies = jobs.by_scripts(&batch).await;
        let by_rules = jobs.pairs[0].read_whole() - before;
        if let Some(difference) = jobs.differs(&batch, &replies, unreadable) {
            return Err(format!("SOLOCRON_TEST_SEED={seed}, step {step}: {batch:#?}\n{difference}"));
        }
        let good: Vec<_> = replies.iter().flatten().collect();
        now = good.last().map_or(now, |reply| reply.now);
        let is_of = |job: usize| batch.iter().filter(move |(of, _)| *of == job).count();
        let failed = batch.len() - good.len();
        met.mixed += usize::from(by_rules > 0 && by_rules < good.len() as u64);
        met.failing += usize::from(failed > 0 && !good.is_empty());
        met.repeated += usize::from((0..JOBS.len()).any(|job| is_of(job) > 1));
    }
    Ok(())
}

#[tokio::test]
async fn requests_that_share_a_call_are_decided_as_if_each_had_come_alone() {
    let server = RedisServer::start();
    let mut jobs = Jobs::meet(&server).await;
    let mut met = Met::default();
    let first = first_seed();
    for history in 0..HISTORIES {
        if let Err(difference) = compare(&mut jobs, first + history as u128, &mut met).await {
            panic!("{difference}");
        }
    }
    let least = met.mixed.min(met.failing).min(met.repeated);
    assert!(least >= MET, "from SOLOCRON_TEST_SEED={first} too few calls of a sort: {met:?}");
}
