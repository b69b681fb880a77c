//! What a replica plans: what it has ready for the next instants; and anew, after steps of the wall clock and after what
//! heartbeats bring.

use std::cmp::Reverse;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::events::event::Event;
use crate::job::JobName;
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::cluster::store_health::Upshot;
use crate::replica::cluster::wall_clock::WallReading;
use crate::replica::driver::Driver;

use super::claiming::{Contest, asked_ahead};
use super::eligibility::Standing;
use super::planner::Coming;
use super::ticker::{LEAD, take_coming};

/// Instants are planned anew when the clock they are waited for by turns out to be off by more than this.
const REPLAN: Duration = Duration::from_millis(500);

/// A guard that was made for a tick waits for as long after its instant.
const BOOKED_FOR: Duration = Duration::from_secs(2);

impl Driver {
    /// The wall clock was stepped: every instant is waited for anew, and what is due by now is looked at.
    pub(crate) fn clock_stepped(&mut self) {
        self.shop.events.tell(Event::ClockStepped);
        // The embedded store goes by the same clock, and how far another's is off has to be measured anew.
        self.resync.notify_one();
        self.plan_anew();
    }

    /// Whether the wall clock was stepped since it was last looked at, and no timer told of it.
    fn is_quietly_stepped(&mut self) -> bool {
        let reading = WallReading::of(&*self.shop.clock);
        let before = self.watch.wall.replace(reading);
        before.is_some_and(|before| reading.is_stepped_since(&before, REPLAN))
    }

    fn plan_anew(&mut self) {
        self.watch.wall = Some(WallReading::of(&*self.shop.clock));
        let now = self.shop.now();
        self.alarms.clear();
        self.close_what_is_ahead();
        self.open_records();
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner).replan(now);
        self.expect(take_coming(&self.agenda, now));
        self.look_at_all();
    }

    /// What was decided by a clock that was ahead has to be asked for anew.
    fn close_what_is_ahead(&mut self) {
        let now = self.shop.now();
        let ahead = self.contests.values_mut().filter(|contest| contest.is_ahead(now));
        ahead.for_each(Contest::close);
    }

    /// Whatever the jobs wait for may have happened.
    fn look_at_all(&mut self) {
        let now = self.shop.now();
        let jobs: Vec<JobName> = self.contests.keys().cloned().collect();
        for job in jobs {
            self.contests.get_mut(&job).expect("the name was just taken from there").hurry(now);
            self.look_at(&job, now);
        }
    }

    /// Has everything ready for each tick that this replica is the first to ask for, and asks for it, ahead of its instant:
    /// its guard, a folder for its log, its lock.
    pub(crate) fn prepare(&mut self, coming: &[Coming]) {
        let is_first = |coming: &Coming| {
            self.jobs.get(&coming.job).is_some_and(|job| {
                let has_room = self.room.is_there_for(&coming.job);
                let takes = self.watch.roster.standing(&job.spec, has_room) == Standing::Takes;
                // What was announced before the file was loaded anew may be no tick any more.
                let is_one = || job.spec.schedule.at_or_before(coming.tick.instant()) == Some(coming.tick);
                takes && self.watch.roster.stagger(&job.spec, coming.tick).is_zero() && is_one()
            })
        };
        let now = self.shop.now();
        let apart = now.since(self.shop.store_time());
        let first: Vec<_> = asked_ahead(coming, apart).filter(|(coming, _)| is_first(coming)).collect();
        let last = first.iter().map(|(coming, _)| coming.tick.instant()).max();
        let Some(last) = last.filter(|_| !self.draining) else { return };
        let left = last.since(now).min(LEAD);
        let until = self.shop.clock.boot().plus(left + BOOKED_FOR);
        let (runs, guards) = (first.len(), Arc::clone(&self.shop.guards));
        // What makes guards may be frozen. Nobody waits for it: who finds no guard ready asks for one.
        tokio::task::spawn_blocking(move || guards.book(runs, until));
        for (Coming { job, tick }, from) in &first {
            if let Some(contest) = self.contests.get_mut(job) {
                contest.call(*tick, *from, now);
                self.alarms.push(Reverse((*from, job.clone())));
            }
        }
        let jobs: Vec<JobName> = first.into_iter().map(|(coming, _)| coming.job.clone()).collect();
        let shop = Arc::clone(&self.shop);
        tokio::spawn(async move { shop.logs.expect(&jobs).await });
    }

    /// How far the wall clock is ahead of the one that ticks are due by.
    fn ahead(&self) -> Duration {
        self.shop.clock.utc().since(self.shop.now())
    }

    /// Whether there are jobs that no live replica may run.
    fn look_for_vacancies(&mut self) {
        let jobs = self.contests.values().filter(|contest| !contest.is_retired()).map(Contest::spec);
        for event in self.vacancies.look(&self.watch.roster, jobs, self.shop.clock.boot()) {
            self.shop.events.tell(event);
        }
    }

    /// A heartbeat is back, or was lost.
    pub(crate) fn exchanged(&mut self, exchange: Exchange) {
        if self.is_quietly_stepped() {
            self.clock_stepped();
        }
        self.inspect_if_due(&exchange.result);
        let (was_ahead, was_out) = (self.ahead(), self.watch.outage().is_some());
        let mut memory = self.shop.memory.borrow().clone();
        let upshot = self.watch.take_in(&exchange, &mut memory);
        self.shop.memory.send_replace(memory);
        let stages = self.shop.traffic.stages.times();
        self.update_beat(|beat| beat.stages = stages);
        self.shop.guards.release();
        if let Some(count) = self.unsynced.news(self.shop.clock.boot()) {
            self.shop.events.tell(Event::ClaimsUnsynced { count });
        }
        let Ok(pulse) = exchange.result else { return };
        self.look_for_vacancies();
        if upshot == Upshot::Reopen {
            self.contests.values_mut().for_each(Contest::close);
            self.opening.values_mut().for_each(|begun| *begun = None);
            self.lines.values().for_each(|(_, line)| line.renew.notify_one());
            self.doubt_the_store();
        }
        if upshot == Upshot::Stepped {
            self.close_what_is_ahead();
        }
        self.hear_of_runs(&pulse.peers);
        self.look_at_locks();
        self.open_records();
        // Not before records of another life of the store are known to be unopened.
        self.look_after_lost_runs(&pulse);
        self.heed(pulse.notices);
        self.ask_for_orders();
        if self.ahead().abs_diff(was_ahead) > REPLAN {
            self.plan_anew();
        } else if was_out {
            self.look_at_all();
        }
    }
}
