//! What a node stores of a run: one JSON object, with the field names of `history --format json`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::job::{Cause, Fence, JobName, NodeName, Outcome, Reason, RunId, Tick, Verdict};
use crate::run::attempt::Ended;
use crate::run::attempt::launch::Identity;
use crate::time::UtcMillis;

/// One run: a line of `runs.jsonl`, or the content of a `RUN.running`. Absent values are `null`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The job.
    pub job: JobName,
    /// Its tick, RFC 3339 in JSON.
    #[serde(with = "tick_text")]
    pub tick: Tick,
    /// Its tick, in milliseconds in JSON.
    pub tick_ms: Tick,
    /// The run.
    pub run: RunId,
    /// The replica it ran on.
    pub node: NodeName,
    /// Its fencing token.
    pub fence: Fence,
    /// The last attempt, from 1.
    pub attempt: u32,
    /// Why it was started.
    pub cause: Cause,
    /// How it ended.
    pub outcome: Outcome,
    /// The reason of the outcome, if there is one.
    pub reason: Option<Reason>,
    /// Exit code of the last attempt.
    pub exit_code: Option<i32>,
    /// Signal that the last attempt died of.
    pub signal: Option<i32>,
    /// When the run started, RFC 3339 in JSON.
    #[serde(with = "instant_text")]
    pub started: UtcMillis,
    /// When it finished, RFC 3339 in JSON.
    #[serde(with = "optional_text")]
    pub finished: Option<UtcMillis>,
    /// The end of the output, at most 4 KiB: of several attempts, each headed by its number.
    pub tail: Option<String>,
    /// Its log, relative to the state directory; absent for a silent run.
    pub log: Option<PathBuf>,
}

impl RunEntry {
    /// Returns the entry of a run that is running.
    pub(crate) fn running(identity: &Identity, started: UtcMillis) -> Self {
        Self {
            job: identity.job.clone(),
            tick: identity.tick,
            tick_ms: identity.tick,
            run: identity.run,
            node: identity.node.clone(),
            fence: identity.fence,
            attempt: identity.attempt,
            cause: identity.cause,
            outcome: Outcome::Running,
            reason: None,
            exit_code: None,
            signal: None,
            started,
            finished: None,
            tail: None,
            log: None,
        }
    }

    /// Returns the entry of the run that ended in this way, with this attempt.
    #[must_use]
    pub(crate) fn ended(self, attempt: u32, ended: &Ended) -> Self {
        Self {
            attempt,
            exit_code: ended.exit_code,
            signal: ended.signal,
            finished: Some(ended.finished),
            tail: Some(ended.tail.clone()),
            ..self.with(ended.verdict)
        }
    }

    /// Returns the entry of the same run with another verdict.
    #[must_use]
    pub(crate) fn with(self, verdict: Verdict) -> Self {
        Self { outcome: verdict.outcome, reason: verdict.reason, ..self }
    }
}

/// An instant as RFC 3339.
mod instant_text {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::time::UtcMillis;

    pub(super) fn serialize<S: Serializer>(at: &UtcMillis, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UtcMillis, D::Error> {
        parse(&String::deserialize(from)?)
    }

    pub(super) fn parse<E: de::Error>(text: &str) -> Result<UtcMillis, E> {
        text.parse::<Timestamp>().map(UtcMillis::from_timestamp).map_err(E::custom)
    }
}

/// A tick as RFC 3339.
mod tick_text {
    use serde::{Deserializer, Serializer};

    use super::{Tick, instant_text};

    pub(super) fn serialize<S: Serializer>(tick: &Tick, to: S) -> Result<S::Ok, S::Error> {
        instant_text::serialize(&tick.instant(), to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Tick, D::Error> {
        instant_text::deserialize(from).map(Tick)
    }
}

/// An instant as RFC 3339, or null.
mod optional_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::UtcMillis;

    use super::instant_text;

    pub(super) fn serialize<S: Serializer>(at: &Option<UtcMillis>, to: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => instant_text::serialize(at, to),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<UtcMillis>, D::Error> {
        Option::<String>::deserialize(from)?.map(|text| instant_text::parse(&text)).transpose()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// Returns an entry of `job` that finished at this many milliseconds.
    pub(in crate::run) fn entry(job: &str, finished: i64) -> RunEntry {
        let identity = Identity {
            job: JobName::parse(job).unwrap(),
            tick: Tick::at_millis(1_700_000_000_000),
            tick_local: String::new(),
            fence: Fence(7),
            run: RunId::new(),
            attempt: 1,
            cause: Cause::Schedule,
            node: NodeName::parse("n1").unwrap(),
        };
        let ended = Ended {
            was_stuck: false,
            stop_signals: crate::run::StopSignals::default(),
            was_tried: true,
            ago: std::time::Duration::ZERO,
            verdict: Verdict::plain(Outcome::Failed),
            exit_code: Some(3),
            signal: None,
            error: None,
            tail: "oh\n".into(),
            started: UtcMillis(finished),
            finished: UtcMillis(finished),
            log_bytes: 0,
            birth: crate::run::Birth::default(),
        };
        RunEntry::running(&identity, UtcMillis(1_700_000_000_050)).ended(2, &ended)
    }

    #[test]
    fn an_entry_has_the_field_names_of_history_and_reads_back() {
        let entry = entry("backup", 1_700_000_001_000);
        let shown = serde_json::to_value(&entry).unwrap();
        let expected = json!({
            "job": "backup", "tick": "2023-11-14T22:13:20.000Z", "tick_ms": 1_700_000_000_000_i64,
            "run": entry.run.to_string(), "node": "n1", "fence": 7, "attempt": 2, "cause": "schedule",
            "outcome": "failed", "reason": null, "exit_code": 3, "signal": null,
            "started": "2023-11-14T22:13:20.050Z", "finished": "2023-11-14T22:13:21.000Z",
            "tail": "oh\n", "log": null,
        });
        assert_eq!(shown, expected);
        assert_eq!(serde_json::from_value::<RunEntry>(shown).unwrap(), entry);
    }
}
