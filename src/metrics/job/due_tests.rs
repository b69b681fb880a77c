//! Situations of a job, and by when its next success and its next decision are due.

use crate::config::testing::spec;

use super::*;

fn at(text: &str) -> UtcMillis {
    UtcMillis::from_timestamp(text.parse().expect("RFC 3339"))
}

fn tick(text: &str) -> Tick {
    Tick(at(text))
}

/// A job without a success since that instant.
fn ok(text: &str) -> JobFigures {
    JobFigures { last_success_tick: Some(tick(text)), ..JobFigures::default() }
}

/// By when the next success is due, if the job is in the file since the year 2026 began.
fn success(keys: &str, figures: &JobFigures, now: &str) -> String {
    let since = success_awaited_since(figures, at("2026-01-01T00:00:00Z"), at(now));
    success_due(&spec(keys), since).expect("a tick is left").to_string()
}

const DAILY: &str = "schedule = \"30 2 * * *\"";
const HOURLY: &str = "schedule = \"@hourly\"";

#[test]
fn a_decision_is_due_once_the_start_deadline_and_a_lost_lock_are_over() {
    for (keys, first, due) in [
        (DAILY, "2026-11-20T02:30:00Z", "2026-11-20T03:30:30.000Z"),
        (
            "schedule = \"30 2 * * *\"\nstart_deadline = \"10m\"",
            "2026-11-20T02:30:00Z",
            "2026-11-20T02:40:30.000Z",
        ),
        ("schedule = \"30 2 * * *\"\nlease = \"5m\"", "2026-11-20T02:30:00Z", "2026-11-20T03:35:00.000Z"),
        // However short the period is: metrics are read only now and then.
        ("schedule = \"* * * * * *\"", "2026-11-20T02:30:01Z", "2026-11-20T02:32:01.000Z"),
        ("schedule = \"* * * * *\"", "2026-11-20T02:30:00Z", "2026-11-20T02:32:00.000Z"),
        ("schedule = \"@yearly\"", "2027-01-01T00:00:00Z", "2027-01-01T01:00:30.000Z"),
    ] {
        assert_eq!(decision_due(&spec(keys), tick(first)).to_string(), due, "{keys}");
    }
}

#[test]
fn a_success_is_due_after_the_tick_that_follows_the_last_one() {
    let now = "2026-11-20T09:00:00Z";
    for (keys, last, due) in [
        // Start deadline and run take an hour each at most, or until the next tick.
        (DAILY, "2026-11-20T02:30:00Z", "2026-11-21T04:30:00.000Z"),
        (HOURLY, "2026-11-20T08:00:00Z", "2026-11-20T11:00:00.000Z"),
        ("schedule = \"*/10 * * * *\"", "2026-11-20T08:50:00Z", "2026-11-20T09:20:00.000Z"),
        ("schedule = \"30 2 * * *\"\ntimeout = \"3h\"", "2026-11-20T02:30:00Z", "2026-11-21T06:30:00.000Z"),
        (
            "schedule = \"30 2 * * *\"\ntimeout = \"3h\"\nstart_deadline = \"5m\"",
            "2026-11-20T02:30:00Z",
            "2026-11-21T05:35:00.000Z",
        ),
        // A success by hand counts as well.
        (DAILY, "2026-11-20T08:12:34Z", "2026-11-21T04:30:00.000Z"),
        ("schedule = \"* * * * * *\"", "2026-11-20T08:59:58Z", "2026-11-20T09:01:59.000Z"),
        ("schedule = \"@yearly\"", "2026-01-01T00:00:00Z", "2027-01-01T02:00:00.000Z"),
    ] {
        assert_eq!(success(keys, &ok(last), now), due, "{keys}");
    }
}

#[test]
fn a_job_that_never_succeeded_is_awaited_since_it_is_known_or_since_it_fails() {
    let now = "2026-11-20T09:00:00Z";
    assert_eq!(success(DAILY, &JobFigures::default(), now), "2026-01-01T04:30:00.000Z");
    let fails = |failing_since| JobFigures {
        failures_in_row: 3,
        failing_since: Some(at(failing_since)),
        ..JobFigures::default()
    };
    assert_eq!(success(DAILY, &fails("2025-12-24T02:31:00Z"), now), "2025-12-25T04:30:00.000Z");
    assert_eq!(success(DAILY, &fails("2026-03-01T02:31:00Z"), now), "2026-01-01T04:30:00.000Z");
}

#[test]
fn an_edit_of_the_schedule_puts_the_next_success_off() {
    let edited = JobFigures { schedule_since: at("2026-11-20T08:30:00Z"), ..ok("2026-11-13T02:30:00Z") };
    assert_eq!(success(HOURLY, &edited, "2026-11-20T09:00:00Z"), "2026-11-20T11:00:00.000Z");
}

#[test]
fn a_pause_puts_the_next_success_off_to_its_end_and_an_early_resume_to_that() {
    let paused = |until: Option<&str>, changed| JobFigures {
        paused_until: until.map(at),
        paused_at: Some(at(changed)),
        ..ok("2026-11-17T08:00:00Z")
    };
    let of_two_days = paused(Some("2026-11-20T08:30:00Z"), "2026-11-18T08:30:00Z");
    for (figures, now, due) in [
        // While it lasts, the due instant moves with the time.
        (&of_two_days, "2026-11-19T10:10:00Z", "2026-11-19T13:00:00.000Z"),
        (&of_two_days, "2026-11-20T08:29:00Z", "2026-11-20T11:00:00.000Z"),
        // Long after its end, nothing puts it off any more.
        (&of_two_days, "2026-11-24T08:29:00Z", "2026-11-20T11:00:00.000Z"),
        (&paused(None, "2026-11-19T10:15:00Z"), "2026-11-19T10:16:00Z", "2026-11-19T13:00:00.000Z"),
        // Paused without an end.
        (
            &paused(Some("9999-12-30T00:00:00Z"), "2026-11-18T08:30:00Z"),
            "2026-11-30T10:10:00Z",
            "2026-11-30T13:00:00.000Z",
        ),
    ] {
        assert_eq!(success(HOURLY, figures, now), due, "{now}");
    }
}

#[test]
fn where_clocks_change_the_next_tick_is_that_of_the_schedule() {
    let berlin = "schedule = \"30 2 * * *\"\ntimezone = \"Europe/Berlin\"\n\
                  timeout = \"30m\"\nstart_deadline = \"10m\"";
    for (last, due) in [
        // 02:30 does not exist on 2026-03-29: the job runs at 03:00 there.
        ("2026-03-28T01:30:00Z", "2026-03-29T01:40:00.000Z"),
        // 02:30 comes twice on 2026-10-25: the job runs at the first.
        ("2026-10-24T00:30:00Z", "2026-10-25T01:10:00.000Z"),
        ("2026-10-25T00:30:00Z", "2026-10-26T02:10:00.000Z"),
    ] {
        assert_eq!(success(berlin, &ok(last), "2026-12-01T00:00:00Z"), due, "{last}");
    }
}

#[test]
fn a_run_is_expected_to_end_by_its_timeout_or_the_next_tick_within_an_hour() {
    for (keys, seconds) in [
        (DAILY, 3_600),
        ("schedule = \"*/10 * * * *\"", 600),
        ("schedule = \"@yearly\"\ntimeout = \"2h\"", 7_200),
        ("schedule = \"* * * * *\"\ntimeout = \"2h\"", 7_200),
    ] {
        let expected = expected_run(&spec(keys), tick("2026-11-20T02:30:00Z"));
        assert_eq!(expected, Duration::from_secs(seconds), "{keys}");
    }
}
