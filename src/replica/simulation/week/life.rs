//! One process of a replica, around the shipped steps: what `Driver` is to them in the shipped code.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::job::{JobName, NodeName, RunId};
use crate::lease::{Answer, Request};
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::cluster::store_health::{HealthChange, StoreHealth};
use crate::replica::simulation::world::clock::Moment;
use crate::replica::tick::claiming::Contest;
use crate::replica::tick::next_ticks::NextTicks;
use crate::run::Job;
use crate::store::clock::shared::due_by;
use crate::store::clock::{ClockReading, StoreClock};
use crate::store::{Beat, Peer, Pulse, StoreError};
use crate::time::{BootInstant, UtcMillis};

use super::jobs::Jobs;
use super::world::{Event, World};

/// Often enough that the store's clock counts as watched.
const BEAT_EVERY: Duration = Duration::from_millis(3_900);

/// Once the store's clock was steady for longer than the longest lease, further steadiness changes nothing.
const LATELY: Duration = Duration::from_secs(75);

/// With nothing else to do, and with a record that could not be opened, a replica checks again after this long.
const IDLE: Duration = Duration::from_secs(600);
const RETRY: Duration = Duration::from_secs(1);

/// One process of a replica.
pub(super) struct Life {
    pub(super) number: u32,
    pub(super) jobs: Jobs,
    pub(super) contests: BTreeMap<JobName, Contest>,
    pub(super) store_clock: Option<StoreClock>,
    pub(super) health: StoreHealth,
    pub(super) next_ticks: NextTicks,
    pub(super) alarms: BTreeSet<(UtcMillis, JobName)>,
    pub(super) beat: Beat,
    /// Until when its heartbeats went through.
    pub(super) beaten: Moment,
    /// Its clocks, as read when the present step began.
    pub(super) boot: BootInstant,
    pub(super) wall: UtcMillis,
    pub(super) planned: Option<Moment>,
}

impl Life {
    /// A replica that starts now.
    pub(super) fn start(
        name: &NodeName,
        labels: &[&str],
        jobs: &Jobs,
        number: u32,
        now: Moment,
        wall: UtcMillis,
        boot: BootInstant,
    ) -> Self {
        let life = RunId::new();
        let mut health = StoreHealth::new("week".to_owned(), name.clone(), life, None, String::new());
        let labels: Vec<_> = labels.iter().map(|label| label.parse().expect("a label")).collect();
        health.roster.carry(labels.clone());
        let mut next_ticks = NextTicks::default();
        next_ticks.plan(jobs.values().map(|job| Arc::clone(&job.spec)), wall);
        let contest =
            |(name, job): (&JobName, &Job)| (name.clone(), Contest::new(Arc::clone(&job.spec), boot));
        Self {
            number,
            contests: jobs.iter().map(contest).collect(),
            jobs: Rc::clone(jobs),
            store_clock: None,
            health,
            next_ticks,
            alarms: BTreeSet::new(),
            beat: Beat { labels, ..Beat::of(name.clone(), life, String::new(), wall) },
            beaten: now,
            boot,
            wall,
            planned: None,
        }
    }

    /// `Context::now`.
    pub(super) fn now(&self) -> UtcMillis {
        due_by(self.wall, self.store_time())
    }

    /// `Context::store_time`.
    pub(super) fn store_time(&self) -> UtcMillis {
        self.store_clock.as_ref().map_or(self.wall, |store_clock| store_clock.store_time(self.boot))
    }

    /// How long it has nothing to do.
    pub(super) fn idle_for(&self) -> Duration {
        let now = self.now();
        let alarm = self.alarms.first().map(|(at, _)| *at);
        let next = alarm.into_iter().chain(self.next_ticks.earliest()).min();
        let unopened = self.contests.values().any(Contest::is_unopened);
        let idle = if unopened && self.health.outage().is_none() { RETRY } else { IDLE };
        next.map_or(idle, |next| next.since(now).min(idle)).max(Duration::from_millis(1))
    }
}

impl World {
    pub(super) fn wake(&mut self, seat: usize, number: u32) {
        if self.seats[seat].life.as_ref().is_none_or(|life| life.number != number) {
            return;
        }
        self.with(seat, |world, life| {
            if life.planned == Some(world.now) {
                life.planned = None;
            }
            world.beat(seat, life);
            let now = life.now();
            for coming in life.next_ticks.take_until(now) {
                world.look_at(seat, life, &coming.job);
            }
            while let Some((at, job)) = life.alarms.first().filter(|(at, _)| *at <= now).cloned() {
                life.alarms.remove(&(at, job.clone()));
                world.look_at(seat, life, &job);
            }
        });
    }

    /// `Heartbeat::run` since the last call, and `Driver::exchanged`.
    pub(super) fn beat(&mut self, seat: usize, life: &mut Life) {
        let was_out = life.health.outage().is_some();
        if self.store.is_down {
            let result = Err(StoreError::NotSent("no answer".into()));
            let exchange = Exchange { sent: life.boot, received: life.boot, wall: life.wall, result };
            life.health.take_in(&exchange, &mut life.store_clock);
            return;
        }
        if !was_out && let Some(store_clock) = &mut life.store_clock {
            let (clock, era) = (&self.seats[seat].clock, self.store.era());
            let lately = Moment(self.now.0.saturating_sub(LATELY.as_millis() as u64));
            let mut at = life.beaten.plus(BEAT_EVERY).max(lately);
            while at < self.now {
                let (sent, received) = (clock.boot(at), clock.boot(at));
                store_clock.learn(ClockReading { sent, received, store: at.utc() }, &era);
                at = at.plus(BEAT_EVERY);
            }
        }
        life.beaten = self.now;
        self.seats[seat].heard = self.now;
        let pulse = Pulse {
            now: self.utc(),
            era: self.store.era(),
            marker: None,
            count: 0,
            peers: self.peers(),
            notices: Vec::new(),
        };
        let exchange = Exchange { sent: life.boot, received: life.boot, wall: life.wall, result: Ok(pulse) };
        let change = life.health.take_in(&exchange, &mut life.store_clock);
        if change == HealthChange::Reopen {
            life.contests.values_mut().for_each(Contest::close);
            let mine = self.runs.iter().enumerate().filter(|(_, run)| run.is_of(seat, life.number));
            let mine: Vec<usize> = mine.map(|(at, _)| at).collect();
            mine.into_iter().for_each(|run| self.at(self.now, Event::Attend(run)));
        }
        self.open_records(seat, life);
        if was_out {
            self.look_at_all(seat, life);
        }
    }

    fn peers(&self) -> Vec<Peer> {
        let peer = |seat: &super::world::Seat| {
            let at = if seat.sleeps { seat.heard } else { self.now };
            Some(Peer { at: at.utc(), beat: seat.life.as_ref()?.beat.clone() })
        };
        self.seats.iter().filter_map(peer).collect()
    }

    /// `Driver::open_records`, `errand::open`, and `Driver::opened`.
    pub(super) fn open_records(&mut self, seat: usize, life: &mut Life) {
        let Some(store_clock) = life.store_clock.clone() else { return };
        let unopened = life.contests.iter().filter(|(_, contest)| contest.is_unopened());
        let unopened: Vec<JobName> = unopened.map(|(job, _)| job.clone()).collect();
        let now = life.now();
        for job in &unopened {
            let contest = life.contests.get_mut(job).expect("its name was just taken from there");
            let caller = store_clock.caller(&self.seats[seat].name, life.boot, contest.known());
            let mut open = contest.proposal().open(
                caller,
                store_clock.store_time(contest.begun()),
                store_clock.earlier(life.wall, life.boot),
                life.wall,
            );
            open.is_known_job |= self.store.known.contains(job);
            let reply = self.store.submit(job, &Request::Open(open), self.now.utc(), &mut self.dice);
            let Ok(reply) = reply else { continue };
            self.store.known.insert(job.clone());
            contest.saw(reply.lease);
            if let Answer::Opened { since, .. } = reply.answer {
                contest.opened(reply.mark.unwrap_or_default(), since, now);
            }
        }
        let untold = std::mem::take(&mut self.seats[seat].untold);
        untold.into_iter().for_each(|run| self.at(self.now, Event::Tell(run)));
        for job in unopened {
            self.look_at(seat, life, &job);
        }
    }

    pub(super) fn look_at_all(&mut self, seat: usize, life: &mut Life) {
        let now = life.now();
        let jobs: Vec<JobName> = life.contests.keys().cloned().collect();
        for job in jobs {
            life.contests.get_mut(&job).expect("its name was just taken from there").hurry(now);
            self.look_at(seat, life, &job);
        }
    }
}
