//! Reads many jobs at once: how they stand, and what a list shows of them.

use std::collections::BTreeMap;

use redis::Value;

use crate::job::JobName;
use crate::lease::{HistoryEntry, Record};
use crate::store::{
    GLANCED_ENTRIES, JobGlance, JobStanding, STANDING_FIELDS, STANDINGS_TOGETHER, StoreError,
};

use super::connection::batch;
use super::connection::connect::{Answers, CallError, RESPONSE_TIMEOUT};
use super::records::{RedisStore, damaged, entry_in, of_key, record_in};
use super::reply::Texts;
use super::scripts;

/// No field of a standing is longer, in bytes: the leaps take some 1,100.
const LONGEST_FIELD: usize = 2 << 10;

/// A glance of one call reads at most this many entries, of as many jobs as they allow, some 200 KiB: about half a millisecond
/// of the server's time.
const ENTRIES_TOGETHER: usize = GLANCED_ENTRIES * 10;

/// A glance of one call reads at most this many jobs.
const GLANCED_TOGETHER: usize = 64;

/// Neither a record nor the entries of a glance are larger, in bytes: they take some 2 and 20 KiB.
const LARGEST_LIST: usize = 64 << 10;

impl RedisStore {
    /// Reads how these jobs stand, in their order.
    pub(super) async fn read_standings(
        &self,
        jobs: &[JobName],
    ) -> Result<Vec<Option<JobStanding>>, StoreError> {
        let mut args = vec![LONGEST_FIELD.to_string().into_bytes()];
        args.extend(STANDING_FIELDS.iter().map(|field| field.as_bytes().to_vec()));
        let mut standings = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(STANDINGS_TOGETHER) {
            let keys: Vec<String> = jobs.iter().map(|job| self.keys.state(job)).collect();
            let answers =
                batch::run(&self.others, scripts::standings(), &keys, &args, RESPONSE_TIMEOUT).await?;
            let answers = as_many(keys.len(), &keys, answers)?;
            for (answer, key) in answers.into_iter().zip(&keys) {
                standings.push(standing_of(key, answer?)?);
            }
        }
        Ok(standings)
    }

    /// Reads these jobs, with at most the `newest` entries of each, in their order.
    pub(super) async fn read_glances(
        &self,
        jobs: &[JobName],
        newest: usize,
    ) -> Result<Vec<JobGlance>, StoreError> {
        let newest = newest.min(GLANCED_ENTRIES);
        let together = (ENTRIES_TOGETHER / newest.max(1)).min(GLANCED_TOGETHER);
        let args = [newest.to_string().into_bytes(), LARGEST_LIST.to_string().into_bytes()];
        let mut glances = Vec::with_capacity(jobs.len());
        for jobs in jobs.chunks(together) {
            let keys: Vec<[String; 2]> =
                jobs.iter().map(|job| [self.keys.state(job), self.keys.runs(job)]).collect();
            let flat = keys.concat();
            let answers = batch::run(&self.others, scripts::glance(), &flat, &args, RESPONSE_TIMEOUT).await?;
            let mut answers = as_many(flat.len(), &flat, answers)?.into_iter();
            for (job, [state, runs]) in jobs.iter().zip(&keys) {
                let mut next = |key| list_in(job, key, answers.next().unwrap_or(Ok(Value::Nil)));
                let record = next(state).and_then(|list| record_of(job, state, list));
                let entries = next(runs).and_then(|list| entries_of(job, runs, newest, list));
                glances.push(JobGlance::of(record, entries)?);
            }
        }
        Ok(glances)
    }
}

/// Fails unless the script gave this many answers about these keys.
fn as_many(wanted: usize, keys: &[String], answers: Answers) -> Result<Answers, StoreError> {
    if answers.len() == wanted {
        return Ok(answers);
    }
    let (first, found) = (keys.first().map_or("no key", String::as_str), answers.len());
    let sentence =
        format!("the store gave {found} answers about `{first}` and others, {wanted} were asked for");
    Err(StoreError::Unknown(sentence.into()))
}

/// Parses the fields of a standing; `None` if they are those of no record that this release can read.
fn standing_of(key: &str, answer: Value) -> Result<Option<JobStanding>, StoreError> {
    let values: Vec<String> = Texts::of(answer)?.rest().collect();
    if values.is_empty() {
        return Ok(None);
    }
    let (found, wanted) = (values.len(), STANDING_FIELDS.len());
    if found != wanted {
        let sentence = format!("the store gave {found} fields of `{key}`, {wanted} were asked for");
        return Err(StoreError::Unknown(sentence.into()));
    }
    let fields = STANDING_FIELDS.iter().map(|name| (*name).to_owned()).zip(values).collect();
    Ok(Record::from_fields(&fields).ok().as_ref().map(JobStanding::of))
}

/// Returns a list that a glance read under this key, unless it is larger than what solocron writes.
fn list_in(job: &JobName, key: &str, answer: Result<Value, CallError>) -> Result<Vec<Value>, StoreError> {
    match answer.map_err(|error| of_key(job, key, error.into()))? {
        Value::Array(list) => Ok(list),
        Value::Int(bytes) => {
            let what = format!(
                "`{key}` has {bytes} bytes of what is read at a glance, at most {LARGEST_LIST} are expected"
            );
            Err(damaged(job, format!("job `{job}`: {what}: DEL or RENAME it if something else wrote it")))
        }
        _ => Err(StoreError::Unknown(format!("the store's answer about `{key}` is no list").into())),
    }
}

/// Parses the fields of a record.
fn record_of(job: &JobName, key: &str, list: Vec<Value>) -> Result<Option<Record>, StoreError> {
    record_in(job, key, &fields_of(Texts::of(Value::Array(list))?))
}

/// Parses entries, newest first, each as its id and its fields. Returns them oldest first.
fn entries_of(
    job: &JobName,
    key: &str,
    newest: usize,
    list: Vec<Value>,
) -> Result<Vec<HistoryEntry>, StoreError> {
    if list.len() > newest {
        let found = list.len();
        let sentence = format!("the store gave {found} entries of `{key}`, at most {newest} were asked for");
        return Err(StoreError::Unknown(sentence.into()));
    }
    let entry = |row| {
        let mut texts = Texts::of(row)?;
        let id = texts.text();
        entry_in(job, key, &id, &fields_of(texts))
    };
    list.into_iter().rev().map(entry).collect()
}

/// Returns names and values that follow each other by name.
fn fields_of(texts: Texts) -> BTreeMap<String, String> {
    let mut texts = texts.rest();
    std::iter::from_fn(|| Some((texts.next()?, texts.next()?))).collect()
}

/// Entry point for fuzzers.
#[cfg(feature = "test-switches")]
pub(super) fn try_reading(value: &Value) {
    let job = JobName::parse("job").expect("a name");
    // Each is parsed or refused.
    let _ = standing_of("key", value.clone());
    let Ok(list) = list_in(&job, "key", Ok(value.clone())) else { return };
    let _ = record_of(&job, "key", list.clone());
    if let Ok(entries) = entries_of(&job, "key", GLANCED_ENTRIES, list) {
        assert!(entries.len() <= GLANCED_ENTRIES);
    }
}

#[cfg(test)]
mod tests {
    use crate::lease::Era;

    use super::*;

    fn list(texts: &[&str]) -> Value {
        Value::Array(texts.iter().map(|text| Value::BulkString(text.as_bytes().to_vec())).collect())
    }

    fn job() -> JobName {
        JobName::parse("j").expect("a name")
    }

    #[test]
    fn a_standing_is_none_unless_it_is_that_of_a_record() {
        let record = Record::empty(Era("e".into()));
        let fields: BTreeMap<_, _> = record.to_fields().into_iter().collect();
        let values = STANDING_FIELDS.map(|name| fields[name].as_str());
        assert_eq!(standing_of("k", list(&values)), Ok(Some(JobStanding::of(&record))));
        assert_eq!(standing_of("k", list(&[])), Ok(None));
        for (at, value) in [(0, "x"), (0, ""), (2, "inf"), (5, "melting"), (19, "1-2-3")] {
            let mut values = values;
            values[at] = value;
            assert_eq!(standing_of("k", list(&values)), Ok(None), "{at}: {value}");
        }
        let mut newer = values;
        (newer[0], newer[5]) = ("2", "melting");
        let schema = standing_of("k", list(&newer)).expect("an answer").map(|standing| standing.schema);
        assert_eq!(schema, Some(2));
        let short = standing_of("k", list(&values[1..])).expect_err("a field is missing").to_string();
        assert_eq!(short, "the store gave 23 fields of `k`, 24 were asked for");
    }

    #[test]
    fn a_list_that_is_too_large_or_no_list_is_refused_with_its_key_and_size() {
        let large = list_in(&job(), "k", Ok(Value::Int(70_000))).expect_err("it is too large");
        assert!(
            large.is_of_one_job() && large.to_string().contains("job `j`: `k` has 70000 bytes"),
            "{large}"
        );
        let none = list_in(&job(), "k", Ok(Value::Nil)).expect_err("it is no list");
        assert!(!none.is_of_one_job() && none.to_string().contains("`k`"), "{none}");
        let missing = as_many(2, &["k".to_owned()], vec![Ok(Value::Nil)]).map(|answers| answers.len());
        let missing = missing.expect_err("one is missing").to_string();
        assert_eq!(missing, "the store gave 1 answers about `k` and others, 2 were asked for");
    }

    #[test]
    fn entries_come_oldest_first_and_one_that_cannot_be_read_is_named() {
        let row = |id: &str, tick: &str| {
            list(&[id, "tick", tick, "cause", "schedule", "outcome", "failed", "finished", "9"])
        };
        let entries = entries_of(&job(), "k", 2, vec![row("2-0", "2"), row("1-0", "1")]).expect("entries");
        assert_eq!(entries.iter().map(|entry| entry.tick.as_millis()).collect::<Vec<_>>(), [1, 2]);
        let why = |rows| entries_of(&job(), "k", 1, rows).expect_err("it is refused").to_string();
        assert!(why(vec![row("7-0", "x")]).contains("XDEL `k` 7-0"), "{}", why(vec![row("7-0", "x")]));
        assert!(why(vec![list(&[])]).contains("history of job `j`"));
        assert!(why(vec![row("2-0", "2"), row("1-0", "1")]).contains("2 entries of `k`, at most 1"));
    }
}
