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
    /// How many lines among those that were read are no notes for this release: a newer one may have written them.
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
    let lines = if job.is_some() { Feed::Acts.kept() } else { count.min(Feed::Acts.kept()) };
    let mut newest = NewestNotes::default();
    for line in store.newest(Feed::Acts, None, lines).await? {
        match ActNote::parse(&line.text) {
            Ok(note) if job.is_none_or(|job| *job == note.job) => newest.notes.push(note),
            Ok(_) => {}
            Err(_) => newest.unreadable += 1,
        }
    }
    newest.notes.drain(..newest.notes.len().saturating_sub(count));
    Ok(newest)
}

#[cfg(test)]
#[path = "noted_tests.rs"]
mod tests;
