//! Replicas that keep the holder's rules, and the world they live in: a store, time that passes, messages that get
//! lost, crashes, partitions, and a store that forgets. Only `decide` and `Deadline` decide anything here.

use std::collections::BTreeMap;
use std::time::Duration;

use solocron::job::{Cause, Fence, OnInterrupt, Outcome, Overlap, Reason, RunId, Tick, UtcMillis, Verdict};
use solocron::lease::{
    Answer, BootInstant, Caller, Claim, Deadline, Entry, Era, Finish, Gap, Holding, Memory, Pace, Record,
    Request,
};

use crate::book::{Book, at, secs, tick};
use crate::sample::{self, node};

/// The job is due this often, in seconds.
const EVERY: u64 = 4;

/// The leases in use; both are known to everybody.
const LEASES: [u64; 2] = [10, 5];

/// A run that is going on.
#[derive(Debug, Clone)]
struct Active {
    holding: Holding,
    deadline: Deadline,
    era: Era,
}

/// A replica, as far as it remembers.
#[derive(Debug, Clone)]
struct Replica {
    name: &'static str,
    is_cut_off: bool,
    era: Era,
    calm_since: BootInstant,
    heard_earlier: UtcMillis,
    heard: UtcMillis,
    seen: Option<UtcMillis>,
    active: Option<Active>,
    claim: Option<Claim>,
    last_finish: Option<Finish>,
}

/// A grant that the store gave.
#[derive(Debug, Clone)]
struct Grant {
    tick: Tick,
    fence: Fence,
    cause: Cause,
    is_given_back: bool,
}

/// What a history can do next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Pass { ms: u64 },
    Claim { who: usize, back: u64, policy: usize, is_heard: bool },
    Repeat { who: usize },
    Manual { who: usize, policy: usize },
    Renew { who: usize, is_heard: bool },
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
    copy: Option<Record>,
    first_mark: UtcMillis,
    boot: BootInstant,
    replicas: Vec<Replica>,
    grants: Vec<Grant>,
    has_forgotten: bool,
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
            Step::Claim { who, back, policy, is_heard } => self.claim(who, back, policy, is_heard),
            Step::Repeat { who } => self.repeat(who),
            Step::Manual { who, policy } => self.manual(who, policy),
            Step::Renew { who, is_heard } => self.renew(who, is_heard),
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
        let finish = Finish { verdict, ..sample::finish(&active.holding, &active.era) };
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

    fn caller(&self, who: usize) -> Caller {
        let replica = &self.replicas[who];
        Caller {
            node: node(replica.name),
            calm: self.boot.since(replica.calm_since),
            heard: replica.heard_earlier,
            largest_lease: secs(LEASES[0]),
            seen: replica.seen,
            ..sample::caller(self.book.server.now, &replica.era)
        }
    }

    /// Asks, unless cut off; learns of a new era from the answer.
    fn send(&mut self, who: usize, request: Request, is_heard: bool) -> Option<Answer> {
        if self.replicas[who].is_cut_off {
            return None;
        }
        let answer = self.book.ask(request);
        self.replicas[who].seen =
            self.book.record.as_ref().map(|record| record.mark).or(self.replicas[who].seen);
        if matches!(answer, Answer::NewEra(_)) {
            self.listen(who);
        }
        Some(answer)
    }

    fn claim(&mut self, who: usize, back: u64, policy: usize, is_heard: bool) {
        let now = self.book.server.now;
        let every = i64::try_from(EVERY * 1000).expect("a small span");
        let newest = (now.0 + 200 - at(0.0).0).div_euclid(every);
        let second = |n: i64| (n * every) as f64 / 1000.0;
        let this = newest - i64::try_from(back).expect("a small number");
        let mut claim = sample::claim(self.caller(who), tick(second(this)));
        claim.prev = Some(tick(second(this - 1)));
        claim.gap = self.replicas[who].seen.map(|seen| Gap {
            mark: seen,
            count: (1..this).filter(|n| at(second(*n)) > seen).count() as u64,
        });
        claim.lease = secs(LEASES[policy % 2]);
        claim.start_deadline = secs(2 * EVERY);
        claim.overlap = [Overlap::Skip, Overlap::Wait, Overlap::Replace][policy % 3];
        claim.on_interrupt = [OnInterrupt::Skip, OnInterrupt::Rerun][policy / 3 % 2];
        self.ask_for_lock(who, claim, is_heard);
    }

    /// The same claim again, as after a reply that was not heard.
    fn repeat(&mut self, who: usize) {
        if let Some(claim) = self.replicas[who].claim.clone() {
            let caller = self.caller(who);
            self.ask_for_lock(who, Claim { wall: caller.expect, caller, ..claim }, true);
        }
    }

    fn ask_for_lock(&mut self, who: usize, claim: Claim, is_heard: bool) {
        self.replicas[who].claim = Some(claim.clone());
        let answer = self.send(who, Request::Claim(claim.clone()), is_heard);
        self.note_grant(who, claim.run, answer, is_heard);
    }

    fn manual(&mut self, who: usize, policy: usize) {
        let mut manual = sample::manual(self.caller(who));
        manual.overlap = [Overlap::Skip, Overlap::Wait][policy % 2];
        manual.lease = secs(LEASES[policy % 2]);
        let run = manual.run;
        let answer = self.send(who, Request::Manual(manual), true);
        self.note_grant(who, run, answer, true);
    }

    fn note_grant(&mut self, who: usize, run: RunId, answer: Option<Answer>, is_heard: bool) {
        let Some(Answer::Won { fence, .. }) = answer else { return };
        let holding = sample::holding(self.book.record());
        assert_eq!((holding.run, holding.fence), (run, fence));
        if self.grants.iter().all(|grant| grant.fence != fence) {
            let Holding { tick, cause, .. } = holding;
            self.grants.push(Grant { tick, fence, cause, is_given_back: false });
        }
        // A replica runs one attempt at a time of a job; what it cannot start it leaves to its lease.
        if is_heard && self.replicas[who].active.is_none() {
            let era = self.book.server.era.clone();
            let deadline = Deadline::granted(Pace::new(holding.lease, secs(10)), self.boot);
            self.replicas[who].active = Some(Active { holding, deadline, era });
        }
    }

    fn renew(&mut self, who: usize, is_heard: bool) {
        let Some(active) = self.replicas[who].active.clone() else { return };
        let renew = sample::renew(&active.holding, self.book.server.now);
        match self.send(who, Request::Renew(renew), is_heard) {
            Some(Answer::Renewed { .. }) if is_heard => {
                let era = self.book.server.era.clone();
                let deadline = active.deadline.renewed(self.boot);
                self.replicas[who].active = Some(Active { deadline, era, ..active });
            }
            Some(Answer::Lost) if is_heard => self.replicas[who].active = None,
            _ => {}
        }
    }

    fn finish(&mut self, who: usize, is_interrupted: bool) {
        let Some(active) = self.replicas[who].active.take() else { return };
        let mut finish = sample::finish(&active.holding, &active.era);
        if is_interrupted {
            finish.verdict = Verdict::because(Outcome::Interrupted, Reason::Shutdown);
        }
        self.replicas[who].last_finish = Some(finish.clone());
        self.send(who, Request::Finish(finish), true);
    }

    fn abandon(&mut self, who: usize) {
        let Some(active) = self.replicas[who].active.take() else { return };
        let abandon = sample::abandon(active.holding.run, &active.era);
        let before = self.book.record.as_ref().map(|record| record.mark);
        if self.send(who, Request::Abandon(abandon), true) != Some(Answer::Abandoned) {
            return;
        }
        // Given back: the mark is below the tick again, or the rerun may be tried again.
        let is_rerun = active.holding.cause == Cause::Rerun;
        let is_given_back = before != self.book.record.as_ref().map(|record| record.mark) || is_rerun;
        for grant in self.grants.iter_mut().filter(|grant| grant.fence == active.holding.fence) {
            grant.is_given_back = is_given_back;
        }
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
        // What is forgotten twice before a tick comes may have no entry: nobody was told from where on.
        if self.book.record.as_ref().is_none_or(|record| record.lost.is_some()) {
            return;
        }
        for who in 0..self.replicas.len() {
            self.replicas[who].is_cut_off = false;
            self.listen(who);
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

    fn one_holder_at_most(&self) -> Result<(), String> {
        let active: Vec<_> = self.replicas.iter().filter_map(|r| r.active.as_ref()).collect();
        if active.len() > 1 {
            return Err(format!("{} runs at once: {active:#?}", active.len()));
        }
        Ok(())
    }

    fn grants_are_in_order(&self) -> Result<(), String> {
        let mut granted: BTreeMap<Tick, &Grant> = BTreeMap::new();
        let mut last = Fence(0);
        for grant in &self.grants {
            if grant.fence <= last {
                return Err(format!("fence {} after {last}", grant.fence));
            }
            last = grant.fence;
            if grant.cause == Cause::Manual {
                continue;
            }
            let before = granted.insert(grant.tick, grant);
            let is_first_rerun = |before: &Grant| {
                grant.cause == Cause::Rerun && (before.cause != Cause::Rerun || before.is_given_back)
            };
            if before.is_some_and(|before| !before.is_given_back && !is_first_rerun(before)) {
                return Err(format!("tick {} granted twice: {:#?}", grant.tick, self.grants));
            }
        }
        Ok(())
    }

    /// Every tick that the mark has passed is told of once, or is running, or is still to be told of as forgotten.
    fn ticks_are_told_of(&self) -> Result<(), String> {
        let Some(record) = self.book.record.as_ref() else { return Ok(()) };
        let told = record.lost.unwrap_or(record.mark);
        let entries =
            || self.book.entries.iter().filter(|e| !matches!(e.cause, Cause::Manual | Cause::Rerun));
        let all = (1..).map(|n| tick((n * EVERY) as f64));
        for tick in all.take_while(|tick| tick.instant() <= told).filter(|t| t.instant() > self.first_mark) {
            let covers = |entry: &&Entry| {
                entry.tick == tick
                    || entry.after.is_some_and(|after| after < tick.instant() && tick < entry.tick)
            };
            let count = entries().filter(covers).count();
            let is_first = record.tries == 1 && record.cause != Some(Cause::Manual);
            let is_running = record.is_running() && record.tick == Some(tick) && is_first;
            let is_right = match (is_running, self.has_forgotten) {
                (true, false) => count == 0,
                (false, false) => count == 1,
                (true, true) => true,
                // What was granted may be forgotten together with its holder.
                (false, true) => count >= 1 || self.grants.iter().any(|grant| grant.tick == tick),
            };
            if !is_right {
                return Err(format!(
                    "tick {tick} has {count} entries: {:#?}\n{record:#?}",
                    self.book.entries
                ));
            }
        }
        Ok(())
    }
}
