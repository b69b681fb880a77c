//! Runs that were cut short, and which replica went on.

use super::*;

/// A run of `payout` on node-a that was interrupted after 100 seconds, and one on node-b.
fn handed_over(reason: Reason, next_from: i64, next_tick: i64) -> Known {
    let cut = HistoryEntry { reason: Some(reason), ..ran("node-a", -900, -800, Outcome::Interrupted) };
    let next = HistoryEntry {
        tick: Tick(at(next_tick)),
        fence: Some(Fence(1_763_863_241_123)),
        ..ran("node-b", next_from, next_from + 100, Outcome::Succeeded)
    };
    Known::nothing().with("payout", [next, cut])
}

/// The stretches in which nobody may run.
fn reserved(picture: &Picture) -> Vec<(usize, u8, u16, u16, &str)> {
    let hatched = picture.marks.iter().filter(|mark| mark.shape == MarkShape::Reserved);
    hatched.map(|mark| (mark.lane, mark.row, mark.x, mark.width, mark.title.as_str())).collect()
}

#[test]
fn a_lost_run_is_followed_by_its_lease_and_an_arrow_to_the_next_run() {
    let picture = handed_over(Reason::NodeLost, -700, -900).by_replica();
    assert_eq!(reserved(&picture), [(0, 0, 700, 15, "`payout`: nobody may run: lease until 11:47:40")]);
    let [arrow] = &picture.arrows[..] else { panic!("one arrow: {:?}", picture.arrows) };
    assert_eq!(arrow.from, ArrowPoint { lane: 0, row: 0, x: 715 });
    assert_eq!(arrow.to, ArrowPoint { lane: 1, row: 0, x: 725 });
    assert_eq!((arrow.text.as_str(), arrow.is_rerun), ("f…241123", true));
    assert_eq!(arrow.title, "`payout`: run again on node-b with fence 1763863241123");
}

#[test]
fn the_run_of_the_next_tick_is_no_rerun() {
    let picture = handed_over(Reason::LockLost, 0, 0).by_replica();
    let [arrow] = &picture.arrows[..] else { panic!("one arrow: {:?}", picture.arrows) };
    assert!(!arrow.is_rerun);
    assert_eq!(arrow.title, "`payout`: next run on node-b with fence 1763863241123");
    assert_eq!(reserved(&picture).len(), 1);
}

#[test]
fn nobody_waits_longer_than_until_the_next_run() {
    let picture = handed_over(Reason::NodeLost, -780, -900).by_replica();
    assert_eq!(reserved(&picture), [(0, 0, 700, 5, "`payout`: nobody may run: lease until 11:47:00")]);
}

#[test]
fn a_replica_that_shuts_down_keeps_no_lock() {
    let picture = handed_over(Reason::Shutdown, -700, -900).by_replica();
    assert_eq!(reserved(&picture), []);
    assert_eq!(picture.arrows.len(), 1);
}

#[test]
fn by_job_the_lock_is_told_in_the_lane_of_the_job() {
    let picture = handed_over(Reason::NodeLost, -700, -900).by_job();
    assert_eq!(reserved(&picture).len(), 1);
    let [arrow] = &picture.arrows[..] else { panic!("one arrow: {:?}", picture.arrows) };
    assert_eq!((arrow.from.lane, arrow.to.lane), (1, 1));
}

#[test]
fn a_replica_that_goes_on_itself_hands_nothing_over() {
    let cut =
        HistoryEntry { reason: Some(Reason::NodeLost), ..ran("node-a", -900, -800, Outcome::Interrupted) };
    let known = Known::nothing().with("payout", [cut, ran("node-a", -700, -600, Outcome::Succeeded)]);
    let picture = known.by_replica();
    assert_eq!((reserved(&picture), picture.arrows.len()), (Vec::new(), 0));
}

#[test]
fn a_run_that_lost_its_lock_hands_it_over_however_it_ended() {
    let cut = ran("node-a", -900, -800, Outcome::Succeeded);
    let lost = NewsKind::LockLost(cut.run.expect("it ran"));
    let known = Known::nothing().with("payout", [cut, ran("node-b", -700, -600, Outcome::Succeeded)]);
    assert_eq!(known.by_replica().arrows.len(), 0);
    let picture = known.told("node-a", -810, lost).by_replica();
    assert_eq!((reserved(&picture).len(), picture.arrows.len()), (1, 1));
}

#[test]
fn a_lock_of_a_holder_that_is_gone_is_told_before_its_end_is_recorded() {
    let mut known = Known::nothing();
    let gone = CurrentRun { is_live: false, last_alive: at(-20), ..current("payout", "node-a", -400) };
    known.running.push(gone);
    let picture = known.by_replica();
    let bar = present(&picture)[0];
    assert_eq!(bar.shape, MarkShape::Run { end: BarEnd::Broken, tick_x: None });
    assert_eq!((bar.x, bar.width), (800, 95));
    assert_eq!(
        bar.title,
        "`payout`, tick of 11:53:20: was running on node-a since 11:53:20, last sign of life at 11:59:40"
    );
    assert_eq!(reserved(&picture), [(0, 0, 895, 12, "`payout`: nobody may run: lease until 12:00:30")]);
    assert_eq!(picture.arrows, []);
}

#[test]
fn of_many_handovers_the_newest_are_told() {
    let pair = |number: i64| {
        let cut = HistoryEntry {
            reason: Some(Reason::NodeLost),
            ..ran("node-a", number * 60 - 3_600, number * 60 - 3_590, Outcome::Interrupted)
        };
        [cut, ran("node-b", number * 60 - 3_570, number * 60 - 3_560, Outcome::Succeeded)]
    };
    let picture = Known::nothing().with("payout", (0..59).flat_map(pair)).by_replica();
    assert_eq!((reserved(&picture).len(), picture.arrows.len()), (40, 40));
}
