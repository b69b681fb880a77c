//! What can happen next in a world, and what then is.

use std::sync::Arc;

use solocron::job::{Outcome, RunId, Verdict};
use solocron::lease::{Phase, Protection, Record, Request};

use crate::exchange::Fate;
use crate::replica::{Replica, Up};
use crate::run::State;
use crate::setting::{Loss, Resend, Setting};
use crate::world::World;

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// The next step begins.
    Pass,
    /// A replica claims the tick at hand.
    Claim(usize, Fate),
    /// A replica's job exits, and the replica tells the store.
    End(usize, Fate),
    /// A renewal meets a fate; those that do not are part of every step.
    Renew(usize, Fate),
    /// A letter under way arrives.
    Arrive(usize),
    Crash(usize),
    Restart(usize),
    Freeze(usize),
    Thaw(usize),
    Cut(usize),
    Heal(usize),
    Lose(Loss),
    Jump(i8),
    /// A follower takes over, and everybody still talks to the old primary.
    Split,
    /// A replica finds the promoted one.
    Move(usize),
    /// The old primary is gone.
    Unite,
}

/// The last one only where replicas swap.
const FATES: [Fate; 5] = [Fate::Prompt, Fate::Late, Fate::Unheard, Fate::Twice, Fate::Between];

impl World {
    /// Everything that can happen next.
    pub(crate) fn possible(&self, setting: &Setting, into: &mut Vec<Action>) {
        if self.step < setting.horizon {
            into.push(Action::Pass);
        }
        let fates = match (self.left.late > 0, setting.swaps) {
            (false, _) => &FATES[..1],
            (true, false) => &FATES[..4],
            (true, true) => &FATES[..],
        };
        for (who, replica) in self.replicas.iter().enumerate() {
            if replica.is_reachable() {
                let is_due = replica.bid.is_some() || replica.candidate(setting, who, self.step).is_some();
                if is_due && replica.is_open {
                    into.extend(fates.iter().map(|fate| Action::Claim(who, *fate)));
                }
                if replica.active.is_some() {
                    into.extend(fates.iter().map(|fate| Action::End(who, *fate)));
                    into.extend(fates[1..].iter().map(|fate| Action::Renew(who, *fate)));
                }
            } else if replica.up == Up::Awake && replica.active.is_some() {
                into.push(Action::End(who, Fate::Prompt));
            }
            self.faults_of(who, replica, into);
        }
        into.extend((0..self.under_way.len()).map(Action::Arrive));
        self.splits(into);
        if self.left.losses > 0 {
            let may = |loss: &&Loss| self.is_remembered(setting, **loss);
            into.extend(setting.losses.iter().filter(may).map(|loss| Action::Lose(*loss)));
        }
        // Two steps of the clock that undo each other between two heartbeats are seen by nobody.
        if self.left.jumps > 0 && !self.has_jumped {
            into.extend(setting.jumps.iter().map(|by| Action::Jump(*by)));
        }
    }

    fn splits(&self, into: &mut Vec<Action>) {
        if self.old.is_some() {
            let left = (0..self.replicas.len()).filter(|who| self.replicas[*who].is_on_old);
            into.extend(left.map(Action::Move));
            into.push(Action::Unite);
        } else if self.left.splits > 0 && self.replicas.iter().all(|replica| replica.has_met(&self.store)) {
            into.push(Action::Split);
        }
    }

    fn faults_of(&self, who: usize, replica: &Replica, into: &mut Vec<Action>) {
        // Who alone may remember what the store forgot must be there to tell it: see `is_remembered`.
        let may_go = replica.has_met(&self.store);
        match replica.up {
            Up::Awake => {
                into.extend((self.left.crashes > 0 && may_go).then_some(Action::Crash(who)));
                into.extend((self.left.freezes > 0 && may_go).then_some(Action::Freeze(who)));
            }
            Up::Frozen => into.push(Action::Thaw(who)),
            Up::Down => into.push(Action::Restart(who)),
        }
        if replica.is_cut_off {
            into.push(Action::Heal(who));
        } else if self.left.cuts > 0 && replica.up == Up::Awake && may_go {
            into.push(Action::Cut(who));
        }
    }

    /// Whether the promise covers a loss: a store that loses acknowledged writes while no replica that can be reached
    /// remembers them is outside of it. A replica remembers a run that it held itself, and by the store's clock every
    /// grant of a tick before it last listened; that a tick was granted for the second time only its holder knows.
    fn is_remembered(&self, setting: &Setting, loss: Loss) -> bool {
        let reruns = setting.on_interrupt == solocron::job::OnInterrupt::Rerun;
        let left = self.store.left_by(loss);
        let by_store = |run: RunId, tick, fence| {
            left.record.as_ref().is_some_and(|record: &Arc<Record>| {
                let is_over = record.fence > fence || record.run == Some(run) && record.phase == Phase::Idle;
                record.mark >= tick && record.fence >= fence && (!reruns || is_over)
            })
        };
        self.runs.iter().all(|run| {
            by_store(run.id, run.tick.instant(), run.fence)
                || self.replicas.iter().filter(|replica| replica.is_reachable()).any(|replica| {
                    let active = replica.active.as_ref().map(|lock| lock.lease.run);
                    let last = replica.last.as_ref().map(|end| end.finish.lease.run);
                    let heard = replica.latest >= run.granted && replica.latest.0 >= run.fence.0;
                    active == Some(run.id) || last == Some(run.id) || heard && !reruns
                })
        })
    }

    /// Lets something happen.
    pub(crate) fn apply(&mut self, setting: &Setting, action: Action) {
        self.act(setting, action);
        if setting.swaps {
            self.number_versions(setting);
        }
    }

    fn act(&mut self, setting: &Setting, action: Action) {
        match action {
            Action::Pass => self.pass(setting),
            Action::Claim(who, fate) => self.claim(setting, who, fate),
            Action::End(who, fate) => self.end(setting, who, fate),
            Action::Renew(who, fate) => self.renew(setting, who, fate),
            Action::Arrive(index) => {
                let letter = self.under_way.remove(index);
                self.arrive(setting, &letter);
            }
            Action::Crash(who) => {
                self.left.crashes -= 1;
                self.crash(setting, who);
            }
            Action::Restart(who) => self.restart(setting, who),
            Action::Freeze(who) => {
                self.left.freezes -= 1;
                self.replicas[who].up = Up::Frozen;
            }
            Action::Thaw(who) => self.thaw(who),
            Action::Cut(who) => {
                self.left.cuts -= 1;
                self.replicas[who].is_cut_off = true;
            }
            Action::Heal(who) => {
                // A store that did not answer is asked nothing before it answered a heartbeat.
                self.replicas[who].is_cut_off = false;
                self.routine(setting, who);
            }
            Action::Lose(loss) => self.lose(loss),
            Action::Split => {
                self.left.splits -= 1;
                self.old = Some(self.store.clone());
                self.store.era += 1;
                self.replicas.iter_mut().for_each(|replica| replica.is_on_old = true);
            }
            Action::Move(who) => self.find_the_promoted(setting, who),
            Action::Unite => {
                self.old = None;
                (0..self.replicas.len()).for_each(|who| self.find_the_promoted(setting, who));
            }
            Action::Jump(by) => {
                self.left.jumps -= 1;
                self.has_jumped = true;
                self.store.offset += by;
            }
        }
    }

    fn find_the_promoted(&mut self, setting: &Setting, who: usize) {
        if std::mem::take(&mut self.replicas[who].is_on_old) {
            self.routine(setting, who);
        }
    }

    fn end(&mut self, setting: &Setting, who: usize, fate: Fate) {
        let Some(lock) = self.replicas[who].active.clone() else { return };
        self.kill(lock.lease.run, State::Succeeded);
        let now = self.replicas[who].store_time(self.now());
        self.ended(who, &lock, Verdict::plain(Outcome::Succeeded), now);
        let finish = self.replicas[who].last.as_ref().map(|end| (*end.finish).clone());
        self.ask(setting, who, Request::Finish(finish.expect("it has just ended")), fate);
    }

    fn lose(&mut self, loss: Loss) {
        self.left.losses -= 1;
        self.store.lose(loss);
        if matches!(loss, Loss::Everything | Loss::Flush) {
            self.replicas.iter_mut().for_each(|replica| replica.is_listed = false);
        }
    }

    /// The process dies; its guard, if there is one, sees to the run.
    fn crash(&mut self, setting: &Setting, who: usize) {
        let replica = &mut self.replicas[who];
        (replica.up, replica.bid) = (Up::Down, None);
        if setting.has(Protection::Guard) {
            for run in self.runs.iter_mut().filter(|run| run.who == who && run.is_alive()) {
                run.state = State::Dying;
            }
        }
    }

    /// A new process makes sure that the runs of its former life are dead, and makes an end of them.
    pub(crate) fn restart(&mut self, setting: &Setting, who: usize) {
        self.replicas[who].start_again(setting.resend() != Resend::Never);
        if let Some(lock) = self.replicas[who].active.clone() {
            self.kill(lock.lease.run, State::Killed);
            self.notice(who);
        }
        self.routine(setting, who);
    }

    /// The process goes on, and looks at its deadline first.
    pub(crate) fn thaw(&mut self, who: usize) {
        self.replicas[who].up = Up::Awake;
        let now = self.boot();
        for run in self.runs.iter_mut().filter(|run| run.who == who && run.is_alive()) {
            if run.deadline().is_over(now) {
                run.state = State::Killed;
            }
        }
        self.notice(who);
    }
}
