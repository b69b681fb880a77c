//! Single situations: sweeps of seeds in which little else goes wrong and nothing is excused. When a clock is right
//! again, jobs run within a lease, and what really ran does not run again.

use crate::lease::Memory;
use crate::replica::simulation::faults::fault::Fault;
use crate::replica::simulation::sweep::{Course, seeds_from};

/// So many simulations of each.
const SEEDS: u64 = 10;

/// Checks that no fault on the menu breaks the promise, on stores of this kind.
pub(super) fn holds(test: &str, memory: Memory, menu: &'static [Fault]) {
    holds_from(0, test, Course::of(memory, menu));
}

/// Checks a course from this seed on: one of the first seeds led to a violation under earlier rules.
pub(super) fn holds_from(first: u64, test: &str, course: Course) {
    let seeds = seeds_from(first, SEEDS);
    let is_one = seeds.clone().count() == 1;
    let Course { memory, menu, .. } = course;
    let tally = course.sweep(test, seeds);
    if is_one {
        return;
    }
    for fault in menu.iter().filter(|fault| fault.befalls(memory)) {
        assert!(tally.of(&fault.name()) > 0, "never happened: {fault:?}\n{tally:#?}");
    }
}

/// The same on both kinds of store.
pub(super) fn holds_everywhere(test: &str, menu: &'static [Fault]) {
    holds(test, Memory::Forgetful, menu);
    holds(test, Memory::Durable, menu);
}

#[test]
fn clocks_that_are_up_to_years_behind_for_a_minute_cost_nothing_after_it() {
    let menu = &[Fault::StoreBehind, Fault::ReplicaBehind, Fault::BothBehind, Fault::Crash, Fault::Restart];
    holds_everywhere("clocks_that_are_up_to_years_behind", menu);
}

#[test]
fn a_follower_whose_clock_is_behind_runs_nothing_again_and_tells_of_everything_once() {
    let menu = &[Fault::FailoverBehind, Fault::Failover, Fault::Crash, Fault::Restart];
    holds("a_follower_whose_clock_is_behind", Memory::Forgetful, menu);
}

#[test]
fn a_replica_whose_clock_alone_is_ahead_keeps_nobody_from_running() {
    let menu = &[Fault::ReplicaAhead, Fault::Crash, Fault::Failover];
    holds("a_replica_whose_clock_alone_is_ahead", Memory::Forgetful, menu);
}

#[test]
fn a_guest_with_a_short_lease_waits_for_every_run() {
    holds_everywhere("a_guest_with_a_short_lease", &[Fault::Guest, Fault::Crash, Fault::Emptied]);
}

#[test]
fn what_cannot_be_killed_keeps_its_lock_while_its_replica_can_renew() {
    let menu = &[Fault::Unkillable, Fault::Crash, Fault::Freeze, Fault::Cut, Fault::GuardKilled];
    holds_everywhere("what_cannot_be_killed_keeps_its_lock", menu);
}

#[test]
fn what_cannot_be_killed_keeps_its_lock_through_losses() {
    let menu = &[Fault::Unkillable, Fault::Emptied, Fault::Deleted, Fault::Failover, Fault::Restart];
    holds_everywhere("what_cannot_be_killed_keeps_its_lock_through_losses", menu);
}

#[test]
fn what_a_live_replica_lists_is_not_rerun_while_writes_are_refused() {
    let menu = &[Fault::WritesRefused, Fault::WritesRefused, Fault::Cut, Fault::Crash];
    holds_everywhere("what_a_live_replica_lists", menu);
}

#[test]
fn heartbeats_that_are_deleted_cost_a_lease_and_no_more() {
    holds_everywhere("heartbeats_that_are_deleted", &[Fault::NodesLost, Fault::RecordAndNodesLost]);
}

#[test]
fn whatever_goes_wrong_the_same_seed_leads_to_the_same_end() {
    for memory in [Memory::Forgetful, Memory::Durable] {
        let course = Course::of(memory, &Fault::ALL);
        let end = |seed| course.outcome(seed).map(|world| world.tally).map_err(|violation| violation.broken);
        for seed in 0..3 {
            assert_eq!(end(seed), end(seed), "seed {seed}");
        }
    }
}
