//! What a replica makes of each exchange of heartbeats: whether the store is up, steady, and knows it, and who else is.

use std::time::Duration;

use crate::events::event::Event;
use crate::events::log::Events;
use crate::events::peer_event::PeerEvent;
use crate::job::{NodeName, RunId};
use crate::store::clock::{Learned, Memory, Reading};
use crate::store::{Cause, LIVE_FOR, Marker, Peer, Pulse, StoreError};
use crate::time::BootInstant;

use super::clock_skew::Offset;
use super::config_drift::Files;
use super::heartbeat::Exchange;
use super::joining::Joining;
use super::roster::Roster;
use super::wall_clock::WallReading;

/// Too few replicas are said after this long, and again as often.
const TOO_FEW_AFTER: Duration = Duration::from_secs(60);

/// A name that is taken is said again after this long.
const SAY_TAKEN_AGAIN: Duration = Duration::from_secs(60);

/// What an exchange means for the jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upshot {
    /// Nothing new.
    Same,
    /// The store answers, and records may have to be opened.
    Reached,
    /// The store's clock was stepped, or was not watched for a while: what it decided ahead has to be asked for anew. An operator may
    /// have opened that, and the notice is gone.
    Stepped,
    /// The store may have forgotten: every record has to be opened anew, and every lock renewed.
    Reopen,
}

/// The replica's view of the store and its peers.
#[derive(Debug)]
pub(crate) struct Watch {
    events: Events,
    store: String,
    me: NodeName,
    life: RunId,
    /// How many replicas there should be.
    pub(crate) expected: Option<u32>,
    pub(crate) files: Files,
    /// Why the store did not answer last time, or nothing if it did; unknown before the first time.
    outage: Option<Option<String>>,
    /// What was known to be wrong with the store since it last answered, each told once.
    causes: Vec<Cause>,
    /// Whether the store's clock is being slewed.
    slewed: bool,
    /// Whether the store has taken a heartbeat of this life, and by which marker it is known since.
    marker: Option<Option<Marker>>,
    too_few_since: Option<BootInstant>,
    /// When another replica of this name was last heard, and when that was logged.
    taken: Option<BootInstant>,
    taken_said: Option<BootInstant>,
    pub(crate) offset: Offset,
    /// What the wall clock showed when it was last looked at.
    pub(crate) wall: Option<WallReading>,
    pub(crate) roster: Roster,
    pub(crate) joining: Joining,
}

impl Watch {
    /// A view of nothing yet.
    pub(crate) fn new(
        events: Events,
        store: String,
        (me, life): (NodeName, RunId),
        (expected, file): (Option<u32>, String),
    ) -> Self {
        let roster = Roster::alone(me.clone());
        Self {
            events,
            store,
            me,
            life,
            expected,
            files: Files::of(file),
            outage: None,
            causes: Vec::new(),
            slewed: false,
            marker: None,
            too_few_since: None,
            taken: None,
            taken_said: None,
            offset: Offset::default(),
            wall: None,
            roster,
            joining: Joining::default(),
        }
    }

    /// Why the store does not answer, while it does not.
    pub(crate) fn outage(&self) -> Option<&str> {
        self.outage.as_ref()?.as_deref()
    }

    /// Takes in one exchange.
    pub(crate) fn take_in(&mut self, exchange: &Exchange, memory: &mut Option<Memory>) -> Upshot {
        let pulse = match &exchange.result {
            Ok(pulse) => pulse,
            Err(error) => {
                self.lose_store(error);
                return Upshot::Same;
            }
        };
        self.causes.clear();
        if self.outage.replace(None) != Some(None) {
            self.events.tell(Event::StoreReached { store: self.store.clone() });
        }
        let reading = Reading { sent: exchange.sent, received: exchange.received, store: pulse.now };
        let was_away = memory.as_ref().is_some_and(|memory| memory.calm(exchange.received).is_zero());
        let learned = match memory {
            None => {
                *memory = Some(Memory::first(reading, pulse.era.clone()));
                Learned::First
            }
            Some(memory) => memory.learn(reading, &pulse.era),
        };
        let compared = memory.as_mut().map(|memory| {
            memory.hear_peers(&pulse.peers);
            memory.compare(exchange.wall, exchange.received)
        });
        let (ahead_ms, error) = compared.unwrap_or_default();
        if let Some(event) = self.offset.measured(ahead_ms, error, exchange.received) {
            self.events.tell(event);
        }
        let before = self.marker.replace(pulse.marker.clone());
        let forgot = before.as_ref().is_some_and(|before| *before != pulse.marker);
        // A new life is distrusted as it is; what was heard in it says nothing of earlier ones.
        if forgot
            && learned != Learned::NewEra
            && let Some(memory) = memory
        {
            memory.distrust(exchange.received);
        }
        let now = exchange.received;
        // A store that went back shows this replica's former life; one that drains is about to end.
        let is_as_it_was = before.is_some() && !forgot && learned != Learned::NewEra;
        let is_another = |peer: &Peer| peer.beat.node == self.me && peer.beat.life != self.life;
        if is_as_it_was && pulse.peers.iter().any(|peer| is_another(peer) && !peer.beat.draining) {
            self.say_taken(now);
        }
        self.roster.learn(&pulse.peers, pulse.now);
        self.joining.learn(&self.me, &pulse.peers, now);
        self.count_replicas(now);
        self.compare_files(pulse, now);
        let is_slewed = memory.as_ref().is_some_and(|memory| memory.slewed(now).is_some());
        let was_slewed = std::mem::replace(&mut self.slewed, is_slewed);
        self.upshot(learned, forgot, was_slewed, was_away)
    }

    /// Tells once that the store does not answer, and of each cause once.
    fn lose_store(&mut self, error: &StoreError) {
        let cause = error.diagnosis().certain_cause().filter(|cause| !self.causes.contains(cause));
        if cause.is_some() || self.outage().is_none() {
            self.events.tell(Event::StoreLost(error.clone()));
        }
        self.causes.extend(cause.cloned());
        self.outage = Some(Some(error.to_string()));
    }

    fn upshot(&mut self, learned: Learned, forgot: bool, was_slewed: bool, was_away: bool) -> Upshot {
        let what = match learned {
            Learned::NewEra => "restart or failover: every job waits one lease",
            _ if forgot => "it lost data: every job waits one lease",
            Learned::Stepped => "its clock was stepped",
            Learned::Slewed if !was_slewed => "its clock is slewed by more than 1 %",
            Learned::First | Learned::Steady | Learned::Slewed => {
                return if was_away { Upshot::Stepped } else { Upshot::Reached };
            }
        };
        self.events.tell(Event::StoreChanged { what });
        if learned == Learned::NewEra || forgot { Upshot::Reopen } else { Upshot::Stepped }
    }

    fn count_replicas(&mut self, now: BootInstant) {
        let Some(expected) = self.expected.filter(|&expected| self.roster.live() < expected as usize) else {
            self.too_few_since = None;
            return;
        };
        let since = *self.too_few_since.get_or_insert(now);
        if now.since(since) >= TOO_FEW_AFTER {
            self.too_few_since = Some(now);
            let live = self.roster.live();
            self.events.tell(Event::Peer(PeerEvent::TooFew { live, expected }));
        }
    }

    fn compare_files(&mut self, pulse: &Pulse, now: BootInstant) {
        let others = pulse.peers.iter().filter(|peer| self.roster.counts(peer, pulse.now));
        let files = others.map(|peer| (&peer.beat.node, peer.beat.file.as_str()));
        if let Some(event) = self.files.learn(files, now) {
            self.events.tell(event);
        }
    }

    /// Whether another replica of this name was heard lately.
    pub(crate) fn is_name_taken(&self, now: BootInstant) -> bool {
        self.taken.is_some_and(|heard| now.since(heard) <= LIVE_FOR)
    }

    fn say_taken(&mut self, now: BootInstant) {
        self.taken = Some(now);
        if self.taken_said.is_none_or(|said| now.since(said) >= SAY_TAKEN_AGAIN) {
            self.taken_said = Some(now);
            self.events.tell(Event::Peer(PeerEvent::NameTaken));
        }
    }
}

#[cfg(test)]
mod tests;
