use crate::job::{Cause, NodeName, Outcome, Reason, RunId};

use super::*;

fn stored<'a>(fields: impl IntoIterator<Item = &'a (&'static str, String)>) -> RecordFields {
    fields.into_iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn full_record() -> Record {
    Record {
        fence: Fence(7),
        mark: UtcMillis(1_000),
        locked_until: LeaseInstant(31_000),
        lease: Duration::from_secs(30),
        phase: Phase::Running,
        run: Some(RunId::new()),
        tick: Some(Tick::at_millis(1_000)),
        tries: 2,
        cause: Some(Cause::Rerun),
        started: Some(UtcMillis(1_001)),
        ended: Some(UtcMillis(900)),
        verdict: Some(Verdict::because(Outcome::Interrupted, Reason::NodeLost)),
        owner: Some(NodeName::parse("a").expect("name")),
        schedule_hash: ScheduleHash("00ff".into()),
        paused: Some(UtcMillis(5)),
        order: Some(RunId::new()),
        stop_run: Some(RunId::new()),
        lost_after: Some(UtcMillis(800)),
        paused_at: Some(UtcMillis(4)),
        paused_by: Some("ann@db1".into()),
        paused_why: Some("month end".into()),
        stop_requested_by: Some("ann@db1".into()),
        order_tick: Some(Tick::at_millis(990)),
        order_at: Some(UtcMillis(995)),
        order_taken: Some(RunId::new()),
        order_taken_by: Some(RunId::new()),
        stop_reason: Some(Reason::Replaced),
        settles_at: LeaseInstant(29_000),
        schedule_since: UtcMillis(700),
        leaps: "100-200 300-400!".parse().expect("leaps"),
        reopened: UtcMillis(950),
        floor: Fence(9),
        created_mark: UtcMillis(600),
        reopened_ahead: UtcMillis(601),
        reopened_ahead_count: 2,
        last_success_tick: Some(Tick::at_millis(850)),
        last_success_end: Some(UtcMillis(860)),
        failures_in_row: 3,
        failing_since: Some(UtcMillis(870)),
        ..Record::empty(Era("e1".into()))
    }
}

#[test]
fn a_record_survives_its_stored_form() {
    for record in [full_record(), Record::empty(Era::default())] {
        assert_eq!(Record::from_fields(&stored(&record.to_fields())), Ok(record));
    }
}

#[test]
fn an_entry_survives_its_stored_form() {
    let verdict = Verdict::because(Outcome::Skipped, Reason::Overlap);
    let bare = HistoryEntry::without_run(Tick::at_millis(9), Cause::Schedule, verdict, UtcMillis(12));
    let full = HistoryEntry {
        after: Some(UtcMillis(3)),
        count: Some(4),
        run: Some(RunId::new()),
        node: Some(NodeName::parse("b").expect("name")),
        fence: Some(Fence(8)),
        attempt: Some(1),
        exit_code: Some(3),
        signal: Some(9),
        started: Some(UtcMillis(10)),
        tail: Some("line\n".into()),
        ..bare.clone()
    };
    for entry in [bare, full] {
        assert_eq!(HistoryEntry::from_fields(&stored(&entry.to_fields())), Ok(entry));
    }
}

#[test]
fn a_newer_record_is_known_for_newer_whatever_its_fields_hold() {
    let full = full_record();
    let mut fields = stored(&full.to_fields());
    fields.insert("schema".into(), "2".into());
    assert_eq!(Record::from_fields(&fields), Ok(Record { schema: 2, ..full }));
    fields.insert("phase".into(), "melting".into());
    fields.remove("mark");
    let newer = Record { schema: 2, ..Record::empty(Era::default()) };
    assert_eq!(Record::from_fields(&fields), Ok(newer));
}

#[test]
fn an_unreadable_field_is_named_with_its_value() {
    let mut fields = stored(&full_record().to_fields());
    fields.insert("tick".into(), "soon".into());
    let error = Record::from_fields(&fields).expect_err("unreadable");
    assert_eq!(error.to_string(), "stored field `tick` holds `soon`, which this release cannot read");
}

#[test]
fn fields_become_json_of_plain_ascii() {
    let json =
        fields_as_ascii_json([("tail", "a\"\n\u{1b}ü€\u{1f600}".to_owned()), ("fence", "7".to_owned())]);
    assert_eq!(json, r#"{"fence":"7","tail":"a\"\n\u001b\u00fc\u20ac\ud83d\ude00"}"#);
}
