//! Requests on their way to their answers: read, decided here, and swapped, many of them together.

use std::collections::HashSet;

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::job::JobName;
use crate::lease::{CellExchange, Era, ExchangeStep, Remembered, Reply, Request, Server, Swap};
use crate::store::{Diagnosis, Hint, KEPT_ENTRIES, Replied, StoreError};
use crate::time::{BootInstant, Clock, UtcMillis};

use super::memory::{CellMemory, Written};
use super::{CellSwap, Engine, JobCell, RequestLane, published};

/// At most this many requests share a round trip.
pub(super) const MOST: usize = 32;

/// A request on a job, and the channel for its reply.
pub(super) type Asked = ((JobName, Request), oneshot::Sender<Replied>);

/// A request that has no reply yet.
struct OpenRequest {
    job: JobName,
    request: Request,
    exchange: CellExchange,
    step: ExchangeStep,
    /// The cell that the next swap replaces.
    present: Option<JobCell>,
    begun: BootInstant,
    /// When the last swap was sent.
    swap_sent: BootInstant,
    reply: Option<Replied>,
    reply_to: oneshot::Sender<Replied>,
}

/// Decides requests of one server, for one process.
pub(super) struct Decider<'a, E> {
    pub(super) engine: &'a E,
    pub(super) memory: &'a CellMemory,
    pub(super) clock: &'a dyn Clock,
}

impl<E: Engine> Decider<'_, E> {
    /// Decides requests in their order, and sends the reply to each as soon as it has one. Requests on one job follow each
    /// other.
    pub(super) async fn decide_all(&self, lane: RequestLane, mut requests: Vec<Asked>) {
        while !requests.is_empty() {
            let later = requests.split_off(first_of_different_jobs(&requests));
            self.decide(lane, std::mem::replace(&mut requests, later)).await;
        }
    }

    /// Decides requests on different jobs together.
    async fn decide(&self, lane: RequestLane, requests: Vec<Asked>) {
        let mut open: Vec<_> = requests.into_iter().map(|asked| self.begin(asked)).collect();
        while !open.is_empty() {
            self.read(lane, &mut open).await;
            self.swap(lane, &mut open).await;
            open = open.into_iter().filter_map(OpenRequest::unless_replied).collect();
        }
    }

    /// Begins with what this process knows of the cell, if that is enough.
    fn begin(&self, asked: Asked) -> OpenRequest {
        let ((job, request), reply_to) = asked;
        let now = self.clock.boot();
        let known = self.memory.take(&job).zip(self.memory.server_time(now));
        let mut exchange = CellExchange::default();
        let step = match &known {
            None => ExchangeStep::Read,
            Some((Written { cell, era }, store_time)) => {
                let remembered = Remembered { record: &cell.record, version: cell.version, era };
                exchange.begin(&request, Some(remembered), &estimate(*store_time, era.clone()))
            }
        };
        let present = known.map(|(written, _)| written.cell);
        let (begun, swap_sent) = (now, now);
        OpenRequest { job, request, exchange, step, present, begun, swap_sent, reply: None, reply_to }
    }

    async fn read(&self, lane: RequestLane, open: &mut [OpenRequest]) {
        let mut open: Vec<_> = open.iter_mut().filter(|request| request.waits_for_read()).collect();
        if open.is_empty() {
            return;
        }
        let jobs: Vec<JobName> = open.iter().map(|request| request.job.clone()).collect();
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
        let mut open: Vec<_> = open.iter_mut().filter(|request| request.swap().is_some()).collect();
        if open.is_empty() {
            return;
        }
        let histories = match self.histories(&open).await {
            Ok(histories) => histories,
            Err(error) => return fail(&mut open, &error),
        };
        let mut swaps = Vec::with_capacity(open.len());
        let mut sent = Vec::with_capacity(open.len());
        for (request, history) in open.into_iter().zip(histories) {
            match history.transpose() {
                Ok(history) => {
                    swaps.push(request.cell_swap(history));
                    sent.push(request);
                }
                Err(error) => request.reply = Some(Err(error)),
            }
        }
        let now = self.clock.boot();
        sent.iter_mut().for_each(|request| request.swap_sent = now);
        let beat = self.memory.beat();
        let written = match self.engine.swap(lane, &swaps, beat.as_ref()).await {
            Ok(written) => written,
            Err(error) => return fail(&mut sent, &error),
        };
        for ((request, swap), written) in sent.into_iter().zip(swaps).zip(written) {
            if let Some(at) = written {
                self.memory.saw(at, self.clock.boot());
                self.memory.wrote(swap.job, swap.cell, swap.conditions.era);
            }
            request.step = request.exchange.swapped(written);
        }
    }

    /// Returns the whole history of each job for whose decision it is needed. It belongs to the cell that was read if the
    /// swap finds that cell.
    async fn histories(
        &self,
        open: &[&mut OpenRequest],
    ) -> Result<Vec<Option<Result<Vec<super::NumberedEntry>, StoreError>>>, StoreError> {
        let needs = |request: &OpenRequest| {
            request
                .swap()
                .is_some_and(|swap| JobCell::needs_history(request.present.as_ref(), &swap.decision))
        };
        let jobs: Vec<JobName> =
            open.iter().filter(|request| needs(request)).map(|request| request.job.clone()).collect();
        let read =
            if jobs.is_empty() { Vec::new() } else { self.engine.entries(&jobs, KEPT_ENTRIES).await? };
        let mut read = read.into_iter();
        Ok(open.iter().map(|request| if needs(request) { read.next() } else { None }).collect())
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

    fn read(&mut self, cell: Option<JobCell>, server: &Server) {
        let (record, version) =
            (cell.as_ref().map(|cell| &cell.record), cell.as_ref().map(|cell| cell.version));
        self.step = self.exchange.read(&self.request, record, version, server);
        self.present = cell;
    }

    fn cell_swap(&self, history: Option<Vec<super::NumberedEntry>>) -> CellSwap {
        let Swap { conditions, decision } = self.swap().expect("only such requests are swapped");
        let nonce = Uuid::new_v4().as_u64_pair().0;
        let (cell, entries, removed) = JobCell::after(self.present.as_ref(), decision, history, nonce);
        let mark = self.present.as_ref().map(|cell| cell.record.mark);
        let hint = Hint::of(&self.job, &conditions.era, &self.request, mark, &decision.reply);
        let hint = hint.as_ref().and_then(published::write_hint);
        CellSwap { job: self.job.clone(), conditions: conditions.clone(), cell, entries, removed, hint }
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
                    self.job
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

/// Returns the state by which a request is decided from what is remembered.
fn estimate(now: UtcMillis, era: Era) -> Server {
    super::ServerMoment { now, era }.server()
}

/// Returns how many of the first requests are on different jobs and may share a round trip.
fn first_of_different_jobs(requests: &[Asked]) -> usize {
    let mut jobs = HashSet::new();
    requests.iter().take(MOST).take_while(|((job, _), _)| jobs.insert(job)).count()
}
