//! An operator's commands against real replicas, on both stores: each is acted upon at once, wherever it is given.

#[macro_use]
#[path = "../support/both_stores.rs"]
mod both_stores;

mod acts;
mod file;
mod follow;
mod kill;
mod pause;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod stage;
mod trigger;
mod unlock;
mod waits;
mod watch;

on_both_stores! {
    crate::stage::Place::local(), crate::stage::Place::redis();
    each_act_is_noted_with_who_did_it_and_what_came_of_it in acts,
    a_paused_job_skips_its_ticks_until_it_is_resumed in pause,
    a_run_is_killed_in_order_wherever_it_is in kill,
    a_run_that_waits_for_its_next_attempt_is_killed_too in kill,
    a_triggered_job_runs_once_and_is_followed_to_its_end in trigger,
    a_trigger_during_a_run_is_skipped_and_says_so in trigger,
    a_run_that_nobody_can_take_is_refused_at_once in trigger,
    the_lock_of_a_replica_that_is_gone_is_removed_and_of_a_living_one_not in unlock,
    a_wait_for_a_holder_that_the_store_forgot_is_ended in unlock,
    a_job_that_is_not_in_the_file_is_refused_with_the_near_one in pause,
    with_an_invalid_file_commands_say_so_in_one_line_and_do_their_work in file,
    a_job_that_was_renamed_while_it_ran_stays_in_reach in file,
    cluster_and_store_are_enough_without_a_file in file,
    several_jobs_are_paused_and_resumed_at_once in file,
}
