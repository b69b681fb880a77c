use std::sync::Arc;

use crate::config::testing::config;
use crate::job::{RunId, Tick};
use crate::store::{Beat, BeatRun, UnrecordedEnd};

use super::claim_order::{MAX_STAGGERED, MAX_STEP, STAGGER};
use super::*;

fn name(name: &str) -> NodeName {
    NodeName::parse(name).expect("name")
}

fn label(label: &str) -> Label {
    Label::parse(label).expect("label")
}

/// The job of this name, with these keys.
fn job(job: &str, keys: &str) -> Arc<JobSpec> {
    let text =
        format!("cluster.store = \"local\"\n[jobs.{job}]\nschedule = \"@daily\"\nshell = \"x\"\n{keys}\n");
    config(text).jobs.into_values().next().expect("one job")
}

pub(in crate::replica) fn peer(node: &str, at: i64) -> Peer {
    let beat = Beat::of(name(node), RunId::new(), String::new(), UtcMillis(0));
    Peer { at: UtcMillis(at), beat }
}

fn labelled(node: &str, labels: &[&str]) -> Peer {
    let peer = peer(node, 0);
    Peer { beat: Beat { labels: labels.iter().map(|l| label(l)).collect(), ..peer.beat }, ..peer }
}

/// The roster of each of these replicas.
fn rosters(peers: &[Peer]) -> Vec<Roster> {
    let roster = |me: &Peer| {
        let mut roster = Roster::alone(me.beat.node.clone());
        roster.carry(me.beat.labels.clone());
        roster.learn(peers, UtcMillis(0));
        roster
    };
    peers.iter().map(roster).collect()
}

fn delays(rosters: &[Roster], job: &JobSpec, tick: Tick) -> Vec<Duration> {
    rosters.iter().map(|roster| roster.stagger(job, tick)).collect()
}

/// How many of the ticks each replica claims first.
fn firsts<'a>(rosters: &[Roster], ticks: impl Iterator<Item = (&'a JobSpec, Tick)>) -> Vec<u32> {
    let mut firsts = vec![0; rosters.len()];
    for (job, tick) in ticks {
        let delays = delays(rosters, job, tick);
        let mut sorted = delays.clone();
        sorted.sort();
        let ranks = (0..).map(|rank: u32| STAGGER * rank).take(rosters.len());
        assert!(sorted.into_iter().eq(ranks), "every replica has another rank: {delays:?}");
        firsts[delays.iter().position(Duration::is_zero).expect("one is first")] += 1;
    }
    firsts
}

/// Within a fifth of an even share.
fn assert_even(firsts: &[u32], ticks: u32) {
    let even = ticks / u32::try_from(firsts.len()).expect("few");
    let within = even - even / 5..=even + even / 5;
    assert!(firsts.iter().all(|share| within.contains(share)), "{firsts:?}");
}

const CLUSTERS: [[&str; 3]; 4] = [
    ["a", "b", "c"],
    ["n1", "n2", "n3"],
    ["solocron-0", "solocron-1", "solocron-2"],
    ["ip-10-0-1-17", "ip-10-0-1-18", "ip-10-0-2-9"],
];

#[test]
fn of_a_thousand_ticks_of_one_job_three_replicas_come_first_equally_often() {
    let job = job("pay", "");
    for names in CLUSTERS {
        let rosters = rosters(&names.map(|node| peer(node, 0)));
        for period_ms in [1_000, 60_000, 3_600_000, 86_400_000] {
            let tick = |n: i64| (&*job, Tick::at_millis(1_700_000_000_000 + n * period_ms));
            assert_even(&firsts(&rosters, (0..1_000).map(tick)), 1_000);
        }
    }
}

#[test]
fn of_a_thousand_jobs_due_at_one_instant_three_replicas_come_first_equally_often() {
    let jobs: Vec<_> = (0..1_000).map(|n| job(&format!("job{n}"), "")).collect();
    for names in CLUSTERS {
        let rosters = rosters(&names.map(|node| peer(node, 0)));
        let due = jobs.iter().map(|job| (&**job, Tick::at_millis(1_700_000_000_000)));
        assert_even(&firsts(&rosters, due), 1_000);
    }
}

#[test]
fn the_silent_and_the_draining_are_left_out() {
    let mut roster = Roster::alone(name("a"));
    let draining = peer("b", 9_000);
    let draining = Peer { beat: Beat { draining: true, ..draining.beat }, ..draining };
    roster.learn(&[peer("a", 9_000), draining, peer("c", 1_000)], UtcMillis(9_500));
    assert_eq!(roster.live(), 1);
}

#[test]
fn the_last_of_many_is_hardly_later() {
    let peers: Vec<Peer> = (0..30).map(|i| peer(&format!("n{i}"), 0)).collect();
    let delays = delays(&rosters(&peers), &job("pay", ""), Tick::at_millis(0));
    assert_eq!(delays.into_iter().max(), Some(STAGGER * MAX_STAGGERED));
}

#[test]
fn only_who_carries_all_labels_of_a_job_takes_its_ticks_and_the_others_ask_last() {
    let job = job("train", "only_on = [\"gpu\", \"eu\"]");
    let peers = [labelled("a", &["gpu"]), labelled("b", &["eu", "gpu", "x"]), labelled("c", &[])];
    let rosters = rosters(&peers);
    assert_eq!(rosters[1].standing(&job, true), Eligibility::Takes);
    for n in 0..50 {
        let delays = delays(&rosters, &job, Tick::at_millis(n));
        assert!(delays[1].is_zero() && delays[0] != delays[2], "{delays:?}");
    }
    for unfit in [&rosters[0], &rosters[2]] {
        assert_eq!(unfit.standing(&job, true), Eligibility::Watches(Reason::Late), "`b` could have");
    }
    let without_b = self::rosters(&[peers[0].clone(), peers[2].clone()]);
    assert_eq!(without_b[0].standing(&job, true), Eligibility::Watches(Reason::NoReplica));
    assert!(!without_b[0].has_one_for(&job) && rosters[0].has_one_for(&job));
}

#[test]
fn who_is_full_asks_after_those_with_room_and_says_why_a_tick_was_missed() {
    let job = job("train", "only_on = [\"gpu\"]");
    let full = |peer: Peer| Peer { beat: Beat { full: true, ..peer.beat }, ..peer };
    let peers = [full(labelled("a", &["gpu"])), labelled("b", &["gpu"]), labelled("c", &[])];
    let seen = rosters(&peers);
    for n in 0..50 {
        let delays = [&seen[1], &seen[0], &seen[2]].map(|roster| {
            let mut roster = roster.clone();
            roster.fill(roster.me.node == name("a"));
            roster.stagger(&job, Tick::at_millis(n))
        });
        assert_eq!(delays, [Duration::ZERO, STAGGER, STAGGER * 2]);
    }
    assert_eq!(seen[0].standing(&job, false), Eligibility::Full(Reason::Late), "`b` has room");
    let all_full = rosters(&[peers[0].clone(), full(peers[1].clone()), peers[2].clone()]);
    assert_eq!(all_full[0].standing(&job, false), Eligibility::Full(Reason::Capacity));
    assert_eq!(all_full[2].standing(&job, true), Eligibility::Watches(Reason::Capacity));
}

#[test]
fn a_replica_that_dies_costs_its_ticks_the_stagger_and_no_more_however_many_are_due() {
    let job = job("pay", "");
    for (due, most) in [(1, STAGGER), (100, STAGGER * 2), (1_000, MAX_STEP), (100_000, MAX_STEP)] {
        let mut seen = rosters(&["a", "b", "c"].map(|node| peer(node, 0)));
        seen.iter_mut().for_each(|roster| roster.expect(due));
        for n in 0..100 {
            let mut delays = delays(&seen, &job, Tick::at_millis(n));
            delays.sort();
            assert!(delays[0].is_zero() && !delays[1].is_zero() && delays[1] <= most, "{due}: {delays:?}");
        }
    }
}

#[test]
fn what_heartbeats_list_goes_on_until_two_of_them_are_missing() {
    let mut listed = peer("b", 10_000);
    listed.beat.running =
        vec![BeatRun { job: JobName::parse("x").expect("name"), run: RunId::new(), lease_ms: 0, end: None }];
    listed.beat.draining = true;
    let mut roster = Roster::alone(name("a"));
    let mut runs_at = |now: i64| {
        roster.learn(std::slice::from_ref(&listed), UtcMillis(now));
        roster.runs(&JobName::parse("x").expect("name"))
    };
    assert!(runs_at(12_500), "also where their replica drains");
    assert!(!runs_at(12_501));
    for end in [UnrecordedEnd::ByItself, UnrecordedEnd::CutShort] {
        listed.beat.running[0].end = Some(end);
        roster.learn(std::slice::from_ref(&listed), UtcMillis(10_000));
        assert!(!roster.runs(&JobName::parse("x").expect("name")), "it is over");
    }
}

#[test]
fn who_lost_a_run_leaves_it_to_those_who_could_run_it_if_there_are_any() {
    let spec = job("x", "only_on = [\"gpu\"]");
    let me = name("a");
    let head_start = |peers: &[Peer], by: &NodeName| {
        let mut roster = Roster::alone(me.clone());
        roster.learn(peers, UtcMillis(0));
        roster.head_start(&spec, Some(by))
    };
    let (fit, unfit) = ([labelled("b", &["gpu"])], [peer("b", 0)]);
    assert!(head_start(&fit, &me) > Duration::ZERO);
    assert_eq!(head_start(&fit, &name("b")), Duration::ZERO, "another's run is taken up at once");
    assert_eq!(head_start(&unfit, &me), Duration::ZERO, "nobody else could run it");
}
