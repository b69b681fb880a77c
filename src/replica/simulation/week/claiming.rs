//! What a replica does about its jobs: `moves.rs` and `reload.rs`, with answers that come at once.

use std::rc::Rc;
use std::sync::Arc;

use crate::events::config_diff::{Change, Changes};
use crate::job::JobName;
use crate::lease::Request;
use crate::replica::tick::action::{Action, Bid, Doubt, Finding};
use crate::replica::tick::claiming::Contest;
use crate::run::StopReason;

use super::life::Life;
use super::world::{Event, World};

/// As in `give_back.rs`, but that no time passes between two tries.
const ABANDON_TRIES: usize = 5;

impl World {
    /// `Driver::look_at`.
    pub(super) fn look_at(&mut self, seat: usize, life: &mut Life, job: &JobName) {
        let now = life.now();
        let Some(contest) = life.contests.get_mut(job).filter(|contest| !contest.is_retired()) else {
            return;
        };
        if life.health.outage().is_some() {
            contest.unheard(now);
            return;
        }
        let (spec, roster) = (Arc::clone(contest.spec()), &life.health.roster);
        contest.stand(roster.standing(&spec, true));
        let action = contest.wake(now, |tick| roster.stagger(&spec, tick));
        self.perform(seat, life, job, action);
    }

    /// `Driver::perform`.
    fn perform(&mut self, seat: usize, life: &mut Life, job: &JobName, action: Action) {
        match action {
            Action::Nothing => {}
            Action::WakeAt(at) => {
                life.alarms.insert((at, job.clone()));
            }
            Action::Claim { bid, instead_of } => {
                instead_of.into_iter().for_each(|doubt| self.give_back(job, &doubt));
                self.claim(seat, life, job, &bid);
            }
            Action::Start { won, sent } => self.begin(seat, life, job, won, sent),
            Action::GiveBack(doubt) => self.give_back(job, &doubt),
            Action::Resync(at) => {
                self.beat(seat, life);
                life.alarms.insert((at, job.clone()));
            }
        }
    }

    /// `Driver::claim`, and `Driver::claimed`.
    fn claim(&mut self, seat: usize, life: &mut Life, job: &JobName, bid: &Bid) {
        let (now, sent) = (life.now(), life.boot);
        let contest = life.contests.get_mut(job).expect("only a contest claims");
        let store_clock = life.store_clock.as_mut().expect("no record is open before the store was heard");
        let caller = store_clock.caller(&self.seats[seat].name, sent, contest.known());
        let claim = contest.proposal().claim(bid, caller, now, life.wall);
        contest.claims(&claim);
        let reply = self.store.submit(job, &Request::Claim(claim), self.now.utc(), &mut self.dice);
        let (finding, action) = match reply {
            Ok(reply) => {
                store_clock.hear(reply.now);
                self.log.count(format!("reply {}", reply.answer.name()));
                contest.answered(&reply, now, sent, true)
            }
            Err(error) => (None, contest.failed(error.may_have_been_applied(), now)),
        };
        let spec = Arc::clone(contest.spec());
        let of_own = |holder: &crate::lease::Holder| {
            self.runs.iter().position(|run| run.lease.run == holder.run && run.is_of(seat, life.number))
        };
        let gives_way = finding.as_ref().and_then(|finding| finding.replaces(&spec)).and_then(of_own);
        let proves =
            finding.as_ref().and_then(|f: &Finding| f.awaits_proof(&spec, bid.tick)).and_then(of_own);
        if let Some(run) = gives_way {
            self.stop(run, StopReason::Replaced);
        }
        self.perform(seat, life, job, action);
        if let Some(run) = proves {
            // `Driver::tell_finding`, and `Done::Proven`.
            self.runs[run].hold.hurry(life.boot);
            self.at(self.now, Event::Attend(run));
            let soon = life.now().plus(std::time::Duration::from_millis(1));
            life.contests.get_mut(job).expect("it has just claimed").hurry(soon);
            life.alarms.insert((soon, job.clone()));
            return;
        }
        if finding.is_none_or(|finding| !matches!(finding, Finding::Held(_))) {
            self.look_at(seat, life, job);
        }
    }

    /// `errand::abandon`.
    fn give_back(&mut self, job: &JobName, doubt: &Doubt) {
        let request = Request::Abandon(doubt.abandon());
        for _ in 0..ABANDON_TRIES {
            if self.store.submit(job, &request, self.now.utc(), &mut self.dice).is_ok() {
                return;
            }
        }
    }

    /// `Driver::reload`.
    pub(super) fn reload(&mut self, seat: usize, life: &mut Life) {
        let jobs = Rc::clone(&self.jobs);
        let now = life.now();
        self.beat(seat, life);
        let changes = Changes::between(&life.jobs, &jobs);
        let names: Vec<JobName> = changes.jobs().cloned().collect();
        for name in &names {
            let Some(change) = Change::of(life.jobs.get(name), jobs.get(name)) else { continue };
            let spec = jobs.get(name).map(|job| Arc::clone(&job.spec)).expect("no job is removed");
            let doubt = match (change, life.contests.get_mut(name)) {
                (Change::Ends, Some(contest)) => contest.retire(now, life.boot),
                (Change::Revised, Some(contest)) => {
                    contest.revise(spec);
                    None
                }
                (Change::Starts, Some(contest)) => contest.restart(spec, now, life.boot),
                (_, None) => {
                    life.contests.insert(name.clone(), Contest::since(spec, now, life.boot));
                    None
                }
            };
            doubt.into_iter().for_each(|doubt| self.give_back(name, &doubt));
        }
        life.next_ticks.plan(jobs.values().map(|job| Arc::clone(&job.spec)), now);
        life.jobs = jobs;
        self.open_records(seat, life);
        for name in &names {
            self.look_at(seat, life, name);
        }
    }
}
