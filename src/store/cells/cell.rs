//! What an engine keeps of a job: its record, and as much of its history as a decision about it needs.

use std::collections::BTreeMap;

use crate::job::JobName;
use crate::lease::{Conditions, Decision, HistoryEntry, Record, Version};
use crate::store::{Diagnosis, FailureCause, StoreError};

/// A job's record, with what it takes to continue its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobCell {
    /// The record.
    pub(crate) record: Record,
    /// Its version.
    pub(crate) version: Version,
    /// The newest entry of the history.
    pub(crate) newest: Option<NumberedEntry>,
}

/// An entry with its number in the job's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberedEntry {
    /// Its number: of two entries, the later one has the larger number.
    pub(crate) number: i64,
    /// The entry.
    pub(crate) entry: HistoryEntry,
}

/// A cell to write if its conditions hold, and what becomes of the history in the same step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellSwap {
    /// The job.
    pub(crate) job: JobName,
    /// What must hold.
    pub(crate) conditions: Conditions,
    /// The new cell. Its version is the one that the engine writes.
    pub(crate) cell: JobCell,
    /// The entries to store. One that has the number of a present entry replaces it.
    pub(crate) entries: Vec<NumberedEntry>,
    /// The numbers of the entries to remove.
    pub(crate) removed: Vec<i64>,
    /// A hint to publish once it is written.
    pub(crate) hint: Option<String>,
}

impl JobCell {
    /// Whether the whole history must be read to write what was decided. Of a cell that is missing, entries may be left.
    pub(crate) fn needs_history(present: Option<&Self>, decision: &Decision) -> bool {
        present.is_none()
            || !decision.retracted.is_empty()
            || decision.entries.iter().any(|entry| decision.may_repeat(entry))
    }

    /// Returns the cell that a decision makes of the present one, the entries to store, and the numbers of those to remove.
    /// `history`: the present entries, oldest first, if they are needed; `nonce`: the random part of the new version.
    ///
    /// # Panics
    ///
    /// If nothing is decided about a job without a record.
    pub(crate) fn after(
        present: Option<&Self>,
        decision: &Decision,
        history: Option<Vec<NumberedEntry>>,
        nonce: u64,
    ) -> (Self, Vec<NumberedEntry>, Vec<i64>) {
        let newest = present.and_then(|cell| cell.newest.clone());
        // Where the history is not needed, only its newest entry may change.
        let before = history.unwrap_or_else(|| newest.into_iter().collect());
        let (withdrawn, mut left): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|numbered| decision.retracts(&numbered.entry));
        let (gives_way, entries) = decision.entries_after(left.last().map(|numbered| &numbered.entry));
        let replaced = if gives_way { left.pop() } else { None };
        let next = replaced.as_ref().map(|numbered| numbered.number);
        let next = next.or(left.last().map(|numbered| numbered.number + 1));
        let earlier: Vec<HistoryEntry> = left.iter().map(|numbered| numbered.entry.clone()).collect();
        let entries: Vec<NumberedEntry> = entries
            .into_iter()
            .filter(|entry| !decision.repeats(entry, &earlier))
            .zip(next.unwrap_or(1)..)
            .map(|(entry, number)| NumberedEntry { number, entry })
            .collect();
        let is_reused = |number: &i64| entries.iter().any(|numbered| numbered.number == *number);
        let gone = withdrawn.iter().chain(&replaced).map(|numbered| numbered.number);
        let removed = gone.filter(|number| !is_reused(number)).collect();
        let record = decision.record.clone().expect("what is written is a record");
        let version = Version { count: present.map_or(1, |cell| cell.version.count + 1), nonce };
        let newest = entries.last().or(left.last()).cloned();
        (Self { record, version, newest }, entries, removed)
    }
}

/// Parses a record from its fields as JSON.
pub(crate) fn record_of(job: &JobName, text: &str) -> Result<Record, StoreError> {
    let fields = fields_of(job, text)?;
    Record::from_fields(&fields).map_err(|error| damaged(job, format!("record of job `{job}`: {error}")))
}

/// Parses an entry from its fields as JSON.
pub(crate) fn entry_of(job: &JobName, text: &str) -> Result<HistoryEntry, StoreError> {
    let fields = fields_of(job, text)?;
    HistoryEntry::from_fields(&fields)
        .map_err(|error| damaged(job, format!("history of job `{job}`: {error}")))
}

fn fields_of(job: &JobName, text: &str) -> Result<BTreeMap<String, String>, StoreError> {
    let read = serde_json::from_str(text);
    read.map_err(|error| {
        damaged(job, format!("job `{job}`: stored text is not what solocron writes: {error}"))
    })
}

fn damaged(job: &JobName, sentence: String) -> StoreError {
    let help = "update this release, or delete the job's rows if something else wrote them";
    StoreError::Refused(Diagnosis::of(FailureCause::DamagedJob(job.clone()), sentence).help(help))
}
