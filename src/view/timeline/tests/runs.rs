//! Bars of runs.

use super::*;

#[test]
fn a_run_is_a_bar_on_its_replicas_lane_from_its_start_to_its_end() {
    let known = Known::nothing()
        .with("backup", [ran("node-a", -1_800, -1_680, Outcome::Succeeded)])
        .with("payout", [ran("node-b", -900, -860, Outcome::Failed)]);
    let picture = known.by_replica();
    assert_eq!(names(&picture), ["node-a", "node-b", "not run"]);
    assert_eq!(places(&picture), [(0, 450, 30), (1, 675, 10)]);
    let titles: Vec<&str> = present(&picture).iter().map(|mark| mark.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "`backup`, tick of 11:30:00: succeeded on node-a, 11:30:00 to 11:32:00 (2m)",
            "`payout`, tick of 11:45:00: failed on node-b, 11:45:00 to 11:45:40 (40s)",
        ]
    );
    let by_job = known.by_job();
    assert_eq!(names(&by_job), ["backup", "payout"]);
    assert_eq!(places(&by_job), [(0, 450, 30), (1, 675, 10)]);
}

#[test]
fn a_bar_ends_at_the_edge_has_two_units_at_least_and_is_left_out_elsewhere() {
    let known = Known::nothing().with(
        "backup",
        [
            ran("node-a", -4_000, -3_400, Outcome::Succeeded),
            ran("node-a", -1_800, -1_800, Outcome::Succeeded),
            ran("node-a", -1, 0, Outcome::Succeeded),
            ran("node-a", -5_000, -3_601, Outcome::Succeeded),
        ],
    );
    assert_eq!(places(&known.by_replica()), [(0, 0, 50), (0, 450, 2), (0, 898, 2)]);
}

#[test]
fn each_outcome_has_an_end_of_its_own() {
    for (outcome, end) in [
        (Outcome::Succeeded, BarEnd::Plain),
        (Outcome::Failed, BarEnd::Cross),
        (Outcome::TimedOut, BarEnd::Clock),
        (Outcome::Killed, BarEnd::Square),
        (Outcome::Interrupted, BarEnd::Broken),
        (Outcome::Unknown, BarEnd::Unknown),
    ] {
        let picture = Known::nothing().with("backup", [ran("node-a", -100, -50, outcome)]).by_replica();
        let shapes: Vec<&MarkShape> = present(&picture).iter().map(|mark| &mark.shape).collect();
        assert_eq!(shapes, [&MarkShape::Run { end, tick_x: None }], "{outcome}");
    }
}

#[test]
fn a_current_run_is_open_at_the_present_and_ends_once() {
    let mut known = Known::nothing();
    known.running.push(current("backup", "node-a", -400));
    let picture = known.by_replica();
    assert_eq!(places(&picture), [(0, 800, 100)]);
    let mark = present(&picture)[0];
    assert_eq!(mark.shape, MarkShape::Run { end: BarEnd::Open, tick_x: None });
    assert_eq!(mark.title, "`backup`, tick of 11:53:20: running on node-a since 11:53:20");
    // The record was read before the run ended.
    let ended =
        HistoryEntry { run: Some(known.running[0].run), ..ran("node-a", -400, -200, Outcome::Succeeded) };
    let known = known.with("backup", [ended.clone(), ended]);
    assert_eq!(places(&known.by_replica()), [(0, 800, 50)]);
}

#[test]
fn a_run_that_began_more_than_a_second_late_shows_its_tick() {
    let late = |cause: Cause, tick_ms: i64| {
        let entry = ran("node-a", -400, -200, Outcome::Succeeded);
        HistoryEntry { tick: Tick(UtcMillis(at(-400).0 - tick_ms)), cause, ..entry }
    };
    for (entry, tick_x) in [
        (late(Cause::Schedule, 1_000), None),
        (late(Cause::Schedule, 1_001), Some(800)),
        (late(Cause::Schedule, 40_000), Some(790)),
        (late(Cause::CatchUp, 40_000), Some(790)),
        (late(Cause::Manual, 40_000), None),
        (late(Cause::CatchUp, 4_000_000), None),
    ] {
        let picture = Known::nothing().with("backup", [entry]).by_replica();
        let MarkShape::Run { tick_x: shown, .. } = present(&picture)[0].shape else { panic!("a bar") };
        assert_eq!(shown, tick_x);
    }
}

#[test]
fn how_a_command_ended_and_what_is_unusual_is_in_the_title() {
    let failed = HistoryEntry {
        exit_code: Some(3),
        cause: Cause::Rerun,
        tick: Tick(at(-460)),
        ..ran("node-a", -400, -200, Outcome::Failed)
    };
    let picture = Known::nothing().with("backup", [failed]).by_replica();
    assert_eq!(
        present(&picture)[0].title,
        "`backup`, tick of 11:52:20: failed (exit 3) on node-a, 11:53:20 to 11:56:40 (3m 20s), 1m late, rerun"
    );
}

#[test]
fn runs_at_the_same_time_are_in_rows_of_their_own_up_to_four() {
    let runs = (0..6).map(|number| ran("node-a", -400 + number, -200, Outcome::Succeeded));
    let after = ran("node-a", -100, -50, Outcome::Succeeded);
    let picture = Known::nothing().with("backup", runs.chain([after])).by_replica();
    let mut rows: Vec<u8> = present(&picture).iter().map(|mark| mark.row).collect();
    rows.sort_unstable();
    assert_eq!(rows, [0, 0, 0, 0, 1, 2, 3]);
    assert_eq!(picture.lanes[0].rows, 4);
    assert_eq!(picture.lanes[1].rows, 1);
}
