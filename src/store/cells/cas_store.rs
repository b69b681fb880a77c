//! The store of a cluster on a server that keeps cells.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::job::JobName;
use crate::lease::{Record, Reply, Request};
use crate::store::network::batcher::{BatchPolicy, Batcher};
use crate::store::{
    Answered, Beat, Concern, Feed, FeedId, FeedLine, Hint, JobEntries, LONGEST_TTL, Pulse, Replied, Slip,
    Store, StoreError, Wake, fail_from, within_limit,
};
use crate::time::Clock;

use super::heartbeats;
use super::memory::CellMemory;
use super::requests::{Asked, CellRequest, Decider, MOST};
use super::{Channel, ConfirmedBeat, Engine, NoteKind, Put, RequestLane, published};

/// How long a request may take, with all its exchanges.
const REQUEST_LIMIT: Duration = Duration::from_secs(4);

/// A cluster's store over an engine.
pub(crate) struct CasStore<E: Engine> {
    /// Shared with the batches of requests.
    pub(super) decider: Arc<Decider<E>>,
    claims: Batcher<CellRequest>,
    finishes: Batcher<CellRequest>,
}

impl<E: Engine> fmt::Debug for CasStore<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CasStore").field("engine", &self.decider.engine).finish_non_exhaustive()
    }
}

impl<E: Engine> CasStore<E> {
    /// Starts with this engine. Needs a running Tokio runtime.
    pub(crate) fn start(engine: E, clock: Box<dyn Clock>) -> Self {
        let decider = Arc::new(Decider { engine, memory: CellMemory::default(), clock });
        let batcher = |policy| {
            let decider = Arc::clone(&decider);
            Batcher::start(policy, MOST, move |requests: Vec<Asked>| {
                let decider = Arc::clone(&decider);
                Box::pin(async move { decider.decide(RequestLane::Others, REQUEST_LIMIT, requests).await })
            })
        };
        Self { claims: batcher(BatchPolicy::CLAIMS), finishes: batcher(BatchPolicy::FINISHES), decider }
    }

    fn engine(&self) -> &E {
        &self.decider.engine
    }
}

impl<E: Engine> Store for CasStore<E> {
    fn ready(&self) -> Answered<'_, ()> {
        self.engine().ready()
    }

    fn submit<'a>(&'a self, job: &'a JobName, request: &'a Request) -> Answered<'a, Reply> {
        Box::pin(async move {
            let asked = self.decider.request(job, request);
            match request {
                Request::Claim(_) => self.claims.submit(asked).await,
                Request::Finish(_) => self.finishes.submit(asked).await,
                Request::Renew(renew) => {
                    let limit = renew.answer_limit().min(REQUEST_LIMIT);
                    self.decider.reply(RequestLane::Renewals, limit, asked).await
                }
                _ => self.decider.reply(RequestLane::Others, REQUEST_LIMIT, asked).await,
            }
        })
    }

    fn submit_all<'a>(&'a self, requests: &'a [(JobName, Request)]) -> BoxFuture<'a, Vec<Replied>> {
        Box::pin(async move {
            let mut replies = Vec::with_capacity(requests.len());
            for together in requests.chunks(MOST) {
                let asked = together.iter().map(|(job, request)| self.decider.request(job, request));
                let decided = self.decider.replies(RequestLane::Others, REQUEST_LIMIT, asked.collect()).await;
                let of_all = |error: &&StoreError| !matches!(error, StoreError::Refused(_));
                let failed =
                    decided.iter().filter_map(|replied| replied.as_ref().err()).find(of_all).cloned();
                replies.extend(decided);
                if let Some(error) = failed {
                    fail_from(&mut replies, 0, requests.len(), &error);
                    break;
                }
            }
            replies
        })
    }

    fn pulse<'a>(&'a self, beat: Option<&'a Beat>) -> Answered<'a, Pulse> {
        Box::pin(async move {
            let Decider { engine, memory, clock } = &*self.decider;
            let pulse = heartbeats::pulse(engine, beat).await?;
            memory.saw(pulse.now, clock.boot());
            if let Some(beat) = beat {
                memory.confirmed(ConfirmedBeat { node: beat.node.clone(), count: pulse.count });
            }
            Ok(pulse)
        })
    }

    fn announce<'a>(&'a self, job: &'a JobName) -> Answered<'a, ()> {
        Box::pin(heartbeats::announce(self.engine(), job))
    }

    fn hints(&self) -> mpsc::Receiver<Hint> {
        self.engine().listen(Channel::Hints, published::read_hint)
    }

    fn known<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<bool>> {
        Box::pin(async move {
            let known = self.jobs().await?;
            Ok(jobs.iter().map(|job| known.binary_search(job).is_ok()).collect())
        })
    }

    fn jobs(&self) -> Answered<'_, Vec<JobName>> {
        Box::pin(async move {
            let (lists, _) = self.engine().exchange(&[], None, &[NoteKind::Jobs]).await?;
            let names = lists.into_iter().flatten().filter_map(|note| JobName::parse(&note.name).ok());
            let mut jobs: Vec<JobName> = names.collect();
            jobs.sort();
            Ok(jobs)
        })
    }

    fn enroll<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, ()> {
        Box::pin(async move {
            if jobs.is_empty() {
                return Ok(());
            }
            let names: BTreeSet<&JobName> = jobs.iter().collect();
            let put = |job: &JobName| {
                let (name, text) = (job.to_string(), String::new());
                Put { folder: NoteKind::Jobs, name, text, number: None }
            };
            let puts: Vec<Put> = names.into_iter().map(put).collect();
            self.engine().exchange(&puts, None, &[]).await.map(drop)
        })
    }

    fn records<'a>(&'a self, jobs: &'a [JobName]) -> Answered<'a, Vec<Option<Record>>> {
        Box::pin(async move {
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            let (cells, _) = self.engine().read(RequestLane::Others, jobs).await?;
            cells.into_iter().map(|cell| Ok(cell?.map(|cell| cell.record))).collect()
        })
    }

    fn history<'a>(&'a self, jobs: &'a [JobName], newest: usize) -> Answered<'a, Vec<JobEntries>> {
        Box::pin(async move {
            let histories = self.engine().entries(RequestLane::Others, jobs, newest).await?;
            let of_job = |(job, entries): (&JobName, Result<Vec<super::NumberedEntry>, StoreError>)| {
                let entries = entries?.into_iter().map(|numbered| numbered.entry).collect();
                Ok((job.clone(), entries))
            };
            jobs.iter().zip(histories).map(of_job).collect()
        })
    }

    fn append<'a>(&'a self, feed: Feed, text: &'a str) -> Answered<'a, ()> {
        Box::pin(async move {
            feed.check(text)?;
            self.engine().append(feed, text, &Wake::Feed(feed).to_string()).await
        })
    }

    fn newest(&self, feed: Feed, after: Option<FeedId>, count: usize) -> Answered<'_, Vec<FeedLine>> {
        Box::pin(within_limit(self.engine().newest(feed, after, count.min(feed.kept()))))
    }

    fn leave<'a>(&'a self, slip: &'a Slip, text: &'a str, ttl: Duration) -> Answered<'a, ()> {
        Box::pin(async move {
            slip.check(text)?;
            let wake = Wake::Slip(slip.clone()).to_string();
            let held = self.engine().leave(slip, text, ttl.min(LONGEST_TTL), &wake).await?;
            held.map_or(Ok(()), |held| Err(slip.full(held, text)))
        })
    }

    fn collect<'a>(&'a self, slip: &'a Slip) -> Answered<'a, Vec<String>> {
        self.engine().collect(slip)
    }

    fn wakes(&self) -> mpsc::Receiver<Wake> {
        self.engine().listen(Channel::Wakes, |text| text.parse().ok())
    }

    fn inspect(&self) -> Answered<'_, Vec<Concern>> {
        self.engine().inspect(true)
    }

    fn settings(&self) -> Answered<'_, Vec<Concern>> {
        self.engine().inspect(false)
    }

    fn label(&self) -> String {
        self.engine().label()
    }
}
