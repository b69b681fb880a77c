//! One job's record and history as a store would keep them, with a clock that tests set. On a durable store the lease
//! clock is another one than that of ticks, as it is on a real machine.

use std::time::Duration;

use solocron::job::{Cause, NodeName, Reason, Tick, Verdict};
use solocron::lease::{
    Abandon, Act, Answer, Caller, Claim, Decision, Era, Finish, HistoryEntry, Lease, LeaseInstant, Manual,
    Memory, Open, Operate, Record, Renew, Request, Server, decide,
};
use solocron::time::UtcMillis;

use crate::{sample, successes};

/// Time zero of the tests, on the clock of ticks.
const ZERO: i64 = 1_800_000_000_000;

/// What the lease clock of a durable store shows at time zero: the machine started a day ago.
const BOOT_ZERO: i64 = 86_400_000;

/// Both kinds of stores.
pub(crate) const MEMORIES: [Memory; 2] = [Memory::Forgetful, Memory::Durable];

/// Seconds after time zero, on the clock of ticks.
pub(crate) fn at(seconds: f64) -> UtcMillis {
    UtcMillis(ZERO + (seconds * 1000.0).round() as i64)
}

/// The tick at that second.
pub(crate) fn tick(seconds: f64) -> Tick {
    Tick(at(seconds))
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A store's one job.
pub(crate) struct Book {
    pub(crate) record: Option<Record>,
    pub(crate) entries: Vec<HistoryEntry>,
    pub(crate) server: Server,
}

impl Book {
    /// An empty book at time zero.
    pub(crate) fn new(memory: Memory) -> Self {
        let lease_now = LeaseInstant(if memory == Memory::Durable { BOOT_ZERO } else { ZERO });
        let server = Server { now: at(0.0), lease_now, era: Era("e1".into()), memory };
        Self { record: None, entries: Vec::new(), server }
    }

    /// A job whose ticks up to a minute before time zero are decided, and whose lock is free.
    pub(crate) fn ready(memory: Memory) -> Self {
        let mut book = Self::new(memory);
        let mut record = Record::empty(book.server.era.clone());
        record.mark = at(-60.0);
        record.schedule_hash = sample::sched();
        book.record = Some(record);
        book
    }

    pub(crate) fn pass(&mut self, by: Duration) {
        self.server.now = self.server.now.plus(by);
        self.server.lease_now = self.server.lease_now.plus(by);
    }

    /// The next life of the server.
    pub(crate) fn new_era(&mut self) {
        self.server.era.0.push('+');
    }

    /// This many seconds from now, on the lease clock.
    pub(crate) fn lease_end(&self, seconds: u64) -> LeaseInstant {
        self.server.lease_now.plus(secs(seconds))
    }

    pub(crate) fn record(&mut self) -> &mut Record {
        self.record.as_mut().expect("a record")
    }

    pub(crate) fn ask(&mut self, request: Request) -> Answer {
        let decision = decide(self.record.as_ref(), &request, &self.server);
        successes::never_go_back(self.record.as_ref(), &decision);
        decision.append_to(&mut self.entries);
        let Decision { record, reply, .. } = decision;
        assert_eq!(reply.now, self.server.now);
        let front = self.front(&request);
        assert_eq!(reply.mark, record.as_ref().map(|record| record.decided_up_to(front)));
        self.record = record;
        reply.answer
    }

    /// What no right clock shows yet, as far as the request tells.
    fn front(&self, request: &Request) -> UtcMillis {
        let now = self.server.now;
        let wall = match request {
            Request::Open(open) => open.wall,
            Request::Claim(claim) => claim.wall,
            Request::Abandon(_) | Request::Operate(_) => now,
            Request::Manual(_) | Request::Renew(_) | Request::Finish(_) => return UtcMillis(i64::MAX),
        };
        now.max(wall).plus(Duration::from_millis(200))
    }

    pub(crate) fn caller(&self) -> Caller {
        sample::caller(self.server.now, &self.server.era)
    }

    /// Opens the job; all that the caller has heard was in earlier lives of the store.
    pub(crate) fn open(&mut self, change: impl FnOnce(&mut Open)) -> Answer {
        self.open_told(|open| {
            change(open);
            open.latest_of_earlier_eras = open.latest_of_earlier_eras.max(open.caller.latest_store_time);
        })
    }

    /// Opens the job.
    pub(crate) fn open_told(&mut self, change: impl FnOnce(&mut Open)) -> Answer {
        let mut open = sample::open(self.caller());
        change(&mut open);
        // Its own clock shows no less than what it has heard of the store's.
        open.wall = open.wall.max(open.caller.latest_store_time);
        self.ask(Request::Open(open))
    }

    pub(crate) fn claim(&mut self, tick: Tick, change: impl FnOnce(&mut Claim)) -> Answer {
        let mut claim = sample::claim(self.caller(), tick);
        change(&mut claim);
        claim.wall = claim.wall.max(claim.caller.latest_store_time);
        self.ask(Request::Claim(claim))
    }

    pub(crate) fn manual(&mut self, change: impl FnOnce(&mut Manual)) -> Answer {
        let mut manual = sample::manual(self.caller());
        change(&mut manual);
        self.ask(Request::Manual(manual))
    }

    pub(crate) fn renew(&mut self, lease: &Lease) -> Answer {
        let expect = self.server.now;
        self.ask(Request::Renew(Renew { lease: lease.clone(), expect, leapt: None }))
    }

    pub(crate) fn finish(&mut self, lease: &Lease, change: impl FnOnce(&mut Finish)) -> Answer {
        let mut finish = sample::finish(lease, &self.server.era);
        finish.ended = self.server.now;
        change(&mut finish);
        self.ask(Request::Finish(finish))
    }

    pub(crate) fn abandon(&mut self, lease: &Lease) -> Answer {
        let era = self.server.era.clone();
        self.ask(Request::Abandon(Abandon { run: lease.run, era, edited: false }))
    }

    /// An operator does it, in time.
    pub(crate) fn operate(&mut self, act: Act) -> Answer {
        let expect = self.server.now;
        self.ask(Request::Operate(Operate { expect, by: "ann@db1".into(), act }))
    }

    /// Claims the tick, and wins.
    pub(crate) fn win(&mut self, tick: Tick) -> Lease {
        let answer = self.claim(tick, |_| {});
        assert!(is_won(&answer), "{answer:?}");
        sample::lease(self.record())
    }

    /// The entries so far, in short.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.entries.iter().map(|entry| (entry.after, entry.tick, entry.cause, entry.verdict())).collect()
    }
}

/// An entry in short: above which instant, the tick, why, and how it ended.
pub(crate) type Told = (Option<UtcMillis>, Tick, Cause, Verdict);

/// One tick's entry.
pub(crate) fn one(tick: Tick, cause: Cause, verdict: Verdict) -> Told {
    (None, tick, cause, verdict)
}

/// The entry of the ticks above an instant, up to a tick.
pub(crate) fn several(after: UtcMillis, tick: Tick, verdict: Verdict) -> Told {
    (Some(after), tick, Cause::Schedule, verdict)
}

pub(crate) fn is_won(answer: &Answer) -> bool {
    matches!(answer, Answer::Won { .. })
}

/// Held, and by nobody who is known.
pub(crate) fn held_for(duration: Duration) -> Answer {
    Answer::Held { by: None, frees_in: duration }
}

/// Whether the answer says that `node` holds the lock.
pub(crate) fn is_held_by(answer: &Answer, node: &NodeName) -> bool {
    matches!(answer, Answer::Held { by: Some(by), .. } if by.node == *node)
}

/// The reason that samples give for ticks that nobody claimed.
pub(crate) const GAP: Verdict = Verdict::because(solocron::job::Outcome::Missed, Reason::NoReplica);
