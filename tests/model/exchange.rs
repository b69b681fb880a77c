//! What replicas ask of the store, what becomes of it on the way, and what they make of the answers.

use std::sync::Arc;

use solocron::job::{Cause, OnInterrupt, Outcome, Reason, Tick, Verdict};
use solocron::lease::{
    Abandon, Answer, CellExchange, Claim, Deadline, ExchangeStep, Lease, LiveRuns, Open, Protection,
    Remembered, Renew, Reply, Request,
};
use solocron::time::{BootInstant, UtcMillis};

use crate::replica::{Bid, Known, Lock, Up};
use crate::run::{Run, State};
use crate::setting::{Resend, STEP, Setting, era, node, run_id, sched};
use crate::store::{Cell, Store, server, without_successes};
use crate::world::{HeldUp, Letter, Stage, World};

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    /// The record is read, the request decided, and the swap answered at once.
    Prompt,
    /// The record is read late: the request is held up on its way, for any time.
    Late,
    /// The record is read at once, and the swap is held up on its way.
    Between,
    /// The swap is made at once, and its reply is held up.
    Unheard,
    /// It is answered at once, and its swap arrives a second time, late.
    Twice,
}

/// What a request has come to at one moment.
struct Exchanged {
    /// The last swap that was sent.
    swap: Option<HeldUp>,
    /// Whether that swap was written; otherwise it is held up, or there was none.
    is_written: bool,
    reply: Option<(Reply, std::time::Duration)>,
}

impl World {
    /// Sends a request. One that cannot get through now never does.
    pub(crate) fn ask(&mut self, setting: &Setting, who: usize, request: Request, fate: Fate) {
        let replica = &self.replicas[who];
        if !replica.is_reachable() {
            return;
        }
        let (life, sent, era) = (replica.life, self.boot(), era(replica.era));
        let is_to_old = replica.is_on_old;
        let letter =
            Letter { who, life, sent, is_to_old, era, request: Arc::new(request), stage: Stage::Asked };
        if fate == Fate::Late {
            return self.hold_up(letter, Stage::Asked);
        }
        if !setting.swaps {
            return self.ask_store(setting, letter, fate);
        }
        let Some(exchanged) = self.exchange(setting, &letter, fate != Fate::Between) else { return };
        match (fate, exchanged.swap) {
            (Fate::Between | Fate::Twice, Some(swap)) => {
                let stage = Stage::Swapping(Arc::new(HeldUp { is_repeated: fate == Fate::Twice, ..swap }));
                self.hold_up(letter.clone(), stage);
            }
            (Fate::Unheard, Some(swap)) => return self.hold_up(letter, Stage::Answered(swap.reply)),
            _ => {}
        }
        if let Some((reply, age)) = exchanged.reply {
            self.hear(setting, &letter, &reply, age);
        }
    }

    /// Sends a request to a store that decides.
    fn ask_store(&mut self, setting: &Setting, letter: Letter, fate: Fate) {
        let reply = self.submit(setting, &letter);
        let stage = match (fate, &reply) {
            (Fate::Unheard, Some(reply)) => Stage::Answered(Arc::new(reply.clone())),
            _ => Stage::Asked,
        };
        if fate != Fate::Unheard
            && let Some(reply) = reply
        {
            self.hear(setting, &letter, &reply, std::time::Duration::ZERO);
        }
        if fate != Fate::Prompt {
            self.hold_up(letter, stage);
        }
    }

    /// What the store that a letter goes to replies; nothing if that is gone, or takes no writes.
    fn submit(&mut self, setting: &Setting, letter: &Letter) -> Option<Reply> {
        let now = self.now();
        Some(self.store_of(setting, letter.is_to_old)?.submit(setting, &letter.request, now))
    }

    fn hold_up(&mut self, letter: Letter, stage: Stage) {
        self.left.late -= 1;
        self.under_way.push(Letter { stage, ..letter });
    }

    /// The store that a letter goes to; none if that is gone, or takes no writes.
    fn store_of(&mut self, setting: &Setting, is_to_old: bool) -> Option<&mut Store> {
        match is_to_old {
            false => Some(&mut self.store),
            true => self.old.as_mut().filter(|_| !setting.old_refuses),
        }
    }

    /// Reads, decides and swaps at this moment, until there is a reply; if not `swaps`, up to the first swap, which is
    /// returned. Nothing if the store does not answer.
    fn exchange(&mut self, setting: &Setting, letter: &Letter, swaps: bool) -> Option<Exchanged> {
        let (world, replica) = (self.now(), &self.replicas[letter.who]);
        let estimate = server(replica.store_time(world), replica.era);
        let known = replica.known_cell.clone();
        let remembered = known.as_ref().map(|known| Remembered {
            record: &known.record,
            version: known.version,
            era: &known.era,
        });
        let mut exchange = CellExchange::default();
        let mut exchanged = Exchanged { swap: None, is_written: false, reply: None };
        let mut step = setting.decide(|| exchange.begin(&letter.request, remembered, &estimate));
        loop {
            match step {
                ExchangeStep::Read => {
                    let store = self.store_of(setting, letter.is_to_old)?;
                    let (cell, server) = (store.cell.clone(), store.server(world));
                    step = setting.decide(|| {
                        exchange.read(&letter.request, cell.record.as_deref(), cell.version, &server)
                    });
                }
                ExchangeStep::Swap(swap) => {
                    let record = swap.decision.record.map(without_successes).map(Arc::new);
                    let (conditions, reply) = (swap.conditions, Arc::new(swap.decision.reply));
                    let held_up = HeldUp { conditions, record, reply, is_repeated: false };
                    exchanged.swap = Some(held_up.clone());
                    if !swaps {
                        return Some(exchanged);
                    }
                    let written = self.swap(setting, letter, &held_up)?;
                    exchanged.is_written = written.is_some();
                    exchanged.swap = exchanged.swap.filter(|_| written.is_some());
                    step = exchange.swapped(written);
                }
                ExchangeStep::Done { reply, age } => {
                    exchanged.reply = Some((*reply, age));
                    break;
                }
                ExchangeStep::GiveUp => break,
            }
        }
        if exchanged.is_written && letter.life == self.replicas[letter.who].life {
            self.remember(letter);
        }
        Some(exchanged)
    }

    /// A swap arrives at the store. Nothing if the store does not answer; otherwise when it was written, or not at all.
    fn swap(&mut self, setting: &Setting, letter: &Letter, swap: &HeldUp) -> Option<Option<UtcMillis>> {
        let (world, nonce) = (self.now(), self.new_nonce());
        let store = self.store_of(setting, letter.is_to_old)?;
        Some(store.swap(setting, &swap.conditions, swap.record.as_ref(), nonce, world))
    }

    /// The sender of a letter remembers what its swap has written.
    fn remember(&mut self, letter: &Letter) {
        let store = self.old.as_ref().filter(|_| letter.is_to_old).unwrap_or(&self.store);
        let Cell { record, version } = store.cell.clone();
        let era = era(store.era);
        self.replicas[letter.who].known_cell =
            record.zip(version).map(|(record, version)| Known { record, version, era });
    }

    /// A letter arrives: at the store, or back at its sender.
    pub(crate) fn arrive(&mut self, setting: &Setting, letter: &Letter) {
        match &letter.stage {
            Stage::Answered(reply) => self.hear(setting, letter, reply, std::time::Duration::ZERO),
            Stage::Asked if setting.swaps => self.ask_late(setting, letter),
            Stage::Asked => {
                if let Some(reply) = self.submit(setting, letter) {
                    self.hear(setting, letter, &reply, std::time::Duration::ZERO);
                }
            }
            Stage::Swapping(swap) => {
                let Some(written) = self.swap(setting, letter, swap) else { return };
                if swap.is_repeated || !self.is_there(letter) {
                    return;
                }
                // Its sender may have been stopped between the decision and the sending.
                let letter = Letter { sent: self.boot(), ..letter.clone() };
                match written {
                    Some(written) => {
                        let age = written.since(swap.conditions.now);
                        self.hear(setting, &letter, &swap.reply, age);
                    }
                    None => self.ask_late(setting, &letter),
                }
            }
        }
    }

    /// The record is read now for a request of an earlier moment: its sender decides it, if it is there and has not given the
    /// request up.
    fn ask_late(&mut self, setting: &Setting, letter: &Letter) {
        let replica = &self.replicas[letter.who];
        let is_given_up = match &*letter.request {
            Request::Claim(claim) => replica.bid.as_ref().is_none_or(|bid| bid.run != claim.run),
            _ => false,
        };
        if is_given_up || !self.is_there(letter) || !replica.is_reachable() {
            return;
        }
        if let Some((reply, age)) = self.exchange(setting, letter, true).and_then(|exchanged| exchanged.reply)
        {
            self.hear(setting, letter, &reply, age);
        }
    }

    /// Whether the sender of a letter is there to take in what becomes of it.
    fn is_there(&self, letter: &Letter) -> bool {
        let replica = &self.replicas[letter.who];
        replica.up == Up::Awake && replica.life == letter.life
    }

    /// The sender of a letter receives the reply. `age` is how much earlier than the write the decision's time was.
    fn hear(&mut self, setting: &Setting, letter: &Letter, reply: &Reply, age: std::time::Duration) {
        if !self.is_there(letter) {
            return;
        }
        let age = if setting.counts_age { age } else { std::time::Duration::ZERO };
        let from_sending = setting.has(Protection::DeadlineFromSending);
        let counted_from = if from_sending { earlier(letter.sent, age) } else { self.boot() };
        match &*letter.request {
            Request::Open(_) => self.opened(letter.who, reply),
            Request::Claim(claim) => self.claimed(setting, letter, claim, reply, counted_from),
            Request::Renew(renew) => self.renewed(letter, renew, reply, counted_from),
            Request::Finish(finish) => {
                let last = self.replicas[letter.who].last.as_mut();
                if let Some(end) = last.filter(|end| end.finish.lease.run == finish.lease.run) {
                    end.is_told |= matches!(reply.answer, Answer::Finished | Answer::AlreadyDecided);
                }
            }
            Request::Manual(_) | Request::Abandon(_) | Request::Operate(_) => {}
        }
    }

    /// What a replica does by itself: listens, opens, renews, and tells how its last run ended.
    pub(crate) fn routine(&mut self, setting: &Setting, who: usize) {
        if !self.replicas[who].is_reachable() {
            return;
        }
        let (step, now) = (self.step, self.now());
        let store = self.old.as_ref().filter(|_| self.replicas[who].is_on_old).unwrap_or(&self.store);
        let knows_run = store.cell.record.as_ref().and_then(|record| record.run);
        let store = store.clone();
        self.replicas[who].listen(setting, &store, step, now);
        let is_new = !self.replicas[who].is_open;
        if is_new {
            let caller = self.replicas[who].caller(setting, who, step, now);
            let known = self.replicas[who].is_known || self.store.knows_job;
            let (sched, since, lease) = (sched(), UtcMillis(0), setting.lease(who));
            let earlier = caller.latest_store_time;
            let (wall, ahead, dropped, pausing) = (now, Vec::new(), None, None);
            let by_exec = Open::by_exec(caller, lease, wall);
            let open = Open {
                schedule_hash: sched,
                schedule_since: since,
                ahead,
                is_known_job: known,
                latest_of_earlier_eras: earlier,
                dropped,
                pausing,
                ..by_exec
            };
            self.ask(setting, who, Request::Open(open), Fate::Prompt);
        }
        if let Some(lock) = &self.replicas[who].active {
            let is_missed = setting.looks && knows_run != Some(lock.lease.run);
            if step % setting.renew_every == 0 || is_missed {
                self.renew(setting, who, Fate::Prompt);
            }
        } else if let Some(end) = self.replicas[who].last.clone()
            && (!end.is_told || is_new && setting.resend() != Resend::Never)
        {
            self.ask(setting, who, Request::Finish((*end.finish).clone()), Fate::Prompt);
        }
        // The mistake that a draft made: the run still goes on.
        if is_new
            && setting.resend() == Resend::Any
            && let Some(lock) = self.replicas[who].active.clone()
        {
            let now = self.replicas[who].store_time(self.now());
            let finish = Self::finish(&lock, Verdict::plain(Outcome::Succeeded), now);
            self.ask(setting, who, Request::Finish(finish), Fate::Prompt);
        }
    }

    /// Renews what the replica runs.
    pub(crate) fn renew(&mut self, setting: &Setting, who: usize, fate: Fate) {
        let Some(lock) = self.replicas[who].active.clone() else { return };
        let expect = self.replicas[who].store_time(self.now());
        let renew = Renew { lease: (*lock.lease).clone(), expect, leapt: None };
        self.ask(setting, who, Request::Renew(renew), fate);
    }

    /// Claims the tick at hand; one whose claim was not answered is asked for under the same run id.
    pub(crate) fn claim(&mut self, setting: &Setting, who: usize, fate: Fate) {
        let Some(bid) = self.bid_at_hand(setting, who) else { return };
        let doubt = self.replicas[who].bid.clone();
        let is_new = doubt.as_ref() != Some(&bid);
        if let Some(doubt) = doubt.filter(|_| is_new) {
            self.abandon(setting, who, &doubt);
        }
        let (step, now) = (self.step, self.now());
        self.replicas[who].watches(setting, step, now);
        let claim = self.claim_for(setting, who, &bid);
        let run = bid.run;
        self.replicas[who].bid = Some(bid);
        let under_way = self.under_way.len();
        self.ask(setting, who, Request::Claim(claim), fate);
        let is_settled = self.under_way.len() == under_way && self.runs.iter().all(|known| known.id != run);
        if is_new && is_settled {
            // No grant, and nothing of the claim under way: the id was never used.
            self.replicas[who].bid = None;
        } else if is_new {
            self.next_run += 1;
        }
    }

    /// The bid in doubt, if its tick is still at hand, or was perhaps decided by itself; else one for the tick at hand.
    fn bid_at_hand(&self, setting: &Setting, who: usize) -> Option<Bid> {
        let replica = &self.replicas[who];
        let candidate = self.rerun_at_hand(setting).or_else(|| replica.candidate(setting, who, self.step));
        let is_at_hand = |bid: &&Bid| bid.tick.instant() <= replica.decided || Some(bid.tick) == candidate;
        let new = |tick| Bid { run: run_id(self.next_run), tick, era: era(replica.era) };
        replica.bid.as_ref().filter(is_at_hand).cloned().or_else(|| candidate.map(new))
    }

    /// A tick that was cut short goes first. Here everyone knows of it; in truth, answers tell.
    fn rerun_at_hand(&self, setting: &Setting) -> Option<Tick> {
        let reruns = setting.on_interrupt == OnInterrupt::Rerun;
        self.store.cell.record.as_ref().filter(|_| reruns)?.cut_short().map(|rerun| rerun.tick)
    }

    fn claim_for(&self, setting: &Setting, who: usize, bid: &Bid) -> Claim {
        let now = self.now();
        Claim {
            caller: self.replicas[who].caller(setting, who, self.step, now),
            run: bid.run,
            tick: bid.tick,
            prev: None,
            gap: None,
            gap_reason: Reason::NoReplica,
            schedule_hash: sched(),
            lease: setting.lease(who),
            start_deadline: STEP * 100,
            overlap: setting.overlap,
            on_interrupt: setting.on_interrupt,
            catch_up: false,
            wall: now,
            unfit: None,
            live_runs: LiveRuns::default(),
        }
    }

    fn abandon(&mut self, setting: &Setting, who: usize, bid: &Bid) {
        self.replicas[who].bid = None;
        let abandon = Abandon { run: bid.run, era: bid.era.clone(), edited: false };
        self.ask(setting, who, Request::Abandon(abandon), Fate::Prompt);
    }

    fn opened(&mut self, who: usize, reply: &Reply) {
        if let Answer::Opened { .. } = reply.answer {
            let replica = &mut self.replicas[who];
            (replica.is_open, replica.is_known) = (true, true);
            replica.decided = replica.decided.max(reply.mark.unwrap_or_default());
            self.store.knows_job = true;
        }
    }

    fn claimed(
        &mut self,
        setting: &Setting,
        letter: &Letter,
        claim: &Claim,
        reply: &Reply,
        counted_from: BootInstant,
    ) {
        let who = letter.who;
        let Some(bid) = self.replicas[who].bid.clone().filter(|bid| bid.run == claim.run) else { return };
        let replica = &mut self.replicas[who];
        replica.decided = replica.decided.max(reply.mark.unwrap_or_default());
        match reply.answer {
            Answer::Won { .. } => self.won(setting, letter.who, &bid, reply, counted_from),
            Answer::Decided { .. } | Answer::Consumed(_) => {
                replica.bid = None;
                replica.decided = replica.decided.max(bid.tick.instant());
                let is_skipped = matches!(reply.answer, Answer::Consumed(verdict)
                    if verdict.reason == Some(Reason::Overlap));
                if is_skipped && !self.is_covered(bid.tick) {
                    self.wrongly_skipped.push(bid.tick);
                }
            }
            Answer::Unsynced | Answer::NewEra(_) => self.routine(setting, who),
            // The lock may be its own, of an earlier life of the store: it stays in doubt.
            Answer::Held { by: Some(ref holder), .. } if holder.run == bid.run => {}
            _ => replica.bid = None,
        }
    }

    /// A grant starts the run, unless its answer comes too late.
    fn won(&mut self, setting: &Setting, who: usize, bid: &Bid, reply: &Reply, counted_from: BootInstant) {
        let Answer::Won { fence, tries, started } = reply.answer else { return };
        let (now, lease) = (self.boot(), setting.lease(who));
        let has_own = setting.refuses_own && self.replicas[who].active.is_some();
        if has_own || Deadline::granted(Setting::pace(lease), counted_from).is_over(now) {
            let replica = &mut self.replicas[who];
            replica.decided = replica.decided.min(UtcMillis(bid.tick.as_millis() - 1));
            return self.abandon(setting, who, bid);
        }
        let (run, tick) = (bid.run, bid.tick);
        let cause = if tries > 1 { Cause::Rerun } else { Cause::Schedule };
        let granted_lease = Lease {
            run,
            fence,
            tick,
            length: lease,
            node: node(who),
            cause,
            tries,
            started,
            schedule_hash: sched(),
            mark: reply.mark.unwrap_or(tick.instant()),
            prev: None,
        };
        let replica = &mut self.replicas[who];
        replica.bid = None;
        replica.decided = replica.decided.max(tick.instant());
        replica.active = Some(Lock { lease: Arc::new(granted_lease), era: bid.era.clone() });
        let state = State::Alive;
        // What is granted ahead of its instant begins later.
        let granted = started.min(reply.now);
        let run = Run { id: run, who, tick, fence, tries, granted, lease, counted_from, state };
        self.runs.push(run);
    }

    fn renewed(&mut self, letter: &Letter, renew: &Renew, reply: &Reply, counted_from: BootInstant) {
        let who = letter.who;
        let run = renew.lease.run;
        let active = self.replicas[who].active.clone();
        let Some(lock) = active.filter(|lock| lock.lease.run == run) else { return };
        match reply.answer {
            Answer::Renewed { .. } => {
                for run in self.runs.iter_mut().filter(|known| known.id == run) {
                    run.counted_from = run.counted_from.max(counted_from);
                }
                self.replicas[who].active = Some(Lock { era: letter.era.clone(), ..lock });
            }
            Answer::Lost => {
                self.kill(run, State::Killed);
                self.notice(who);
            }
            _ => {}
        }
    }
}

/// The instant that is so much earlier.
fn earlier(at: BootInstant, by: std::time::Duration) -> BootInstant {
    BootInstant(at.0.saturating_sub(by))
}
