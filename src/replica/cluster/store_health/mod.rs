//! What a replica concludes from each exchange of heartbeats: whether the store is up and steady and remembers this
//! replica, and which others are alive.

use std::time::Duration;

use crate::events::StoreChange;
use crate::events::event::Event;
use crate::events::peer_event::PeerEvent;
use crate::job::{NodeName, RunId};
use crate::store::clock::{ClockNews, ClockReading, StoreClock};
use crate::store::{FailureCause, LIVE_FOR, Marker, Peer, Pulse, StoreError};
use crate::time::{BootInstant, Now};

use super::clock_skew::ClockSkew;
use super::config_drift::ConfigDrift;
use super::heartbeat::Exchange;
use super::joining::Joining;
use super::roster::Roster;

/// Too few replicas are logged after this long, and again as often.
const TOO_FEW_AFTER: Duration = Duration::from_secs(60);

/// A name that is taken is logged again after this long.
const SAY_TAKEN_AGAIN: Duration = Duration::from_secs(60);

/// What an exchange means for the jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HealthChange {
    /// Nothing new.
    Same,
    /// The store answers, and records may have to be opened.
    Reached,
    /// The store's clock was stepped, or was not watched for a while: what it decided ahead has to be read again. An
    /// operator may have opened those ticks meanwhile, and the notice is gone.
    Stepped,
    /// The store may have forgotten: every record has to be opened anew, and every lock renewed.
    Reopen,
}

/// The replica's view of the store and its peers.
#[derive(Debug)]
pub(crate) struct StoreHealth {
    /// What happened since the last call of `take_events`.
    events: Vec<Event>,
    store: String,
    me: NodeName,
    life: RunId,
    /// How many replicas there should be.
    pub(crate) expected: Option<u32>,
    pub(crate) config_drift: ConfigDrift,
    /// Why the store did not answer last time; `Some(None)` if it did answer, `None` before the first time.
    outage: Option<Option<String>>,
    /// The certain causes that have been logged since the store last answered.
    causes: Vec<FailureCause>,
    /// Whether the store's clock is being slewed.
    slewed: bool,
    /// The marker of the store's memory at the last exchange; the outer `None` before the first exchange of this
    /// process.
    marker: Option<Option<Marker>>,
    too_few_since: Option<BootInstant>,
    /// When a heartbeat of another process of this name was last seen, and when that was last logged.
    taken: Option<BootInstant>,
    taken_said: Option<BootInstant>,
    pub(crate) clock_skew: ClockSkew,
    /// The last reading of the wall clock.
    pub(crate) wall: Option<Now>,
    pub(crate) roster: Roster,
    pub(crate) joining: Joining,
}

impl StoreHealth {
    /// Creates the view before the first exchange.
    pub(crate) fn new(store: String, me: NodeName, life: RunId, expected: Option<u32>, file: String) -> Self {
        let roster = Roster::alone(me.clone());
        Self {
            events: Vec::new(),
            store,
            me,
            life,
            expected,
            config_drift: ConfigDrift::of(file),
            outage: None,
            causes: Vec::new(),
            slewed: false,
            marker: None,
            too_few_since: None,
            taken: None,
            taken_said: None,
            clock_skew: ClockSkew::default(),
            wall: None,
            roster,
            joining: Joining::default(),
        }
    }

    /// Returns why the store does not answer, while it does not.
    pub(crate) fn outage(&self) -> Option<&str> {
        self.outage.as_ref()?.as_deref()
    }

    /// Returns what happened since the last call.
    pub(crate) fn take_events(&mut self) -> impl Iterator<Item = Event> + use<> {
        std::mem::take(&mut self.events).into_iter()
    }

    /// Takes in one exchange.
    pub(crate) fn take_in(
        &mut self,
        exchange: &Exchange,
        store_clock: &mut Option<StoreClock>,
    ) -> HealthChange {
        let pulse = match &exchange.result {
            Ok(pulse) => pulse,
            Err(error) => {
                self.lose_store(error);
                return HealthChange::Same;
            }
        };
        self.causes.clear();
        if self.outage.replace(None) != Some(None) {
            self.events.push(Event::StoreReached { store: self.store.clone() });
        }
        let reading = ClockReading { sent: exchange.sent, received: exchange.received, store: pulse.now };
        let was_away =
            store_clock.as_ref().is_some_and(|store_clock| store_clock.calm(exchange.received).is_zero());
        let learned = match store_clock {
            None => {
                *store_clock = Some(StoreClock::first(reading, pulse.era.clone()));
                ClockNews::First
            }
            Some(store_clock) => store_clock.learn(reading, &pulse.era),
        };
        let compared = store_clock.as_mut().map(|store_clock| {
            store_clock.hear_peers(&pulse.peers);
            store_clock.compare(exchange.wall, exchange.received)
        });
        let (ahead_ms, error) = compared.unwrap_or_default();
        if let Some(event) = self.clock_skew.measured(ahead_ms, error, exchange.received) {
            self.events.push(event);
        }
        let before = self.marker.replace(pulse.marker.clone());
        let forgot = before.as_ref().is_some_and(|before| *before != pulse.marker);
        // `learn` has handled a new era already, and times received in that era are no evidence about earlier ones.
        if forgot
            && learned != ClockNews::NewEra
            && let Some(store_clock) = store_clock
        {
            store_clock.distrust(exchange.received);
        }
        let now = exchange.received;
        // A store that went back to an older state shows an earlier process of this replica; one that drains is about
        // to end.
        let is_as_it_was = before.is_some() && !forgot && learned != ClockNews::NewEra;
        let is_another = |peer: &Peer| peer.beat.node == self.me && peer.beat.life != self.life;
        if is_as_it_was && pulse.peers.iter().any(|peer| is_another(peer) && !peer.beat.draining) {
            self.say_taken(now);
        }
        self.roster.learn(&pulse.peers, pulse.now);
        self.joining.learn(&self.me, &pulse.peers, now);
        self.count_replicas(now);
        self.compare_files(pulse, now);
        let is_slewed = store_clock.as_ref().is_some_and(|store_clock| store_clock.slewed(now).is_some());
        let was_slewed = std::mem::replace(&mut self.slewed, is_slewed);
        self.change(learned, forgot, was_slewed, was_away)
    }

    /// Logs once that the store does not answer, and each certain cause once.
    fn lose_store(&mut self, error: &StoreError) {
        let cause = error.diagnosis().certain_cause().filter(|cause| !self.causes.contains(cause));
        if cause.is_some() || self.outage().is_none() {
            self.events.push(Event::StoreLost(error.clone()));
        }
        self.causes.extend(cause.cloned());
        self.outage = Some(Some(error.to_string()));
    }

    fn change(&mut self, learned: ClockNews, forgot: bool, was_slewed: bool, was_away: bool) -> HealthChange {
        let what = match learned {
            ClockNews::NewEra => StoreChange::NewEra,
            _ if forgot => StoreChange::DataLost,
            ClockNews::Stepped => StoreChange::ClockStepped,
            ClockNews::Slewed if !was_slewed => StoreChange::ClockSlewed,
            ClockNews::First | ClockNews::Steady | ClockNews::Slewed => {
                return if was_away { HealthChange::Stepped } else { HealthChange::Reached };
            }
        };
        self.events.push(Event::StoreChanged { what });
        if learned == ClockNews::NewEra || forgot { HealthChange::Reopen } else { HealthChange::Stepped }
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
            self.events.push(Event::Peer(PeerEvent::TooFew { live, expected }));
        }
    }

    fn compare_files(&mut self, pulse: &Pulse, now: BootInstant) {
        let others = pulse.peers.iter().filter(|peer| self.roster.counts(peer, pulse.now));
        let files = others.map(|peer| (&peer.beat.node, peer.beat.file.as_str()));
        if let Some(event) = self.config_drift.learn(files, now) {
            self.events.push(event);
        }
    }

    /// Whether a heartbeat of another process of this name was seen lately.
    pub(crate) fn is_name_taken(&self, now: BootInstant) -> bool {
        self.taken.is_some_and(|heard| now.since(heard) <= LIVE_FOR)
    }

    fn say_taken(&mut self, now: BootInstant) {
        self.taken = Some(now);
        if self.taken_said.is_none_or(|said| now.since(said) >= SAY_TAKEN_AGAIN) {
            self.taken_said = Some(now);
            self.events.push(Event::Peer(PeerEvent::NameTaken));
        }
    }
}

#[cfg(test)]
mod tests;
