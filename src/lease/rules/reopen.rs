//! How decisions treat a mark that was set by a clock that was ahead, and a store that went back.

use std::time::Duration;

use crate::job::Tick;
use crate::lease::{Ahead, Caller, Leap, LeaseInstant, Memory, Open, Passed, Protection, Server};
use crate::time::UtcMillis;

use super::early::EARLY_TOLERANCE;
use super::transition::{SETTLING, SYNC_TOLERANCE, Transition, maybe_decided};

impl Transition<'_> {
    /// Sets `latest_correct_time`, given that the caller's wall clock shows `wall`.
    pub(crate) fn set_latest_correct_time(&mut self, wall: UtcMillis) {
        self.latest_correct_time = self.server.now.max(wall).plus(EARLY_TOLERANCE);
    }

    /// Returns an instant that no correct clock exceeds. A request without a wall clock uses the store's clock.
    fn latest_correct_time_or_now(&self) -> UtcMillis {
        let now = self.server.now;
        if self.latest_correct_time == UtcMillis(i64::MAX) {
            now.plus(EARLY_TOLERANCE)
        } else {
            self.latest_correct_time
        }
    }

    /// Whether the tick is decided.
    pub(super) fn is_decided(&self, tick: Tick) -> bool {
        self.record.as_ref().is_some_and(|record| record.is_decided(tick, self.latest_correct_time))
    }

    /// Opens leaps that lie ahead of every correct clock: their ticks have not come yet, and lose their entries.
    pub(crate) fn reopen(&mut self) {
        let (now, front) = (self.server.now, self.latest_correct_time_or_now());
        let record = self.record_mut();
        if record.mark <= front {
            return;
        }
        let opened = record.leaps.reopen(front, now);
        if let Some(last) = opened.last() {
            // Replicas that were told that these ticks are decided must not conclude that the store went back.
            record.open_again(last.to.min(front), front);
        }
        opened.into_iter().for_each(|leap| self.retract(leap));
    }

    /// Withdraws the entries of ticks in this leap that did not run.
    pub(super) fn retract(&mut self, leap: Leap) {
        self.retracted.extend(Some(leap).filter(|_| Protection::EntriesWithdrawn.is_on()));
    }

    /// Takes ticks that the caller knows to be decided out of the leaps: they keep their entries when leaps are opened.
    /// Ticks that were opened since the store forgot them have lost their entries, and get new ones.
    pub(crate) fn close_ahead(&mut self, ahead: Ahead) {
        let record = self.record_mut();
        record.leaps.lose(ahead.after, ahead.to);
        record.leaps.except(ahead.after, ahead.to);
    }

    /// Whether these ticks, which have not come, were opened again after the caller learned of them.
    pub(crate) fn was_returned_after(&mut self, open: &Open, ahead: Ahead) -> bool {
        let (front, record) = (self.latest_correct_time, self.record_mut());
        let is_newer =
            open.reopened_ahead_count < record.reopened_ahead_count && ahead.to <= record.reopened_ahead;
        ahead.to > front && (ahead.to <= record.reopened || is_newer)
    }

    /// Keeps the ticks decided that the caller knows to have run, if the store forgot them; also those that a clock which
    /// was ahead decided.
    pub(crate) fn merge_ahead(&mut self, ahead: Ahead, caller: &Caller) {
        let (now, front) = (self.server.now, self.latest_correct_time);
        let come = now.plus(EARLY_TOLERANCE);
        let record = self.record_mut();
        if ahead.to <= front {
            record.pass_unrecorded_to(ahead.to, now, caller.leapt_from);
        } else {
            record.leaps.add(Leap { after: record.mark.max(come), to: ahead.after, passed: Passed::Open });
            record.mark = record.mark.max(ahead.to);
        }
        self.close_ahead(ahead);
    }

    /// Raises the mark to `mark`, because decisions up to there may have been lost, also about ticks in open leaps. Of
    /// these, the ticks are closed that have come by the store's clock and by the caller's.
    pub(super) fn pass_unrecorded(&mut self, mark: UtcMillis, caller: &Caller) {
        self.reopen();
        let (now, come) = (self.server.now, self.come(caller));
        let record = self.record_mut();
        record.leaps.lose(UtcMillis(0), mark.min(come));
        record.pass_unrecorded(mark, now, caller.leapt_from);
    }

    /// Returns the instant after which no tick has come, by the store's clock and by the caller's. What the store's clock
    /// shows only because it leapt ahead does not count.
    pub(super) fn come(&self, caller: &Caller) -> UtcMillis {
        let come = self.server.now.min(caller.expect.plus(SYNC_TOLERANCE)).plus(EARLY_TOLERANCE);
        come.min(caller.leapt_from.unwrap_or(come))
    }

    /// Rule 6, for a caller that has watched a steady clock for the longest lease: shortens waits that were set while the
    /// clock was ahead. A clock that is wrong only for a moment shortens none. `heard` is the latest time that the clock may
    /// have shown before the caller saw it being set back.
    pub(super) fn cut_waits(&mut self, longest: Duration, heard: UtcMillis) {
        let Server { now, lease_now, memory, .. } = *self.server;
        let record = self.record_mut();
        let began_ahead = record.settles_at.since(lease_now) > SETTLING + longest;
        let was_seen = record.settles_at <= LeaseInstant(heard.plus(SETTLING).0);
        if record.locked_until > lease_now.plus(longest) {
            record.locked_until = lease_now.plus(longest);
            // If the holder's last sign of life lies ahead by more than any clock drifts, the holder has given none since
            // the clock was set back. That is as long as the caller is calm, if the caller saw the clock being set back from
            // there. Else the clock may have been ahead for a moment only, between two readings: the holder lives. A wait
            // without a holder is over as well, if it began before the caller saw the clock being set back.
            let is_silent = |alive: UtcMillis| {
                alive.since(now) > longest && alive <= heard && heard.since(alive) <= longest
            };
            let is_over = if record.is_running() {
                record.ended.is_some_and(is_silent)
            } else {
                began_ahead && was_seen
            };
            if memory == Memory::Forgetful && is_over {
                record.locked_until = lease_now;
            }
        }
        // The time for reports of what the store forgot must not begin again when the clock reaches that time. It is over if
        // the caller saw the clock being set back; else it may have begun just now.
        if began_ahead {
            record.settles_at = if was_seen { LeaseInstant::FREE } else { lease_now.plus(SETTLING) };
        }
    }

    /// Rule 4 within one era: if the record knows less than the store told the caller, the store went back to an older
    /// state, and may have forgotten a holder, and decisions up to now.
    pub(crate) fn detect_rollback(&mut self, caller: &Caller, lease: Duration) {
        let (now, shown) = (self.server.now, self.latest_correct_time_or_now());
        let record = self.record_mut();
        let opened = record.opened_again(shown);
        let known = record.decided_beyond(opened, shown).max(opened);
        let told = caller.answered_mark.filter(|told| known < *told && *told <= shown);
        let Some(told) = told.filter(|_| Protection::MarkReset.is_on()) else { return };
        self.wait_for_forgotten(caller, lease, self.server.lease_now);
        self.pass_unrecorded(maybe_decided(now), caller);
        // What a clock that leapt has shown stays open. This is recorded, so that it does not count as a loss the next time.
        let record = self.record_mut();
        if record.decided_up_to(shown) < told {
            record.open_again(told, shown);
        }
    }
}
