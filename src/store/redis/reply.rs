//! Answers of the scripts: arrays of texts, `[name, now, mark, lease, rerun (four of them), …]`.

use std::str::FromStr;
use std::time::Duration;

use redis::{FromRedisValue, Value};

use crate::job::{Fence, Reason, Tick, Verdict, quoted};
use crate::lease::{Ahead, Answer, Era, Holder, Pausing, Reply, Rerun};
use crate::store::StoreError;
use crate::time::UtcMillis;

/// The texts of an answer, to be read one by one.
pub(super) struct Texts {
    texts: std::vec::IntoIter<String>,
}

impl Texts {
    /// Reads an array of texts.
    pub(super) fn of(value: Value) -> Result<Self, StoreError> {
        let texts = Vec::<Vec<u8>>::from_redis_value(value).map_err(|error| {
            StoreError::Unknown(
                format!("the store's answer cannot be read: {}", quoted(&error.to_string())).into(),
            )
        })?;
        // What is not UTF-8 was not written by solocron, and fails later, as it is neither a name nor a number.
        let texts: Vec<String> =
            texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        Ok(Self { texts: texts.into_iter() })
    }

    /// Reads one text per line.
    pub(super) fn of_lines(text: &str) -> Self {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        Self { texts: lines.into_iter() }
    }

    /// Returns the next text; empty if the answer is too short.
    pub(super) fn text(&mut self) -> String {
        self.texts.next().unwrap_or_default()
    }

    /// Returns the next value; `None` if it is empty.
    pub(super) fn optional<T: FromStr>(&mut self) -> Result<Option<T>, StoreError> {
        let text = self.text();
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => {
                let text = quoted(&text);
                Err(StoreError::Unknown(
                    format!("the store's answer holds `{text}`, which cannot be read").into(),
                ))
            }
        }
    }

    /// Returns the next value, or an error if it is empty.
    pub(super) fn value<T: FromStr>(&mut self) -> Result<T, StoreError> {
        self.optional()?.ok_or_else(|| StoreError::Unknown("the store's answer is too short".into()))
    }

    /// Returns the texts that were not read yet.
    pub(super) fn rest(self) -> impl Iterator<Item = String> {
        self.texts
    }

    fn millis(&mut self) -> Result<Duration, StoreError> {
        Ok(Duration::from_millis(self.value()?))
    }
}

/// Parses the answer to a request.
pub(super) fn read(value: Value) -> Result<Reply, StoreError> {
    reply(Texts::of(value)?)
}

/// Parses the rest of the texts as an answer.
pub(super) fn reply(mut texts: Texts) -> Result<Reply, StoreError> {
    let name = texts.text();
    let now = UtcMillis(texts.value()?);
    let mark = texts.optional()?.map(UtcMillis);
    let lease = texts.optional()?.map(Duration::from_millis);
    let rerun = rerun(&mut texts)?;
    let answer = match name.as_str() {
        "unsynced" => Answer::Unsynced,
        "new_era" => Answer::NewEra(Era(texts.text())),
        "newer_schema" => Answer::NewerSchema(texts.value()?),
        "opened" => {
            let since = UtcMillis(texts.value()?);
            let (pausing, ahead) = (pausing(&mut texts)?, ahead(&mut texts)?);
            let (closed, reopened_ahead_count) = (texts.optional()?.map(UtcMillis), texts.value()?);
            Answer::Opened { since, pausing, ahead, closed, reopened_ahead_count }
        }
        "won" => won(&mut texts)?,
        "early" => Answer::Early { wait: texts.millis()? },
        "held" => held(&mut texts)?,
        "decided" => Answer::Decided { by: texts.optional()?, how: verdict(&mut texts)? },
        "consumed" => Answer::Consumed(
            verdict(&mut texts)?.ok_or_else(|| StoreError::Unknown("the answer names no outcome".into()))?,
        ),
        "renewed" => Answer::Renewed { stop: texts.optional()? },
        "lost" => Answer::Lost,
        "finished" => Answer::Finished,
        "already_decided" => Answer::AlreadyDecided,
        "abandoned" => Answer::Abandoned,
        "noted" => Answer::Noted,
        "no_record" => Answer::NoRecord,
        other => {
            let other = quoted(other);
            return Err(StoreError::Unknown(
                format!("the store answered `{other}`, which is not an answer").into(),
            ));
        }
    };
    Ok(Reply { now, mark, lease, rerun, lag: Duration::ZERO, answer })
}

fn rerun(texts: &mut Texts) -> Result<Option<Rerun>, StoreError> {
    let tick = texts.optional()?.map(Tick::at_millis);
    let (by, goes_on) = (texts.optional()?, texts.text() == "1");
    let frees_in = texts.optional()?.map(Duration::from_millis).unwrap_or_default();
    Ok(tick.map(|tick| Rerun { tick, by, goes_on, frees_in }))
}

fn pausing(texts: &mut Texts) -> Result<Option<Pausing>, StoreError> {
    let at = texts.optional()?.map(UtcMillis);
    let (until, by, why) = (texts.optional()?.map(UtcMillis), texts.text(), texts.text());
    Ok(at.map(|at| Pausing { until, at, by, why: Some(why).filter(|why| !why.is_empty()) }))
}

fn ahead(texts: &mut Texts) -> Result<Option<Ahead>, StoreError> {
    let (after, to) = (texts.optional()?.map(UtcMillis), texts.optional()?.map(UtcMillis));
    Ok(after.zip(to).map(|(after, to)| Ahead { after, to }))
}

fn won(texts: &mut Texts) -> Result<Answer, StoreError> {
    Ok(Answer::Won {
        fence: Fence(texts.value()?),
        tries: texts.value()?,
        started: UtcMillis(texts.value()?),
    })
}

fn held(texts: &mut Texts) -> Result<Answer, StoreError> {
    let (node, run, since) = (texts.optional()?, texts.optional()?, texts.optional()?);
    let by = match (node, run, since) {
        (Some(node), Some(run), Some(since)) => Some(Holder { node, run, since: UtcMillis(since) }),
        _ => None,
    };
    Ok(Answer::Held { by, frees_in: texts.millis()? })
}

fn verdict(texts: &mut Texts) -> Result<Option<Verdict>, StoreError> {
    let outcome = texts.optional()?;
    let reason: Option<Reason> = texts.optional()?;
    Ok(outcome.map(|outcome| Verdict { outcome, reason }))
}
