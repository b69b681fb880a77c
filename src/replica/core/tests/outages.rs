//! A store that is down, or has forgotten, and what an earlier process left behind.

use crate::job::Fence;
use crate::lease::{Caller, Claim, Reply, testing};
use crate::replica::recovery::orphans::{Orphan, OrphanEnded};
use crate::store::{BeatRun, Hint, UnrecordedEnd};

use super::*;

#[test]
fn while_the_store_is_down_nothing_is_claimed_and_afterwards_what_is_still_in_time() {
    let mut bench = Bench::of(&[("j", &format!("{AT_TEN}\nstart_deadline = \"30s\""))], None);
    bench.is_store_up = false;
    bench.pass(8_000);
    assert_eq!((bench.count("claim"), bench.started.len()), (0, 0));
    let undecided = |event: &&Event| matches!(event, Event::TickUndecided { .. });
    assert_eq!(bench.events.iter().filter(undecided).count(), 1);
    bench.is_store_up = true;
    // The store's clock was not watched: for two seconds nothing is granted.
    bench.pass(2_500);
    assert_eq!(bench.started_at(), [10_000]);
}

#[test]
fn after_a_new_era_every_record_is_opened_and_every_lock_renewed() {
    let mut bench = Bench::of(&[("j", AT_TEN), ("k", "schedule = \"@daily\"")], None);
    bench.pass(6_000);
    assert_eq!(bench.started(), ["j"]);
    (bench.done, bench.era) = (Vec::new(), Era("f".into()));
    bench.pass(1_000);
    assert_eq!(bench.count("Renew"), 1);
    assert_eq!(bench.count("DoubtNotedEnds"), 1);
    assert_eq!(bench.count("open 2 resend 1"), 1, "{:?}", bench.done);
    bench.pass(1_000);
    assert_eq!(bench.done.iter().filter(|done| done.starts_with("open")).count(), 1, "once");
}

#[test]
fn a_job_waits_until_the_run_of_an_earlier_process_is_surely_dead() {
    let run = RunId::new();
    let orphan = Orphan { job: job("j"), run, note: None, sign: None };
    let past = PastRead { orphans: vec![orphan.clone()], largest_fence: Fence(7), noted: vec![job("j")] };
    let mut bench =
        Bench::begun(file(&[("j", "schedule = \"* * * * * *\""), ("k", AT_TEN)], None), Some(past));
    bench.pass(12_000);
    assert_eq!(bench.started(), ["k"], "the other job does not wait");
    assert_eq!(bench.count("CheckOrphan"), 1);
    bench.tell(CoreInput::OrphanChecked(OrphanEnded { job: job("j"), is_first: true, left: None }));
    assert_eq!(bench.done.iter().filter(|done| *done == "open 1 resend 1").count(), 1, "{:?}", bench.done);
    // The store does not know the job: its record waits a lease.
    bench.pass(32_000);
    assert!(bench.started().contains(&"j"));
    assert!(bench.started.iter().all(|start| start.grant.lease.fence > Fence(7)), "fences rise");
}

#[test]
fn an_orphan_that_is_left_to_its_lease_is_checked_again_and_delays_its_job_once() {
    let orphan = Orphan { job: job("j"), run: RunId::new(), note: None, sign: None };
    let past = PastRead { orphans: vec![orphan.clone()], largest_fence: Fence(0), noted: Vec::new() };
    let mut bench = Bench::begun(file(&[("j", AT_TEN)], None), Some(past));
    let left = |is_first| OrphanEnded { job: job("j"), is_first, left: Some(orphan.clone()) };
    bench.tell(CoreInput::OrphanChecked(left(true)));
    bench.tell(CoreInput::OrphanChecked(left(false)));
    assert_eq!(bench.count("CheckOrphan"), 3);
    bench.pass(11_000);
    assert_eq!(bench.started(), ["j"]);
}

#[test]
fn a_stepped_clock_plans_every_tick_anew() {
    let mut bench = Bench::of(&[("j", "schedule = \"0 30 * * * *\"")], None);
    let half_past = UtcMillis(T0.0 + 1_800_000);
    bench.now = Now::at(bench.now.boot, half_past.minus(Duration::from_secs(5)));
    bench.tell(CoreInput::ClockStepped);
    assert_eq!(bench.count("BeatNow"), 1, "the difference to the store's clock is measured again");
    bench.pass(6_000);
    assert_eq!(bench.started_at(), [1_800_000]);
}

#[test]
fn a_hint_that_arrives_after_a_long_sleep_closes_no_tick_that_came_meanwhile() {
    let mut bench = Bench::of(&[("j", &format!("{AT_TEN}\nstart_deadline = \"5m\""))], None);
    bench.is_store_up = false;
    bench.pass(60_000);
    let how = Some(Verdict::plain(Outcome::Succeeded));
    let answer = Answer::Decided { by: None, how };
    let reply = Reply { mark: Some(T0), ..testing::reply(UtcMillis(T0.0 + 4_500), answer) };
    bench.tell(CoreInput::Hint(Hint { job: job("j"), era: bench.era.clone(), reply }));
    (bench.era, bench.is_store_up) = (Era("f".into()), true);
    bench.pass(2_000);
    let record = &bench.records[&job("j")];
    assert_eq!(record.era, bench.era);
    assert!(record.mark < UtcMillis(T0.0 + 10_000), "the tick of second 10 is open: {record:#?}");
}

#[test]
fn a_job_that_an_earlier_process_ran_waits_a_lease_where_the_store_does_not_know_it() {
    let past = PastRead { orphans: Vec::new(), largest_fence: Fence(7), noted: vec![job("j")] };
    let mut bench = Bench::begun(file(&[("j", AT_TEN), ("k", AT_TEN)], None), Some(past));
    bench.pass(14_000);
    assert_eq!(bench.started(), ["k"], "job `k` is new");
    let wait = bench.records[&job("j")].locked_until.0 - T0.0;
    assert!(wait >= 30_000, "another replica may hold its lock: {wait} ms");
}

#[test]
fn a_run_that_a_live_replica_lists_is_settled_only_where_it_was_cut_short() {
    for end in [None, Some(UnrecordedEnd::ByItself), Some(UnrecordedEnd::CutShort)] {
        let mut bench = Bench::of(&[("j", "schedule = \"@yearly\"")], None);
        bench.pass(30_000);
        let calm = Duration::from_secs(60);
        let caller = Caller { calm, ..testing::caller("b", bench.now.wall, bench.era.clone()) };
        let schedule_hash = bench.records[&job("j")].schedule_hash.clone();
        let claim = Claim { schedule_hash, ..testing::claim(caller, Tick(bench.now.wall)) };
        let run = claim.run;
        let reply = bench.submit(&job("j"), &Request::Claim(claim)).expect("the store is up");
        assert!(matches!(reply.answer, Answer::Won { .. }), "{reply:?}");
        let record = bench.records[&job("j")].clone();
        bench.tell(CoreInput::RunsFound { running: vec![(job("j"), record)], unread: Vec::new() });
        for _ in 0..40 {
            let mut other = peer("b", bench.now.wall.0);
            other.beat.running = vec![BeatRun { job: job("j"), run, lease_ms: 30_000, end }];
            bench.others = vec![other];
            bench.pass(1_000);
        }
        let is_settled = bench.count("SettleLostRun") > 0;
        assert_eq!(is_settled, end == Some(UnrecordedEnd::CutShort), "{end:?}");
    }
}
