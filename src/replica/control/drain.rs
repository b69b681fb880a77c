//! How a replica drains: it takes no new ticks, lets runs finish, and then stops them in an orderly way.

use std::time::Duration;

use crate::events::event::Event;
use crate::job::{JobName, Reason};
use crate::lease::Abandon;
use crate::replica::core::{Core, Effect};
pub(crate) use crate::replica::tick::action::Action;
use crate::run::{StopOrder, StopReason};

use super::drain_deadline::DrainStage;

impl Core {
    /// Starts to drain: takes no new ticks from now on, and stops what is running when the drain time is over.
    pub(crate) fn begin_to_drain(&mut self) {
        if self.draining {
            return;
        }
        self.start_to_drain();
        self.drain_deadline.drain(self.at.boot, self.drain);
    }

    /// Stops every run at once.
    pub(crate) fn stop_at_once(&mut self) {
        self.start_to_drain();
        self.stop_runs(Some(Duration::ZERO));
        self.drain_deadline.stop_at_once(self.at.boot);
    }

    /// Does what is due because a wait of the drain is over.
    pub(crate) fn drain_on(&mut self) {
        let now = self.at.boot;
        match self.drain_deadline.over(now) {
            None => {}
            Some(DrainStage::StopRuns) => {
                let grace = self.stop_runs(None);
                self.drain_deadline.stop(now, grace);
            }
            Some(DrainStage::GiveUp) => {
                self.effects.push(Effect::GiveUpRecording);
                self.drain_deadline.rest(now);
            }
            Some(DrainStage::Leave) => {
                self.drain_deadline.end();
                self.report(Event::LeftBehind(self.runs.len()));
                self.effects.push(Effect::LeaveBehind);
            }
        }
    }

    fn start_to_drain(&mut self) {
        if self.draining {
            return;
        }
        self.draining = true;
        self.effects.extend(self.runs.keys().copied().map(Effect::EndAttempts));
        self.alarms.clear();
        self.update_beat(|_| ());
        self.beats_now = true;
        self.report(Event::Draining { running: self.runs.len(), limit: self.drain });
        self.give_back_unsure();
        self.ask_for_orders();
    }

    /// Claims nothing more for the job, because the replica drains: gives back what may have been granted instead of
    /// performing `action`.
    pub(crate) fn leave(&mut self, job: &JobName, action: Action) {
        if let Action::Claim { instead_of: Some(doubt), .. } | Action::GiveBack(doubt) = action {
            self.give_back(job, doubt);
        }
        self.give_back_unsure();
    }

    /// Logs that what may have been granted is given back.
    pub(crate) fn tell_given_back(&mut self, job: &JobName, doubt: &Abandon) {
        let reason = match doubt.edited {
            _ if self.draining => Reason::Shutdown,
            true => Reason::Edited,
            false => Reason::Late,
        };
        self.report(Event::ClaimAbandoned { job: job.clone(), run: doubt.run, reason });
    }

    /// Gives back what may have been granted and was not started.
    pub(crate) fn give_back(&mut self, job: &JobName, doubt: Abandon) {
        self.tell_given_back(job, &doubt);
        self.effects.push(Effect::GiveBack { job: job.clone(), doubt });
    }

    /// Orders every run to stop, with its own grace or with this one; returns the longest grace.
    fn stop_runs(&mut self, grace: Option<Duration>) -> Duration {
        self.stopping = true;
        let running = self.runs.iter().filter(|(_, own)| !own.has_ended);
        let graces: Vec<_> = running.map(|(run, own)| (*run, grace.unwrap_or(own.kill_grace))).collect();
        if !graces.is_empty() {
            self.report(Event::Stopping { running: graces.len() });
        }
        let mut longest = Duration::ZERO;
        for (run, grace) in graces {
            self.effects.push(Effect::Stop { run, order: StopOrder { reason: StopReason::Shutdown, grace } });
            longest = longest.max(grace);
        }
        longest
    }

    /// Gives back what unanswered claims may have been granted. For a replica that drains.
    pub(super) fn give_back_unsure(&mut self) {
        for (job, contest) in &mut self.contests {
            if let Some(doubt) = contest.doubt().filter(|_| !contest.is_asking()) {
                contest.forget();
                self.effects.push(Effect::GiveBack { job: job.clone(), doubt });
            }
        }
    }
}
