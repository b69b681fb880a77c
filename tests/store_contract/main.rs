//! What every store promises, run against each of them, and what each promises besides. A missing redis-server is a
//! loud failure.

mod cases;
mod local;
mod redis;
mod redis_access;
mod redis_outage;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "test-switches")]
mod switch;
mod world;

macro_rules! contract {
    ($($case:ident),+ $(,)?) => {
        mod local_store {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::cases::$case(&crate::world::World::local()).await;
            })+
        }
        mod redis_store {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::cases::$case(&crate::world::World::redis()).await;
            })+
        }
    };
}

contract! {
    the_first_open_of_an_unknown_job_waits_two_seconds_at_most,
    an_open_of_a_known_job_waits_its_lease,
    a_tick_is_granted_once_and_held_meanwhile_and_decided_after,
    asking_again_with_the_same_run_is_harmless,
    a_renewal_moves_the_end_of_the_lock,
    a_lock_that_was_given_to_another_is_lost,
    an_abandoned_tick_can_be_claimed_again,
    a_tick_past_its_start_deadline_is_recorded_as_missed,
    history_is_kept_in_order_with_its_tails,
    history_keeps_the_newest_200_entries_of_a_job,
    replicas_hear_of_each_other_by_heartbeats,
    a_job_is_known_once_it_was_enrolled,
    records_come_in_the_order_asked,
    a_manual_run_takes_the_same_lock,
    of_many_claimants_exactly_one_wins_each_tick,
}
