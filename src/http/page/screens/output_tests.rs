//! What a page shows of pieces of a log.

use crate::job::{JobName, NodeName, RunId, Tick};
use crate::time::UtcMillis;
use crate::view::text::time_format::Rfc3339;

use super::*;

fn tick(outcome: Outcome, tail: Option<&str>) -> TickView {
    TickView {
        job: JobName::parse("backup").expect("a name"),
        tick: Rfc3339(UtcMillis(0)),
        tick_ms: Tick::at_millis(0),
        run: Some(RunId::new()),
        node: Some(NodeName::parse("n2").expect("a name")),
        fence: None,
        attempt: None,
        cause: None,
        outcome,
        reason: None,
        exit_code: None,
        signal: None,
        started: None,
        finished: None,
        after: None,
        count: None,
        tail: tail.map(str::to_owned),
    }
}

fn piece(from: u64, text: &str, size: u64) -> OutputPiece {
    OutputPiece { from, missing: 0, bytes: text.into(), size }
}

fn texts(sight: &OutputSight) -> Vec<String> {
    let text = |line: &OutputLine| line.spans.iter().map(|span| span.text.as_str()).collect();
    sight.lines.iter().map(text).collect()
}

/// What is shown of these pieces.
fn shown(outcome: Outcome, pieces: Vec<OutputPiece>, before: Option<u64>) -> OutputSight {
    let mut read = ReadLines::default();
    for (number, piece) in pieces.into_iter().enumerate() {
        if read.take(piece, before, number == 0) {
            break;
        }
    }
    sight(&tick(outcome, Some("kept\n")), read, before, "Live from n2.")
}

#[test]
fn the_end_is_shown_with_where_older_lines_are_and_where_to_go_on() {
    let pieces = || vec![piece(100, "one\n", 110), piece(104, "two\nla", 110)];
    let live = shown(Outcome::Running, pieces(), None);
    assert_eq!(
        (texts(&live), live.older, live.next),
        (["one", "two", "la"].map(String::from).into(), Some(100), Some(110))
    );
    assert_eq!((live.note.as_str(), live.has_newer), ("Live from n2.", false));
    let ended = shown(Outcome::Failed, pieces(), None);
    assert_eq!((ended.note.as_str(), ended.next), ("From n2.", None));
    let whole = shown(Outcome::Failed, vec![piece(0, "one\n", 4)], None);
    assert_eq!((whole.older, whole.is_whole), (None, true));
}

#[test]
fn what_is_before_a_byte_begins_with_a_whole_line_and_ends_there() {
    let older = shown(Outcome::Running, vec![piece(50, "rn\none\ntwo\nthree\n", 1_000)], Some(61));
    assert_eq!((texts(&older), older.older), (["one", "two"].map(String::from).into(), Some(53)));
    assert_eq!((older.has_newer, older.next), (true, None));
    let first = shown(Outcome::Running, vec![piece(0, "one\ntwo\n", 1_000)], Some(4));
    assert_eq!((texts(&first), first.older), (vec!["one".to_owned()], None));
    let after_gap = OutputPiece { missing: 30, ..piece(80, "nine\n", 85) };
    let told = texts(&shown(Outcome::Running, vec![after_gap], Some(85)));
    assert_eq!(told.last().map(String::as_str), Some("nine"));
    assert!(told[0].contains("30 bytes of the log are missing here"), "{told:?}");
}

#[test]
fn of_many_lines_the_last_2000_are_shown_and_older_ones_lead_on() {
    let text: String = (0..3_000).map(|n| format!("{n:04}\n")).collect();
    let many = shown(Outcome::Failed, vec![piece(10, &text, 15_010)], None);
    assert_eq!((many.lines.len(), many.older), (SEEN_LINES, Some(10 + 5 * 1_000)));
    assert_eq!(texts(&many).last().map(String::as_str), Some("2999"));
}

#[test]
fn without_a_log_the_kept_end_is_shown_with_the_reason() {
    for (outcome, tail, complaint, note, lines) in [
        (Outcome::Failed, Some("a\nb\n"), None, "This is the end of it, as the store keeps it.", 2),
        (
            Outcome::Failed,
            Some("a\n"),
            Some("n2 does not answer"),
            "n2 does not answer. This is the end of it, as the store keeps it.",
            1,
        ),
        (
            Outcome::Running,
            None,
            Some("n2 does not answer"),
            "n2 does not answer. The end of its output is shown here once the run has ended.",
            0,
        ),
        (Outcome::Succeeded, None, None, "It printed nothing.", 0),
    ] {
        let sight = without_log(&tick(outcome, tail), complaint);
        assert_eq!((sight.note.as_str(), sight.lines.len(), sight.is_whole), (note, lines, false));
    }
    let silent = ReadLines { complaint: Some("n2 does not answer".to_owned()), ..ReadLines::default() };
    let live = sight(&tick(Outcome::Running, None), silent, None, "Live from n2.");
    assert_eq!((live.next, live.lines.len()), (Some(0), 0), "it is followed once it answers");
    assert!(live.note.starts_with("n2 does not answer. "), "{}", live.note);
    let nothing = shown(Outcome::Running, vec![piece(0, "", 0)], None);
    assert_eq!(nothing.note, "It has printed nothing so far. Live from n2.");
}
