//! Scripted faults, each made for the one protection that survives it.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::jobs::{JobPlan, Policy};
use crate::pause::pause;
use crate::processes;
use crate::resp::Request;
use crate::trick::{Rule, Trick};
use crate::world::{Setup, World, now_ms};

/// The only job of most scripts.
pub(crate) const JOB: &str = "job";

/// Nothing that a script waits for takes longer.
const LIMIT: Duration = Duration::from_secs(30);

/// The lease of the long job, and how often its lock is asked for while it is held.
const LONG_LEASE_MS: i64 = 8_000;
const ASKS_PER_LEASE: i64 = 6;

/// Questions of replicas that have heard of the same decision come within this time.
const TOGETHER_MS: i64 = 50;

/// This long before a tick, or a question, a clock is stepped: replicas do not learn of it before they claim.
const JUST_BEFORE_MS: i64 = 40;

/// Whoever claims must have seen a steady store for a whole lease: so many renewals of a holder.
const CALM_RENEWALS: usize = 6;

/// An answer to a renewal that comes this late is still waited for, and is later than what a run has to spare.
const LATE: Duration = Duration::from_millis(1_000);

/// Longer than from one renewal of the long job to the next, and shorter than a replica waits for an answer.
const PAST_A_RENEWAL: Duration = Duration::from_millis(1_500);

/// Ticks that may still start after half a minute, so that forgotten ones may be repeated.
pub(crate) fn quick_jobs() -> Setup {
    let job = |name: &str| JobPlan { start_deadline_ms: 30_000, ..JobPlan::new(name, 1_000, 0) };
    Setup { jobs: vec![job(JOB), job("other")], replicas: 3, ..Setup::default() }
}

/// The same, but that who finds the lock taken waits for it: a run that goes on at its tick's instant hides nothing.
pub(crate) fn patient_jobs() -> Setup {
    let Setup { jobs, replicas, .. } = quick_jobs();
    let jobs = jobs.into_iter().map(|job| JobPlan { policy: Policy::Waits, ..job }).collect();
    Setup { jobs, replicas, ..Setup::default() }
}

/// As the quick ones, seldom enough for a failover between two ticks, and going on while others hear of them.
pub(crate) fn seldom_jobs() -> Setup {
    let Setup { jobs, .. } = quick_jobs();
    let jobs = jobs.into_iter().map(|job| JobPlan { period_ms: 4_000, run_ms: 300, ..job }).collect();
    Setup { jobs, replicas: 3, ..Setup::default() }
}

/// A run that goes on until it is stopped, and takes its grace to be so.
pub(crate) fn long_job() -> Setup {
    let job = JobPlan { lease_ms: LONG_LEASE_MS, manners: &["stubborn"], ..JobPlan::new(JOB, 1_000, 40_000) };
    Setup { jobs: vec![job], replicas: 3, ..Setup::default() }
}

/// Two replicas whose files differ.
pub(crate) fn one_with_a_shorter_lease() -> Setup {
    let job = JobPlan { lease_ms: 15_000, ..JobPlan::new(JOB, 1_000, 40_000) };
    let shorter = JobPlan { lease_ms: 5_000, ..job.clone() };
    Setup { jobs: vec![job], replicas: 2, other_jobs: Some((1, vec![shorter])), ..Setup::default() }
}

pub(crate) fn let_them_run(world: &mut World) {
    (0..8).for_each(|_| drop(world.wait_for_message("run recorded", JOB)));
}

/// One replica is away while the store fails over without the last ticks; who ran the last one is gone, and who heard of
/// it can do no more than open the records. Then the one that was away is the only one who can claim.
///
/// Ticks of before the start, which run without the protection, are over before it begins.
pub(crate) fn fail_over_to_one_who_was_away(world: &mut World) {
    let is_in_time = |line: &Value| {
        line["message"] == "run started"
            && line["job"] == JOB
            && line["late_ms"].as_i64().is_some_and(|late| late < 1_000)
    };
    wait_until("the standby to follow", || world.standby().is_following());
    world.skip_lines();
    let known = world.wait_for("a run in time, and then seconds without one", is_in_time);
    // Otherwise a replica that is killed in mid-run leaves a lock, for which the next tick has to wait.
    world.wait_for_message("run recorded", JOB);
    world.link.cut();
    world.replicas[2].kill();
    world.skip_lines();
    let has_renewed_lately = |line: &Value| {
        line["message"] == "tick decided elsewhere"
            && line["job"] == JOB
            && line["tick"] != known["tick"]
            && line["node"] == "n0"
            && line["holder"] == "n1"
    };
    world.wait_for("a tick that one runs and the other has heard of", has_renewed_lately);
    let is_its_end =
        |line: &Value| line["message"] == "run recorded" && line["job"] == JOB && line["node"] == "n1";
    world.wait_for("its end", is_its_end);
    world.replicas[1].kill();
    let before = seen(world, 0, "opened");
    world.fail_over();
    wait_until("records to be opened", || seen(world, 0, "opened") >= before + 2);
    world.proxies[0].cut();
    world.skip_lines();
    world.replicas[2].start();
    world.wait_for("a run on the last replica", |line| {
        line["message"] == "run recorded" && line["node"] == "n2"
    });
}

/// The holder has the longer lease and is cut off; the other one has the shorter lease.
pub(crate) fn cut_off_the_longer_lease(world: &mut World) {
    world.proxies[1].cut();
    world.wait_for_message("run started", JOB);
    world.proxies[1].mend();
    // From an answer of its own, or from what everybody is told.
    let hears = |line: &Value| {
        line["node"] == "n1"
            && ["tick skipped", "tick missed", "tick decided elsewhere"]
                .iter()
                .any(|told| line["message"] == *told)
    };
    world.wait_for("the other replica to hear of the lease", hears);
    (0..3).for_each(|_| drop(world.wait_for_message("lock renewed", JOB)));
    world.proxies[0].cut();
    let started = |line: &Value| line["message"] == "run started" && line["node"] == "n1";
    world.wait_for("a run on the other replica", started);
}

/// The holder is cut off, and the store's clock steps over the end of its lease.
pub(crate) fn cut_off_and_step(world: &mut World) {
    let holder = wait_for_calm_run(world);
    world.proxies[holder].cut();
    just_before_a_question(world);
    world.server().clock().step_to(60_000);
    wait_for_another_run(world, holder);
}

/// Waits until the long job's lock is about to be asked for. Whoever is told that it is held asks again after the same time,
/// and once a tick was skipped, all others do so together.
fn just_before_a_question(world: &World) {
    let at_ms = |line: &Value| {
        let at = line["timestamp"].as_str().expect("lines are stamped");
        at.parse::<jiff::Timestamp>().expect("a time").as_millisecond()
    };
    world.skip_lines();
    let asked = || world.wait_for_message("tick waits for the lock", JOB);
    let mut before = asked();
    let last_ms = loop {
        let line = asked();
        let together = line["node"] != before["node"] && at_ms(&line) - at_ms(&before) < TOGETHER_MS;
        if together {
            break at_ms(&line);
        }
        before = line;
    };
    let wait_ms = last_ms + LONG_LEASE_MS / ASKS_PER_LEASE - JUST_BEFORE_MS - now_ms();
    pause(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0)));
}

/// The store's clock is behind by less than what a request may be off, time and again just before a tick.
pub(crate) fn step_back_before_ticks(world: &mut World) {
    let_them_run(world);
    for offset_ms in [-900, 0, -900, 0] {
        just_before_a_tick();
        world.server().clock().step_to(offset_ms);
        world.skip_lines();
        world.wait_for_message("run recorded", JOB);
        world.wait_for_message("run recorded", JOB);
    }
}

/// A holder is cut off until another holds the lock; then it comes back to tell of its end, and the other is cut off.
pub(crate) fn finish_after_the_loss(world: &mut World) {
    let first = wait_for_calm_run(world);
    world.proxies[first].cut();
    let started = wait_for_another_run(world, first);
    let second = world.number(&started["node"]);
    world.wait_for_message("lock renewed", JOB);
    let told = |world: &World| seen(world, first, "finished") + seen(world, first, "already_decided");
    let before = told(world);
    world.proxies[second].cut();
    world.proxies[first].mend();
    wait_until("the first holder to tell of its end", || told(world) > before);
    world.wait_for("a third run", |line| line["message"] == "run started");
}

/// A follower takes over that lacks nothing, while a run continues. Its holder opens the record there and renews the lock
/// once; no later renewal arrives.
pub(crate) fn fail_over_in_mid_run(world: &mut World) {
    let holder = wait_for_calm_run(world);
    wait_until("the standby to follow", || world.standby().is_following());
    let opened = seen(world, holder, "opened");
    // Nothing is resent before the answer to the opening arrives: until then a renewal shows that the holder still runs.
    world.proxies[holder].add(Rule::new(Trick::DelayReply(PAST_A_RENEWAL), &[Request::Open], 1));
    world.skip_lines();
    world.fail_over();
    wait_until("the record to be opened", || seen(world, holder, "opened") > opened);
    let after = Some(("renewed", seen(world, holder, "renewed") + 1));
    world.proxies[holder].add(Rule { after, ..Rule::new(Trick::Hold(LIMIT), &[Request::Renew], u32::MAX) });
    world.wait_for_message("run started", JOB);
}

/// A replica and its job die at once, as with their machine.
pub(crate) fn crash_with_the_job(world: &mut World) {
    let holder = wait_for_calm_run(world);
    world.replicas[holder].kill();
    let node = world.replicas[holder].node();
    let of_it = processes::of_campaign(world.path());
    let of_it: Vec<_> = of_it.iter().filter(|it| it.node.as_deref() == Some(node)).map(|it| it.pid).collect();
    processes::signal_all(&of_it, Signal::SIGKILL);
    world.skip_lines();
    world.wait_for_message("run started", JOB);
}

/// A replica is killed, and nothing else: its job does not stop when told.
pub(crate) fn kill_the_replica(world: &mut World) {
    let holder = wait_for_calm_run(world);
    world.replicas[holder].kill();
    world.skip_lines();
    world.wait_for_message("run started", JOB);
    world.wait_for_message("lock renewed", JOB);
}

/// The answer to a renewal comes late, and no later renewal arrives at the store.
pub(crate) fn answer_late_and_then_never(world: &mut World) {
    let holder = wait_for_calm_run(world);
    world.proxies[holder].add(Rule::new(Trick::DelayReply(LATE), &[Request::Renew], 1));
    world.proxies[holder].add(Rule::new(Trick::Hold(LIMIT), &[Request::Renew], u32::MAX));
    wait_for_another_run(world, holder);
}

/// Waits for a run that goes on while everyone has watched a steady store for longer than its lease.
fn wait_for_calm_run(world: &World) -> usize {
    let started = world.wait_for_message("run started", JOB);
    (0..CALM_RENEWALS).for_each(|_| drop(world.wait_for_message("lock renewed", JOB)));
    world.number(&started["node"])
}

/// Waits for a run on another replica than this one.
fn wait_for_another_run(world: &World, than: usize) -> Value {
    let is_another = |line: &Value| line["message"] == "run started" && world.number(&line["node"]) != than;
    world.wait_for("a run on another replica", is_another)
}

/// How often a replica's proxy has seen this answer.
fn seen(world: &World, at: usize, answer: &str) -> u64 {
    world.proxies[at].counted(answer)
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = SystemClock.boot().plus(LIMIT);
    while !is_so() {
        assert!(SystemClock.boot() < deadline, "waited in vain for {what}");
        pause(Duration::from_millis(20));
    }
}

/// Every job of the scripts has a tick every second.
fn just_before_a_tick() {
    let wait_ms = (-JUST_BEFORE_MS - now_ms()).rem_euclid(1_000);
    pause(Duration::from_millis(u64::try_from(wait_ms).expect("not negative")));
}
