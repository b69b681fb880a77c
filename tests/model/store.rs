//! The store: one record with its version, which may be lost, and a clock, which may be stepped. It decides requests, or it
//! decides nothing: then it shows the record, and writes a swap whose conditions hold.

use std::sync::Arc;

use solocron::lease::{
    Conditions, Decision, LeaseInstant, Memory, Protection, Record, Reply, Request, Server, Version, decide,
};
use solocron::time::UtcMillis;

use crate::setting::{Loss, Setting, era, shifted};

/// A record as it is stored, with its version; both are missing until the job is opened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Cell {
    pub(crate) record: Option<Arc<Record>>,
    pub(crate) version: Option<Version>,
}

/// The store, and what a copy of it that lags behind would know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) cell: Cell,
    /// The cell when this step began, and when the one before did.
    pub(crate) copies: [Cell; 2],
    /// Its present life.
    pub(crate) era: u8,
    /// By how many steps its clock is ahead of the world's.
    pub(crate) offset: i8,
    /// Whether its list of jobs has the job.
    pub(crate) knows_job: bool,
}

impl Store {
    /// A store whose job was opened long ago.
    pub(crate) fn opened(record: Record) -> Self {
        let version = Some(Version { count: 0, nonce: 0 });
        let cell = Cell { record: Some(Arc::new(record)), version };
        Self { copies: [cell.clone(), cell.clone()], cell, era: 1, offset: 0, knows_job: true }
    }

    /// What its clock shows.
    pub(crate) fn now(&self, world: UtcMillis) -> UtcMillis {
        shifted(world, self.offset)
    }

    /// Its state at the world's time, as it shows it with each record.
    pub(crate) fn server(&self, world: UtcMillis) -> Server {
        server(self.now(world), self.era)
    }

    /// Decides a request at the world's time.
    pub(crate) fn submit(&mut self, setting: &Setting, request: &Request, world: UtcMillis) -> Reply {
        let server = self.server(world);
        let Decision { record, reply, .. } =
            setting.decide(|| decide(self.cell.record.as_deref(), request, &server));
        let record = record.map(without_successes);
        if record.as_ref() != self.cell.record.as_deref() {
            self.cell.version = record.is_some().then_some(Version { count: 0, nonce: 0 });
            self.cell.record = record.map(Arc::new);
        }
        reply
    }

    /// Writes a record if the conditions hold, with `nonce` in its version. Returns the time of that.
    pub(crate) fn swap(
        &mut self,
        setting: &Setting,
        conditions: &Conditions,
        record: Option<&Arc<Record>>,
        nonce: u64,
        world: UtcMillis,
    ) -> Option<UtcMillis> {
        let server = self.server(world);
        if !setting.decide(|| conditions.hold(self.cell.version, &server)) {
            return None;
        }
        // Where the nonce tells versions apart, worlds that differ in the counts alone are one.
        let counts = !setting.has(Protection::SwapNonce);
        let count = self.cell.version.map_or(0, |version| version.count + u64::from(counts));
        self.cell = Cell { record: record.cloned(), version: record.map(|_| Version { count, nonce }) };
        Some(server.now)
    }

    /// A step begins.
    pub(crate) fn pass(&mut self) {
        self.copies = [self.cell.clone(), self.copies[0].clone()];
    }

    /// Nothing can be lost any more.
    pub(crate) fn need_no_copies(&mut self) {
        self.copies = [Cell::default(), Cell::default()];
    }

    /// What would be left after a loss.
    pub(crate) fn left_by(&self, loss: Loss) -> Cell {
        match loss {
            Loss::Nothing => self.cell.clone(),
            Loss::Writes { since_last_step } => self.copies[usize::from(since_last_step)].clone(),
            Loss::Everything | Loss::Flush | Loss::Record => Cell::default(),
        }
    }

    /// It loses its memory.
    pub(crate) fn lose(&mut self, loss: Loss) {
        self.cell = self.left_by(loss);
        if matches!(loss, Loss::Everything | Loss::Flush) {
            self.knows_job = false;
        }
        if !matches!(loss, Loss::Flush | Loss::Record) {
            self.era += 1;
        }
        self.copies = [self.cell.clone(), self.cell.clone()];
    }

    /// The versions of everything that it may show.
    pub(crate) fn versions(&mut self) -> impl Iterator<Item = &mut Version> {
        std::iter::once(&mut self.cell).chain(&mut self.copies).filter_map(|cell| cell.version.as_mut())
    }
}

/// The state of a store whose clock shows `now`.
pub(crate) fn server(now: UtcMillis, number: u8) -> Server {
    Server { now, lease_now: LeaseInstant(now.0), era: era(number), memory: Memory::Forgetful }
}

/// No decision depends on how the job's runs ended: worlds that differ in that alone are one.
pub(crate) fn without_successes(record: Record) -> Record {
    Record {
        last_success_tick: None,
        last_success_end: None,
        failures_in_row: 0,
        failing_since: None,
        ..record
    }
}
