//! Requests on their way to their answers: read, decided here, and swapped, many of them together.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use uuid::Uuid;

use crate::job::{JobName, format_duration};
use crate::lease::{CellExchange, ExchangeStep, Remembered, Reply, Request, Server, Swap};
use crate::store::{Diagnosis, Hint, KEPT_ENTRIES, Replied, StoreError};
use crate::time::{BootInstant, Clock};

use super::memory::{CellMemory, Written};
use super::{CellSwap, ConfirmedBeat, Engine, JobCell, NumberedEntry, RequestLane, ServerMoment, published};

/// At most this many requests share a round trip.
pub(super) const MOST: usize = 32;

/// A request on a job.
#[derive(Debug, Clone)]
pub(super) struct CellRequest {
    job: JobName,
    request: Request,
    /// The newest heartbeat that the server had confirmed when the request was made. One that was made before the server went
    /// back to older data is not written after it, even if a later heartbeat, with a smaller number, was confirmed meanwhile.
    beat: Option<ConfirmedBeat>,
}

/// A request, and the channel for its reply.
pub(super) type Asked = (CellRequest, oneshot::Sender<Replied>);

/// A request that has no reply yet.
struct OpenRequest {
    asked: CellRequest,
    exchange: CellExchange,
    step: ExchangeStep,
    /// The cell that the next swap replaces, and the job's history if that is needed.
    present: Option<JobCell>,
    history: Option<Vec<NumberedEntry>>,
    begun: BootInstant,
    /// When the last swap was sent.
    swap_sent: BootInstant,
    reply: Option<Replied>,
    reply_to: oneshot::Sender<Replied>,
}

/// Decides requests of one server, for one process.
pub(super) struct Decider<E> {
    pub(super) engine: E,
    pub(super) memory: CellMemory,
    pub(super) clock: Box<dyn Clock>,
}

impl<E: Engine> Decider<E> {
    /// Returns a request that is made now.
    pub(super) fn request(&self, job: &JobName, request: &Request) -> CellRequest {
        CellRequest { job: job.clone(), request: request.clone(), beat: self.memory.beat() }
    }

    /// Decides requests in their order, and sends the reply to each as soon as it has one. Requests on one job follow each
    /// other. Those that have no reply within the limit are dropped.
    pub(super) async fn decide(&self, lane: RequestLane, limit: Duration, mut requests: Vec<Asked>) {
        let deciding = async {
            while !requests.is_empty() {
                let later = requests.split_off(first_of_different_jobs(&requests));
                self.decide_together(lane, std::mem::replace(&mut requests, later)).await;
            }
        };
        let _ = timeout(limit, deciding).await;
    }

    /// Decides requests, and returns their replies.
    pub(super) async fn replies(
        &self,
        lane: RequestLane,
        limit: Duration,
        requests: Vec<CellRequest>,
    ) -> Vec<Replied> {
        let (asked, replies): (Vec<Asked>, Vec<_>) = requests
            .into_iter()
            .map(|request| {
                let (reply_to, reply) = oneshot::channel();
                ((request, reply_to), reply)
            })
            .unzip();
        self.decide(lane, limit, asked).await;
        let late = || StoreError::Unknown(format!("no answer within {}", format_duration(limit)).into());
        replies.into_iter().map(|mut reply| reply.try_recv().unwrap_or_else(|_| Err(late()))).collect()
    }

    /// Decides one request.
    pub(super) async fn reply(&self, lane: RequestLane, limit: Duration, request: CellRequest) -> Replied {
        self.replies(lane, limit, vec![request]).await.pop().expect("there are as many replies as requests")
    }

    /// Decides requests on different jobs together.
    async fn decide_together(&self, lane: RequestLane, requests: Vec<Asked>) {
        let mut open: Vec<_> = requests.into_iter().map(|asked| self.begin(asked)).collect();
        while !open.is_empty() {
            self.read(lane, &mut open).await;
            self.swap(lane, &mut open).await;
            open = open.into_iter().filter_map(OpenRequest::unless_replied).collect();
        }
    }

    /// Begins with what this process knows of the cell, if that is enough.
    fn begin(&self, asked: Asked) -> OpenRequest {
        let (asked, reply_to) = asked;
        let now = self.clock.boot();
        let known = self.memory.take(&asked.job).zip(self.memory.server_time(now));
        let mut exchange = CellExchange::default();
        let step = match &known {
            None => ExchangeStep::Read,
            Some((Written { cell, era }, store_time)) => {
                let remembered = Remembered { record: &cell.record, version: cell.version, era };
                let estimate = ServerMoment { now: *store_time, era: era.clone() }.server();
                exchange.begin(&asked.request, Some(remembered), &estimate)
            }
        };
        let present = known.map(|(written, _)| written.cell);
        let (begun, swap_sent) = (now, now);
        let (history, reply) = (None, None);
        OpenRequest { asked, exchange, step, present, history, begun, swap_sent, reply, reply_to }
    }

    async fn read(&self, lane: RequestLane, open: &mut [OpenRequest]) {
        let mut open: Vec<_> = open.iter_mut().filter(|request| request.waits_for_read()).collect();
        if open.is_empty() {
            return;
        }
        let jobs: Vec<JobName> = open.iter().map(|request| request.asked.job.clone()).collect();
        let (cells, moment) = match self.engine.read(lane, &jobs).await {
            Ok(read) => read,
            Err(error) => return fail(&mut open, &error),
        };
        self.memory.saw(moment.now, self.clock.boot());
        let server = moment.server();
        for (request, cell) in open.into_iter().zip(cells) {
            match cell {
                Ok(cell) => request.read(cell, &server),
                Err(error) => request.reply = Some(Err(error)),
            }
        }
    }

    async fn swap(&self, lane: RequestLane, open: &mut [OpenRequest]) {
        self.read_histories(lane, open).await;
        let mut open: Vec<_> = open.iter_mut().filter(|request| request.swap().is_some()).collect();
        if open.is_empty() {
            return;
        }
        let swaps: Vec<CellSwap> = open.iter_mut().map(|request| request.cell_swap()).collect();
        let sent = self.clock.boot();
        open.iter_mut().for_each(|request| request.swap_sent = sent);
        // Where one of them was made before the server went back, none is written.
        let beats = open.iter().filter_map(|request| request.asked.beat.as_ref());
        let beat = beats.max_by_key(|beat| beat.count).cloned();
        let written = match self.engine.swap(lane, &swaps, beat.as_ref()).await {
            Ok(written) => written,
            Err(error) => return fail(&mut open, &error),
        };
        let now = self.clock.boot();
        for ((request, swap), written) in open.into_iter().zip(swaps).zip(written) {
            if let Some(at) = written {
                self.memory.saw(at, now);
                self.memory.wrote(swap.job, swap.cell, swap.conditions.era);
            }
            request.step = request.exchange.swapped(written);
        }
    }

    /// Reads the whole history of each job for whose decision it is needed. It belongs to the cell that was read if the swap
    /// finds that cell.
    async fn read_histories(&self, lane: RequestLane, open: &mut [OpenRequest]) {
        let mut open: Vec<_> = open.iter_mut().filter(|request| request.needs_history()).collect();
        if open.is_empty() {
            return;
        }
        let jobs: Vec<JobName> = open.iter().map(|request| request.asked.job.clone()).collect();
        let histories = match self.engine.entries(lane, &jobs, KEPT_ENTRIES).await {
            Ok(histories) => histories,
            Err(error) => return fail(&mut open, &error),
        };
        for (request, history) in open.into_iter().zip(histories) {
            match history {
                Ok(history) => request.history = Some(history),
                Err(error) => request.reply = Some(Err(error)),
            }
        }
    }
}

impl OpenRequest {
    fn waits_for_read(&self) -> bool {
        self.reply.is_none() && self.step == ExchangeStep::Read
    }

    /// Returns what it waits to swap.
    fn swap(&self) -> Option<&Swap> {
        match &self.step {
            ExchangeStep::Swap(swap) if self.reply.is_none() => Some(swap),
            _ => None,
        }
    }

    fn needs_history(&self) -> bool {
        self.swap().is_some_and(|swap| JobCell::needs_history(self.present.as_ref(), &swap.decision))
    }

    fn read(&mut self, cell: Option<JobCell>, server: &Server) {
        let (record, version) =
            (cell.as_ref().map(|cell| &cell.record), cell.as_ref().map(|cell| cell.version));
        self.step = self.exchange.read(&self.asked.request, record, version, server);
        self.present = cell;
    }

    fn cell_swap(&mut self) -> CellSwap {
        let history = self.history.take();
        let Swap { conditions, decision } = self.swap().expect("only such requests are swapped");
        let nonce = Uuid::new_v4().as_u64_pair().0;
        let (cell, entries, removed) = JobCell::after(self.present.as_ref(), decision, history, nonce);
        let mark = self.present.as_ref().map(|cell| cell.record.mark);
        let CellRequest { job, request, .. } = &self.asked;
        let hint = Hint::of(job, &conditions.era, request, mark, &decision.reply);
        let hint = hint.as_ref().and_then(published::write_hint);
        CellSwap { job: job.clone(), conditions: conditions.clone(), cell, entries, removed, hint }
    }

    /// Sends the reply if there is one; otherwise returns the request, unless its caller has gone.
    fn unless_replied(mut self) -> Option<Self> {
        let reply = match (self.reply.take(), &self.step) {
            (Some(reply), _) => reply,
            (None, ExchangeStep::Read | ExchangeStep::Swap(_)) => {
                return Some(self).filter(|open| !open.reply_to.is_closed());
            }
            (None, ExchangeStep::Done { reply, age }) => {
                let leased_from = BootInstant(self.swap_sent.0.saturating_sub(*age));
                Ok(Reply { lag: self.begun.since(leased_from), ..(**reply).clone() })
            }
            (None, ExchangeStep::GiveUp) => {
                let why = format!(
                    "job `{}`: its record could not be written in several attempts: other replicas changed it each time, or \
                     the way to the store takes more than a second, or the store went back to older data",
                    self.asked.job
                );
                let help = "the request is repeated; if this stays, see round trip and clock in `solocron check --probe`";
                Err(StoreError::Refused(Diagnosis::from(why).help(help)))
            }
        };
        // A caller that has gone knows that its request may have been applied.
        let _ = self.reply_to.send(reply);
        None
    }
}

fn fail(open: &mut [&mut OpenRequest], error: &StoreError) {
    open.iter_mut().for_each(|request| request.reply = Some(Err(error.clone())));
}

/// Returns how many of the first requests are on different jobs and may share a round trip.
fn first_of_different_jobs(requests: &[Asked]) -> usize {
    let mut jobs = HashSet::new();
    requests.iter().take(MOST).take_while(|(request, _)| jobs.insert(&request.job)).count()
}
