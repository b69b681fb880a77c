//! Output of runs that are on another machine, on both stores: two replicas with state folders of their own, and commands
//! that know the store alone.

#[macro_use]
#[path = "../support/both_stores.rs"]
mod both_stores;

#[path = "../support/http_client.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod http_client;
mod live;
mod logs;
#[path = "../support/machine.rs"]
mod machine;
mod namespaces;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
mod questions;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod stage;

/// Replicas and servers are frozen here. A replica that is frozen while it writes to an embedded store stops all others.
macro_rules! on_redis {
    ($($case:ident in $file:ident),+ $(,)?) => {
        mod redis_alone {
            $(#[test]
            fn $case() {
                crate::$file::$case(crate::stage::Stage::redis());
            })+
        }
    };
}

on_both_stores! {
    crate::stage::Stage::local(), crate::stage::Stage::redis();
    the_whole_output_of_a_run_elsewhere_is_printed_in_order in logs,
    the_last_lines_of_a_run_elsewhere_are_printed in logs,
    a_run_elsewhere_is_followed_line_by_line_until_it_ends in live,
    two_followers_of_one_run_both_get_every_line in live,
    bytes_that_were_not_kept_are_told in live,
    a_chatty_job_is_followed_within_the_budget in live,
    what_no_asker_left_is_dropped_and_counted in questions,
}

on_redis! {
    of_a_frozen_replica_the_kept_tail_is_printed_and_the_exit_code_is_1 in logs,
    a_replica_that_freezes_for_a_moment_is_waited_for_and_costs_no_line in live,
    a_replica_that_stays_frozen_is_followed_to_the_recorded_end_of_its_run in live,
    a_follower_waits_for_a_store_that_is_away_for_a_moment in live,
    a_triggered_run_whose_replica_freezes_for_a_moment_loses_no_line in live,
    of_a_triggered_run_whose_replica_is_killed_nobody_says_that_it_printed_nothing in live,
    a_store_that_is_away_for_a_moment_costs_no_line_of_a_triggered_run in live,
    nothing_is_left_20_s_after_a_follower_was_killed in live,
    forged_wakes_change_nothing in questions,
}
