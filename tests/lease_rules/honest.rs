//! Replicas that keep the holder's rules, and the world they live in: a store, time that passes, messages that get
//! lost, crashes, partitions, and a store that forgets. Only `decide` and `Deadline` decide anything here.

use std::time::Duration;

use solocron::job::{Cause, Fence, Outcome, Reason, Tick, Verdict};
use solocron::lease::{Answer, Caller, Claim, Deadline, Era, Finish, Lease, Memory, Record, Request};
use solocron::time::{BootInstant, UtcMillis};

use crate::book::{Book, at, secs};
use crate::sample;
use crate::sample::node;

/// The job is due this often, in seconds.
pub(crate) const EVERY: u64 = 4;

/// The leases in use; both are known to everybody.
pub(crate) const LEASES: [u64; 2] = [10, 5];

/// A run that is going on.
#[derive(Debug, Clone)]
pub(crate) struct Active {
    pub(crate) lease: Lease,
    pub(crate) deadline: Deadline,
    pub(crate) era: Era,
}

/// A replica, as far as it remembers.
#[derive(Debug, Clone)]
pub(crate) struct Replica {
    pub(crate) name: &'static str,
    pub(crate) is_cut_off: bool,
    pub(crate) era: Era,
    pub(crate) calm_since: BootInstant,
    pub(crate) heard_earlier: UtcMillis,
    pub(crate) heard: UtcMillis,
    pub(crate) seen: Option<UtcMillis>,
    pub(crate) active: Option<Active>,
    pub(crate) claim: Option<Claim>,
    pub(crate) last_finish: Option<Finish>,
}

/// A grant that the store gave.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) tick: Tick,
    pub(crate) fence: Fence,
    pub(crate) cause: Cause,
    pub(crate) is_started: bool,
    pub(crate) is_given_back: bool,
}

/// What a history can do next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Pass { ms: u64 },
    Claim { who: usize, back: u64, policy: usize, has_renewed_lately: bool },
    Repeat { who: usize },
    Manual { who: usize, policy: usize },
    Renew { who: usize, has_renewed_lately: bool },
    Finish { who: usize, is_interrupted: bool },
    Abandon { who: usize },
    Crash { who: usize },
    CutOff { who: usize, is_cut_off: bool },
    Pause { seconds: u64 },
    Copy,
    Forget { how: usize, then_cut_off: usize },
}

/// The store, the replicas, and what has happened so far.
pub(crate) struct World {
    pub(crate) book: Book,
    /// What a failover would bring back; entries count as told even where they are lost with the store.
    pub(crate) copy: Option<Record>,
    pub(crate) first_mark: UtcMillis,
    pub(crate) boot: BootInstant,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) has_forgotten: bool,
}

impl World {
    /// `count` replicas that started long ago, and opened the job.
    pub(crate) fn new(memory: Memory, count: usize) -> Self {
        let mut book = Book::new(memory);
        book.open(|_| {});
        book.pass(secs(60));
        let replica = |name| Replica {
            name,
            is_cut_off: false,
            era: book.server.era.clone(),
            calm_since: BootInstant(Duration::ZERO),
            heard_earlier: UtcMillis(0),
            heard: book.server.now,
            seen: Some(at(0.2)),
            active: None,
            claim: None,
            last_finish: None,
        };
        let replicas = ["a", "b", "c"][..count].iter().map(|name| replica(*name)).collect();
        let copy = book.record.clone();
        let boot = BootInstant(secs(1000));
        Self { book, copy, first_mark: at(0.2), boot, replicas, grants: Vec::new(), has_forgotten: false }
    }

    /// Takes one step, and checks what must always hold.
    pub(crate) fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Pass { ms } => self.pass(Duration::from_millis(ms)),
            Step::Claim { who, back, policy, has_renewed_lately } => {
                self.claim(who, back, policy, has_renewed_lately)
            }
            Step::Repeat { who } => self.repeat(who),
            Step::Manual { who, policy } => self.manual(who, policy),
            Step::Renew { who, has_renewed_lately } => self.renew(who, has_renewed_lately),
            Step::Finish { who, is_interrupted } => self.finish(who, is_interrupted),
            Step::Abandon { who } => self.abandon(who),
            Step::Crash { who } => self.crash(who),
            Step::CutOff { who, is_cut_off } => self.replicas[who].is_cut_off = is_cut_off,
            Step::Pause { seconds } => {
                let until = self.book.server.now.plus(secs(seconds));
                if let Some(record) = self.book.record.as_mut() {
                    record.paused = Some(until);
                }
            }
            Step::Copy => self.copy = self.book.record.clone(),
            Step::Forget { how, then_cut_off } => self.forget(how, then_cut_off),
        }
        self.one_holder_at_most()?;
        self.grants_are_in_order()?;
        self.ticks_are_told_of()
    }

    /// Time passes second by second: everybody who can listens, and who cannot renew stops.
    fn pass(&mut self, by: Duration) {
        let mut left = by;
        while !left.is_zero() {
            let piece = left.min(secs(1));
            left -= piece;
            self.book.pass(piece);
            self.boot = self.boot.plus(piece);
            for who in 0..self.replicas.len() {
                let is_over = |active: &Active| active.deadline.is_over(self.boot);
                if self.replicas[who].active.as_ref().is_some_and(is_over) {
                    self.stop(who);
                }
                self.listen(who);
            }
        }
    }

    /// Past the deadline nothing revives a run; its end is told when somebody listens.
    fn stop(&mut self, who: usize) {
        let Some(active) = self.replicas[who].active.take() else { return };
        let verdict = Verdict::because(Outcome::Interrupted, Reason::LockLost);
        let finish = Finish { verdict, ..sample::finish(&active.lease, &active.era) };
        self.replicas[who].last_finish = Some(finish.clone());
        self.send(who, Request::Finish(finish), true);
    }

    fn listen(&mut self, who: usize) {
        if self.replicas[who].is_cut_off {
            return;
        }
        if self.replicas[who].era != self.book.server.era || self.replicas[who].seen.is_none() {
            self.meet_era(who);
        }
        self.replicas[who].heard = self.book.server.now;
    }

    /// Opens, renews what runs, sends the last finish again.
    fn meet_era(&mut self, who: usize) {
        let replica = &mut self.replicas[who];
        if replica.era != self.book.server.era {
            replica.heard_earlier = replica.heard_earlier.max(replica.heard);
            replica.era = self.book.server.era.clone();
            replica.calm_since = self.boot;
        }
        let mut open = sample::open(self.caller(who));
        open.lease = secs(LEASES[0]);
        self.send(who, Request::Open(open), true);
        if self.replicas[who].active.is_some() {
            self.renew(who, true);
        } else if let Some(finish) = self.replicas[who].last_finish.clone() {
            self.send(who, Request::Finish(finish), true);
        }
    }

    pub(crate) fn caller(&self, who: usize) -> Caller {
        let replica = &self.replicas[who];
        Caller {
            node: node(replica.name),
            calm: self.boot.since(replica.calm_since),
            latest_store_time: replica.heard_earlier,
            largest_lease: secs(LEASES[0]),
            known_mark: replica.seen,
            answered_mark: None,
            leapt_from: None,
            ..sample::caller(self.book.server.now, &replica.era)
        }
    }

    /// Asks, unless cut off; learns of a new era from the answer.
    pub(crate) fn send(&mut self, who: usize, request: Request, has_renewed_lately: bool) -> Option<Answer> {
        if self.replicas[who].is_cut_off {
            return None;
        }
        let answer = self.book.ask(request);
        if !has_renewed_lately {
            return Some(answer);
        }
        self.replicas[who].seen =
            self.book.record.as_ref().map(|record| record.mark).or(self.replicas[who].seen);
        if matches!(answer, Answer::NewEra(_)) {
            self.listen(who);
        }
        Some(answer)
    }

    /// The guard ends the run, and a new process remembers nothing but the last finish.
    fn crash(&mut self, who: usize) {
        // A store that forgot, and then whoever remembered: no protocol can promise anything.
        if self.book.record.is_none()
            || self.replicas.iter().any(|replica| replica.era != self.book.server.era)
        {
            return;
        }
        let replica = &mut self.replicas[who];
        (replica.active, replica.claim) = (None, None);
        (replica.calm_since, replica.seen) = (self.boot, None);
        (replica.heard, replica.heard_earlier) = (UtcMillis(0), UtcMillis(0));
        self.listen(who);
    }

    /// The store forgets: by hand, by a failover to an older copy, or all of it. Everybody alive had just listened.
    fn forget(&mut self, how: usize, then_cut_off: usize) {
        for who in 0..self.replicas.len() {
            self.replicas[who].is_cut_off = false;
            self.listen(who);
        }
        // What is forgotten twice before a tick comes may have no entry: nobody was told from where on.
        let is_untold = self
            .book
            .record
            .as_ref()
            .is_none_or(|record| record.lost_after.is_some_and(|lost| lost < record.mark));
        if is_untold || !self.last_grant_is_remembered(then_cut_off) {
            return;
        }
        self.has_forgotten = true;
        match how % 4 {
            0 => self.book.record = None,
            1 => {
                self.book.record = self.copy.clone();
                self.book.new_era();
            }
            2 => {
                self.book.record = None;
                self.book.new_era();
            }
            _ => self.book.new_era(),
        }
        if let Some(replica) = self.replicas.get_mut(then_cut_off) {
            replica.is_cut_off = true;
        }
        for who in (0..self.replicas.len()).rev() {
            self.listen(who);
        }
    }

    /// Whether a replica that can be reached remembers the last grant, as far as that matters: a rerun raised no mark.
    fn last_grant_is_remembered(&self, except: usize) -> bool {
        let Some(last) = self.grants.last().filter(|grant| grant.cause == Cause::Rerun) else { return true };
        let others = self.replicas.iter().enumerate().filter(|(who, _)| *who != except);
        let leases = others.flat_map(|(_, replica)| {
            let finished = replica.last_finish.as_ref().map(|finish| &finish.lease);
            finished.into_iter().chain(replica.active.as_ref().map(|active| &active.lease))
        });
        leases.into_iter().any(|lease| lease.fence == last.fence)
    }
}
