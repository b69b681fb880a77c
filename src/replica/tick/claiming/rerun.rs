//! The rerun of a tick whose run was interrupted: what answers report of it, when this replica claims it, and that it
//! goes before newer ticks. Every replica that claimed the tick knows when its lock is over at the latest; while
//! heartbeats list the run, no replica claims the rerun.

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

/// A run that heartbeats list as running is checked again after this long: as often as heartbeats come.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A tick that may run once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CutShort {
    tick: Tick,
    /// The replica that had its run.
    by: Option<NodeName>,
    /// Whether that run is still going, as far as the store knew.
    goes_on: bool,
    /// When to claim the rerun.
    at: UtcMillis,
    /// Whether the alarm for `at` is set.
    is_set: bool,
}

/// What is known of a rerun.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum RerunLeft {
    /// No rerun is left, or the job wants none.
    #[default]
    Nothing,
    /// One is left, but does not go before newer ticks: its tick is older than the job's present schedule, was rerun as
    /// far as this replica knows, or has yet to come.
    TooOld,
    /// One is left; or will be, if the run that is going is interrupted.
    CutShort(CutShort),
}

impl Contest {
    /// Takes in which tick may run once more, as an answer reported; `None`: no tick.
    pub fn hear_of_rerun(&mut self, told: Option<&Rerun>, now: UtcMillis) {
        let wanted = self.spec.on_interrupt == OnInterrupt::Rerun && !self.retired;
        let Some(told) = told.filter(|_| wanted) else {
            self.rerun = RerunLeft::Nothing;
            return;
        };
        // After a failover the store may have forgotten that the tick was rerun. One that lies ahead was interrupted
        // while a clock was ahead.
        let is_ahead = told.tick.instant() > now.plus(EARLY_TOLERANCE);
        if is_ahead || told.tick.instant() <= self.since.max(self.rerun_over) {
            self.rerun = RerunLeft::TooOld;
            return;
        }
        let wait = match told.goes_on && told.frees_in.is_zero() {
            // The lock's time is over, but the replica that claimed was not calm for long enough to declare its holder
            // dead (rule 7).
            true => backoff::ask_every(&self.spec),
            false => told.frees_in,
        };
        let Rerun { tick, ref by, goes_on, .. } = *told;
        let mut cut = CutShort { tick, by: by.clone(), goes_on, at: now.plus(wait), is_set: false };
        if let RerunLeft::CutShort(before) = &self.rerun
            && (before.tick, before.goes_on, goes_on) == (tick, false, false)
        {
            // A replica that gives the others a head start does so once.
            (cut.at, cut.is_set) = (before.at, before.is_set);
        }
        self.rerun = RerunLeft::CutShort(cut);
    }

    /// Notes a rerun that no other replica may know of: the tick's run was interrupted on this replica, or its rerun
    /// was abandoned.
    pub fn cut_short_here(&mut self, tick: Tick, by: Option<NodeName>, now: UtcMillis) {
        let rerun = Rerun { tick, by, goes_on: false, frees_in: Duration::ZERO };
        self.hear_of_rerun(Some(&rerun), now);
    }

    /// Returns what to do now, given the live replicas and whether this one has room for the job.
    pub fn look(&mut self, now: UtcMillis, roster: &Roster, has_slot: bool) -> Action {
        let spec = Arc::clone(&self.spec);
        self.stand(roster.standing(&spec, has_slot));
        self.spare(now, roster);
        let (rerun, head_start) = match &self.rerun {
            RerunLeft::CutShort(cut) => (Some(cut.tick), roster.head_start(&spec, cut.by.as_ref())),
            RerunLeft::Nothing | RerunLeft::TooOld => (None, Duration::ZERO),
        };
        let head_start = |tick| if Some(tick) == rerun { head_start } else { Duration::ZERO };
        self.wake(now, |tick| roster.stagger(&spec, tick) + head_start(tick))
    }

    /// Puts the claim of a rerun off while a heartbeat lists the run.
    fn spare(&mut self, now: UtcMillis, roster: &Roster) {
        if let RerunLeft::CutShort(cut) = &mut self.rerun
            && cut.goes_on
            && cut.at <= now
            && roster.runs(&self.spec.name)
        {
            (cut.at, cut.is_set) = (now.plus(LOOK_AGAIN), false);
        }
    }

    /// Whether a tick is due for which this replica has no room: it then waits for room.
    pub fn waits_for_slot(&self, now: UtcMillis) -> bool {
        let is_due = self.tick().is_some() || self.rerun_at_hand(now).is_some();
        matches!(self.standing, Eligibility::Full(_)) && is_due
    }

    /// Returns the tick whose rerun is to be claimed by now.
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

    /// Returns from when on the tick is to be claimed.
    pub(in crate::replica) fn due(&self, tick: Tick) -> UtcMillis {
        match &self.rerun {
            RerunLeft::CutShort(cut) if cut.tick == tick => cut.at,
            _ => tick.instant(),
        }
    }

    /// Handles a rerun that was claimed and not granted: if one is still left, it is not claimed again at once. Returns
    /// `NotRerun` if the tick stays interrupted.
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

    /// Returns the policy that this replica's claims carry: `Skip` while the rerun that is left does not go before
    /// newer ticks.
    pub(in crate::replica) fn on_interrupt(&self) -> OnInterrupt {
        match self.rerun {
            RerunLeft::TooOld => OnInterrupt::Skip,
            RerunLeft::Nothing | RerunLeft::CutShort(_) => self.spec.on_interrupt,
        }
    }

    /// Returns how late a rerun may start that goes before a run by hand; `None` if none does.
    pub(in crate::replica) fn rerun_deadline(&self, spec: &JobSpec, tick: Tick) -> Option<Duration> {
        spec.rerun_deadline(tick).filter(|_| self.on_interrupt() == OnInterrupt::Rerun)
    }

    /// Returns the earlier of `action` and the alarm for the rerun, which is set once.
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

    /// Drops the rerun of a tick for which nothing was started: it is claimed as before.
    pub(super) fn was_not_cut_short(&mut self, tick: Tick) {
        if self.is_rerun(tick) {
            self.rerun = RerunLeft::Nothing;
        }
    }

    /// Notes that no alarm is set any more.
    pub(super) fn set_no_alarm(&mut self) {
        if let RerunLeft::CutShort(cut) = &mut self.rerun {
            cut.is_set = false;
        }
    }
}
