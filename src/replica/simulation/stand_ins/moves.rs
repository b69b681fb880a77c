//! What a simulated replica does about its jobs, and with the store's answers: the counterparts of `moves.rs` and
//! `prepare.rs`, without the events.

use std::time::Duration;

use crate::hold::lease_file::entry::LeaseNote;
use crate::lease::{Answer, Deadline, Era, Reply};
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::cluster::store_health::HealthChange;
use crate::replica::simulation::world::clock::Reads;
use crate::replica::simulation::world::message::{Answered, Ask, Told};
use crate::replica::tick::action::{Action, Bid, Doubt, Won};
use crate::replica::tick::claiming::Contest;
use crate::store;
use crate::store::{Pulse, StoreError};
use crate::time::BootInstant;

use super::errand::{Chore, Errand, cause_of};
use super::node::Node;

/// As in `prepare.rs`.
const REPLAN: Duration = Duration::from_millis(500);

/// As in `errand.rs`.
const PROOF_LIMIT: Duration = Duration::from_secs(2);

impl Node {
    /// `Driver::look`.
    pub(crate) fn look(&mut self, job: usize) {
        let now = self.now();
        if self.health.outage().is_some() {
            self.contests[job].unheard(now);
            return;
        }
        let action = self.contests[job].look(now, &self.health.roster, true);
        if self.contests[job].takes_look(now) {
            self.send(Ask::Mark(job), Errand::Mark { job });
        }
        self.perform(job, action);
    }

    /// `Driver::perform`.
    fn perform(&mut self, job: usize, action: Action) {
        match action {
            Action::Nothing => {}
            Action::WakeAt(at) => {
                self.alarms.insert((at, job));
            }
            Action::Claim { bid, instead_of } => self.claim(job, &bid, instead_of),
            Action::Start { won, sent } => self.begin(job, won, sent),
            Action::GiveBack(doubt) => self.give_back(job, doubt),
            Action::Resync(at) => {
                self.resync = true;
                self.alarms.insert((at, job));
            }
        }
    }

    /// `Driver::claim`, and the beginning of `errand::claim`.
    fn claim(&mut self, job: usize, bid: &Bid, instead_of: Option<Doubt>) {
        let now = self.now();
        let store_clock = self.store_clock.as_ref().expect("no record is open before the store was heard");
        let caller = store_clock.caller(&self.name, self.reads.boot, self.contests[job].known());
        let claim = self.contests[job].proposal().claim(bid, caller, now, self.reads.wall);
        self.contests[job].claims(&claim);
        self.window.begin();
        match instead_of {
            Some(doubt) => {
                let then = Some(Box::new(claim));
                self.do_chore(Chore::Abandon { job, doubt, tries: 0, then });
            }
            None => self.send_claim(job, claim),
        }
    }

    /// The store answered, or did not.
    pub(crate) fn answered(&mut self, id: u64, answered: Answered, reads: Reads) {
        self.reads = reads;
        // No errand waits for an answer that comes after its request was given up.
        let Some(errand) = self.errands.remove(&id) else { return };
        let pulse = |told| if let Told::Pulse(pulse) = told { Some(pulse) } else { None };
        let reply = |told| if let Told::Reply(reply) = told { Some(reply) } else { None };
        let a_reply = |told: Answered| told.map(|told| reply(told).expect("a reply to a request"));
        match errand {
            Errand::Pulse { sent } => {
                let result = answered.map(|told| pulse(told).expect("a pulse for a pulse"));
                self.beat_over();
                self.exchanged(sent, result);
            }
            Errand::Claim { job, sent } => {
                self.claimed(job, sent, a_reply(answered));
                self.line_is_free();
            }
            Errand::Wish { job, sent, run, tick, era, is_manual } => {
                let won = |reply: &Reply| match reply.answer {
                    Answer::Won { fence, tries, started } => {
                        let mark = reply.mark.unwrap_or(tick.instant());
                        let cause = cause_of(is_manual, tries);
                        Some(Won {
                            run,
                            tick,
                            fence,
                            cause,
                            tries,
                            started,
                            era: era.clone(),
                            mark,
                            waited: false,
                        })
                    }
                    _ => None,
                };
                let answered = a_reply(answered);
                let is_new_era = answered
                    .as_ref()
                    .is_ok_and(|reply| matches!(reply.answer, Answer::NewEra(_) | Answer::Unsynced));
                match answered.map(|reply| won(&reply)) {
                    Ok(Some(won)) if self.is_in_time(job, sent) => self.begin(job, won, sent),
                    Ok(None) => self.wish_in_vain(is_new_era),
                    Ok(Some(_)) | Err(_) => {
                        self.give_back(job, Doubt { run, era, edited: false });
                        self.wish_in_vain(true);
                    }
                }
            }
            Errand::Abandon { job, doubt, tries, then } => {
                self.gave_back(job, doubt, tries, then, answered.is_ok());
            }
            Errand::Mark { job } => {
                let found =
                    answered.ok().and_then(|told| if let Told::Mark(found) = told { found } else { None });
                self.marked(job, found);
            }
            Errand::Known(opens, ends) => self.knows(opens, ends, answered),
            Errand::Open { job } => self.opened(job, a_reply(answered)),
            Errand::Renew { run, sent, era } => self.renewal_answered(run, sent, era, a_reply(answered)),
            Errand::Tell { job } => {
                let rerun = a_reply(answered).map(|reply| reply.rerun);
                self.told(job, rerun);
            }
            Errand::Finish { run } => self.finish_answered(run, a_reply(answered)),
            Errand::GiveBack { run } => self.abandon_answered(run, a_reply(answered)),
            Errand::Look { run } => {
                if let Ok(Told::Looked(record)) = answered {
                    self.looked(run, record.as_deref());
                }
            }
            Errand::Told => {}
        }
        self.take_turns();
        self.attend_all();
    }

    fn is_in_time(&self, job: usize, sent: BootInstant) -> bool {
        !Deadline::of_job(&self.jobs[job], sent).is_over(self.reads.boot)
    }

    /// `Driver::claimed`.
    pub(crate) fn claimed(&mut self, job: usize, sent: BootInstant, result: Result<Reply, StoreError>) {
        self.window.end();
        let now = self.now();
        let tick = self.contests[job].tick();
        let in_time = self.is_in_time(job, sent) && !self.contests[job].is_overdue(now);
        let (finding, action) = match result {
            Ok(reply) => self.contests[job].answered(&reply, now, sent, in_time),
            Err(error) => (None, self.contests[job].failed(error.may_have_been_applied(), now)),
        };
        if self.contests[job].is_unopened() && self.opening.contains(&job) {
            self.outdated.insert(job);
        }
        // `Driver::tell_finding`: a run of this very replica gives way at once.
        if let Some(holder) = finding.as_ref().and_then(|finding| finding.replaces(&self.jobs[job]))
            && let Some(keep) = self.keeps.iter_mut().find(|keep| keep.lease.run == holder.run)
        {
            self.deeds.extend(keep.give_way());
        }
        if let (Some(finding), Some(tick)) = (finding, tick)
            && let Some(holder) = finding.awaits_proof(&self.jobs[job], tick)
            && let Some(keep) = self.keeps.iter_mut().find(|keep| keep.lease.run == holder.run)
        {
            // `Driver::tell_finding`: a run of this very replica proves that it lives.
            keep.prove(job, self.reads.boot);
            self.chores.push((self.reads.boot.plus(PROOF_LIMIT), Chore::Proven(job)));
        }
        self.perform(job, action);
        self.look_at(job);
    }

    /// `Done::Proven`.
    pub(super) fn proven(&mut self, job: usize) {
        let now = self.now();
        self.contests[job].hurry(now);
        self.look_at(job);
    }

    /// Has a replica handle a step of its wall clock before anything else.
    pub(crate) fn see_step(&mut self, is_stepped: &mut bool, reads: Reads) {
        if std::mem::take(is_stepped) {
            self.clock_stepped(reads);
        }
    }

    /// `Driver::clock_stepped`.
    pub(super) fn clock_stepped(&mut self, reads: Reads) {
        self.reads = reads;
        self.resync = true;
        self.plan_anew();
    }

    fn plan_anew(&mut self) {
        let now = self.now();
        self.alarms.clear();
        self.close_what_is_ahead();
        self.open_records();
        self.next_ticks.replan(now);
        self.expect_until(now);
        self.look_at_all();
    }

    fn close_what_is_ahead(&mut self) {
        let now = self.now();
        self.contests.iter_mut().filter(|contest| contest.is_ahead(now)).for_each(Contest::close);
    }

    fn look_at_all(&mut self) {
        let now = self.now();
        for job in 0..self.contests.len() {
            self.contests[job].hurry(now);
            self.look_at(job);
        }
    }

    /// `Driver::exchanged`.
    fn exchanged(&mut self, sent: BootInstant, result: Result<Pulse, StoreError>) {
        let ahead = |node: &Self| node.reads.wall.since(node.now());
        let (was_ahead, was_out) = (ahead(self), self.health.outage().is_some());
        if let Ok(Pulse { count, era, marker: Some(marker), .. }) = &result {
            self.beat.told = Some(store::Told { count: *count, era: era.clone(), marker: marker.clone() });
        }
        let peers = result.as_ref().map(|pulse| pulse.peers.clone()).unwrap_or_default();
        let exchange = Exchange { sent, received: self.reads.boot, wall: self.reads.wall, result };
        let change = self.health.take_in(&exchange, &mut self.store_clock);
        if change == HealthChange::Same {
            return;
        }
        if change == HealthChange::Reopen {
            self.contests.iter_mut().for_each(Contest::close);
            self.outdated = self.opening.clone();
            self.keeps.iter_mut().for_each(|keep| keep.hurry(self.reads.boot));
            // `Driver::doubt_the_store`.
            for note in self.disk.values_mut() {
                if let LeaseNote::Ended(finish) = note {
                    finish.era = Era::default();
                }
            }
            self.untold.extend(self.disk.keys());
        }
        if change == HealthChange::Stepped {
            self.close_what_is_ahead();
        }
        self.hear_of_runs(&peers);
        self.look_at_records();
        self.open_records();
        if ahead(self).abs_diff(was_ahead) > REPLAN {
            self.plan_anew();
        } else if was_out {
            self.look_at_all();
        }
    }
}
