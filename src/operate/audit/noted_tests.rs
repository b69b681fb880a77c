//! Notes in a store: which are read again, and what becomes of an act whose note cannot be appended.

use std::sync::Arc;

use crate::job::NodeName;
use crate::operate::audit::{ActKind, ActRequest, ActResult, FROM_COMMAND_LINE};
use crate::operate::testing::BenchStore;
use crate::time::UtcMillis;
use crate::view::testing::FILE;

use super::*;

fn job(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

/// Returns the note of a pause of this job at this second.
fn note(name: &str, at: i64) -> ActNote {
    let job = job(name);
    let (act, why) = (ActKind::Pause, Some("month end"));
    let request = ActRequest { by: "ann@db1", from: FROM_COMMAND_LINE, act, job: &job, why };
    ActNote::of(&request, &ActResult::Done(&"is paused"), UtcMillis(at * 1_000))
}

/// Returns a store that was given these notes.
async fn noted(notes: &[ActNote]) -> Arc<BenchStore> {
    let store = BenchStore::served(FILE).await;
    for note in notes {
        append_note(&*store, note).await.expect("answers");
    }
    store
}

#[tokio::test]
async fn the_newest_notes_are_read_of_all_jobs_or_of_one() {
    let notes = [note("backup", 1), note("other", 2), note("backup", 3), note("other", 4)];
    let store = noted(&notes).await;
    let backup = job("backup");
    for (of, count, expected) in [
        (None, 10, vec![1, 2, 3, 4]),
        (None, 3, vec![2, 3, 4]),
        (Some(&backup), 10, vec![1, 3]),
        (Some(&backup), 1, vec![3]),
        (Some(&job("unknown")), 10, vec![]),
        (None, 0, vec![]),
    ] {
        let newest = newest_notes(&*store, of, count).await.expect("answers");
        let read: Vec<i64> = newest.notes.iter().map(|note| note.at.0 / 1_000).collect();
        assert_eq!((read, newest.unreadable), (expected, 0), "{count} of {of:?}");
    }
}

#[tokio::test]
async fn a_line_that_is_no_note_is_counted_and_hides_no_other() {
    let store = noted(&[note("backup", 1)]).await;
    store.append(Feed::Acts, "{\"act\":\"format\"}").await.expect("answers");
    append_note(&*store, &note("backup", 2)).await.expect("answers");
    let newest = newest_notes(&*store, None, 10).await.expect("answers");
    assert_eq!(newest, NewestNotes { notes: vec![note("backup", 1), note("backup", 2)], unreadable: 1 });
    for _ in 0..30 {
        store.append(Feed::Acts, "forged").await.expect("answers");
    }
    let newest = newest_notes(&*store, None, 1).await.expect("answers");
    assert_eq!(newest, NewestNotes { notes: vec![note("backup", 2)], unreadable: 31 });
}

#[tokio::test]
async fn an_act_is_told_although_its_note_cannot_be_appended() {
    let store = noted(&[]).await;
    let events = Events::of(NodeName::parse("n1").expect("a name"));
    let mut told = events.listen();
    tell_act(&*store, &events, &note("backup", 1)).await;
    store.set_away(true);
    tell_act(&*store, &events, &note("backup", 2)).await;
    for is_noted in [true, false] {
        let event = told.try_recv().expect("it is told");
        assert!(
            matches!(&*event, Event::OperatorActed { act: "pause", by, .. } if by == "ann@db1"),
            "{event:?}"
        );
        if !is_noted {
            let event = told.try_recv().expect("the failure is told");
            assert!(matches!(&*event, Event::ActNotNoted { error, .. } if error == "no answer"), "{event:?}");
        }
    }
    assert!(told.try_recv().is_err(), "nothing else is told");
    store.set_away(false);
    assert_eq!(newest_notes(&*store, None, 10).await.expect("answers").notes, [note("backup", 1)]);
}
