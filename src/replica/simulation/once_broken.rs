//! Situations that broke the promise once: each was found with real binaries or here, and by itself led some seed of the
//! rules of that day to the violation.

use crate::lease::Memory;

use super::fault::Fault;
use super::situations::{holds, holds_everywhere, holds_from};
use super::sweep::Course;

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

#[test]
fn a_record_that_is_deleted_in_mid_run_lets_nobody_in_however_short_a_lease_somebody_asks_for() {
    let menu = &[Fault::RecordLost, Fault::LongLease, Fault::Guest];
    holds_everywhere("a_record_that_is_deleted_in_mid_run", menu);
}

#[test]
fn a_record_that_is_deleted_with_the_list_of_jobs_lets_nobody_in() {
    let menu = &[Fault::RecordAndKnownLost, Fault::LongLease, Fault::Guest];
    holds_everywhere("a_record_that_is_deleted_with_the_list", menu);
}

#[test]
fn of_a_record_that_a_newcomer_opens_anew_every_tick_is_told() {
    let menu =
        &[Fault::KnownLost, Fault::RecordLost, Fault::NodesLost, Fault::RecordAndNodesLost, Fault::Guest];
    for memory in [Memory::Forgetful, Memory::Durable] {
        let course = Course { memory, menu, excuses: false };
        holds_from(470, "of_a_record_that_a_newcomer_opens_anew", course);
    }
}

#[test]
fn a_stores_clock_that_is_slewed_ends_no_lease_early() {
    holds("a_stores_clock_that_is_slewed", Memory::Forgetful, &[Fault::StoreSlewed]);
}

#[test]
fn a_holder_whose_machine_is_slewed_stops_before_its_lock_is_over() {
    let menu = &[Fault::ReplicaSlewed];
    let course = Course { memory: Memory::Forgetful, menu, excuses: false };
    holds_from(50, "a_holder_whose_machine_is_slewed", course);
}

#[test]
fn a_store_that_is_rolled_back_and_calls_itself_the_same_runs_nothing_twice() {
    holds_everywhere("a_store_that_is_rolled_back", &[Fault::Rollback, Fault::Crash]);
}

#[test]
fn a_lease_that_was_long_for_a_while_is_not_waited_for_for_ever() {
    holds_everywhere("a_lease_that_was_long_for_a_while", &[Fault::LongLease, Fault::Restart]);
}

#[test]
fn fences_rise_for_guests_of_a_store_that_forgot_while_its_clock_was_ahead() {
    let menu = &[Fault::Guest, Fault::StoreStep, Fault::Emptied, Fault::Failover, Fault::RecordAndNodesLost];
    let course = Course { memory: Memory::Forgetful, menu, excuses: true };
    holds_from(270, "fences_rise_for_guests", course);
}
