//! For each protection a schedule of faults that it survives, and that makes the checker fail as soon as it is switched
//! off. Both worlds run side by side. `CAMPAIGN_REPEAT` repeats each as often.

use solocron::lease::Protection;
use tempfile::TempDir;

use crate::checker::check;
use crate::evidence::Evidence;
use crate::fault::{Fault, Kind};
use crate::scripts;
use crate::variable;
use crate::violation::Violation;
use crate::world::{Setup, World};

/// A script that shows nothing so often in a row does not.
const TRIES: usize = 10;

/// What is done to a world that lacks a protection.
struct Script {
    without: Protection,
    setup: Setup,
    act: fn(&mut World),
    /// What is done to it, for the checker: no tick is judged by whether it ran.
    kinds: &'static [Kind],
    /// What the checker then says, or one of these.
    shows: &'static [&'static str],
}

impl Script {
    fn play(&self, off: bool) -> (Vec<Violation>, TempDir) {
        let off = off.then_some(self.without.as_str());
        let mut world = World::start(&Setup { off, ..self.setup.clone() });
        (self.act)(&mut world);
        let (evidence, folder) = world.finish();
        let (begun_ms, ended_ms) = (evidence.from_ms, evidence.to_ms);
        let fault = |kind: &Kind| Fault { kind: *kind, target: "script".into(), begun_ms, ended_ms };
        let violations = check(&Evidence { faults: self.kinds.iter().map(fault).collect(), ..evidence });
        (violations, folder.expect("nobody has taken it"))
    }

    /// What the checker must find without the protection; or all it did, and where that is kept. Scripts are a matter of
    /// milliseconds: one that a busy machine made miss them is played again.
    fn find_without(&self) -> Result<Violation, String> {
        let mut missed = String::new();
        for _ in 0..TRIES {
            let (mut violations, folder) = self.play(true);
            let shown = violations.iter().position(|violation| self.shows.contains(&violation.name()));
            match shown {
                Some(at) => return Ok(violations.swap_remove(at)),
                None => missed = format!("{violations:?}; kept in {}", folder.keep().display()),
            }
        }
        Err(missed)
    }

    /// With the protection the checker finds nothing, without it what it must find.
    fn show(&self) {
        if !cfg!(feature = "test-switches") {
            panic!("built without its switches: run `make test`, or add `--features test-switches`");
        }
        for _ in 0..variable("CAMPAIGN_REPEAT", |text| text.parse().ok()).unwrap_or(1) {
            let ((with, kept), without) = std::thread::scope(|both| {
                let without = both.spawn(|| self.find_without());
                (self.play(false), without.join().expect("the script went to its end"))
            });
            assert!(with.is_empty(), "with {}: {with:?}; kept in {}", self.without, kept.keep().display());
            match without {
                Ok(found) => println!("without {}: {found}", self.without),
                Err(missed) => panic!("without {} nothing is {:?}: {missed}", self.without, self.shows),
            }
        }
    }
}

#[test]
fn without_the_mark_a_tick_runs_on_every_replica() {
    let setup = scripts::patient_jobs();
    let (act, kinds, shows) = (scripts::let_them_run, &[][..], &["twice"][..]);
    Script { without: Protection::Mark, setup, act, kinds, shows }.show();
}

#[test]
fn without_the_reset_of_the_mark_a_failover_repeats_what_it_lost() {
    let setup = scripts::seldom_jobs();
    let (act, kinds, shows) =
        (scripts::fail_over_to_one_who_was_away, &[Kind::Failover][..], &["twice", "untrue"][..]);
    Script { without: Protection::MarkReset, setup, act, kinds, shows }.show();
}

#[test]
fn without_the_largest_lease_a_replica_with_a_shorter_one_cuts_the_wait() {
    let setup = scripts::one_with_a_shorter_lease();
    let (act, kinds, shows) = (scripts::cut_off_the_longer_lease, &[Kind::Cut][..], &["overlap"][..]);
    Script { without: Protection::LargestLease, setup, act, kinds, shows }.show();
}

#[test]
fn without_calm_a_step_of_the_stores_clock_frees_a_lock() {
    let setup = scripts::long_job();
    let (act, kinds, shows) =
        (scripts::cut_off_and_step, &[Kind::Cut, Kind::ServerAhead][..], &["overlap"][..]);
    Script { without: Protection::Calm, setup, act, kinds, shows }.show();
}

#[test]
fn without_the_expected_time_a_claim_overtakes_the_news_of_a_stepped_clock() {
    let setup = scripts::long_job();
    let (act, kinds, shows) =
        (scripts::cut_off_and_step, &[Kind::Cut, Kind::ServerAhead][..], &["overlap"][..]);
    Script { without: Protection::Expect, setup, act, kinds, shows }.show();
}

#[test]
fn without_early_a_tick_is_granted_before_its_instant() {
    let setup = scripts::quick_jobs();
    let (act, kinds, shows) = (scripts::step_back_before_ticks, &[Kind::ServerBehind][..], &["early"][..]);
    Script { without: Protection::Early, setup, act, kinds, shows }.show();
}

#[test]
fn without_the_wait_for_the_instant_what_was_asked_for_ahead_begins_ahead() {
    let setup = scripts::quick_jobs();
    let (act, kinds, shows) = (scripts::let_them_run, &[][..], &["early"][..]);
    Script { without: Protection::AtInstant, setup, act, kinds, shows }.show();
}

#[test]
fn without_the_check_of_the_holder_a_late_finish_frees_anothers_lock() {
    let setup = scripts::long_job();
    let (act, kinds, shows) = (scripts::finish_after_the_loss, &[Kind::Cut][..], &["overlap"][..]);
    Script { without: Protection::HolderCheck, setup, act, kinds, shows }.show();
}

#[test]
fn without_proof_of_life_ticks_are_skipped_for_a_run_that_died() {
    let setup = scripts::long_job();
    let (act, kinds, shows) =
        (scripts::crash_with_the_job, &[Kind::KillReplica][..], &["skipped for nothing"][..]);
    Script { without: Protection::LivingHolder, setup, act, kinds, shows }.show();
}

#[test]
fn without_limiting_resent_finishes_to_ended_runs_a_failover_frees_a_held_lock() {
    let setup = scripts::long_job();
    let (act, kinds, shows) = (scripts::fail_over_in_mid_run, &[Kind::Failover][..], &["overlap"][..]);
    Script { without: Protection::ResentFinish, setup, act, kinds, shows }.show();
}

#[test]
fn without_the_guard_the_job_of_a_killed_replica_lives_on() {
    let setup = scripts::long_job();
    let (act, kinds, shows) = (scripts::kill_the_replica, &[Kind::KillReplica][..], &["overlap"][..]);
    Script { without: Protection::Guard, setup, act, kinds, shows }.show();
}

#[test]
fn without_deadlines_from_the_sending_a_late_answer_lets_a_run_stay_too_long() {
    let setup = scripts::long_job();
    let (act, kinds, shows) = (scripts::answer_late_and_then_never, &[Kind::Hold][..], &["overstay"][..]);
    Script { without: Protection::DeadlineFromSending, setup, act, kinds, shows }.show();
}
