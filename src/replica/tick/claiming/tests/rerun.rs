//! The contest of a job with `on_interrupt = "rerun"`: which replica claims the rerun, when, and what waits for it.

use std::sync::Arc;
use std::time::Duration;

use crate::job::{Cause, JobSpec, NodeName, OnInterrupt, Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::{Answer, Reply, Rerun};
use crate::replica::cluster::roster::Roster;
use crate::replica::cluster::roster::tests::peer;
use crate::replica::tick::action::{Action, Bid, Finding};
use crate::replica::tick::claiming::Contest;
use crate::replica::tick::claiming::tests::{SENT, T0, at, caller, claimed, contest, reply, won};
use crate::store::{BeatRun, Peer};
use crate::time::UtcMillis;

const KEYS: &str = "schedule = \"* * * * *\"\nlease = \"30s\"\non_interrupt = \"rerun\"";

fn rerunning() -> Contest {
    contest(KEYS)
}

fn name(name: &str) -> NodeName {
    NodeName::parse(name).expect("a name")
}

/// What an answer reports of the tick of the first minute, whose run was on `by`.
fn told(by: &str, goes_on: bool, frees_in: u64) -> Option<Rerun> {
    let (tick, frees_in) = (Tick(at(60_000)), Duration::from_secs(frees_in));
    Some(Rerun { tick, by: Some(name(by)), goes_on, frees_in })
}

fn decided(rerun: Option<Rerun>) -> Reply {
    Reply { rerun, ..reply(Answer::Decided { by: None, how: None }) }
}

/// This replica, `a`, among these.
fn roster(peers: &[Peer]) -> Roster {
    let mut roster = Roster::alone(name("a"));
    roster.learn(peers, T0);
    roster
}

fn running(node: &str, contest: &Contest) -> Peer {
    let mut peer = peer(node, T0.0);
    peer.beat.running =
        vec![BeatRun { job: contest.spec().name.clone(), run: RunId::new(), lease_ms: 0, end: None }];
    peer
}

/// Claims the first minute's tick, and receives this answer.
fn lost(contest: &mut Contest, answer: &Reply) -> Action {
    claimed(contest.look(at(60_000), &roster(&[]), true));
    contest.answered(answer, at(60_001), SENT, true).1
}

fn bid_at(contest: &mut Contest, now: i64) -> Bid {
    claimed(contest.look(at(now), &roster(&[]), true))
}

#[test]
fn a_replica_that_lost_a_tick_claims_its_rerun_when_its_lock_would_end() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(told("b", true, 30)));
    assert_eq!(contest.look(at(60_002), &roster(&[]), true), Action::WakeAt(at(90_001)));
    assert_eq!(contest.look(at(61_000), &roster(&[]), true), Action::Nothing, "one alarm is enough");
    let bid = bid_at(&mut contest, 90_001);
    assert_eq!(bid.tick, Tick(at(60_000)));
    let granted = Answer::Won { fence: crate::job::Fence(7), tries: 2, started: at(90_002) };
    let (_, action) = contest.answered(&reply(granted), at(90_002), SENT, true);
    assert!(matches!(&action, Action::Start { won, .. } if won.lease.cause == Cause::Rerun), "{action:?}");
    assert_eq!(contest.look(at(90_003), &roster(&[]), true), Action::Nothing);
}

#[test]
fn while_heartbeats_list_the_run_nobody_asks_and_once_they_stop_somebody_does() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(told("b", true, 30)));
    let lists = roster(&[running("b", &contest)]);
    assert_eq!(contest.look(at(90_001), &lists, true), Action::WakeAt(at(91_001)));
    assert_eq!(contest.look(at(91_001), &lists, true), Action::WakeAt(at(92_001)));
    let bid = bid_at(&mut contest, 92_001);
    // Its holder had renewed just before it died.
    contest.answered(&decided(told("b", true, 26)), at(92_002), SENT, true);
    assert_eq!(contest.look(at(92_003), &roster(&[]), true), Action::WakeAt(at(118_002)));
    assert_ne!(bid_at(&mut contest, 118_002).request.run, bid.request.run, "an answered claim is done with");
}

#[test]
fn a_run_that_ended_well_is_asked_for_no_more() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(told("b", true, 30)));
    bid_at(&mut contest, 90_001);
    contest.answered(&decided(None), at(90_002), SENT, true);
    assert_eq!(contest.look(at(119_999), &roster(&[]), true), Action::Nothing);
    assert_eq!(bid_at(&mut contest, 120_000).tick, Tick(at(120_000)));
}

#[test]
fn a_claim_for_a_rerun_that_is_no_longer_possible_finds_the_tick_not_rerun() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(told("b", true, 30)));
    bid_at(&mut contest, 90_001);
    let how = Some(Verdict::because(Outcome::Interrupted, Reason::NodeLost));
    let answer = reply(Answer::Decided { by: Some(name("b")), how });
    let (finding, _) = contest.answered(&answer, at(90_002), SENT, true);
    assert_eq!(finding, Some(Finding::NotRerun));
}

#[test]
fn a_rerun_done_by_another_replica_is_not_claimed_after_the_store_forgets_it() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(told("b", true, 30)));
    bid_at(&mut contest, 90_001);
    contest.answered(&decided(None), at(90_002), SENT, true);
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(95_000));
    assert_eq!(contest.look(at(119_999), &roster(&[]), true), Action::Nothing);
    let newer = bid_at(&mut contest, 120_000);
    assert_eq!(newer.tick, Tick(at(120_000)));
    let claim = contest.proposal().claim(&newer, caller(), at(120_000), at(120_000));
    assert_eq!(claim.on_interrupt, OnInterrupt::Skip, "it does not wait for it either");
}

#[test]
fn a_newer_tick_that_is_held_for_a_rerun_waits_until_that_was_asked_for() {
    for overlap in ["skip", "wait"] {
        let mut contest = contest(&format!("{KEYS}\noverlap = \"{overlap}\""));
        lost(&mut contest, &decided(None));
        let newer = bid_at(&mut contest, 120_000);
        assert_eq!(newer.tick, Tick(at(120_000)));
        let held = Answer::Held { by: None, frees_in: Duration::from_secs(40) };
        let told = Reply { rerun: told("b", false, 0), ..reply(held) };
        contest.answered(&told, at(120_001), SENT, true);
        assert_eq!(bid_at(&mut contest, 120_002).tick, Tick(at(60_000)), "{overlap}");
        contest.answered(&decided(None), at(120_003), SENT, true);
        assert_eq!(bid_at(&mut contest, 120_004).tick, Tick(at(120_000)), "{overlap}");
    }
}

#[test]
fn a_replica_that_lost_its_run_leaves_the_rerun_to_others_unless_it_is_alone() {
    let own = Some(name("a"));
    let mut left = rerunning();
    left.cut_short_here(Tick(at(60_000)), own.clone(), at(70_000));
    let others = roster(&[peer("b", T0.0)]);
    let Action::WakeAt(until) = left.look(at(70_000), &others, true) else { panic!("it does not wait") };
    assert!(until.since(at(70_000)) >= Duration::from_secs(2), "a heartbeat comes within that");
    // A repeated report does not begin the wait anew.
    left.hear_of_rerun(told("a", false, 0).as_ref(), at(71_000));
    assert_eq!(claimed(left.look(until, &others, true)).tick, Tick(at(60_000)));

    let mut alone = rerunning();
    alone.cut_short_here(Tick(at(60_000)), own, at(70_000));
    assert_eq!(bid_at(&mut alone, 70_000).tick, Tick(at(60_000)));
}

#[test]
fn a_full_replica_waits_for_room_and_does_not_lose_the_rerun() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(None));
    assert!(!contest.waits_for_slot(at(60_002)));
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(60_002));
    assert_eq!(contest.look(at(60_003), &roster(&[]), false), Action::Nothing);
    assert!(contest.waits_for_slot(at(60_003)));
    assert_eq!(bid_at(&mut contest, 65_000).tick, Tick(at(60_000)), "once it has room");
}

#[test]
fn a_rerun_that_was_granted_too_late_is_given_back_and_asked_for_anew() {
    let mut contest = rerunning();
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(61_000));
    let bid = bid_at(&mut contest, 61_000);
    let granted = reply(Answer::Won { fence: crate::job::Fence(7), tries: 2, started: at(61_000) });
    let (_, action) = contest.answered(&granted, at(92_000), SENT, false);
    let Action::Claim { bid: again, instead_of: Some(doubt) } = action else { panic!("{action:?}") };
    assert_eq!((doubt.run, again.tick), (bid.request.run, bid.tick));
    contest.failed(false, at(92_001));
    assert_eq!(bid_at(&mut contest, 92_101).tick, bid.tick, "it is not forgotten where no answer comes");
}

#[test]
fn an_unanswered_claim_of_a_rerun_is_repeated_under_the_same_run() {
    let mut contest = rerunning();
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(61_000));
    let bid = bid_at(&mut contest, 61_000);
    contest.failed(true, at(63_000));
    assert_eq!(bid_at(&mut contest, 63_100).request.run, bid.request.run);
}

fn claims(contest: &mut Contest, now: i64) -> (Tick, OnInterrupt) {
    let bid = bid_at(contest, now);
    let claim = contest.proposal().claim(&bid, caller(), at(now), at(now));
    (claim.tick, claim.on_interrupt)
}

#[test]
fn where_the_policy_is_edited_the_new_one_counts_for_what_was_cut_short_before() {
    let with = |policy: OnInterrupt| {
        let spec = JobSpec::clone(rerunning().spec());
        Arc::new(JobSpec { on_interrupt: policy, ..spec })
    };
    let mut contest = rerunning();
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(61_000));
    contest.opened(at(60_000), UtcMillis(0), at(60_500));
    contest.revise(with(OnInterrupt::Skip));
    assert_eq!(contest.look(at(61_001), &roster(&[]), true), Action::Nothing);
    assert_eq!(claims(&mut contest, 120_000), (Tick(at(120_000)), OnInterrupt::Skip));
    contest.revise(with(OnInterrupt::Rerun));
    // The answer to a claim of the former definition reports it again.
    contest.answered(&decided(told("b", false, 0)), at(120_001), SENT, true);
    contest.opened(at(60_000), UtcMillis(0), at(120_001));
    assert_eq!(claims(&mut contest, 120_002), (Tick(at(60_000)), OnInterrupt::Rerun));
}

#[test]
fn a_run_cut_short_before_its_job_was_restarted_is_not_rerun_and_delays_no_tick() {
    let mut contest = rerunning();
    contest.retire(at(70_000), SENT);
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(70_000));
    let spec = Arc::clone(contest.spec());
    contest.restart(spec, at(80_000), SENT);
    contest.opened(at(60_000), UtcMillis(0), at(80_001));
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(80_001));
    assert_eq!(contest.look(at(80_002), &roster(&[]), true), Action::Nothing);
    assert_eq!(claims(&mut contest, 120_000), (Tick(at(120_000)), OnInterrupt::Skip));
}

#[test]
fn with_skip_nothing_is_asked_for_again() {
    let mut contest = contest("schedule = \"* * * * *\"\nlease = \"30s\"");
    lost(&mut contest, &decided(told("b", true, 30)));
    assert_eq!(contest.look(at(95_000), &roster(&[]), true), Action::Nothing);
    let (_, action) = {
        bid_at(&mut contest, 120_000);
        contest.answered(&won(), at(120_001), SENT, true)
    };
    assert!(matches!(action, Action::Start { .. }));
}

#[test]
fn ticks_that_were_held_up_keep_their_reason_through_a_rerun() {
    let mut contest = rerunning();
    lost(&mut contest, &decided(None));
    contest.delayed_by = Some(Reason::StoreUnreachable);
    contest.hear_of_rerun(told("b", false, 0).as_ref(), at(61_000));
    bid_at(&mut contest, 61_000);
    let how = Some(Verdict::because(Outcome::Interrupted, Reason::Shutdown));
    contest.answered(&reply(Answer::Decided { by: None, how }), at(61_001), SENT, true);
    assert_eq!(contest.delayed_by, Some(Reason::StoreUnreachable));
}

#[test]
fn ticks_that_come_while_a_rerun_waits_are_late_and_not_without_a_replica() {
    let waits = reply(Answer::Held { by: None, frees_in: Duration::from_secs(1) });
    for (claimed_at, reason) in [(61_000, Some(Reason::Late)), (121_000, None)] {
        let mut contest = rerunning();
        lost(&mut contest, &decided(None));
        contest.hear_of_rerun(told("b", false, 0).as_ref(), at(claimed_at));
        let bid = bid_at(&mut contest, claimed_at);
        assert_eq!(bid.tick, Tick(at(60_000)));
        contest.answered(&waits, at(claimed_at + 1), SENT, true);
        assert_eq!(contest.delayed_by, reason, "another tick was due already at 121 s");
    }
}
