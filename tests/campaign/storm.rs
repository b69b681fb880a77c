//! A campaign of random faults: storms, in which every kind of fault is done once in an order that the seed decides, and
//! calm in between, in which everything must be as if there had been none.

use std::collections::VecDeque;
use std::time::Duration;

use crate::dice::Dice;
use crate::fault::{Fault, Kind};
use crate::hands::{Deeds, Hands};
use crate::injection;
use crate::pause::pause;
use crate::set_back::SetBack;
use crate::undo::{self, Undo};
use crate::world::{World, now_ms};

/// Between two looks at what is to be done.
const STEP: Duration = Duration::from_millis(50);

/// The stores keep two hundred entries a job: three minutes of a job of every second.
const COLLECT_EVERY_MS: i64 = 5_000;

/// How long replicas are left alone before the first storm.
const CALM_MS: i64 = 30_000;

/// What cannot be done for this long, for want of something to do it to, waits for the next storm.
const STORM_MS: i64 = 85_000;

/// From one storm's beginning to the next one's.
const PERIOD_MS: i64 = 250_000;

/// From one fault's beginning to the next one's.
const GAPS_MS: (i64, i64) = (100, 400);

/// Whoever was granted a lock unheard gives it back within this time.
const GIVING_BACK_MS: i64 = 5_000;

/// After a replica was away for a while, it has heard from the store again this long after.
const RECOVERY_MS: i64 = 2_000;

/// A step of a clock has become known this long after.
const CLOCK_NEWS_MS: i64 = 1_500;

/// Nothing is begun any more this long before the end, so that there is calm again to be judged by.
const LAST_CALM_MS: i64 = 60_000;

/// What is going on.
pub(crate) struct Storm<'a> {
    world: &'a mut World,
    dice: Dice,
    hands: Hands,
    set_back: SetBack,
    /// What is still to be done in this storm, and until when.
    deck: VecDeque<Kind>,
    over_ms: i64,
    active: Vec<(usize, Undo)>,
    pub(crate) faults: Vec<Fault>,
    /// Until when each replica, and the server, has its fault.
    busy_until_ms: Vec<i64>,
    server_busy_until_ms: i64,
    /// Until when a clock is wrong: by the design, where both the store's and a replica's are ahead, ticks come early.
    clock_wrong_until_ms: i64,
    /// Until when each replica does not hear from the store.
    away_until_ms: Vec<i64>,
}

impl<'a> Storm<'a> {
    /// A campaign on this world.
    pub(crate) fn over(world: &'a mut World, seed: u64) -> Self {
        let none = vec![0; world.replicas.len()];
        Self {
            world,
            dice: Dice::of(seed),
            hands: Hands::idle(seed),
            set_back: SetBack::default(),
            deck: VecDeque::new(),
            over_ms: 0,
            active: Vec::new(),
            faults: Vec::new(),
            busy_until_ms: none.clone(),
            server_busy_until_ms: 0,
            clock_wrong_until_ms: 0,
            away_until_ms: none,
        }
    }

    /// Storms and calm for so long; everything is right again in the end.
    pub(crate) fn rage(mut self, duration: Duration) -> (Vec<Fault>, Deeds) {
        let begun = now_ms();
        let until = begun + i64::try_from(duration.as_millis()).expect("not that long");
        let (mut next_storm, mut next_fault, mut next_collect) = (begun + CALM_MS, 0, begun);
        while now_ms() < until || !self.active.is_empty() {
            let now = now_ms();
            self.undo(now);
            self.faults.extend(self.set_back.work(self.world));
            let is_far_off = self.active.iter().any(|(at, _)| self.faults[*at].kind.is_far_off());
            let may_pause = !is_far_off && self.world.inspector.ahead_since().is_none();
            self.hands.work(self.world, may_pause);
            if now >= next_storm && now < until - LAST_CALM_MS {
                next_storm = now + PERIOD_MS;
                self.over_ms = now + STORM_MS;
                self.deck = self.new_deck();
            }
            if now >= next_fault {
                let begun = self.inject(now);
                let gap = self.dice.between(GAPS_MS.0, GAPS_MS.1);
                let is_first = begun == Some(Kind::DropReply) && self.active.len() == 1;
                next_fault = now + if is_first { GIVING_BACK_MS } else { gap };
            }
            if now >= next_collect {
                next_collect = now + COLLECT_EVERY_MS;
                self.world.collect();
                self.world.skip_lines();
            }
            pause(STEP);
        }
        (self.faults, self.hands.rest())
    }

    /// Every kind once. Answers are dropped twice: first of all, when locks are being granted and nothing forgets them. Guards
    /// are next, while runs go on. What lasts long follows: messages are held twice, and come when all is calm again.
    fn new_deck(&mut self) -> VecDeque<Kind> {
        use Kind::{DropReply, Hold, KillBoth, KillGuard, StopBoth, StopGuard, StopReplica};
        let placed = [KillGuard, StopGuard, KillBoth, Hold, StopReplica, StopBoth, Hold];
        let all: Vec<Kind> = Kind::menu().collect();
        let others = self.dice.shuffled(&all).into_iter().filter(|kind| !placed.contains(kind));
        std::iter::once(DropReply).chain(placed).chain(others).collect()
    }

    fn undo(&mut self, now: i64) {
        let (over, active) = std::mem::take(&mut self.active)
            .into_iter()
            .partition(|(at, _): &(usize, Undo)| self.faults[*at].ended_ms <= now);
        self.active = active;
        for (at, undo) in over {
            let next = undo::end(self.world, undo);
            let lasts_ms = next.as_ref().map_or(0, |(_, after_ms)| *after_ms);
            self.faults[at].ended_ms = now_ms() + lasts_ms;
            if let Some((undo, _)) = next {
                let Fault { kind, ended_ms, .. } = self.faults[at];
                // Only what is done to the server has several steps.
                self.remember_effect(kind, 0, ended_ms);
                self.active.push((at, undo));
            }
        }
    }

    /// Begins the first fault of the deck that may be done now.
    fn inject(&mut self, now: i64) -> Option<Kind> {
        if now > self.over_ms {
            self.deck.clear();
        }
        for next in 0..self.deck.len() {
            let kind = self.deck[next];
            let at = self.dice.below(self.world.replicas.len());
            if !self.may(kind, at, now) {
                continue;
            }
            let begun_ms = now_ms();
            // Where there is nothing to do it to, there may be before long.
            let Some(begun) = injection::begin(self.world, kind, at, &mut self.dice) else { continue };
            self.deck.remove(next);
            let ended_ms = now_ms() + begun.lasts_ms;
            self.remember_effect(kind, at, ended_ms);
            self.active.push((self.faults.len(), begun.undo));
            self.faults.push(Fault { kind, target: begun.target, begun_ms, ended_ms });
            return Some(kind);
        }
        None
    }

    fn remember_effect(&mut self, kind: Kind, at: usize, ended_ms: i64) {
        if kind.is_of_server() {
            self.server_busy_until_ms = ended_ms;
        } else if !kind.is_aside() {
            self.busy_until_ms[at] = ended_ms;
        }
        if kind.steps_a_clock() && !kind.is_aside() {
            self.clock_wrong_until_ms = ended_ms + CLOCK_NEWS_MS;
        }
        if kind.takes_away() {
            self.away_until_ms[at] = ended_ms + RECOVERY_MS;
        }
    }

    /// One fault at a time for each replica and for the server, and always somebody who remembers.
    fn may(&self, kind: Kind, at: usize, now: i64) -> bool {
        let away = self.away_until_ms.iter().filter(|until| **until > now).count();
        let somebody_stays = away + usize::from(kind.takes_away()) < self.away_until_ms.len();
        let is_free = match kind {
            _ if kind.is_aside() => self.active.iter().all(|(at, _)| !kind.excludes(self.faults[*at].kind)),
            _ if kind.is_of_server() => self.server_busy_until_ms <= now,
            _ => self.busy_until_ms[at].max(self.away_until_ms[at]) <= now,
        };
        is_free
            && somebody_stays
            && !(kind.steps_a_clock() && !kind.is_aside() && self.clock_wrong_until_ms > now)
    }
}
