//! How a replica drains: it takes no new ticks, lets runs finish, and then stops them in an orderly way.

use std::sync::Arc;
use std::time::Duration;

use crate::events::event::Event;
use crate::job::{JobName, Reason};
use crate::replica::driver::Driver;
use crate::replica::errand;
pub(crate) use crate::replica::tick::action::{Action, Doubt};
use crate::run::{StopOrder, StopReason};

impl Driver {
    /// Starts to drain: takes no new ticks from now on.
    pub(crate) fn start_to_drain(&mut self) {
        if self.draining {
            return;
        }
        self.draining = true;
        self.hurry_ends();
        self.handles.values().for_each(|(_, handle)| handle.no_more_attempts.cancel());
        self.alarms.clear();
        self.update_beat(|_| ());
        self.resync.notify_one();
        self.context.events.tell(Event::Draining { running: self.handles.len(), limit: self.drain });
        self.give_back_unsure();
        self.ask_for_orders();
    }

    /// Finishes are batched unless something may wait for them: the drain, or a job that waits for a free slot.
    pub(crate) fn hurry_ends(&self) {
        self.context.traffic.finish_window.hurry(self.draining || !self.capacity.is_unlimited());
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
    pub(crate) fn tell_given_back(&self, job: &JobName, doubt: &Doubt) {
        let reason = match doubt.edited {
            _ if self.draining => Reason::Shutdown,
            true => Reason::Edited,
            false => Reason::Late,
        };
        self.context.events.tell(Event::ClaimAbandoned { job: job.clone(), run: doubt.run, reason });
    }

    /// Gives back what may have been granted and was not started.
    pub(crate) fn give_back(&mut self, job: &JobName, doubt: Doubt) {
        self.tell_given_back(job, &doubt);
        self.errands.spawn(errand::abandon(Arc::clone(&self.context), job.clone(), doubt));
    }

    /// Orders every run to stop, with its own grace or with this one; returns the longest grace.
    pub(crate) fn stop_runs(&mut self, grace: Option<Duration>) -> Duration {
        self.stopping = true;
        let running: Vec<_> =
            self.handles.values().filter(|(_, handle)| !handle.run_ended.is_cancelled()).collect();
        self.context.events.tell(Event::Stopping { running: running.len() });
        let mut longest = Duration::ZERO;
        for (_, handle) in running {
            let grace = grace.unwrap_or(handle.kill_grace);
            StopOrder { reason: StopReason::Shutdown, grace }.give(&handle.stops);
            longest = longest.max(grace);
        }
        longest
    }

    /// Makes all holders try once more to record the end of their run, and then leave it unrecorded.
    pub(crate) fn give_up(&self) {
        self.handles.values().for_each(|(_, handle)| handle.give_up.cancel());
    }

    /// Ends the replica although processes of runs may be alive: their guards continue to kill them, and their locks
    /// expire.
    pub(crate) async fn leave_behind(&mut self) {
        self.context.events.tell(Event::LeftBehind(self.holders.len()));
        self.holders.shutdown().await;
        self.errands.shutdown().await;
    }

    /// Gives back what unanswered claims may have been granted. For a replica that drains.
    pub(super) fn give_back_unsure(&mut self) {
        for (job, contest) in &mut self.contests {
            if let Some(doubt) = contest.doubt().filter(|_| !contest.is_asking()) {
                contest.forget();
                self.errands.spawn(errand::abandon(Arc::clone(&self.context), job.clone(), doubt));
            }
        }
    }
}
