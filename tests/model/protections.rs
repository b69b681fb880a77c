//! Each protection, switched off: the history that breaks a promise, which the checker must find, and which must be
//! none with the protection on.

use solocron::job::{OnInterrupt, Overlap};
use solocron::lease::Protection;

use crate::explore::{finds, holds};
use crate::promise::{ONCE, ONE_RUN, ONE_RUN_OF_ONE, OWN_RUN, SKIPS};
use crate::setting::{Faults, Loss, Resend, Setting};

const NONE: Faults = Setting::PLAIN.faults;

/// The checker finds a history that breaks the promise without the protection, and none with it.
fn breaks(off: Protection, promise: &'static str, setting: Setting) {
    holds(&format!("with {off}"), setting.clone());
    finds(&format!("without {off}"), promise, Setting { off: Some(off), ..setting });
}

#[test]
fn without_the_mark_a_tick_runs_twice() {
    breaks(Protection::Mark, ONCE, Setting { horizon: 4, ..Setting::PLAIN });
}

#[test]
fn without_its_reset_a_failover_lets_a_tick_run_twice() {
    let losses: &[Loss] = &[Loss::Writes { since_last_step: true }];
    let faults = Faults { losses: 1, cuts: 1, crashes: 1, ..NONE };
    breaks(Protection::MarkReset, ONCE, Setting { losses, faults, period: 4, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn without_the_largest_lease_a_claimant_with_a_smaller_one_does_not_wait() {
    let faults = Faults { losses: 1, cuts: 1, ..NONE };
    let setting =
        Setting { leases: &[4, 2], losses: &[Loss::Everything], faults, horizon: 4, ..Setting::PLAIN };
    breaks(Protection::LargestLease, ONE_RUN, setting);
}

#[test]
fn without_calm_a_clock_that_is_stepped_ends_a_lease() {
    let faults = Faults { jumps: 1, cuts: 1, ..NONE };
    breaks(Protection::Calm, ONE_RUN, Setting { jumps: &[3], faults, horizon: 4, ..Setting::PLAIN });
}

#[test]
fn without_expect_a_claim_from_before_the_step_of_the_clock_counts() {
    let faults = Faults { jumps: 1, cuts: 1, ..NONE };
    breaks(Protection::Expect, ONE_RUN, Setting { jumps: &[3], faults, horizon: 4, ..Setting::PLAIN });
}

#[test]
fn without_early_a_tick_beyond_the_reset_mark_runs_twice() {
    let faults = Faults { losses: 1, cuts: 1, crashes: 1, ..NONE };
    let losses: &[Loss] = &[Loss::Writes { since_last_step: true }];
    breaks(
        Protection::Early,
        ONCE,
        Setting { ahead: 2, losses, faults, period: 4, horizon: 4, ..Setting::PLAIN },
    );
}

#[test]
fn without_the_holder_check_a_late_finish_frees_the_lock_of_another() {
    let faults = Faults { late: 1, ..NONE };
    breaks(Protection::HolderCheck, ONE_RUN, Setting { faults, horizon: 4, ..Setting::PLAIN });
}

#[test]
fn without_the_deadline_from_sending_a_late_reply_starts_a_run_beyond_its_lease() {
    let faults = Faults { late: 1, cuts: 1, ..NONE };
    breaks(Protection::DeadlineFromSending, ONE_RUN, Setting { faults, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn without_the_guard_the_run_of_a_replica_that_is_gone_goes_on() {
    breaks(
        Protection::Guard,
        ONE_RUN,
        Setting { faults: Faults { crashes: 1, ..NONE }, horizon: 4, ..Setting::PLAIN },
    );
    breaks(
        Protection::Guard,
        ONE_RUN,
        Setting { faults: Faults { freezes: 1, ..NONE }, horizon: 4, ..Setting::PLAIN },
    );
}

#[test]
fn without_resent_finishes_a_tick_that_ran_runs_again() {
    let faults = Faults { losses: 1, cuts: 1, ..NONE };
    let losses: &[Loss] = &[Loss::Writes { since_last_step: false }];
    let setting = Setting { losses, faults, period: 4, horizon: 4, ..Setting::PLAIN };
    breaks(Protection::ResentFinish, ONCE, setting);
}

#[test]
fn with_a_finish_resent_for_a_run_that_goes_on_the_lock_is_free_too_soon() {
    let faults = Faults { losses: 1, cuts: 1, ..NONE };
    let setting =
        Setting { wrong_resend: Resend::Any, losses: &[Loss::Nothing], faults, horizon: 3, ..Setting::PLAIN };
    breaks(Protection::ResentFinish, ONE_RUN, setting);
}

#[test]
fn without_a_living_holder_a_tick_is_skipped_for_a_run_that_is_dead() {
    let faults = Faults { crashes: 1, ..NONE };
    breaks(
        Protection::LivingHolder,
        SKIPS,
        Setting { overlap: Overlap::Skip, faults, horizon: 5, ..Setting::PLAIN },
    );
}

#[test]
fn without_resent_finishes_a_tick_that_succeeded_is_rerun() {
    let faults = Faults { losses: 1, ..NONE };
    let losses: &[Loss] = &[Loss::Writes { since_last_step: false }];
    let on_interrupt = OnInterrupt::Rerun;
    let setting = Setting { losses, faults, on_interrupt, period: 4, horizon: 4, ..Setting::PLAIN };
    breaks(Protection::ResentFinish, ONCE, setting);
}

#[test]
fn calm_that_nobody_watched_does_not_notice_a_clock_that_is_stepped_back_and_forth() {
    let faults = Faults { jumps: 2, cuts: 1, ..NONE };
    let setting = Setting { jumps: &[-3, 3], faults, horizon: 3, ..Setting::PLAIN };
    holds("calm that was watched", setting.clone());
    finds("calm that nobody watched", ONE_RUN, Setting { watches: false, ..setting });
}

#[test]
fn a_holder_that_ignores_its_record_loses_it_to_a_claim_of_a_shorter_lease() {
    let faults = Faults { losses: 1, ..NONE };
    let setting = Setting { leases: &[6, 2], renew_every: 4, are_strangers: true, ..Setting::PLAIN };
    let setting = Setting { losses: &[Loss::Record], faults, horizon: 5, ..setting };
    finds(
        "a record that nobody looks at",
        ONE_RUN,
        Setting { looks: false, promised: &[ONE_RUN], ..setting },
    );
}

#[test]
fn a_replica_begins_a_second_run_itself_where_its_own_end_is_told_too_soon() {
    let faults = Faults { losses: 1, ..NONE };
    let setting = Setting { losses: &[Loss::Nothing], faults, horizon: 4, ..Setting::PLAIN };
    let off = Some(Protection::ResentFinish);
    let setting = Setting { wrong_resend: Resend::Any, off, promised: &[OWN_RUN], ..setting };
    holds("an end told too soon to who refuses", setting.clone());
    finds("an end told too soon", OWN_RUN, Setting { refuses_own: false, ..setting });
}

#[test]
fn two_primaries_that_both_take_writes_let_two_runs_overlap() {
    let faults = Faults { splits: 1, ..NONE };
    let setting = Setting { faults, horizon: 4, ..Setting::PLAIN };
    finds("two primaries", ONE_RUN, Setting { old_refuses: false, promised: &[ONE_RUN], ..setting.clone() });
    let (off, promised) = (Some(Protection::HolderCheck), &[ONE_RUN_OF_ONE]);
    let what = "two primaries, and nobody loses a lock";
    finds(what, ONE_RUN_OF_ONE, Setting { old_refuses: false, off, promised, ..setting });
}

#[test]
fn without_its_version_a_swap_takes_a_lock_that_was_granted_meanwhile() {
    let faults = Faults { late: 1, ..NONE };
    breaks(Protection::SwapVersion, ONE_RUN, Setting { faults, horizon: 3, ..SWAPPED });
}

#[test]
fn without_the_nonce_a_remembered_record_is_taken_for_one_that_was_made_anew() {
    let faults = Faults { losses: 1, ..NONE };
    let setting = Setting { losses: &[Loss::Record], faults, horizon: 7, ..SWAPPED };
    breaks(Protection::SwapNonce, ONE_RUN, Setting { promised: &[ONE_RUN], ..setting });
}

#[test]
fn without_its_era_a_swap_undoes_a_grant_that_a_failover_lost() {
    let faults = Faults { losses: 1, late: 1, ..NONE };
    let losses: &[Loss] = &[Loss::Writes { since_last_step: false }];
    breaks(Protection::SwapEra, ONCE, Setting { losses, faults, horizon: 3, ..SWAPPED });
}

#[test]
fn a_late_swap_is_refused_or_the_holder_counts_from_its_decision() {
    let faults = Faults { late: 1, ..NONE };
    let setting = Setting { faults, horizon: 4, promised: &[ONE_RUN], ..SWAPPED };
    holds("late swaps are refused", Setting { counts_age: false, ..setting.clone() });
    let off = Some(Protection::SwapAge);
    holds("late swaps that the holder allows for", Setting { off, ..setting.clone() });
    finds("late swaps", ONE_RUN, Setting { off, counts_age: false, ..setting });
}

/// A store that decides nothing.
const SWAPPED: Setting = Setting { swaps: true, ..Setting::PLAIN };
