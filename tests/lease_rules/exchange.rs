//! Read, decide, swap: what each condition of a swap prevents, and what happens without it.

use solocron::lease::{
    Answer, CellExchange, Conditions, ExchangeStep, Memory, Protection, Record, Remembered, Reply, Request,
    Server, Swap, Version,
};
use solocron::time::UtcMillis;

use crate::book::{Book, at, is_won, secs, tick};
use crate::sample;

/// A store of one job that decides nothing.
#[derive(Clone)]
struct Shelf {
    record: Option<Record>,
    version: Option<Version>,
    server: Server,
}

impl Shelf {
    /// A job whose ticks up to a minute before time zero are decided, and whose lock is free.
    fn ready() -> Self {
        let Book { record, server, .. } = Book::ready(Memory::Forgetful);
        Self { record, version: Some(Version { count: 1, nonce: 1 }), server }
    }

    fn pass(&mut self, millis: i64) {
        self.server.now.0 += millis;
        self.server.lease_now.0 += millis;
    }

    /// The claim for a tick, by a replica that knows the store's clock and era.
    fn claim(&self, seconds: f64) -> Request {
        let caller = sample::caller(self.server.now, &self.server.era);
        Request::Claim(sample::claim(caller, tick(seconds)))
    }

    fn read(&self, exchange: &mut CellExchange, request: &Request) -> ExchangeStep {
        exchange.read(request, self.record.as_ref(), self.version, &self.server)
    }

    /// Reads and decides; the request needs a swap.
    fn decided(&self, exchange: &mut CellExchange, request: &Request) -> Swap {
        let ExchangeStep::Swap(swap) = self.read(exchange, request) else { panic!("it changes the record") };
        *swap
    }

    /// A swap arrives.
    fn swap(&mut self, swap: &Swap) -> Option<UtcMillis> {
        if !swap.conditions.hold(self.version, &self.server) {
            return None;
        }
        let Version { count, nonce } = self.version.unwrap_or(Version { count: 0, nonce: 0 });
        self.version = Some(Version { count: count + 1, nonce: nonce + 100 });
        self.record = swap.decision.record.clone();
        Some(self.server.now)
    }

    /// Makes a request, from its first read to its reply.
    fn ask(&mut self, request: &Request) -> Reply {
        let mut exchange = CellExchange::default();
        let mut step = exchange.begin(request, None, &self.server);
        loop {
            step = match step {
                ExchangeStep::Read => self.read(&mut exchange, request),
                ExchangeStep::Swap(swap) => exchange.swapped(self.swap(&swap)),
                ExchangeStep::Done { reply, .. } => return *reply,
                ExchangeStep::GiveUp => panic!("nothing else changes the record"),
            }
        }
    }
}

/// Whether a swap is written, with all protections on and without this one.
fn with_and_without(off: Protection, shelf: &Shelf, swap: &Swap) -> (bool, bool) {
    let written = |shelf: &Shelf| shelf.clone().swap(swap).is_some();
    (written(shelf), Protection::without(Some(off), || written(shelf)))
}

#[test]
fn of_two_who_read_the_same_record_one_is_granted_and_the_other_reads_again() {
    let mut shelf = Shelf::ready();
    let (first, second) = (shelf.claim(0.0), shelf.claim(0.0));
    let mut exchange = CellExchange::default();
    let delayed = shelf.decided(&mut exchange, &second);
    assert!(is_won(&shelf.ask(&first).answer));
    assert_eq!(with_and_without(Protection::SwapVersion, &shelf, &delayed), (false, true));
    assert_eq!(exchange.swapped(None), ExchangeStep::Read);
    let ExchangeStep::Done { reply, .. } = shelf.read(&mut exchange, &second) else {
        panic!("it is refused")
    };
    assert!(matches!(reply.answer, Answer::Decided { .. }), "{reply:?}");
}

#[test]
fn a_record_that_was_made_anew_is_not_taken_for_the_one_that_was_read() {
    let mut shelf = Shelf::ready();
    let claim = shelf.claim(0.0);
    let delayed = shelf.decided(&mut CellExchange::default(), &claim);
    shelf.version = Some(Version { count: 1, nonce: 2 });
    assert_eq!(with_and_without(Protection::SwapNonce, &shelf, &delayed), (false, true));
}

#[test]
fn a_record_that_came_back_with_a_failover_is_not_taken_for_the_one_that_was_read() {
    let mut shelf = Shelf::ready();
    let claim = shelf.claim(0.0);
    let delayed = shelf.decided(&mut CellExchange::default(), &claim);
    shelf.server.era = solocron::lease::Era("e2".into());
    assert_eq!(with_and_without(Protection::SwapEra, &shelf, &delayed), (false, true));
}

#[test]
fn a_swap_that_is_late_is_refused_and_one_in_time_says_how_old_its_decision_is() {
    let mut shelf = Shelf::ready();
    let claim = shelf.claim(0.0);
    let mut exchange = CellExchange::default();
    let swap = shelf.decided(&mut exchange, &claim);
    shelf.pass(1_001);
    assert_eq!(with_and_without(Protection::SwapAge, &shelf, &swap), (false, true));
    shelf.pass(-1);
    let ExchangeStep::Done { reply, age } = exchange.swapped(shelf.swap(&swap)) else {
        panic!("it is written")
    };
    assert!(is_won(&reply.answer));
    assert_eq!((age, reply.now), (secs(1), at(0.0)));
}

#[test]
fn an_estimate_of_the_time_that_is_ahead_of_the_server_decides_nothing() {
    let shelf = Shelf::ready();
    let early = shelf.claim(5.0);
    let (record, version) = (shelf.record.clone().expect("a record"), shelf.version.expect("a version"));
    let ahead = Server { now: at(5.0), ..shelf.server.clone() };
    let remembered = Remembered { record: &record, version, era: &shelf.server.era };
    let Request::Claim(claim) = &early else { unreachable!("it is a claim") };
    let early = Request::Claim(solocron::lease::Claim {
        caller: sample::caller(at(5.0), &shelf.server.era),
        ..claim.clone()
    });
    let ExchangeStep::Swap(swap) = CellExchange::default().begin(&early, Some(remembered), &ahead) else {
        panic!("what is remembered is enough")
    };
    assert_eq!(with_and_without(Protection::SwapNotAhead, &shelf, &swap), (false, true));
}

#[test]
fn a_remembered_record_refuses_no_request() {
    let mut shelf = Shelf::ready();
    assert!(is_won(&shelf.ask(&shelf.claim(0.0)).answer));
    let lease = sample::lease(shelf.record.as_ref().expect("a record"));
    let finish = Request::Finish(sample::finish(&lease, &shelf.server.era));
    assert_eq!(shelf.ask(&finish).answer, Answer::Finished);
    let (record, version) = (shelf.record.clone().expect("a record"), shelf.version.expect("a version"));
    let remembered = || Remembered { record: &record, version, era: &shelf.server.era };
    // An operator may set the mark back meanwhile, so that the tick can be claimed again.
    let claim = shelf.claim(0.0);
    let begin = || CellExchange::default().begin(&claim, Some(remembered()), &shelf.server);
    assert_eq!(begin(), ExchangeStep::Read);
    let refused = Protection::without(Some(Protection::FreshRead), begin);
    assert!(matches!(refused, ExchangeStep::Done { .. }), "{refused:?}");
}

#[test]
fn a_claim_that_is_under_way_while_its_run_is_given_back_grants_nothing() {
    let shelf = Shelf::ready();
    let claim = shelf.claim(0.0);
    let Request::Claim(asked) = &claim else { unreachable!("it is a claim") };
    let abandon = Request::Abandon(sample::abandon(asked.run, &shelf.server.era));
    let delayed = shelf.decided(&mut CellExchange::default(), &claim);
    let granted_after = |mut shelf: Shelf| {
        assert_eq!(shelf.ask(&abandon).answer, Answer::AlreadyDecided);
        shelf.swap(&delayed).is_some()
    };
    assert!(!granted_after(shelf.clone()));
    assert!(Protection::without(Some(Protection::AbandonWrites), || granted_after(shelf)));
}

#[test]
fn the_holder_renews_from_memory_and_nothing_is_taken_from_it_without_a_read() {
    let mut shelf = Shelf::ready();
    assert!(is_won(&shelf.ask(&shelf.claim(0.0)).answer));
    let (record, version) = (shelf.record.clone().expect("a record"), shelf.version.expect("a version"));
    let lease = sample::lease(&record);
    shelf.pass(40_000);
    let step = |request: &Request| {
        let remembered = Remembered { record: &record, version, era: &shelf.server.era };
        CellExchange::default().begin(request, Some(remembered), &shelf.server)
    };
    let renew = Request::Renew(sample::renew(&lease, shelf.server.now));
    let finish = Request::Finish(sample::finish(&lease, &shelf.server.era));
    for own in [renew, finish] {
        let ExchangeStep::Swap(swap) = step(&own) else { panic!("{own:?}") };
        let Conditions { version: from, .. } = swap.conditions;
        assert_eq!(from, Some(version));
    }
    assert_eq!(
        step(&shelf.claim(40.0)),
        ExchangeStep::Read,
        "the lease is over, but the holder may have renewed it"
    );
}

#[test]
fn a_request_whose_record_changes_each_time_is_given_up() {
    let shelf = Shelf::ready();
    let claim = shelf.claim(0.0);
    let mut exchange = CellExchange::default();
    for tried in 1..=5 {
        shelf.decided(&mut exchange, &claim);
        let next = exchange.swapped(None);
        assert_eq!(next, if tried < 5 { ExchangeStep::Read } else { ExchangeStep::GiveUp }, "{tried}");
    }
}
