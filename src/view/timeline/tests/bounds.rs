//! Whatever is known, a picture is within its bounds.

use proptest::prelude::*;

use super::*;

/// An entry of any kind, as another program may have written it.
fn entry() -> impl Strategy<Value = HistoryEntry> {
    let times = (-8_000_i64..2_000, -8_000_i64..2_000, -8_000_i64..2_000, any::<bool>());
    let who = (0_usize..60, any::<bool>(), 0_i64..3_000_000);
    (times, who, 0..Outcome::ALL.len(), 0..Reason::ALL.len(), any::<Option<u64>>()).prop_map(
        |((tick, from, to, is_folded), (on, did_run, fence), outcome, reason, count)| HistoryEntry {
            after: is_folded.then(|| at(from)),
            count,
            run: did_run.then(RunId::new),
            node: did_run.then(|| named(on)),
            fence: did_run.then_some(Fence(fence)),
            started: did_run.then(|| at(from)),
            finished: at(to),
            ..absent(tick, Outcome::ALL[outcome], Reason::ALL[reason])
        },
    )
}

/// News of any kind.
fn news() -> impl Strategy<Value = TimelineNews> {
    let kinds = [
        NewsKind::StoreLost,
        NewsKind::StoreReached,
        NewsKind::StoreChanged("new era".to_owned()),
        NewsKind::ClockStepped,
        NewsKind::Draining,
    ];
    (0_usize..60, -8_000_i64..2_000, 0..kinds.len()).prop_map(move |(on, second, kind)| TimelineNews {
        node: named(on),
        at: at(second),
        what: kinds[kind].clone(),
    })
}

fn known() -> impl Strategy<Value = Known> {
    let past = prop::collection::vec((entry(), any::<bool>()), 0..500);
    let running = prop::collection::vec((0_usize..60, -8_000_i64..2_000, any::<bool>()), 0..60);
    let peers = prop::collection::vec((0_usize..60, -4_000_i64..10, any::<bool>()), 0..60);
    (past, running, peers, prop::collection::vec(news(), 0..60)).prop_map(|(past, running, peers, news)| {
        let job = |is_backup: bool| if is_backup { "backup" } else { "payout" };
        let mut known = Known { news, ..Known::nothing() };
        for (entry, is_backup) in past {
            known = known.with(job(is_backup), [entry]);
        }
        for (on, second, is_live) in running {
            let run = current(job(is_live), named(on).as_str(), second);
            known.running.push(CurrentRun { is_live, last_alive: at(-second), ..run });
        }
        known.peers.clear();
        for (on, second, draining) in peers {
            let mut peer = peer(named(on).as_str(), second);
            peer.beat.draining = draining;
            known.peers.push(peer);
        }
        known
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_picture_is_within_its_bounds_whatever_is_known(known in known(), is_by_job: bool) {
        let order = if is_by_job { LaneOrder::ByJob } else { LaneOrder::ByReplica };
        let picture = known.drawn(&hour(), order);
        prop_assert!(picture.lanes.len() <= 42 && picture.marks.len() <= 390);
        prop_assert!(picture.bands.len() <= 100 && picture.arrows.len() <= 40);
        prop_assert!(picture.lanes.iter().all(|lane| (1..=4).contains(&lane.rows)));
        for mark in &picture.marks {
            let lane = &picture.lanes[mark.lane];
            let is_within = mark.x <= PICTURE_WIDTH && mark.x + mark.width <= PICTURE_WIDTH + 2;
            prop_assert!(mark.row < lane.rows && is_within, "{:?}", mark);
        }
        for lane in &picture.lanes {
            let (mut end, mut before) = (0, None);
            for run in &lane.columns {
                prop_assert!(run.x >= end && run.width > 0 && run.count > 0, "{:?}", lane.columns);
                prop_assert!(before != Some((run.x, run.worst)), "{:?}", lane.columns);
                end = run.x + run.width;
                before = Some((end, run.worst));
            }
            prop_assert!(end <= PICTURE_WIDTH);
        }
        for band in &picture.bands {
            prop_assert!(band.x + band.width <= PICTURE_WIDTH, "{:?}", band);
        }
        for point in picture.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]) {
            prop_assert!(point.row < picture.lanes[point.lane].rows && point.x <= PICTURE_WIDTH, "{:?}", point);
        }
    }
}
