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
    a_replica_that_freezes_while_it_is_followed_is_given_up in live,
    of_a_triggered_run_whose_replica_freezes_the_kept_tail_is_printed_at_its_end in live,
    of_a_triggered_run_whose_replica_is_killed_nobody_says_that_it_printed_nothing in live,
    a_store_that_is_away_for_a_moment_costs_no_line in live,
    nothing_is_left_20_s_after_a_follower_was_killed in live,
    forged_wakes_change_nothing in questions,
}
