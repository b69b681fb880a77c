//! Checks what runs: no lock is taken from a run that its replica could renew, no run outlives its lock, and no replica
//! runs more than it may.

use std::time::Duration;

use crate::job::{Cause, RunId};
use crate::lease::{Pace, SYNC_TOLERANCE};
use crate::replica::simulation::scenarios::unkillable::Hindrance;
use crate::replica::simulation::world::World;
use crate::replica::simulation::world::network::Weather;
use crate::replica::simulation::world::process::Process;
use crate::store::{BeatRun, UnrecordedEnd};

use super::safety::{Broken, Violation, named};

/// A replica that could not renew for a while does so within this long, plus the time that one renewal waits for its
/// answer: the longest pause after a failure, and the time until a heartbeat shows a clock that was set.
const RENEWS_WITHIN: Duration = Duration::from_millis(1_500);

/// A replica whose heartbeat arrived this long ago was told of those of the others.
const HEARD_WITHIN: Duration = Duration::from_millis(1_500);

/// Clocks of two machines drift apart by one percent at the most: a lease may be over by so much earlier than in true time.
const DRIFT_DIVISOR: u32 = 100;

impl World {
    /// Whether a live replica lists the first run of the tick, which ended by itself or not at all and has no recorded end, and
    /// the replica of the rerun knows it: its own heartbeat came later, and was answered with those of all others.
    pub(crate) fn is_listed(&self, rerun: &Process) -> bool {
        let now = self.store_reads().wall;
        let heard = |seat: usize| {
            let peer = self.server.shelf.nodes.get(&self.scenario.names[seat])?;
            (peer.at <= now && now.since(peer.at) <= HEARD_WITHIN).then_some(peer)
        };
        let Some(by) = heard(rerun.seat) else { return false };
        let lists = |first: &Process| {
            let is_it =
                |run: &BeatRun| run.run == first.lease.run && run.end != Some(UnrecordedEnd::CutShort);
            heard(first.seat).is_some_and(|peer| peer.at <= by.at && peer.beat.running.iter().any(is_it))
        };
        // Such a run may run once more, whatever was known of it.
        let was_cut_short = |first: &Process| {
            let attempts = self.witness.runs.iter().filter(|attempt| attempt.lease.run == first.lease.run);
            attempts.filter(|attempt| attempt.is_over).any(|attempt| attempt.verdict.outcome.was_cut_short())
        };
        let is_first = |earlier: &&Process| {
            earlier.recorded.is_none()
                && (earlier.job, earlier.lease.tick) == (rerun.job, rerun.lease.tick)
                && earlier.lease.cause != Cause::Manual
                && earlier.lease.run != rerun.lease.run
                && !was_cut_short(earlier)
        };
        let is_fair = self.weather == Weather::Fair && self.seats.iter().all(|seat| seat.cut.is_none());
        is_fair && self.witness.runs.iter().filter(is_first).any(lists)
    }

    /// Notes which unkillable runs have lost their lock by the store's decision on a request about the job: runs whose
    /// lock the store no longer keeps, or which now has another holder.
    pub(crate) fn see_who_lost_its_lock(
        &mut self,
        job: usize,
        before: Option<RunId>,
    ) -> Result<(), Violation> {
        let after = self.server.holder(job);
        let has_lost = |run: &Process| {
            let own = Some(run.lease.run);
            let is_let_go = before == own || after.is_some();
            run.job == job && run.is_unkillable && !run.has_lost_lock && after != own && is_let_go
        };
        if before == after {
            return Ok(());
        }
        let lost = self.witness.alive().filter(|(_, run)| has_lost(run)).map(|(at, _)| at);
        let lost: Vec<usize> = lost.collect();
        for at in lost {
            let run = &self.witness.runs[at];
            let (what, ago) = (named(&run.lease), self.now.since(run.last_good));
            let lease = run.lease.length;
            let could_renew = self.could_renew(run);
            // Rule 1 lets requests pass while the store's clock is off by no more than this: it may have been stepped.
            let least = lease - lease / DRIFT_DIVISOR - SYNC_TOLERANCE;
            if could_renew || ago < least {
                let how = format!("{what}, last renewed {ago:?} before; could be renewed: {could_renew}");
                return Err(Violation::of(Broken::LockTaken, how));
            }
            let lives = run.ends.since(self.now);
            self.witness.runs[at].has_lost_lock = true;
            if self.scenario.replicas == 1 {
                // Its own replica starts no run beside it, and there is no other.
                self.trouble(lives);
            }
            self.tally.count("lock lost of what cannot be killed");
            self.note(|| format!("{what} has lost its lock, {ago:?} after its last good renewal"));
        }
        Ok(())
    }

    /// Checks that a run ended in time, unless it could not be killed and its lock not be renewed.
    pub(crate) fn ends_in_time(&self, run: usize) -> Result<(), Violation> {
        let process = &self.witness.runs[run];
        if process.is_unkillable && (process.has_lost_lock || !self.could_renew(process)) {
            return Ok(());
        }
        self.witness.ended(run, self.now)
    }

    /// Whether the replica of a run is up, and has had time to renew its lock since anything prevented that.
    fn could_renew(&self, run: &Process) -> bool {
        let place = &self.seats[run.seat];
        let time = RENEWS_WITHIN + Pace::new(run.lease.length, Duration::ZERO).renew_every();
        let has_passed = |hindrance: &Hindrance| {
            hindrance.seat.is_some_and(|seat| seat != run.seat) || hindrance.until.plus(time) < self.now
        };
        place.node.is_some() && run.is_of(run.seat, place.life) && self.hindrances.iter().all(has_passed)
    }

    /// Checks that a replica has a free slot for another run.
    pub(crate) fn has_room(&self, seat: usize) -> Result<(), Violation> {
        let place = &self.seats[seat];
        let core = place.node.as_ref().and_then(|node| node.core.as_ref());
        let Some(limit) =
            core.and_then(|core| core.capacity.limit()).filter(|_| !place.is_capacity_unchecked)
        else {
            return Ok(());
        };
        let going = self.witness.alive().filter(|(_, run)| run.is_of(seat, place.life)).count();
        if going < limit as usize {
            return Ok(());
        }
        Err(Violation::of(
            Broken::OverCapacity,
            format!("{going} runs on seat {seat}, which may have {limit}"),
        ))
    }
}
