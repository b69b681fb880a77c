//! What programs are told of the events of a replica: one flat object for each, with stable names. Fields that do not apply
//! are left out.

use std::time::Duration;

use serde::Serialize;

use crate::job::{Cause, Fence, JobName, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::time::UtcMillis;

use super::Run;
use super::event::Event;
use super::log::millis;
use super::peer_event::PeerEvent;

/// Something that happened on a replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewsItem {
    /// When it happened, by the store's clock as the replica knows it: RFC 3339 in UTC.
    at: String,
    /// The same in milliseconds since the epoch.
    at_ms: UtcMillis,
    /// The replica.
    node: NodeName,
    /// What happened, in one word.
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tick: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tick_ms: Option<Tick>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<Fence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// How long after its tick the run began.
    #[serde(skip_serializing_if = "Option::is_none")]
    late_ms: Option<u64>,
    /// From the start of the first attempt to the end of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    /// Why the command could not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The operator who caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Another replica that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<NodeName>,
    /// More about it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl NewsItem {
    /// Returns what to tell of an event that this replica tells at this time, by the store's clock; `None` if it is of no
    /// interest outside the log.
    pub fn of(event: &Event, node: &NodeName, now: UtcMillis) -> Option<Self> {
        let item = |what| Self::new(what, node, now);
        let of_job = |what, job: &JobName| Self { job: Some(job.clone()), ..item(what) };
        Some(match event {
            Event::RunStarted { run, late, .. } => {
                Self { late_ms: Some(millis(*late)), ..item("run_started").of_run(run) }
            }
            Event::AttemptFailed { run, attempt, verdict, exit_code, signal, error, .. } => Self {
                attempt: Some(*attempt),
                exit_code: *exit_code,
                signal: *signal,
                error: error.clone(),
                ..item("attempt_failed").of_run(run).with(*verdict)
            },
            Event::RunEnded { run, attempt, verdict, exit_code, signal, took, at, error, .. } => Self {
                attempt: Some(*attempt),
                exit_code: *exit_code,
                signal: *signal,
                error: error.clone(),
                ..Self::new("run_ended", node, *at).of_run(run).with(*verdict).took(*took)
            },
            Event::TickConsumed { job, tick, verdict, at } => Self {
                job: Some(job.clone()),
                tick: Some(tick.to_string()),
                tick_ms: Some(*tick),
                ..Self::new("tick_not_run", node, *at).with(*verdict)
            },
            Event::PausingHeard { job, said } => Self {
                by: Some(said.by.clone()),
                detail: said.why.clone(),
                ..of_job(if said.until.is_some() { "job_paused" } else { "job_resumed" }, job)
            },
            Event::KillHeard { job, run, by } => {
                Self { run: Some(*run), by: Some(by.clone()), ..of_job("kill_ordered", job) }
            }
            Event::ClaimAbandoned { job, run, reason } => {
                Self { run: Some(*run), reason: Some(*reason), ..of_job("run_not_started", job) }
            }
            Event::LockLost { run, why } => {
                Self { detail: Some((*why).to_owned()), ..item("lock_lost").of_run(run) }
            }
            Event::StoreLost(error) => Self { detail: Some(error.to_string()), ..item("store_lost") },
            Event::StoreReached { .. } => item("store_reached"),
            Event::StoreChanged { what } => Self { detail: Some(what.to_string()), ..item("store_changed") },
            Event::ClockStepped => item("clock_stepped"),
            Event::Peer(event) => Self::of_peer(event, node, now)?,
            Event::Reloaded { file, .. } => Self { detail: Some(file.clone()), ..item("file_loaded") },
            Event::Draining { .. } => item("draining"),
            Event::Stopped => item("stopped"),
            _ => return None,
        })
    }

    fn of_peer(event: &PeerEvent, node: &NodeName, now: UtcMillis) -> Option<Self> {
        let about = |what, peer: &NodeName| Self { peer: Some(peer.clone()), ..Self::new(what, node, now) };
        Some(match event {
            PeerEvent::Down { peer, .. } => about("replica_down", peer),
            PeerEvent::Back { peer } => about("replica_back", peer),
            PeerEvent::RunInterrupted { run, peer, verdict, took, at } => {
                let item = Self::new("run_interrupted", node, *at).of_run(run).with(*verdict).took(*took);
                Self { peer: Some(peer.clone()), ..item }
            }
            PeerEvent::NameTaken | PeerEvent::TooFew { .. } => return None,
        })
    }

    /// Returns what happened, in one word.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// Returns the item without what comes from the command of a job: why it could not be started.
    #[must_use]
    pub fn without_output(self) -> Self {
        Self { error: None, ..self }
    }

    fn new(what: &'static str, node: &NodeName, at: UtcMillis) -> Self {
        Self {
            at: at.to_string(),
            at_ms: at,
            node: node.clone(),
            what,
            job: None,
            tick: None,
            tick_ms: None,
            run: None,
            fence: None,
            cause: None,
            attempt: None,
            outcome: None,
            reason: None,
            exit_code: None,
            signal: None,
            late_ms: None,
            took_ms: None,
            error: None,
            by: None,
            peer: None,
            detail: None,
        }
    }

    fn of_run(self, run: &Run) -> Self {
        Self {
            job: Some(run.job.clone()),
            tick: Some(run.tick.to_string()),
            tick_ms: Some(run.tick),
            run: Some(run.run),
            fence: Some(run.fence),
            cause: Some(run.cause),
            ..self
        }
    }

    fn with(self, verdict: Verdict) -> Self {
        Self { outcome: Some(verdict.outcome), reason: verdict.reason, ..self }
    }

    fn took(self, took: Duration) -> Self {
        Self { took_ms: Some(millis(took)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::run::StopSignals;

    use super::*;

    fn run() -> Run {
        Run {
            job: JobName::parse("backup").expect("a name"),
            tick: Tick(UtcMillis(1_700_000_000_000)),
            run: "01939d2c-0000-7000-8000-000000000001".parse().expect("an id"),
            fence: Fence(7),
            cause: Cause::Schedule,
        }
    }

    fn told(event: &Event) -> Option<NewsItem> {
        NewsItem::of(event, &NodeName::parse("n1").expect("a name"), UtcMillis(1_700_000_001_000))
    }

    #[test]
    fn the_end_of_a_run_is_told_with_every_field_that_applies_by_its_stable_name() {
        let ended = Event::RunEnded {
            run: run(),
            attempt: 1,
            verdict: Verdict::because(Outcome::Failed, Reason::SpawnFailed),
            exit_code: None,
            signal: None,
            took: Duration::from_millis(20),
            at: UtcMillis(1_700_000_000_500),
            stop_signals: StopSignals::default(),
            stages: None,
            error: Some("no such file: /secret/tool".into()),
        };
        let item = told(&ended).expect("it is told");
        let mut expected = json!({
            "at": "2023-11-14T22:13:20.500Z", "at_ms": 1_700_000_000_500_i64, "node": "n1", "what": "run_ended",
            "job": "backup", "tick": "2023-11-14T22:13:20.000Z", "tick_ms": 1_700_000_000_000_i64,
            "run": "01939d2c-0000-7000-8000-000000000001", "fence": 7, "cause": "schedule", "attempt": 1,
            "outcome": "failed", "reason": "spawn_failed", "took_ms": 20, "error": "no such file: /secret/tool",
        });
        assert_eq!(serde_json::to_value(&item).expect("plain JSON"), expected);
        expected.as_object_mut().expect("an object").remove("error");
        assert_eq!(serde_json::to_value(item.without_output()).expect("plain JSON"), expected);
    }

    #[test]
    fn what_only_the_log_needs_is_not_told() {
        assert_eq!(told(&Event::RunRecorded { run: run() }), None);
        let item = told(&Event::ClockStepped).expect("it is told");
        assert_eq!(item.what(), "clock_stepped");
    }
}
