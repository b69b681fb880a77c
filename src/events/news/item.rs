//! One item of news.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::events::Run;
use crate::events::event::Event;
use crate::events::peer_event::PeerEvent;
use crate::job::{Cause, Fence, JobName, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::time::UtcMillis;
use crate::time::millis::millis;

use super::word::EventWord;

/// Other replicas get no more characters of a text.
const LONGEST_TEXT: usize = 300;

/// Something that happened on a replica. Serialized, it is what replicas tell each other; programs get
/// [`NewsItem::to_json`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewsItem {
    /// When it happened, by the store's clock as the replica knows it.
    at_ms: UtcMillis,
    /// The replica.
    node: NodeName,
    /// What happened.
    what: EventWord,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<JobName>,
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

/// An item as programs read it.
#[derive(Serialize)]
struct NewsText<'a> {
    /// When it happened: RFC 3339 in UTC.
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tick: Option<String>,
    #[serde(flatten)]
    item: &'a NewsItem,
}

impl NewsItem {
    /// Returns what to tell of an event that this replica tells at this time, by the store's clock; `None` if it is of no
    /// interest outside the log.
    pub fn of(event: &Event, node: &NodeName, now: UtcMillis) -> Option<Self> {
        let item = |what: EventWord| Self::new(what, node, now);
        let of_job = |what: EventWord, job: &JobName| Self { job: Some(job.clone()), ..item(what) };
        Some(match event {
            Event::RunStarted { run, late, .. } => {
                Self { late_ms: Some(millis(*late)), ..item(EventWord::RunStarted).of_run(run) }
            }
            Event::AttemptFailed { run, attempt, verdict, exit_code, signal, error, .. } => Self {
                attempt: Some(*attempt),
                exit_code: *exit_code,
                signal: *signal,
                error: error.clone(),
                ..item(EventWord::AttemptFailed).of_run(run).with(*verdict)
            },
            Event::RunEnded { run, attempt, verdict, exit_code, signal, took, at, error, .. } => Self {
                attempt: Some(*attempt),
                exit_code: *exit_code,
                signal: *signal,
                error: error.clone(),
                ..Self::new(EventWord::RunEnded, node, *at).of_run(run).with(*verdict).took(*took)
            },
            Event::TickConsumed { job, tick, verdict, at } => Self {
                job: Some(job.clone()),
                tick_ms: Some(*tick),
                ..Self::new(EventWord::TickNotRun, node, *at).with(*verdict)
            },
            Event::PausingHeard { job, said } => Self {
                by: Some(said.by.clone()),
                detail: said.why.clone(),
                ..of_job(if said.until.is_some() { EventWord::JobPaused } else { EventWord::JobResumed }, job)
            },
            Event::KillHeard { job, run, by } => {
                Self { run: Some(*run), by: Some(by.clone()), ..of_job(EventWord::KillOrdered, job) }
            }
            Event::ClaimAbandoned { job, run, reason } => {
                Self { run: Some(*run), reason: Some(*reason), ..of_job(EventWord::RunNotStarted, job) }
            }
            Event::LockLost { run, why } => {
                Self { detail: Some((*why).to_owned()), ..item(EventWord::LockLost).of_run(run) }
            }
            Event::StoreLost(error) => Self { detail: Some(error.to_string()), ..item(EventWord::StoreLost) },
            Event::StoreReached { .. } => item(EventWord::StoreReached),
            Event::StoreChanged { what } => {
                Self { detail: Some(what.to_string()), ..item(EventWord::StoreChanged) }
            }
            Event::ClockStepped => item(EventWord::ClockStepped),
            Event::Peer(event) => Self::of_peer(event, node, now)?,
            Event::Reloaded { file, .. } => {
                Self { detail: Some(file.clone()), ..item(EventWord::FileLoaded) }
            }
            Event::Draining { .. } => item(EventWord::Draining),
            Event::Stopped => item(EventWord::Stopped),
            _ => return None,
        })
    }

    fn of_peer(event: &PeerEvent, node: &NodeName, now: UtcMillis) -> Option<Self> {
        let about = |what: EventWord, peer: &NodeName| Self {
            peer: Some(peer.clone()),
            ..Self::new(what, node, now)
        };
        Some(match event {
            PeerEvent::Down { peer, .. } => about(EventWord::ReplicaDown, peer),
            PeerEvent::Back { peer } => about(EventWord::ReplicaBack, peer),
            PeerEvent::RunInterrupted { run, peer, verdict, took, at } => {
                let item =
                    Self::new(EventWord::RunInterrupted, node, *at).of_run(run).with(*verdict).took(*took);
                Self { peer: Some(peer.clone()), ..item }
            }
            PeerEvent::NameTaken | PeerEvent::TooFew { .. } => return None,
        })
    }

    /// Returns when it happened, by the store's clock.
    pub fn at(&self) -> UtcMillis {
        self.at_ms
    }

    /// Returns the replica.
    pub fn node(&self) -> &NodeName {
        &self.node
    }

    /// Returns what happened.
    pub fn what(&self) -> EventWord {
        self.what
    }

    /// Returns the job that it is about, if it is about one.
    pub fn job(&self) -> Option<&JobName> {
        self.job.as_ref()
    }

    /// Returns the run that it is about, if it is about one.
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// Returns more about it, in words.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Whether people should see it at once: something went wrong, or a replica or the store changed its state.
    pub fn is_urgent(&self) -> bool {
        match self.what {
            EventWord::RunEnded | EventWord::TickNotRun => {
                !matches!(self.outcome, Some(Outcome::Succeeded | Outcome::Skipped))
            }
            EventWord::RunInterrupted
            | EventWord::RunNotStarted
            | EventWord::LockLost
            | EventWord::StoreLost
            | EventWord::StoreReached
            | EventWord::StoreChanged
            | EventWord::ClockStepped
            | EventWord::ReplicaDown
            | EventWord::ReplicaBack
            | EventWord::Draining
            | EventWord::Stopped => true,
            EventWord::RunStarted
            | EventWord::AttemptFailed
            | EventWord::JobPaused
            | EventWord::JobResumed
            | EventWord::KillOrdered
            | EventWord::FileLoaded => false,
        }
    }

    /// Returns the item as an object of JSON for programs.
    pub fn to_json(&self) -> String {
        let tick = self.tick_ms.map(|tick| tick.to_string());
        let text = NewsText { at: self.at_ms.to_string(), tick, item: self };
        serde_json::to_string(&text).expect("an item has string keys and no failing values")
    }

    /// Returns what other replicas get of the item: nothing that comes from the command of a job, and of long texts the
    /// beginning.
    #[must_use]
    pub fn for_others(self) -> Self {
        let cut = |text: &Option<String>| text.as_ref().map(|text| text.chars().take(LONGEST_TEXT).collect());
        let (by, detail) = (cut(&self.by), cut(&self.detail));
        Self { by, detail, ..self }.without_output()
    }

    /// Returns the item without what comes from the command of a job: why it could not be started.
    #[must_use]
    pub fn without_output(self) -> Self {
        Self { error: None, ..self }
    }

    fn new(what: EventWord, node: &NodeName, at: UtcMillis) -> Self {
        Self {
            at_ms: at,
            node: node.clone(),
            what,
            job: None,
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
    use serde_json::{Value, json};

    use crate::lease::Pausing;
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

    fn json(item: &NewsItem) -> Value {
        serde_json::from_str(&item.to_json()).expect("plain JSON")
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
        assert_eq!(json(&item), expected);
        expected.as_object_mut().expect("an object").remove("error");
        assert_eq!(json(&item.without_output()), expected);
    }

    #[test]
    fn what_only_the_log_needs_is_not_told() {
        assert_eq!(told(&Event::RunRecorded { run: run() }), None);
        let item = told(&Event::ClockStepped).expect("it is told");
        assert_eq!(item.what().as_str(), "clock_stepped");
    }

    #[test]
    fn replicas_tell_each_other_everything_but_what_commands_cause_and_cut_long_texts() {
        let event = Event::PausingHeard {
            job: run().job,
            said: Pausing {
                until: Some(Pausing::UNTIL_RESUMED),
                at: UtcMillis(0),
                by: "ann".into(),
                why: Some("ü".repeat(LONGEST_TEXT + 1)),
            },
        };
        let item = NewsItem { error: Some("/secret/tool".into()), ..told(&event).expect("it is told") };
        let text = serde_json::to_string(&item.for_others()).expect("plain JSON");
        let heard: NewsItem = serde_json::from_str(&text).expect("it is read as it was written");
        assert_eq!((heard.what(), heard.job(), heard.run()), (EventWord::JobPaused, Some(&run().job), None));
        assert_eq!(heard.detail().map(|detail| detail.chars().count()), Some(LONGEST_TEXT));
        assert!(!text.contains("secret") && heard.by.as_deref() == Some("ann"), "{text}");
    }

    #[test]
    fn every_word_is_read_as_it_is_written_and_the_word_of_a_newer_release_is_none() {
        for event in [Event::ClockStepped, Event::Stopped, Event::StoreReached { store: "local".into() }] {
            let item = told(&event).expect("it is told");
            assert_eq!(json(&item)["what"], item.what().as_str());
        }
        let newer = r#"{"at_ms":1,"node":"n1","what":"run_teleported"}"#;
        assert!(serde_json::from_str::<NewsItem>(newer).is_err());
        let field = r#"{"at_ms":1,"node":"n1","what":"stopped","mood":"good"}"#;
        assert!(serde_json::from_str::<NewsItem>(field).is_ok());
    }

    #[test]
    fn what_went_wrong_is_urgent_and_what_is_usual_is_not() {
        let consumed =
            |verdict| Event::TickConsumed { job: run().job, tick: run().tick, verdict, at: UtcMillis(0) };
        for (event, is_urgent) in [
            (consumed(Verdict::because(Outcome::Missed, Reason::Late)), true),
            (consumed(Verdict::because(Outcome::Skipped, Reason::Paused)), false),
            (Event::LockLost { run: run(), why: "it expired" }, true),
            (Event::Draining { running: 0, limit: Duration::ZERO }, true),
            (Event::KillHeard { job: run().job, run: run().run, by: "ann".into() }, false),
        ] {
            assert_eq!(told(&event).map(|item| item.is_urgent()), Some(is_urgent), "{event:?}");
        }
    }
}
