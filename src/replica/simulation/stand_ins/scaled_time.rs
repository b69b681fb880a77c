//! Time that is scaled: a replica leaves out the heartbeats in which nothing is new, and takes in what they would have
//! shown of the store's clock when something happens next.

use std::time::Duration;

use crate::replica::simulation::world::clock::Reads;
use crate::store::Beat;
use crate::store::clock::ClockReading;
use crate::time::BootInstant;

use super::node::Node;

/// So often that the store's clock counts as watched.
const READ_EVERY: Duration = Duration::from_millis(3_900);

/// Once the store's clock was steady for longer than the longest lease, further steadiness changes nothing.
const LATELY: Duration = Duration::from_secs(75);

/// A replica sends heartbeats from so long before its next tick or alarm on, and one after this long in any case.
const AHEAD: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(600);

impl Node {
    /// From then on it leaves out heartbeats; it sends one now.
    pub(crate) fn leave_out_beats_from(&mut self, reads: Reads, from: BootInstant) {
        self.reads = reads;
        self.take_in_left_out_readings();
        (self.leaves_out_from, self.read_clock) = (Some(from), None);
    }

    fn leaves_out_beats(&self) -> bool {
        self.leaves_out_from.is_some_and(|from| self.reads.boot >= from)
    }

    /// Returns when its next heartbeat is due.
    pub(super) fn beat_due(&self) -> BootInstant {
        if !self.leaves_out_beats() {
            return self.next_beat;
        }
        let longest = self.next_beat.plus(LONGEST);
        let needed = self.next_instant().map(|next| self.reads.boot.plus(next.saturating_sub(AHEAD)));
        self.next_beat.max(needed.map_or(longest, |needed| needed.min(longest)))
    }

    /// Returns the heartbeat that it would have sent by now, if it leaves out any.
    pub(crate) fn left_out_beat(&self) -> Option<&Beat> {
        self.beat.as_ref().filter(|_| self.read_clock.is_some())
    }

    /// The store has answered a heartbeat, or has not.
    pub(super) fn was_answered(&mut self, sent: BootInstant, is_answered: bool) {
        self.read_clock = Some(sent).filter(|_| is_answered && self.leaves_out_beats());
    }

    /// Takes in the readings of the store's clock that were left out: it ran steadily all the while.
    pub(super) fn take_in_left_out_readings(&mut self) {
        let Some(last) = self.read_clock else { return };
        let now = self.reads.boot;
        if now.since(last) <= READ_EVERY {
            return;
        }
        let mut store_clock = self.store_clock.lock();
        let Some(store_clock) = store_clock.as_mut() else { return };
        let era = store_clock.era().clone();
        let lately = BootInstant(now.0.saturating_sub(LATELY));
        let mut at = last.plus(READ_EVERY).max(lately);
        while at < now {
            store_clock
                .learn(ClockReading { sent: at, received: at, store: store_clock.store_time(at) }, &era);
            self.read_clock = Some(at);
            at = at.plus(READ_EVERY);
        }
    }
}
