//! Situations that broke the promise once: each was found with real binaries or here, and by itself led some seed of the
//! rules of that day to the violation.

use crate::lease::Memory;

use super::fault::Fault;
use super::situations::{holds, holds_everywhere};

#[test]
fn once_the_stores_clock_is_right_again_jobs_run_within_a_lease() {
    holds("once_the_stores_clock_is_right_again", Memory::Forgetful, &[Fault::StoreAhead, Fault::Crash]);
}

#[test]
fn once_the_clock_of_a_machine_with_store_and_replica_is_right_again_jobs_run_within_a_lease() {
    let menu = &[Fault::BothAhead, Fault::ReplicaAhead, Fault::Crash];
    holds_everywhere("once_the_clock_of_a_machine", menu);
}

#[test]
fn a_failover_or_a_restart_while_or_after_a_clock_was_ahead_costs_a_lease_and_no_more() {
    let menu = &[Fault::StoreAhead, Fault::BothAhead, Fault::Failover, Fault::Restart, Fault::Crash];
    holds("a_failover_or_a_restart_while_or_after", Memory::Forgetful, menu);
    holds("a_failover_or_a_restart_while_or_after", Memory::Durable, &[Fault::ReplicaAhead, Fault::Restart]);
}

#[test]
fn what_starts_for_the_first_time_with_a_wrong_clock_runs_within_a_lease_of_a_right_one() {
    holds_everywhere("what_starts_for_the_first_time", &[Fault::WrongStart, Fault::Crash]);
}
