//! Notes of acts: their words, their bounds, and lines that are no notes.

use proptest::prelude::*;

use crate::store::StoreError;

use super::*;

fn job() -> JobName {
    JobName::parse("backup").expect("a name")
}

fn request(job: &JobName) -> ActRequest<'_> {
    ActRequest { by: "ann@db1", from: FROM_COMMAND_LINE, act: ActKind::Pause, job, why: Some("month end") }
}

const AT: UtcMillis = UtcMillis(1_795_176_000_000);

#[test]
fn a_note_is_one_line_of_json() {
    let job = job();
    let note = ActNote::of(&request(&job), &ActResult::Done(&"is paused until 14:00"), AT);
    let line = "{\"at\":1795176000000,\"by\":\"ann@db1\",\"from\":\"command line\",\"act\":\"pause\",\
                \"job\":\"backup\",\"why\":\"month end\",\"result\":\"is paused until 14:00\"}";
    assert_eq!(note.line(), line);
    assert_eq!(ActNote::parse(line), Ok(note));
}

#[test]
fn a_note_without_a_reason_has_no_field_for_it() {
    let job = job();
    let note = ActNote::of(&ActRequest { why: None, ..request(&job) }, &ActResult::Done(&"ok"), AT);
    assert!(!note.line().contains("why"), "{}", note.line());
    assert_eq!(ActNote::parse(&note.line()), Ok(note));
}

#[test]
fn a_note_says_whether_the_act_was_refused_or_failed() {
    let (job, label) = (job(), "redis://a".to_owned());
    let away = OperateError::Store { label, error: StoreError::NotSent("no answer".into()) };
    for (result, name, words) in [
        (Ok("is paused"), "done", "is paused"),
        (Err(OperateError::NotRunning(job.clone())), "refused", "refused: job `backup` is not running"),
        (Err(away), "failed", "failed: store redis://a: no answer"),
    ] {
        let result = ActResult::from(&result);
        assert_eq!(result.name(), name);
        assert_eq!(ActNote::of(&request(&job), &result, AT).result, words);
    }
}

#[test]
fn the_word_of_an_act_is_the_same_in_its_note() {
    use ActKind::{Kill, Pause, Resume, Trigger, Unlock, UnlockMark};
    for act in [Trigger, Pause, Resume, Kill, Unlock, UnlockMark] {
        assert_eq!(serde_json::to_value(act).expect("JSON"), act.as_str());
    }
}

#[test]
fn long_fields_are_cut_and_what_a_terminal_would_obey_is_escaped() {
    let long = "x".repeat(1_000);
    let job = job();
    let request = ActRequest { by: &long, from: "\u{1b}[2J", why: Some("two\nlines"), ..request(&job) };
    let note = ActNote::of(&request, &ActResult::Done(&long), AT);
    assert_eq!(note.by, "x".repeat(200) + "…");
    assert_eq!(note.from, "\\u{1b}[2J");
    assert_eq!(note.why.as_deref(), Some("two\\nlines"));
    assert_eq!(note.result, "x".repeat(200) + "…");
}

#[test]
fn the_longest_fields_fit_into_a_line() {
    let job = JobName::parse(&"x".repeat(64)).expect("a name");
    for letter in ["\"", "\\", "\u{1b}", "\u{10ffff}", "字", "😀", "x"] {
        let long = letter.repeat(3_000);
        let act = ActKind::UnlockMark;
        let request = ActRequest { by: &long, from: &long, act, job: &job, why: Some(&long) };
        let note = ActNote::of(&request, &ActResult::Refused(&long), UtcMillis(i64::MIN));
        let line = note.line();
        assert!(line.len() <= NOTE_BYTES, "{letter:?}: {} bytes", line.len());
        assert_eq!(ActNote::parse(&line), Ok(note), "{letter:?}");
    }
}

#[test]
fn a_text_is_cut_by_its_bytes_in_json() {
    for (text, most, left) in [
        ("abc", 3, "abc"),
        ("abcd", 3, "…"),
        ("abcdefg", 6, "abc…"),
        ("\"\"", 4, "\"\""),
        ("\"\"\"", 5, "\"…"),
        ("üü", 4, "üü"),
        ("üüü", 5, "ü…"),
        ("", 0, ""),
    ] {
        assert_eq!(cut(text.to_owned(), most), left, "{text} within {most}");
    }
}

#[test]
fn a_line_that_is_no_note_is_refused_with_its_beginning() {
    let long = "x".repeat(NOTE_BYTES + 1);
    assert_eq!(ActNote::parse(&long), Err(ActNoteError::TooLong(NOTE_BYTES + 1)));
    for line in ["", "nonsense\u{1b}", "{}", "{\"at\":1,\"act\":\"format\"}"] {
        let error = ActNote::parse(line).expect_err("it is no note").to_string();
        let beginning = format!("the note of an act reads `{}`, expected an object of JSON: ", quoted(line));
        assert!(error.starts_with(&beginning), "{error}");
    }
}

#[test]
fn what_another_program_wrote_is_escaped_and_unknown_fields_are_ignored() {
    let line = "{\"at\":1,\"by\":\"\\u001b[2J\",\"from\":\"a\",\"act\":\"kill\",\"job\":\"backup\",\
                \"result\":\"b\",\"mood\":7}";
    assert_eq!(ActNote::parse(line).expect("a note").by, "\\u{1b}[2J");
    let job = "{\"at\":1,\"by\":\"a\",\"from\":\"a\",\"act\":\"kill\",\"job\":\"no such\",\"result\":\"b\"}";
    assert!(matches!(ActNote::parse(job), Err(ActNoteError::Malformed { .. })), "a job has a name");
}

proptest! {
    #[test]
    fn every_note_is_read_as_it_was_made(by in ".*", from in ".*", why in "\\PC*", words in any::<String>()) {
        let job = job();
        let request = ActRequest { by: &by, from: &from, act: ActKind::Kill, job: &job, why: Some(&why) };
        let note = ActNote::of(&request, &ActResult::Failed(&words), AT);
        let line = note.line();
        prop_assert!(line.len() <= NOTE_BYTES && !line.contains('\n'));
        prop_assert_eq!(ActNote::parse(&line), Ok(note));
    }
}
