//! With all protections on no history breaks a promise. `make model` explores further.

use solocron::job::{OnInterrupt, Overlap};

use crate::explore::holds;
use crate::promise::{ONE_RUN_OF_ONE, OWN_RUN};
use crate::setting::{Faults, Loss, Setting};

const NONE: Faults = Setting::PLAIN.faults;

const LOSSES: &[Loss] = &[
    Loss::Nothing,
    Loss::Writes { since_last_step: false },
    Loss::Writes { since_last_step: true },
    Loss::Everything,
    Loss::Flush,
    Loss::Record,
];

/// A number in the environment: how much further to explore than `make test` does.
fn more(variable: &str) -> u8 {
    std::env::var(variable).map_or(0, |value| value.parse().expect("a small number"))
}

/// Explores a setting, as far as the environment says.
fn explore(what: &str, setting: Setting) {
    let further = more("SOLOCRON_MODEL_FAULTS");
    let add = |count: u8| if count > 0 { count + further } else { 0 };
    let Faults { late, crashes, freezes, cuts, losses, jumps, splits } = setting.faults;
    let faults = Faults {
        late: add(late),
        crashes: add(crashes),
        freezes: add(freezes),
        cuts: add(cuts),
        losses: add(losses),
        jumps: add(jumps),
        splits: add(splits),
    };
    holds(what, Setting { faults, horizon: setting.horizon + more("SOLOCRON_MODEL_STEPS"), ..setting });
}

#[test]
fn late_lost_and_repeated_messages() {
    explore("messages", Setting { faults: Faults { late: 1, ..NONE }, horizon: 5, ..Setting::PLAIN });
    explore("two messages", Setting { faults: Faults { late: 2, ..NONE }, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn crashes_and_pauses_beyond_the_lease() {
    let faults = Faults { crashes: 1, freezes: 1, ..NONE };
    explore("crashes and pauses", Setting { faults, horizon: 4, ..Setting::PLAIN });
    let setting = Setting { leases: &[4, 2], faults, horizon: 4, ..Setting::PLAIN };
    explore("crashes and pauses, two leases", setting);
}

#[test]
fn crashes_and_partitions_with_late_messages() {
    let faults = Faults { crashes: 1, late: 1, ..NONE };
    explore("crashes and messages", Setting { faults, horizon: 3, ..Setting::PLAIN });
    let faults = Faults { cuts: 1, late: 1, ..NONE };
    explore("cuts and messages", Setting { faults, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn skips_and_reruns() {
    let faults = Faults { crashes: 1, freezes: 1, ..NONE };
    explore("skips", Setting { faults, overlap: Overlap::Skip, horizon: 4, ..Setting::PLAIN });
    let on_interrupt = OnInterrupt::Rerun;
    explore("reruns", Setting { faults, on_interrupt, horizon: 4, period: 3, ..Setting::PLAIN });
}

#[test]
fn skips_and_reruns_of_a_store_that_forgets() {
    let faults = Faults { losses: 1, crashes: 1, ..NONE };
    let setting = Setting { losses: LOSSES, faults, horizon: 3, ..Setting::PLAIN };
    explore("skips and losses", Setting { overlap: Overlap::Skip, ..setting.clone() });
    explore("reruns and losses", Setting { on_interrupt: OnInterrupt::Rerun, period: 3, ..setting });
}

#[test]
fn losses_of_memory_and_partitions() {
    let faults = Faults { losses: 1, cuts: 1, ..NONE };
    explore("losses and cuts", Setting { losses: LOSSES, faults, horizon: 4, ..Setting::PLAIN });
    let setting = Setting { leases: &[4, 2], losses: LOSSES, faults, horizon: 4, ..Setting::PLAIN };
    explore("losses and cuts, two leases", setting);
}

#[test]
fn two_losses_of_memory() {
    let faults = Faults { losses: 2, ..NONE };
    explore("two losses", Setting { losses: LOSSES, faults, horizon: 4, ..Setting::PLAIN });
}

#[test]
fn losses_of_memory_with_late_messages() {
    let faults = Faults { losses: 1, late: 1, ..NONE };
    explore("losses and messages", Setting { losses: LOSSES, faults, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn lost_writes_with_late_messages() {
    let faults = Faults { losses: 1, late: 1, ..NONE };
    // A grant that nobody heard, and that a failover brings back, needs more time than other losses.
    explore(
        "lost writes and messages",
        Setting { losses: &LOSSES[1..2], faults, horizon: 4, ..Setting::PLAIN },
    );
}

#[test]
fn losses_of_memory_with_crashes() {
    let faults = Faults { losses: 1, crashes: 1, ..NONE };
    explore("losses and crashes", Setting { losses: LOSSES, faults, horizon: 4, ..Setting::PLAIN });
}

#[test]
fn a_clock_that_is_stepped() {
    let faults = Faults { jumps: 2, cuts: 1, ..NONE };
    explore("jumps and cuts", Setting { jumps: &[-3, 3], faults, horizon: 3, ..Setting::PLAIN });
    let faults = Faults { jumps: 1, freezes: 1, ..NONE };
    explore("jumps and pauses", Setting { jumps: &[-3, 3], faults, horizon: 4, ..Setting::PLAIN });
    let faults = Faults { jumps: 1, late: 1, ..NONE };
    explore("jumps and messages", Setting { jumps: &[-3, 3], faults, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn losses_of_memory_and_a_clock_that_is_stepped() {
    let faults = Faults { losses: 1, jumps: 1, ..NONE };
    let setting = Setting { losses: LOSSES, jumps: &[-3, 3], faults, horizon: 3, ..Setting::PLAIN };
    explore("losses and jumps", setting);
}

#[test]
fn no_claim_that_knows_only_a_short_lease_overlaps_a_run_with_a_deleted_record() {
    let faults = Faults { losses: 1, ..NONE };
    let setting = Setting { leases: &[6, 2], renew_every: 4, are_strangers: true, ..Setting::PLAIN };
    explore("a record", Setting { losses: &[Loss::Record], faults, horizon: 5, ..setting });
}

#[test]
fn a_primary_that_was_replaced_and_takes_no_writes() {
    let faults = Faults { splits: 1, ..NONE };
    explore("two primaries", Setting { faults, horizon: 5, ..Setting::PLAIN });
    let faults = Faults { splits: 1, cuts: 1, ..NONE };
    explore("two primaries and cuts", Setting { faults, horizon: 3, ..Setting::PLAIN });
}

#[test]
fn two_primaries_that_serve_let_runs_overlap_no_longer_than_they_do() {
    let faults = Faults { splits: 1, ..NONE };
    let setting =
        Setting { faults, old_refuses: false, promised: &[OWN_RUN, ONE_RUN_OF_ONE], ..Setting::PLAIN };
    explore("two primaries that serve", Setting { horizon: 4, ..setting });
}

#[test]
fn three_replicas() {
    let leases = &[2, 2, 3];
    let faults = Faults { crashes: 1, ..NONE };
    explore("three replicas, crashes", Setting { leases, faults, horizon: 4, ..Setting::PLAIN });
    let faults = Faults { losses: 1, ..NONE };
    let setting = Setting { leases, losses: LOSSES, faults, horizon: 3, ..Setting::PLAIN };
    explore("three replicas, losses", setting);
}

#[test]
fn something_runs_again_once_faults_stop() {
    let recovers = true;
    let faults = Faults { crashes: 1, freezes: 1, ..NONE };
    explore("after crashes and pauses", Setting { faults, recovers, horizon: 4, ..Setting::PLAIN });
    let faults = Faults { losses: 1, cuts: 1, ..NONE };
    let setting = Setting { losses: LOSSES, faults, recovers, horizon: 3, ..Setting::PLAIN };
    explore("after losses and cuts", setting);
    let faults = Faults { jumps: 1, late: 1, ..NONE };
    let setting = Setting { jumps: &[-3, 3], faults, recovers, horizon: 3, ..Setting::PLAIN };
    explore("after jumps and messages", setting);
}

#[test]
fn swaps_that_are_late_lost_or_repeated() {
    let swapped = Setting { swaps: true, ..Setting::PLAIN };
    explore("swaps", Setting { faults: Faults { late: 1, ..NONE }, horizon: 4, ..swapped.clone() });
    let faults = Faults { crashes: 1, late: 1, ..NONE };
    explore("crashes and swaps", Setting { faults, horizon: 3, ..swapped });
}

#[test]
fn swaps_on_a_store_that_forgets() {
    let faults = Faults { losses: 1, late: 1, ..NONE };
    let losses = &[Loss::Writes { since_last_step: true }, Loss::Everything, Loss::Record];
    explore("losses and swaps", Setting { losses, faults, horizon: 3, swaps: true, ..Setting::PLAIN });
}
