//! What replicas publish to each other over a channel of the server: hints and wakes, as texts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::{JobName, NodeName, Tick, Verdict};
use crate::lease::{Answer, Era, Reply, Rerun};
use crate::store::Hint;
use crate::time::UtcMillis;

/// A channel on which the replicas of a cluster publish; several clusters may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Hints, each as one text.
    Hints,
    /// Wakes, each as one text.
    Wakes,
}

/// A hint as it is published.
#[derive(Debug, Serialize, Deserialize)]
struct HintText {
    job: JobName,
    era: String,
    now: UtcMillis,
    mark: Option<UtcMillis>,
    lease_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rerun: Option<RerunText>,
    /// Whether the tick was abandoned; otherwise it was decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    abandoned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<NodeName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    how: Option<Verdict>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RerunText {
    tick: UtcMillis,
    by: Option<NodeName>,
    goes_on: bool,
    frees_in_ms: u64,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the text of a hint; `None` if its answer is neither `Decided` nor `Abandoned`.
pub(super) fn write_hint(hint: &Hint) -> Option<String> {
    let (abandoned, by, how) = match &hint.reply.answer {
        Answer::Abandoned => (true, None, None),
        Answer::Decided { by, how } => (false, by.clone(), *how),
        _ => return None,
    };
    let rerun = hint.reply.rerun.as_ref().map(|rerun| RerunText {
        tick: rerun.tick.instant(),
        by: rerun.by.clone(),
        goes_on: rerun.goes_on,
        frees_in_ms: millis(rerun.frees_in),
    });
    let text = HintText {
        job: hint.job.clone(),
        era: hint.era.0.clone(),
        now: hint.reply.now,
        mark: hint.reply.mark,
        lease_ms: hint.reply.lease.map(millis),
        rerun,
        abandoned,
        by,
        how,
    };
    Some(serde_json::to_string(&text).expect("a hint is plain JSON"))
}

/// Parses a hint; `None` if the text is none.
pub(super) fn read_hint(text: &str) -> Option<Hint> {
    let text: HintText = serde_json::from_str(text).ok()?;
    let rerun = text.rerun.map(|rerun| Rerun {
        tick: Tick(rerun.tick),
        by: rerun.by,
        goes_on: rerun.goes_on,
        frees_in: Duration::from_millis(rerun.frees_in_ms),
    });
    let answer = match text.abandoned {
        true => Answer::Abandoned,
        false => Answer::Decided { by: text.by, how: text.how },
    };
    let lease = text.lease_ms.map(Duration::from_millis);
    let reply = Reply { now: text.now, mark: text.mark, lease, rerun, lag: Duration::ZERO, answer };
    Some(Hint { job: text.job, era: Era(text.era), reply })
}

#[cfg(test)]
mod tests {
    use crate::job::{Outcome, Reason};
    use crate::lease::testing;

    use super::*;

    fn hint(answer: Answer) -> Hint {
        let rerun = Rerun {
            tick: Tick(UtcMillis(7)),
            by: NodeName::parse("n1").ok(),
            goes_on: true,
            frees_in: Duration::from_millis(9),
        };
        let reply = Reply {
            mark: Some(UtcMillis(1_600)),
            lease: Some(Duration::from_secs(30)),
            rerun: Some(rerun),
            ..testing::reply(UtcMillis(1_700), answer)
        };
        Hint { job: JobName::parse("pay").expect("a name"), era: Era("e/1".into()), reply }
    }

    #[test]
    fn hints_are_read_as_they_are_written() {
        let how = Some(Verdict { outcome: Outcome::Skipped, reason: Some(Reason::Overlap) });
        for answer in [
            Answer::Abandoned,
            Answer::Decided { by: None, how },
            Answer::Decided { by: NodeName::parse("n2").ok(), how: Some(Verdict::plain(Outcome::Running)) },
        ] {
            let hint = hint(answer);
            assert_eq!(write_hint(&hint).as_deref().and_then(read_hint), Some(hint));
        }
    }

    #[test]
    fn other_answers_are_no_hints_and_what_is_no_hint_is_passed_over() {
        assert_eq!(write_hint(&hint(Answer::Lost)), None);
        for text in ["", "{}", "null", r#"{"job":"no name!","era":"e","now":1,"mark":1,"lease_ms":1}"#] {
            assert_eq!(read_hint(text), None, "{text}");
        }
    }
}
