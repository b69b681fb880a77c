//! Lanes and what is noted of them.

use super::*;

#[test]
fn each_replica_that_was_heard_of_or_ran_something_has_a_lane_by_name() {
    let mut known = Known::nothing().with("backup", [ran("crontab-host", -100, -50, Outcome::Succeeded)]);
    known.peers.reverse();
    let picture = known.by_replica();
    assert_eq!(names(&picture), ["crontab-host", "node-a", "node-b", "not run"]);
    assert_eq!(picture.lanes[0].note.as_deref(), Some("no heartbeat within the last hour"));
    assert_eq!(picture.lanes[0].summary, "1 succeeded");
    assert_eq!(picture.lanes[1].kind, LaneKind::Replica(node("node-a")));
    assert_eq!((picture.lanes[1].note.as_deref(), picture.lanes[1].summary.as_str()), (None, ""));
}

#[test]
fn a_replica_that_is_silent_drains_or_has_another_file_is_noted() {
    let mut known = Known::nothing();
    known.peers = vec![peer("node-a", -4), peer("node-b", -60), peer("node-c", 0)];
    known.peers[1].beat.draining = true;
    known.peers[2].beat.file = "another1234".to_owned();
    let notes: Vec<Option<String>> = known.by_replica().lanes.into_iter().map(|lane| lane.note).collect();
    assert_eq!(
        notes,
        [
            None,
            Some("no heartbeat since 11:59:00, draining".to_owned()),
            Some("another file: another1".to_owned()),
            Some("or to come".to_owned())
        ]
    );
}

#[test]
fn of_many_replicas_those_that_live_have_lanes_and_the_others_share_one() {
    let mut known = Known::nothing();
    known.peers =
        (0..50).map(|number| peer(named(number).as_str(), if number < 5 { -60 } else { 0 })).collect();
    let gone = named(0);
    let known = known.with("backup", [ran(gone.as_str(), -100, -60, Outcome::Succeeded)]);
    let picture = known.by_replica();
    assert_eq!(picture.lanes.len(), 42);
    assert_eq!(picture.lanes[0].name, "node-005");
    assert_eq!(
        (picture.lanes[40].name.as_str(), &picture.lanes[40].kind),
        ("10 others", &LaneKind::OtherReplicas)
    );
    assert_eq!(places(&picture), [(40, 875, 10)]);
}

#[test]
fn by_job_the_first_forty_jobs_have_lanes_and_other_ticks_are_left_out() {
    let job = |number: usize| format!("[jobs.j{number:02}]\nschedule = \"@yearly\"\ncommand = [\"x\"]\n");
    let file =
        "[cluster]\nname = \"x\"\nstore = \"local\"\n".to_owned() + &(0..50).map(job).collect::<String>();
    let known = Known::of(&file)
        .with("j00", [ran("node-a", -100, -60, Outcome::Succeeded)])
        .with("j39", [absent(-100, Outcome::Skipped, Reason::Overlap)])
        .with("j40", [ran("node-a", -100, -60, Outcome::Succeeded)])
        .with("gone", [ran("node-a", -100, -60, Outcome::Succeeded)]);
    let picture = known.by_job();
    assert_eq!(picture.lanes.len(), 40);
    assert_eq!(picture.lanes[39].kind, LaneKind::Job("j39".parse().expect("a name")));
    assert_eq!(places(&picture), [(0, 875, 10), (39, 875, 0)]);
    assert_eq!(known.by_replica().lanes[0].summary, "3 succeeded");
}

#[test]
fn nothing_at_all_is_an_empty_picture() {
    let picture = Picture::of(&TimelineFacts::default(), &hour(), LaneOrder::ByReplica);
    assert_eq!(names(&picture), ["not run"]);
    assert_eq!((picture.marks, picture.bands, picture.arrows), (Vec::new(), Vec::new(), Vec::new()));
    let picture = Picture::of(&TimelineFacts::default(), &hour(), LaneOrder::ByJob);
    assert_eq!(picture.lanes, []);
}
