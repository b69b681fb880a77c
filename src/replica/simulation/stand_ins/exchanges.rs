//! Requests to a store that decides nothing: the process that sends them reads the record, decides, and swaps; in place of
//! `store/cells/requests.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::lease::{
    CellExchange, Era, ExchangeStep, LeaseInstant, Record, Remembered, Reply, Request, Server, Version,
};
use crate::replica::simulation::checks::safety::Violation;
use crate::replica::simulation::world::World;
use crate::store::StoreError;
use crate::time::BootInstant;

use crate::replica::simulation::world::message::{Answered, Ask, Decided, Letter, Told};

/// What a process knows of records and of its requests to swap them.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    /// The requests that have no answer yet, by the number of their letter.
    open: BTreeMap<u64, OpenExchange>,
    /// What its last swap of each job wrote.
    remembered: BTreeMap<usize, Known>,
}

#[derive(Debug)]
struct Known {
    record: Record,
    version: Version,
    era: Era,
}

/// A request that has no answer yet.
#[derive(Debug)]
struct OpenExchange {
    job: usize,
    request: Box<Request>,
    exchange: CellExchange,
    patience: Duration,
    /// When the request began, and when its last swap was sent.
    begun: BootInstant,
    swap_sent: BootInstant,
    /// What that swap writes, and in which era.
    writes: Option<(Record, Era)>,
}

impl Exchanges {
    /// A request was answered, or given up.
    pub(crate) fn end(&mut self, id: u64) {
        self.open.remove(&id);
    }
}

impl World {
    /// A process sends a request.
    pub(crate) fn begin_exchange(
        &mut self,
        seat: usize,
        id: u64,
        job: usize,
        request: Box<Request>,
        patience: Duration,
    ) -> Result<(), Violation> {
        let boot = self.reads(seat).boot;
        let place = &self.seats[seat];
        let known = place.exchanges.remembered.get(&job);
        let store_time = place.node.as_ref().map(|node| node.store_time()).unwrap_or_default();
        let estimate = Server {
            now: store_time,
            lease_now: LeaseInstant(store_time.0),
            era: known.map(|known| known.era.clone()).unwrap_or_default(),
            memory: self.server.memory,
        };
        let remembered =
            known.map(|known| Remembered { record: &known.record, version: known.version, era: &known.era });
        let mut exchange = CellExchange::default();
        let step = exchange.begin(&request, remembered, &estimate);
        let open =
            OpenExchange { job, request, exchange, patience, begun: boot, swap_sent: boot, writes: None };
        if matches!(step, ExchangeStep::Swap(_)) {
            self.tally.count("decided from what is remembered");
        }
        self.take_step(seat, id, open, step)
    }

    /// A process receives what it has read, or what became of its swap.
    pub(crate) fn continue_exchange(&mut self, seat: usize, id: u64, told: Told) -> Result<(), Violation> {
        let exchanges = &mut self.seats[seat].exchanges;
        // Nothing waits for what comes after its request was given up.
        let Some(mut open) = exchanges.open.remove(&id) else { return Ok(()) };
        let step = match told {
            Told::Cell(cell) => {
                open.exchange.read(&open.request, cell.record.as_ref(), cell.version, &cell.server)
            }
            Told::Swapped(written) => {
                if let (Some((_, version)), Some((record, era))) = (written, open.writes.take()) {
                    exchanges.remembered.insert(open.job, Known { record, version, era });
                } else {
                    exchanges.remembered.remove(&open.job);
                }
                open.exchange.swapped(written.map(|(at, _)| at))
            }
            other => unreachable!("no answer to a read or a swap: {other:?}"),
        };
        self.take_step(seat, id, open, step)
    }

    fn take_step(
        &mut self,
        seat: usize,
        id: u64,
        mut open: OpenExchange,
        step: ExchangeStep,
    ) -> Result<(), Violation> {
        let ask = match step {
            ExchangeStep::Read => Ask::Read(open.job),
            ExchangeStep::Swap(swap) => {
                open.swap_sent = self.reads(seat).boot;
                let era = swap.conditions.era.clone();
                open.writes = swap.decision.record.clone().map(|record| (record, era));
                Ask::Swap(open.job, Box::new(Decided { request: (*open.request).clone(), swap: *swap }))
            }
            ExchangeStep::Done { reply, age } => {
                self.tally.count(&format!("reply {}", reply.answer.name()));
                let leased_from = BootInstant(open.swap_sent.0.saturating_sub(age));
                let reply = Reply { lag: open.begun.since(leased_from), ..*reply };
                return self.end_exchange(seat, id, Ok(Told::Reply(Box::new(reply))));
            }
            ExchangeStep::GiveUp => {
                self.tally.count("request given up");
                let error = StoreError::Unknown("the record has changed too often".into());
                return self.end_exchange(seat, id, Err(error));
            }
        };
        let patience = open.patience;
        self.seats[seat].exchanges.open.insert(id, open);
        self.post(seat, Box::new(Letter { id, ask }), patience);
        Ok(())
    }

    fn end_exchange(&mut self, seat: usize, id: u64, answered: Answered) -> Result<(), Violation> {
        let reads = self.reads(seat);
        if let Some(node) = self.seats[seat].node.as_mut() {
            node.answered(id, answered, reads);
        }
        self.perform(seat)
    }
}
