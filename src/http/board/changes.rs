//! What says that jobs changed: events of this replica, and heartbeats of all. Pure.

use std::collections::BTreeSet;

use crate::events::{Event, PeerEvent};
use crate::job::{JobName, RunId};
use crate::store::Peer;

/// What changed, as far as an event says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Changed<'e> {
    /// Nothing that is read from the store.
    Nothing,
    /// This job.
    Job(&'e JobName),
    /// Any job may have.
    AnyJob,
}

/// Returns what changed in the store when this event was told.
pub(super) fn changed_by(event: &Event) -> Changed<'_> {
    match event {
        Event::TickDecided { job, .. }
        | Event::TickConsumed { job, .. }
        | Event::TickNotRerun { job, .. }
        | Event::PausingHeard { job, .. }
        | Event::ClaimAbandoned { job, .. }
        | Event::TickDropped { job, .. } => Changed::Job(job),
        Event::RunStarted { run, .. } | Event::RunRecorded { run } | Event::RunRecalled { run } => {
            Changed::Job(&run.job)
        }
        Event::Peer(PeerEvent::RunInterrupted { run, .. }) => Changed::Job(&run.job),
        Event::StoreReached { .. } | Event::StoreChanged { .. } => Changed::AnyJob,
        _ => Changed::Nothing,
    }
}

/// The runs that heartbeats list.
#[derive(Debug, Default)]
pub(super) struct ListedRuns(BTreeSet<(JobName, RunId)>);

impl ListedRuns {
    /// Takes over the runs that these heartbeats list. Returns the jobs of runs that began or ended since.
    pub(super) fn hear(&mut self, peers: &[Peer]) -> Vec<JobName> {
        let runs = peers.iter().flat_map(|peer| &peer.beat.running);
        let listed: BTreeSet<_> = runs.map(|run| (run.job.clone(), run.run)).collect();
        let changed = listed.symmetric_difference(&self.0).map(|(job, _)| job.clone()).collect();
        self.0 = listed;
        changed
    }

    /// Whether a heartbeat lists this run: then a later one tells of its end.
    pub(super) fn has(&self, job: &JobName, run: RunId) -> bool {
        self.0.contains(&(job.clone(), run))
    }
}

#[cfg(test)]
mod tests {
    use crate::job::{Cause, Fence, NodeName, Tick};
    use crate::store::{Beat, BeatRun};
    use crate::time::UtcMillis;

    use super::*;

    fn job(name: &str) -> JobName {
        JobName::parse(name).expect("a name")
    }

    #[test]
    fn events_name_the_job_whose_record_changed() {
        let run = crate::events::Run {
            job: job("backup"),
            tick: Tick(UtcMillis(1)),
            run: RunId::new(),
            fence: Fence(1),
            cause: Cause::Schedule,
        };
        let error = "no answer".to_owned();
        for (event, changed) in [
            (Event::RunRecorded { run: run.clone() }, Changed::Job(&run.job)),
            (Event::RenewalFailed { run: run.clone(), error }, Changed::Nothing),
            (Event::StoreReached { store: "local".into() }, Changed::AnyJob),
            (Event::Stopped, Changed::Nothing),
        ] {
            assert_eq!(changed_by(&event), changed, "{event:?}");
        }
    }

    #[test]
    fn a_run_that_appears_in_a_heartbeat_or_leaves_it_changed_its_job() {
        let runs: Vec<BeatRun> = ["a", "b"]
            .map(|name| BeatRun { job: job(name), run: RunId::new(), lease_ms: 0, end: None })
            .into();
        let peer = |running: &[BeatRun]| {
            let node = NodeName::parse("n1").expect("a name");
            let beat = Beat::of(node, RunId::new(), "f".into(), UtcMillis(1));
            [Peer { at: UtcMillis(1), beat: Beat { running: running.to_vec(), ..beat } }]
        };
        let mut listed = ListedRuns::default();
        assert_eq!(listed.hear(&peer(&runs[..1])), [job("a")]);
        assert_eq!(listed.hear(&peer(&runs[..1])), []);
        assert_eq!(listed.hear(&peer(&runs)), [job("b")]);
        assert!(listed.has(&job("a"), runs[0].run) && !listed.has(&job("a"), runs[1].run));
        assert_eq!(listed.hear(&peer(&[])), [job("a"), job("b")]);
    }
}
