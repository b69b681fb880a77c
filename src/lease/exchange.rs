//! A request to a store that cannot decide by itself: the record is read, the request is decided here, and what was
//! decided is written if nothing has changed meanwhile. No I/O: the caller reads and swaps.

use std::time::Duration;

use crate::time::UtcMillis;

use super::rules::transition::SYNC_TOLERANCE;
use super::{
    Abandon, Claim, Decision, Era, Finish, LeaseInstant, Manual, Protection, Record, Renew, Reply, Request,
    SCHEMA, Server, decide,
};

/// How many swaps of one request are tried. After that it is given up.
const TRIES: u8 = 5;

/// The version of a stored record: each write makes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// One more with each write of the record.
    pub count: u64,
    /// Drawn at random by each write: after a deletion, a restore or a failover, another record may have the same count.
    pub nonce: u64,
}

/// What must hold when a swap arrives at the store. The store checks it in the same atomic step in which it writes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The version that the decision was made from; `None` if there was no record.
    pub version: Option<Version>,
    /// The era in which that version was read or written.
    pub era: Era,
    /// The store's time that the decision was made with.
    pub now: UtcMillis,
}

/// A decision that the store writes if its conditions hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The conditions.
    pub conditions: Conditions,
    /// What is written.
    pub decision: Decision,
}

/// What a replica remembers of a record: what its own last swap wrote, once the store has confirmed that.
#[derive(Debug, Clone, Copy)]
pub struct Remembered<'a> {
    /// The record.
    pub record: &'a Record,
    /// Its version.
    pub version: Version,
    /// The era in which it was written.
    pub era: &'a Era,
}

/// What the caller does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExchangeStep {
    /// Read the record, and call [`CellExchange::read`].
    Read,
    /// Swap, and call [`CellExchange::swapped`].
    Swap(Box<Swap>),
    /// Nothing: this is the answer.
    Done {
        /// The answer.
        reply: Box<Reply>,
        /// The time from the decision to its write, by the server's clock: the lock that it grants or renews ends this much
        /// earlier than if it had been decided at the moment of the write. Zero if nothing was written.
        age: Duration,
    },
    /// Nothing: no swap was written in as many tries as are allowed.
    GiveUp,
}

/// One request on its way to its answer.
#[derive(Debug, Clone)]
pub struct CellExchange {
    tries_left: u8,
    /// The time that the swap under way was decided with, and its answer.
    decided: Option<(UtcMillis, Reply)>,
}

impl Conditions {
    /// Whether they hold for a record of this version in a store whose present state is `server`.
    pub fn hold(&self, version: Option<Version>, server: &Server) -> bool {
        let age = server.now.since(self.now);
        let is_in_time = (self.now <= server.now || !Protection::SwapNotAhead.is_on())
            && (age <= SYNC_TOLERANCE || !Protection::SwapAge.is_on());
        let is_same_era = self.era == server.era || !Protection::SwapEra.is_on();
        is_in_time && is_same_era && self.is_version(version)
    }

    fn is_version(&self, version: Option<Version>) -> bool {
        let count = |version: Option<Version>| version.map(|version| version.count);
        match (Protection::SwapVersion.is_on(), Protection::SwapNonce.is_on()) {
            (true, true) => self.version == version,
            (true, false) => count(self.version) == count(version),
            (false, _) => true,
        }
    }
}

impl Default for CellExchange {
    /// A request that has still to be decided.
    fn default() -> Self {
        Self { tries_left: TRIES, decided: None }
    }
}

impl CellExchange {
    /// Begins: decides from what is remembered of the record, if that is enough, at the state of the store as the caller
    /// estimates it; otherwise the record is read.
    pub fn begin(
        &mut self,
        request: &Request,
        remembered: Option<Remembered<'_>>,
        estimate: &Server,
    ) -> ExchangeStep {
        let Some(remembered) = remembered.filter(|known| is_enough(known.record, request)) else {
            return ExchangeStep::Read;
        };
        // The era of what is decided from, and not the one that the caller knows: it may have read the record before its next
        // heartbeat shows it that the era is new.
        let server = Server { era: remembered.era.clone(), ..estimate.clone() };
        let decision = decide(Some(remembered.record), request, &server);
        let is_no = !writes(request, Some(remembered.record), &decision);
        if is_no && Protection::FreshRead.is_on() {
            return ExchangeStep::Read;
        }
        self.swap(Some(remembered.version), remembered.era, estimate.now, decision, !is_no)
    }

    /// Decides from the record as the store has just shown it, with its version, and the state of the store at that moment.
    pub fn read(
        &mut self,
        request: &Request,
        record: Option<&Record>,
        version: Option<Version>,
        server: &Server,
    ) -> ExchangeStep {
        let decision = decide(record, request, server);
        let writes = writes(request, record, &decision);
        self.swap(version, &server.era, server.now, decision, writes)
    }

    /// Takes in what became of the swap: the store's time at which it was written, or `None` if its conditions did not hold.
    pub fn swapped(&mut self, written: Option<UtcMillis>) -> ExchangeStep {
        match (written, self.decided.take()) {
            (Some(written), Some((now, reply))) => {
                ExchangeStep::Done { reply: Box::new(reply), age: written.since(now) }
            }
            _ if self.tries_left == 0 => ExchangeStep::GiveUp,
            _ => ExchangeStep::Read,
        }
    }

    fn swap(
        &mut self,
        version: Option<Version>,
        era: &Era,
        now: UtcMillis,
        decision: Decision,
        writes: bool,
    ) -> ExchangeStep {
        if !writes {
            return ExchangeStep::Done { reply: Box::new(decision.reply), age: Duration::ZERO };
        }
        self.tries_left = self.tries_left.saturating_sub(1);
        self.decided = Some((now, decision.reply.clone()));
        let conditions = Conditions { version, era: era.clone(), now };
        ExchangeStep::Swap(Box::new(Swap { conditions, decision }))
    }
}

/// Whether a decision about this record is written. One to give back always is: it makes a new version, so that a claim of the
/// same run that is still under way fails. A record of a newer release is left alone: no claim is written over it either.
fn writes(request: &Request, record: Option<&Record>, decision: &Decision) -> bool {
    let gives_back = matches!(request, Request::Abandon(_)) && Protection::AbandonWrites.is_on();
    let is_ours = record.is_some_and(|record| record.schema <= SCHEMA);
    decision.record.as_ref() != record
        || !decision.entries.is_empty()
        || !decision.retracted.is_empty()
        || gives_back && is_ours
}

/// Whether a request may be decided from a remembered record. What takes the lock from another run is always decided from a
/// read.
fn is_enough(record: &Record, request: &Request) -> bool {
    let is_free = !record.is_running() && record.locked_until == LeaseInstant::FREE;
    match request {
        Request::Claim(Claim { run, .. }) | Request::Manual(Manual { run, .. }) => {
            is_free || record.run == Some(*run)
        }
        Request::Renew(Renew { lease, .. }) | Request::Finish(Finish { lease, .. }) => {
            record.run == Some(lease.run)
        }
        Request::Abandon(Abandon { run, .. }) => record.run == Some(*run),
        Request::Open(_) | Request::Operate(_) => false,
    }
}
