//! `exec` as crontabs and scripts use it, on both stores: who gets the lock, how it ends, and what becomes of the command.

#[macro_use]
#[path = "../support/both_stores.rs"]
mod both_stores;

mod ends;
mod here;
mod holds;
mod jobs;
mod losses;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod reentry;
mod stage;
mod usage;

on_both_stores! {
    &crate::stage::Stage::local(), &crate::stage::Stage::redis();
    a_lock_that_is_held_ends_it_at_once_and_tells_whose_it_is in holds,
    who_waits_too_long_leaves_with_the_same_answer in holds,
    who_waits_is_told_for_what_and_until_when in holds,
    who_waits_has_the_lock_soon_after_it_is_given_back in holds,
    many_who_wait_all_have_their_turn_and_never_two_at_once in holds,
    a_holder_that_was_killed_is_not_taken_for_one_for_ever in holds,
    it_ends_as_its_command_does in ends,
    the_command_has_the_streams_and_knows_which_run_it_is in ends,
    a_signal_stops_the_command_in_order_and_gives_the_lock_back in ends,
    a_second_signal_kills_at_once in ends,
    a_signal_while_it_waits_ends_it in ends,
    ctrl_c_on_a_terminal_ends_the_script_around_it_too in ends,
    a_command_within_runs_under_the_lock_that_is_held_and_does_not_give_it_back in reentry,
    the_lock_of_any_run_around_is_lent in reentry,
    variables_that_were_copied_lend_nothing in reentry,
    a_process_that_takes_the_name_of_a_guard_lends_nothing in reentry,
    a_command_within_dies_with_the_run_wherever_it_has_gone in reentry,
    a_job_and_the_lock_of_its_name_exclude_each_other in jobs,
    within_a_job_its_own_lock_is_lent in jobs,
    an_operator_kills_it_as_any_run in jobs,
    a_job_of_the_file_runs_here_as_a_replica_would_start_it in here,
    a_job_that_runs_here_runs_nowhere_else in here,
    a_job_that_runs_here_is_stopped_in_order_and_by_its_timeout in here,
    a_job_runs_here_as_its_user_or_not_at_all in here,
}
