//! What every store promises, run against each of them, and what each promises besides. A missing redis-server is a
//! loud failure.

mod batch;
mod cases;
mod feeds;
mod frozen;
mod glance;
mod local;
mod local_blocked;
mod local_time;
mod operator;
mod postgres;
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../support/postgres_server.rs"]
mod postgres_server;
#[expect(dead_code, reason = "what the tests of the program need besides")]
#[path = "../support/process.rs"]
mod process;
mod redis;
mod redis_access;
mod redis_exchange;
mod redis_foreign;
mod redis_hints;
mod redis_outage;
mod rollback;
mod slips;
#[path = "../support/mod.rs"]
mod support;
#[cfg(feature = "test-switches")]
mod switch;
#[path = "../support/tls.rs"]
mod tls;
mod unfit;
mod world;

use support::redis_server;

macro_rules! contract {
    ($local:ident, $redis:ident, $postgres:ident, $cases:ident: $($case:ident),+ $(,)?) => {
        contract!($local, $redis, $cases: $($case),+);
        contract!(of $postgres, postgres, $cases: $($case),+);
    };
    ($local:ident, $redis:ident, $cases:ident: $($case:ident),+ $(,)?) => {
        contract!(of $local, local, $cases: $($case),+);
        contract!(of $redis, redis, $cases: $($case),+);
    };
    (of $module:ident, $world:ident, $cases:ident: $($case:ident),+) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                crate::$cases::$case(&crate::world::World::$world()).await;
            })+
        }
    };
}

contract! {
    local_store, redis_store, postgres_store, cases:
    the_first_open_of_an_unknown_job_waits_two_seconds_at_most,
    an_open_of_a_known_job_waits_its_lease,
    a_tick_is_granted_once_and_held_meanwhile_and_decided_after,
    asking_again_with_the_same_run_is_harmless,
    a_renewal_moves_the_end_of_the_lock,
    a_lock_that_was_given_to_another_is_lost,
    an_abandoned_tick_can_be_claimed_again,
    a_tick_past_its_start_deadline_is_recorded_as_missed,
    ticks_missed_one_after_the_other_have_one_entry,
    history_is_kept_in_order_with_its_tails,
    history_keeps_the_newest_200_entries_of_a_job,
    a_record_tells_the_newest_success_and_the_failures_since,
    replicas_hear_of_each_other_by_heartbeats,
    a_job_is_known_once_it_was_enrolled,
    records_come_in_the_order_asked,
    a_manual_run_takes_the_same_lock,
    of_many_claimants_exactly_one_wins_each_tick,
}

contract! {
    local_store_of_old, redis_store_of_old, frozen:
    a_record_of_schema_1_is_claimed_renewed_and_finished,
    a_record_of_schema_1_that_never_ran_is_claimed,
    a_running_record_of_schema_1_is_renewed_and_finished_by_its_holder,
    a_running_record_of_schema_1_is_taken_over_from_a_lost_holder,
    entries_of_schema_1_are_read_from_the_store,
}

contract! {
    local_store_rolled_back, redis_store_rolled_back, postgres_store_rolled_back, rollback:
    a_store_that_knows_less_of_a_heartbeat_than_it_told_is_known_by_another_marker,
    a_heartbeat_that_is_late_or_lost_its_answer_is_no_sign_of_a_rollback,
}

contract! {
    local_store_of_the_unfit, redis_store_of_the_unfit, postgres_store_of_the_unfit, unfit:
    who_cannot_run_a_tick_has_it_recorded_as_missed_for_that_reason,
}

contract! {
    local_store_and_operators, redis_store_and_operators, postgres_store_and_operators, operator:
    a_paused_job_skips_its_ticks_until_it_is_resumed,
    a_holder_learns_by_renewing_that_an_operator_kills_its_run,
    an_order_is_taken_by_one_run_and_told_which,
    a_lock_is_removed_from_a_silent_holder_alone,
    a_replica_puts_back_the_pause_that_the_store_forgot,
    a_job_that_no_replica_has_opened_is_not_operated_on,
    replicas_hear_of_what_was_announced,
}

contract! {
    local_store_at_once, redis_store_at_once, postgres_store_at_once, batch:
    many_requests_at_once_are_each_decided_in_their_order,
}

contract! {
    local_store_feeds, redis_store_feeds, postgres_store_feeds, feeds:
    lines_come_in_the_order_in_which_they_were_appended,
    a_feed_keeps_its_newest_lines,
    a_line_that_is_too_long_is_refused_and_changes_nothing,
}

contract! {
    local_store_slips, redis_store_slips, postgres_store_slips, slips:
    what_is_left_is_collected_once_and_in_its_order,
    a_slip_is_gone_after_its_ttl,
    a_slip_takes_64_kib_and_no_more,
    a_slip_takes_256_texts_and_no_more,
}

contract! {
    local_store_glances, redis_store_glances, postgres_store_glances, glance:
    standings_of_ten_thousand_jobs_come_in_their_order,
    a_job_whose_record_cannot_be_read_has_no_standing,
    a_glance_has_the_record_and_the_newest_entries_without_their_output,
    a_glance_shows_at_most_60_entries_of_a_job,
    a_job_that_cannot_be_read_hides_no_other_at_a_glance,
}
