//! Lanes with too many marks.

use super::*;

/// A run of two seconds of `backup` on a replica, this many seconds before the present.
fn short(on: &str, ago: i64, outcome: Outcome) -> HistoryEntry {
    ran(on, -ago, -ago + 2, outcome)
}

/// Only `backup`, without ticks to come.
fn quiet() -> Known {
    let known =
        Known::of(&FILE.replace("\"*/5 * * * *\"", "\"@yearly\"").replace("\"*/15 * * * *\"", "\"@yearly\""));
    assert!(known.by_replica().marks.is_empty());
    known
}

#[test]
fn up_to_350_marks_are_drawn_one_by_one() {
    let runs = (0..350).map(|number| short("node-a", 3_600 - number * 10, Outcome::Succeeded));
    let picture = quiet().with("backup", runs).by_replica();
    assert_eq!(picture.marks.len(), 350);
    assert!(picture.lanes.iter().all(|lane| lane.columns.is_empty()));
}

#[test]
fn one_mark_more_turns_the_fullest_lane_into_columns_and_no_other() {
    let many = (0..340).map(|number| short("node-a", 3_600 - number * 10, Outcome::Succeeded));
    let few = (0..11).map(|number| short("node-b", 3_600 - number * 10, Outcome::Succeeded));
    let picture = quiet().with("backup", many.chain(few)).by_replica();
    assert_eq!(picture.marks.len(), 11);
    assert!(picture.marks.iter().all(|mark| mark.lane == 1));
    assert!(!picture.lanes[0].columns.is_empty() && picture.lanes[1].columns.is_empty());
    assert_eq!((picture.lanes[0].rows, picture.lanes[0].summary.as_str()), (1, "340 succeeded"));
}

#[test]
fn the_worst_outcome_of_a_column_wins_and_neighbours_that_look_the_same_are_one() {
    let well = (0..400).map(|number| short("node-a", 2_000 - number * 4, Outcome::Succeeded));
    let failed = [short("node-a", 1_000, Outcome::Failed), short("node-a", 1_000, Outcome::Killed)];
    let apart = short("node-a", 3_600, Outcome::Interrupted);
    let picture = quiet().with("backup", well.chain(failed).chain([apart])).by_replica();
    let columns = &picture.lanes[0].columns;
    let shown: Vec<(u16, u16, ColumnKind)> =
        columns.iter().map(|run| (run.x, run.width, run.worst)).collect();
    assert_eq!(
        shown,
        [
            (0, 2, ColumnKind::Ended(Outcome::Interrupted)),
            (400, 250, ColumnKind::Ended(Outcome::Succeeded)),
            (650, 2, ColumnKind::Ended(Outcome::Failed)),
            (652, 150, ColumnKind::Ended(Outcome::Succeeded)),
        ]
    );
    assert_eq!(columns[0].count, 1);
    let all: usize = columns.iter().map(|run| run.count).sum();
    assert!((403..=406).contains(&all), "{all}: marks at an edge are in both");
}

#[test]
fn ticks_that_did_not_run_and_those_to_come_are_in_columns_of_their_lane() {
    let often = FILE.replace("\"*/5 * * * *\"", "\"*/2 * * * *\"");
    let missed = (0..400).map(|number| absent(-3_600 + number * 8, Outcome::Missed, Reason::Late));
    let picture = Known::of(&often).with("backup", missed).by_replica();
    let kinds: Vec<ColumnKind> = picture.lanes[2].columns.iter().map(|run| run.worst).collect();
    assert_eq!(kinds[0], ColumnKind::Ended(Outcome::Missed));
    assert_eq!(kinds.last(), Some(&ColumnKind::Coming));
    assert_eq!(picture.marks, []);
    assert!(
        picture.lanes[2].summary.starts_with("400 missed (it was not started within its start deadline), "),
        "{}",
        picture.lanes[2].summary
    );
}

#[test]
fn the_columns_of_many_lanes_are_wider() {
    let mut known = quiet();
    known.peers = (0..40).map(|number| peer(named(number).as_str(), 0)).collect();
    for number in 0..40 {
        let runs = (0..450).map(|at| {
            let outcome = if at % 2 == 0 { Outcome::Succeeded } else { Outcome::Failed };
            short(named(number).as_str(), 3_600 - at * 8, outcome)
        });
        known = known.with("backup", runs);
    }
    let picture = known.by_replica();
    assert_eq!(picture.marks, []);
    assert!(picture.lanes.iter().all(|lane| lane.columns.iter().all(|run| run.width % 20 == 0)));
    let columns: usize = picture.lanes.iter().map(|lane| lane.columns.len()).sum();
    assert!(columns <= 2_400, "{columns}");
}

#[test]
fn a_handover_is_told_also_where_its_lane_has_columns() {
    let many = (0..400).map(|number| short("node-a", 3_600 - number * 5, Outcome::Succeeded));
    let cut =
        HistoryEntry { reason: Some(Reason::NodeLost), ..ran("node-a", -900, -800, Outcome::Interrupted) };
    let next = ran("node-b", -700, -600, Outcome::Succeeded);
    let picture = quiet().with("backup", many).with("payout", [cut, next]).by_replica();
    assert_eq!(picture.arrows.len(), 1);
    assert_eq!(picture.arrows[0].from, ArrowPoint { lane: 0, row: 0, x: 715 });
    let hatched: Vec<&TimelineMark> =
        picture.marks.iter().filter(|mark| mark.shape == MarkShape::Reserved).collect();
    assert_eq!((hatched.len(), hatched[0].lane, hatched[0].x), (1, 0, 700));
}
