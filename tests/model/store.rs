//! The store: one record, decided by the real protocol, which may be lost, and a clock, which may be stepped.

use std::sync::Arc;

use solocron::lease::{Decision, LeaseInstant, Memory, Record, Reply, Request, Server, decide};
use solocron::time::UtcMillis;

use crate::setting::{Loss, Setting, era, shifted};

/// The store, and what a copy of it that lags behind would know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) record: Option<Arc<Record>>,
    /// The record when this step began, and when the one before did.
    copies: [Option<Arc<Record>>; 2],
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
        let record = Some(Arc::new(record));
        Self { copies: [record.clone(), record.clone()], record, era: 1, offset: 0, knows_job: true }
    }

    /// What its clock shows.
    pub(crate) fn now(&self, world: UtcMillis) -> UtcMillis {
        shifted(world, self.offset)
    }

    /// Decides a request at the world's time.
    pub(crate) fn submit(&mut self, setting: &Setting, request: &Request, world: UtcMillis) -> Reply {
        let now = self.now(world);
        let server =
            Server { now, lease_now: LeaseInstant(now.0), era: era(self.era), memory: Memory::Forgetful };
        let Decision { record, reply, .. } =
            setting.decide(|| decide(self.record.as_deref(), request, &server));
        let record = record.map(without_successes);
        if record.as_ref() != self.record.as_deref() {
            self.record = record.map(Arc::new);
        }
        reply
    }

    /// A step begins.
    pub(crate) fn pass(&mut self) {
        self.copies = [self.record.clone(), self.copies[0].clone()];
    }

    /// Nothing can be lost any more.
    pub(crate) fn need_no_copies(&mut self) {
        self.copies = [None, None];
    }

    /// What would be left after a loss.
    pub(crate) fn left_by(&self, loss: Loss) -> Option<&Arc<Record>> {
        match loss {
            Loss::Nothing => self.record.as_ref(),
            Loss::Writes { since_last_step } => self.copies[usize::from(since_last_step)].as_ref(),
            Loss::Everything | Loss::Flush | Loss::Record => None,
        }
    }

    /// It loses its memory.
    pub(crate) fn lose(&mut self, loss: Loss) {
        self.record = self.left_by(loss).cloned();
        if matches!(loss, Loss::Everything | Loss::Flush) {
            self.knows_job = false;
        }
        if !matches!(loss, Loss::Flush | Loss::Record) {
            self.era += 1;
        }
        self.copies = [self.record.clone(), self.record.clone()];
    }
}

/// No decision depends on how the job's runs ended: worlds that differ in that alone are one.
fn without_successes(record: Record) -> Record {
    Record {
        last_success_tick: None,
        last_success_end: None,
        failures_in_row: 0,
        failing_since: None,
        ..record
    }
}
