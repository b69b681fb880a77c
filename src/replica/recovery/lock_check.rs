//! Checks with each heartbeat that the store still knows the locks of this replica, and prevents a second run of a
//! job here.

use std::time::Duration;

use crate::job::{JobName, OnInterrupt};
use crate::lease::{LiveRuns, Protection};
use crate::replica::core::{Core, Effect};
pub(crate) use crate::replica::tick::action::Won;
use crate::store::LIVE_FOR;
use crate::store::Peer;

impl Core {
    /// Whether a run of the job is going here.
    pub(crate) fn runs_itself(&self, job: &JobName) -> bool {
        let is_going = self.runs.values().any(|own| own.job == *job && !own.has_ended);
        is_going && Protection::OwnRun.is_on()
    }

    /// Gives back a lock that was granted although a run of the job is going here: the store forgot that run. The new
    /// run starts nothing; the old one learns that its lock is lost when it renews. Its tick is claimed again when the old
    /// run is over.
    pub(crate) fn refuse(&mut self, job: &JobName, won: Won) {
        let tick = won.lease.tick;
        self.give_back(job, won.abandon());
        if let Some(contest) = self.contests.get_mut(job) {
            contest.refuse(tick);
        }
    }

    /// Checks whether the store still knows this replica's locks. A lock that it forgot is renewed at once.
    pub(crate) fn look_at_locks(&mut self) {
        let held = self.runs.iter().filter(|(_, own)| !own.has_ended);
        let held: Vec<_> = held.map(|(run, own)| (own.job.clone(), *run)).collect();
        if !held.is_empty() && Protection::RecordCheck.is_on() {
            self.effects.push(Effect::CheckLocks(held));
        }
    }

    /// Records the runs that heartbeats list, and their leases: if a record is missing, the job waits that long. A run of
    /// a silent replica is over after its lease, and then does not count.
    pub(crate) fn hear_of_runs(&mut self, peers: &[Peer]) {
        let now = self.store_time();
        self.lost.listed.clear();
        for (peer, run) in peers.iter().flat_map(|peer| peer.beat.running.iter().map(move |run| (peer, run)))
        {
            let lease = Duration::from_millis(run.lease_ms);
            let is_held = now.since(peer.at) <= lease + LIVE_FOR;
            if let Some(contest) = self.contests.get_mut(&run.job) {
                contest.saw(Some(lease).filter(|_| is_held));
                contest.is_known = true;
                let is_live =
                    run.end.is_some() || self.lost.silence.was_heard_lately(&peer.beat.node, self.at.boot);
                if is_live && peer.beat.life != self.beat.life {
                    run.add_to(self.lost.listed.entry(run.job.clone()).or_default());
                }
            }
        }
    }

    /// Returns the runs of a job that live replicas list, this one included; none unless the job is rerun.
    pub(crate) fn live_runs(&self, job: &JobName) -> LiveRuns {
        if self.contests.get(job).is_none_or(|contest| contest.spec().on_interrupt != OnInterrupt::Rerun) {
            return LiveRuns::default();
        }
        let mut live = self.lost.listed.get(job).cloned().unwrap_or_default();
        self.beat.running.iter().filter(|own| own.job == *job).for_each(|own| own.add_to(&mut live));
        live
    }
}
