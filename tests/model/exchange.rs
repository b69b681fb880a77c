//! What replicas ask of the store, what becomes of it on the way, and what they make of the answers.

use std::sync::Arc;

use solocron::job::{Cause, OnInterrupt, Outcome, Reason, Tick, Verdict};
use solocron::lease::{Abandon, Answer, Claim, Deadline, Lease, Open, Protection, Renew, Reply, Request};
use solocron::time::UtcMillis;

use crate::replica::{Bid, Lock, Up};
use crate::run::{Run, State};
use crate::setting::{Resend, STEP, Setting, era, node, run_id, sched};
use crate::world::{Letter, World};

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    /// It is answered at once.
    Prompt,
    /// It is held up on its way, for any time.
    Late,
    /// It is decided at once, and the reply is held up.
    Unheard,
    /// It is answered at once, and then held up on its way once more.
    Twice,
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
        let mut letter = Letter { who, life, sent, is_to_old, era, request: Arc::new(request), reply: None };
        if fate == Fate::Unheard {
            let reply = self.submit(setting, &letter);
            letter.reply = reply.map(Arc::new);
        }
        if matches!(fate, Fate::Prompt | Fate::Twice) {
            self.arrive(setting, &letter);
        }
        if fate != Fate::Prompt {
            self.left.late -= 1;
            self.under_way.push(letter);
        }
    }

    /// What the store that a letter goes to replies; nothing if that is gone, or takes no writes.
    fn submit(&mut self, setting: &Setting, letter: &Letter) -> Option<Reply> {
        let now = self.now();
        let store = match letter.is_to_old {
            false => &mut self.store,
            true => self.old.as_mut().filter(|_| !setting.old_refuses)?,
        };
        Some(store.submit(setting, &letter.request, now))
    }

    /// A letter arrives: at the store, or back at its sender.
    pub(crate) fn arrive(&mut self, setting: &Setting, letter: &Letter) {
        let answered = letter.reply.clone();
        let Some(reply) = answered.or_else(|| self.submit(setting, letter).map(Arc::new)) else { return };
        let replica = &self.replicas[letter.who];
        if replica.up != Up::Awake || replica.life != letter.life {
            return;
        }
        match &*letter.request {
            Request::Open(_) => self.opened(letter.who, &reply),
            Request::Claim(claim) => self.claimed(setting, letter, claim, &reply),
            Request::Renew(renew) => self.renewed(setting, letter, renew, &reply),
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
        let knows_run = store.record.as_ref().and_then(|record| record.run);
        let store = store.clone();
        self.replicas[who].listen(setting, &store, step, now);
        let is_new = !self.replicas[who].is_open;
        if is_new {
            let caller = self.replicas[who].caller(setting, who, step, now);
            let known = self.replicas[who].is_known || self.store.knows_job;
            let (sched, since, lease) = (sched(), UtcMillis(0), setting.lease(who));
            let earlier = caller.latest_store_time;
            let (wall, ahead, dropped, pausing) = (now, None, None, None);
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
        self.ask(setting, who, Request::Claim(claim), fate);
        let is_settled = fate == Fate::Prompt && self.runs.iter().all(|known| known.id != run);
        if is_new && is_settled {
            // No grant, and no copy of the claim under way: the id was never used.
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
        self.store.record.as_ref().filter(|_| reruns)?.cut_short().map(|rerun| rerun.tick)
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

    fn claimed(&mut self, setting: &Setting, letter: &Letter, claim: &Claim, reply: &Reply) {
        let who = letter.who;
        let Some(bid) = self.replicas[who].bid.clone().filter(|bid| bid.run == claim.run) else { return };
        let replica = &mut self.replicas[who];
        replica.decided = replica.decided.max(reply.mark.unwrap_or_default());
        match reply.answer {
            Answer::Won { .. } => self.won(setting, letter, &bid, reply),
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
    fn won(&mut self, setting: &Setting, letter: &Letter, bid: &Bid, reply: &Reply) {
        let Answer::Won { fence, tries, started } = reply.answer else { return };
        let (who, now, lease) = (letter.who, self.boot(), setting.lease(letter.who));
        let from_sending = setting.has(Protection::DeadlineFromSending);
        let counted_from = if from_sending { letter.sent } else { now };
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

    fn renewed(&mut self, setting: &Setting, letter: &Letter, renew: &Renew, reply: &Reply) {
        let (who, now) = (letter.who, self.boot());
        let run = renew.lease.run;
        let active = self.replicas[who].active.clone();
        let Some(lock) = active.filter(|lock| lock.lease.run == run) else { return };
        match reply.answer {
            Answer::Renewed { .. } => {
                let from_sending = setting.has(Protection::DeadlineFromSending);
                let counted_from = if from_sending { letter.sent } else { now };
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
