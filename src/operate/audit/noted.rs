//! Where notes of acts go to: the feed `acts` of the store, which keeps the newest, and the log of a replica. An act that could
//! not be noted is done all the same.

use crate::events::{Event, Events};
use crate::job::JobName;
use crate::store::{Feed, Store, StoreError};

use super::ActNote;

/// The newest notes that a store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewestNotes {
    /// The notes, oldest first.
    pub notes: Vec<ActNote>,
    /// How many entries among those that were read are no notes for this release: a newer one, or another program, wrote them.
    pub unreadable: usize,
}

/// Appends the note of an act to the feed `acts` of the store.
///
/// # Errors
///
/// Fails if the store does not answer, or takes no more lines. The act itself has not failed then: callers warn, and go on.
pub async fn append_note(store: &dyn Store, note: &ActNote) -> Result<(), StoreError> {
    store.append(Feed::Acts, &note.line()).await
}

/// Logs an act on a replica, which passed the request on, and appends its note to the feed `acts` of the store. A note that
/// could not be appended is a warning in the log.
pub async fn tell_act(store: &dyn Store, events: &Events, note: &ActNote) {
    events.tell(Event::OperatorActed {
        act: note.act.as_str(),
        job: note.job.clone(),
        by: note.by.clone(),
        from: note.from.clone(),
        result: note.result.clone(),
    });
    if let Err(error) = append_note(store, note).await {
        let (act, job) = (note.act.as_str(), note.job.clone());
        events.tell(Event::ActNotNoted { act, job, error: error.to_string() });
    }
}

/// Returns at most `count` of the newest notes that the store keeps, only those of this job if one is given.
///
/// # Errors
///
/// Fails if the store does not answer.
pub async fn newest_notes(
    store: &dyn Store,
    job: Option<&JobName>,
    count: usize,
) -> Result<NewestNotes, StoreError> {
    let newest = match job {
        Some(_) => None,
        None => Some(read_notes(store, None, count.min(Feed::Acts.kept())).await?),
    };
    let mut newest = match newest.filter(|newest| newest.unreadable == 0) {
        Some(newest) => newest,
        // What cannot be read takes no place of a note.
        None => read_notes(store, job, Feed::Acts.kept()).await?,
    };
    newest.notes.drain(..newest.notes.len().saturating_sub(count));
    Ok(newest)
}

/// Returns in words that some lines of the feed `acts` are no notes; `None` if all are.
pub fn not_shown(unreadable: usize) -> Option<String> {
    let lines = match unreadable {
        0 => return None,
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    Some(format!(
        "{lines} in the list of acts cannot be read (written by another release or program): not shown"
    ))
}

/// Reads this many of the newest lines, and keeps the notes of a job, or of all.
async fn read_notes(
    store: &dyn Store,
    job: Option<&JobName>,
    lines: usize,
) -> Result<NewestNotes, StoreError> {
    let mut newest = NewestNotes::default();
    for line in store.newest(Feed::Acts, None, lines).await? {
        match line.text.and_then(|text| ActNote::parse(&text).ok()) {
            Some(note) if job.is_none_or(|job| *job == note.job) => newest.notes.push(note),
            Some(_) => {}
            None => newest.unreadable += 1,
        }
    }
    Ok(newest)
}

#[cfg(test)]
#[path = "noted_tests.rs"]
mod tests;
