//! Situations that once broke the promise. Each was found with real binaries or here, and alone led some seed to the
//! violation under the rules of that day.
//!
//! Each of these still leads to a violation, and is in no test:
//! - `BothAhead` together with the usual faults: of 300 seeds two lead to a second run and two to a job that stands still,
//!   where the store is emptied while its clock is ahead, as docs/fencing.md says;
//! - `StoreBehind`, `BothBehind`, `NodesLost` and `RecordAndNodesLost` together with the usual faults: of 300 seeds four
//!   lead to a tick without an entry, and one to a second run;
//! - `FailoverBehind`, where a replica lives on the follower's machine and has its clock, together with `Failover`, `Crash`
//!   and `Restart`: of 300 seeds one leads to a tick without an entry, and one to a second run;
//! - `BothBehind`, `RecordLost`, `Crash` and `Restart` on the embedded store, whose replicas all have its clock: of 300
//!   seeds eleven lead to a second run, and eleven to a tick without an entry, one that does not run, or a fence that falls;
//! - all faults at once: of 300 seeds on Redis 30 lead to a tick that does not run, a job that stands still, a tick without
//!   an entry or, two of them, to a fence that falls; on the embedded store seven, to the first or the third of these.

use crate::lease::Memory;
use crate::replica::simulation::faults::fault::Fault;
use crate::replica::simulation::sweep::Course;

use super::situations::{holds, holds_everywhere, holds_from};

#[test]
fn once_the_stores_clock_is_right_again_jobs_run_within_a_lease() {
    holds("once_the_stores_clock_is_right_again", Memory::Forgetful, &[Fault::StoreAhead, Fault::Crash]);
}

#[test]
fn a_cluster_first_started_with_a_wrong_clock_runs_within_a_lease_of_a_right_one() {
    holds_everywhere("a_cluster_first_started_with_a_wrong_clock", &[Fault::WrongStart, Fault::Crash]);
}

#[test]
fn a_lock_whose_record_is_deleted_in_mid_run_goes_to_no_claim_of_a_short_lease() {
    let menu = &[Fault::RecordLost, Fault::LongLease, Fault::Guest];
    holds_everywhere("a_lock_whose_record_is_deleted_in_mid_run", menu);
}

#[test]
fn a_record_that_was_deleted_in_mid_run_delays_no_tick_after_the_run() {
    let course = Course::of(Memory::Forgetful, Fault::USUAL_AND_UNKILLABLE);
    holds_from(1_739, "a_record_that_was_deleted_in_mid_run", course);
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
        holds_from(470, "of_a_record_that_a_newcomer_opens_anew", Course::of(memory, menu));
    }
}

#[test]
fn a_stores_clock_that_is_slewed_ends_no_lease_early() {
    holds("a_stores_clock_that_is_slewed", Memory::Forgetful, &[Fault::StoreSlewed]);
}

#[test]
fn a_holders_clock_that_is_slewed_keeps_no_run_alive_after_its_lock() {
    holds_everywhere("a_holders_clock_that_is_slewed", &[Fault::ReplicaSlewed]);
}

#[test]
fn fences_rise_for_guests_of_a_store_that_forgot_while_its_clock_was_ahead() {
    let menu = &[Fault::Guest, Fault::StoreStep, Fault::Emptied, Fault::Failover, Fault::RecordAndNodesLost];
    let course = Course::of(Memory::Forgetful, menu);
    holds_from(270, "fences_rise_for_guests", course);
}

#[test]
fn clocks_of_the_store_and_of_replicas_that_were_ahead_cost_a_lease_and_no_more() {
    let menu = &[Fault::BothAhead, Fault::ReplicaAhead];
    holds("clocks_of_the_store_and_of_replicas", Memory::Forgetful, menu);
}

#[test]
fn what_a_store_forgot_while_a_mark_lay_ahead_has_its_entry() {
    // A clock that is ahead, and a restart while a leap is open.
    holds_from(291, "what_a_store_forgot_while_a_mark_lay_ahead", Course::usual(Memory::Forgetful));
}

#[test]
fn what_a_store_forgot_before_and_after_a_tick_that_is_open_again_has_its_entry() {
    holds_from(4_885, "what_a_store_forgot_before_and_after", Course::usual(Memory::Forgetful));
}

#[test]
fn ticks_forgotten_while_the_stores_clock_is_ahead_get_entries_but_none_early() {
    let menu = &[Fault::StoreAhead, Fault::Failover, Fault::Restart];
    holds("ticks_forgotten_while_the_stores_clock_is_ahead", Memory::Forgetful, menu);
    let course = Course::of(Memory::Forgetful, &[Fault::BothAhead, Fault::Failover, Fault::Restart]);
    holds_from(40, "ticks_forgotten_while_the_stores_clock_is_ahead", course);
}

#[test]
fn a_tick_run_by_a_clock_ahead_does_not_run_again_where_the_store_forgot_it() {
    let menu = &[Fault::StoreAhead, Fault::Failover, Fault::Restart];
    let course = Course::of(Memory::Forgetful, menu);
    holds_from(70, "a_tick_run_by_a_clock_ahead", course);
}

#[test]
fn what_a_clock_leapt_over_after_it_was_behind_holds_no_job_up_for_ever() {
    let menu = &[Fault::StoreBehind, Fault::ReplicaBehind, Fault::BothBehind, Fault::Crash, Fault::Restart];
    holds_from(70, "what_a_clock_leapt_over", Course::of(Memory::Forgetful, menu));
}

#[test]
fn a_store_that_goes_back_within_its_life_is_found_out_before_a_tick_runs_again() {
    holds_everywhere("a_store_that_goes_back_within_its_life", &[Fault::Rollback, Fault::Crash]);
}

#[test]
fn a_lease_that_was_long_for_a_while_costs_that_lease_and_no_more() {
    holds_everywhere("a_lease_that_was_long_for_a_while", &[Fault::LongLease]);
}

#[test]
fn a_long_lease_is_forgotten_beside_runs_that_follow_one_another() {
    let menu = &[Fault::LongLease, Fault::Restart, Fault::Emptied];
    holds_everywhere("a_long_lease_is_forgotten_beside_runs", menu);
}
