//! The rerun of a tick whose run was cut short by its replica: what answers tell of it, when this replica asks for it,
//! and that it goes before newer ticks. Every replica that asked for the tick knows when its lock is over at the latest;
//! while its replica is heard from, nobody asks before.

use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobSpec, NodeName, OnInterrupt, Outcome, Tick, Verdict};
use crate::lease::{EARLY_TOLERANCE, Rerun};
use crate::replica::cluster::roster::Roster;
use crate::replica::tick::backoff;
use crate::replica::tick::eligibility::Eligibility;
use crate::time::UtcMillis;

use super::super::action::{Action, Finding};
use super::Contest;

/// Whose run goes on, by its heartbeat, is looked at again after this long: as often as heartbeats come.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A tick that may run once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutShort {
    tick: Tick,
    /// The replica that had its run.
    by: Option<NodeName>,
    /// Whether that still goes on, as far as the store knew.
    goes_on: bool,
    /// When to ask.
    at: UtcMillis,
    /// Whether the alarm for that is set.
    is_set: bool,
}

/// What is known of a rerun.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum RerunLeft {
    /// There is none, or it is not wanted.
    #[default]
    Nothing,
    /// There is one, of a tick that came before the job was scheduled as it is, that was rerun as far as this replica knows,
    /// or that has yet to come: it does not go before newer ticks.
    TooOld,
    /// There is one, or may be.
    CutShort(CutShort),
}

impl Contest {
    /// The store told of the tick that may run once more, if there is one.
    pub fn hear_of_rerun(&mut self, told: Option<&Rerun>, now: UtcMillis) {
        let wanted = self.spec.on_interrupt == OnInterrupt::Rerun && !self.retired;
        let Some(told) = told.filter(|_| wanted) else {
            self.rerun = RerunLeft::Nothing;
            return;
        };
        // A store that took over may have forgotten that it was rerun. One that lies ahead was cut short by a clock that was.
        let is_ahead = told.tick.instant() > now.plus(EARLY_TOLERANCE);
        if is_ahead || told.tick.instant() <= self.since.max(self.rerun_over) {
            self.rerun = RerunLeft::TooOld;
            return;
        }
        let wait = match told.goes_on && told.frees_in.is_zero() {
            // Its time is over, but who asked has not watched the store for long enough to say so.
            true => backoff::ask_every(&self.spec),
            false => told.frees_in,
        };
        let Rerun { tick, ref by, goes_on, .. } = *told;
        let mut cut = CutShort { tick, by: by.clone(), goes_on, at: now.plus(wait), is_set: false };
        if let RerunLeft::CutShort(before) = &self.rerun
            && (before.tick, before.goes_on, goes_on) == (tick, false, false)
        {
            // Who lets others go first does so once.
            (cut.at, cut.is_set) = (before.at, before.is_set);
        }
        self.rerun = RerunLeft::CutShort(cut);
    }

    /// There is a rerun to be had, and no other replica may know: its run was cut short here, or given back.
    pub fn cut_short_here(&mut self, tick: Tick, by: Option<NodeName>, now: UtcMillis) {
        let rerun = Rerun { tick, by, goes_on: false, frees_in: Duration::ZERO };
        self.hear_of_rerun(Some(&rerun), now);
    }

    /// Looks what to do by now, as the replica stands among the others.
    pub fn look(&mut self, now: UtcMillis, roster: &Roster, has_room: bool) -> Action {
        let spec = Arc::clone(&self.spec);
        self.stand(roster.standing(&spec, has_room));
        self.spare(now, roster);
        let (rerun, head_start) = match &self.rerun {
            RerunLeft::CutShort(cut) => (Some(cut.tick), roster.head_start(&spec, cut.by.as_ref())),
            RerunLeft::Nothing | RerunLeft::TooOld => (None, Duration::ZERO),
        };
        let head_start = |tick| if Some(tick) == rerun { head_start } else { Duration::ZERO };
        self.wake(now, |tick| roster.stagger(&spec, tick) + head_start(tick))
    }

    /// A run that its replica's heartbeat lists goes on.
    fn spare(&mut self, now: UtcMillis, roster: &Roster) {
        if let RerunLeft::CutShort(cut) = &mut self.rerun
            && cut.goes_on
            && cut.at <= now
            && roster.runs(&self.spec.name)
        {
            (cut.at, cut.is_set) = (now.plus(LOOK_AGAIN), false);
        }
    }

    /// Whether a tick is due that this replica has no room for: then it waits for room.
    pub fn waits_for_room(&self, now: UtcMillis) -> bool {
        let is_due = self.tick().is_some() || self.rerun_at_hand(now).is_some();
        matches!(self.standing, Eligibility::Full(_)) && is_due
    }

    /// The tick to ask for once more by now.
    pub(in crate::replica) fn rerun_at_hand(&self, now: UtcMillis) -> Option<Tick> {
        match &self.rerun {
            RerunLeft::CutShort(cut) => Some(cut.tick).filter(|_| cut.at <= now),
            RerunLeft::Nothing | RerunLeft::TooOld => None,
        }
    }

    /// Whether it is the tick that may run once more.
    pub(super) fn is_rerun(&self, tick: Tick) -> bool {
        matches!(&self.rerun, RerunLeft::CutShort(cut) if cut.tick == tick)
    }

    /// Since when the tick is to be asked for.
    pub(in crate::replica) fn due(&self, tick: Tick) -> UtcMillis {
        match &self.rerun {
            RerunLeft::CutShort(cut) if cut.tick == tick => cut.at,
            _ => tick.instant(),
        }
    }

    /// Asked for, and not granted: if there still is a rerun, it is not asked for again at once. Says so if the tick stays
    /// cut short.
    pub(super) fn rerun_denied(
        &mut self,
        tick: Tick,
        how: Option<Verdict>,
        now: UtcMillis,
    ) -> Option<Finding> {
        let is_over = self.rerun == RerunLeft::Nothing;
        if is_over {
            self.rerun_over = self.rerun_over.max(tick.instant());
        }
        let pause = backoff::ask_every(&self.spec);
        if let RerunLeft::CutShort(cut) = &mut self.rerun
            && cut.at <= now
        {
            (cut.at, cut.is_set) = (now.plus(pause), false);
        }
        let stays = is_over && how.is_some_and(|how| how.outcome == Outcome::Interrupted);
        stays.then_some(Finding::NotRerun)
    }

    /// How reruns go before newer ticks in what this replica claims.
    pub(in crate::replica) fn on_interrupt(&self) -> OnInterrupt {
        match self.rerun {
            RerunLeft::TooOld => OnInterrupt::Skip,
            RerunLeft::Nothing | RerunLeft::CutShort(_) => self.spec.on_interrupt,
        }
    }

    /// How late a rerun may start that goes before a run by hand.
    pub(in crate::replica) fn reruns_within(&self, spec: &JobSpec, tick: Tick) -> Option<Duration> {
        spec.reruns_within(tick).filter(|_| self.on_interrupt() == OnInterrupt::Rerun)
    }

    /// The earlier of what there is to wait for and the instant to ask for a rerun, which is said once.
    pub(super) fn or_rerun(&mut self, action: Action, now: UtcMillis) -> Action {
        let before = if let Action::WakeAt(at) = action { at } else { UtcMillis(i64::MAX) };
        match &mut self.rerun {
            RerunLeft::CutShort(cut) if !cut.is_set && now < cut.at && cut.at < before => {
                cut.is_set = true;
                Action::WakeAt(cut.at)
            }
            _ => action,
        }
    }

    /// Nothing was started for the tick: it is claimed as before, and is no rerun.
    pub(super) fn was_not_cut_short(&mut self, tick: Tick) {
        if self.is_rerun(tick) {
            self.rerun = RerunLeft::Nothing;
        }
    }

    /// No alarm is set any more.
    pub(super) fn set_no_alarm(&mut self) {
        if let RerunLeft::CutShort(cut) = &mut self.rerun {
            cut.is_set = false;
        }
    }
}
