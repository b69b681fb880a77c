//! Ticks that did not run.

use super::*;

#[test]
fn what_did_not_run_stands_in_a_lane_of_its_own_or_in_that_of_its_job() {
    let known = Known::nothing()
        .with("backup", [absent(-1_800, Outcome::Skipped, Reason::Overlap)])
        .with("payout", [absent(-900, Outcome::Missed, Reason::NoReplica)])
        .with("payout", [absent(-600, Outcome::Unknown, Reason::StoreReset)]);
    let picture = known.by_replica();
    assert_eq!(places(&picture), [(2, 450, 0), (2, 675, 0), (2, 750, 0)]);
    let shown: Vec<(&MarkShape, &str)> =
        present(&picture).iter().map(|mark| (&mark.shape, mark.title.as_str())).collect();
    let single = |outcome| MarkShape::DidNotRun { outcome, folded: None };
    assert_eq!(
        shown,
        [
            (
                &single(Outcome::Skipped),
                "`backup`, tick of 11:30:00: skipped, as the previous run was still running"
            ),
            (&single(Outcome::Missed), "`payout`, tick of 11:45:00: missed, as no live replica could run it"),
            (&single(Outcome::Unknown), "`payout`, tick of 11:50:00: unknown, as the store lost its data"),
        ]
    );
    assert!(
        picture.lanes[2]
            .summary
            .starts_with(
            "1 skipped (the previous run was still running), 1 missed (no live replica could run it), 1 unknown (the store lost its data)"
        ),
        "{}",
        picture.lanes[2].summary
    );
    assert_eq!(places(&known.by_job()), [(0, 450, 0), (1, 675, 0), (1, 750, 0)]);
}

/// Ticks of `backup` after one second and up to another that share an entry.
fn folded(after: i64, last: i64, count: Option<u64>) -> HistoryEntry {
    let entry = absent(last, Outcome::Missed, Reason::StoreUnreachable);
    HistoryEntry { after: Some(at(after)), count, ..entry }
}

#[test]
fn ticks_that_share_an_entry_are_a_bracket_with_their_number_and_reason() {
    for (entry, place, text, title) in [
        (
            folded(-2_101, -900, Some(5)),
            (375, 300),
            Some("×5 the store did not answer"),
            "`backup`, 5 ticks from 11:25:00 to 11:45:00: missed, as the store did not answer",
        ),
        (
            folded(-2_101, -900, None),
            (375, 300),
            Some("×? the store did not answer"),
            "`backup`, ticks from 11:25:00 to 11:45:00: missed, as the store did not answer",
        ),
        (
            folded(-9_000, -900, Some(27)),
            (0, 675),
            Some("×27 the store did not answer"),
            "`backup`, 27 ticks from 09:35:00 to 11:45:00: missed, as the store did not answer",
        ),
        (
            folded(-901, -900, Some(1)),
            (675, 0),
            None,
            "`backup`, tick of 11:45:00: missed, as the store did not answer",
        ),
    ] {
        let picture = Known::nothing().with("backup", [entry]).by_replica();
        let mark = present(&picture)[0];
        assert_eq!((mark.x, mark.width), place, "{title}");
        let MarkShape::DidNotRun { folded, .. } = &mark.shape else { panic!("no bracket") };
        assert_eq!(folded.as_deref(), text);
        assert_eq!(mark.title, title);
    }
}

#[test]
fn of_an_entry_that_grew_only_the_newest_state_is_drawn() {
    let first = absent(-1_500, Outcome::Missed, Reason::StoreUnreachable);
    let later = absent(-300, Outcome::Missed, Reason::StoreUnreachable);
    let known = Known::nothing().with(
        "backup",
        [folded(-1_501, -1_200, Some(2)), first.clone(), folded(-1_501, -900, Some(3)), first, later],
    );
    assert_eq!(places(&known.by_replica()), [(2, 525, 150), (2, 825, 0)]);
}

#[test]
fn a_run_that_was_granted_and_did_not_start_did_not_run() {
    let abandoned = HistoryEntry {
        run: Some(run_id(1)),
        node: Some(node("node-a")),
        started: Some(at(-900)),
        ..absent(-900, Outcome::Missed, Reason::Abandoned)
    };
    let picture = Known::nothing().with("backup", [abandoned]).by_replica();
    assert_eq!(places(&picture), [(2, 675, 0)]);
    assert_eq!(
        present(&picture)[0].title,
        "`backup`, tick of 11:45:00: missed, as it was granted, but did not start"
    );
}
