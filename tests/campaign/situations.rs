//! What broke the promise once, each as a script of its own: what it was, and that nothing is wrong now.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::checker::check;
use crate::dice::Dice;
use crate::evidence::Evidence;
use crate::fault::{Fault, Kind};
use crate::forgery::{Forger, Lie};
use crate::jobs::JobPlan;
use crate::keys::Key;
use crate::liveness::patience_ms;
use crate::pause::pause;
use crate::replica::Replica;
use crate::scripts::{JOB, let_them_run, quick_jobs, wait_until};
use crate::server::Kept;
use crate::set_back;
use crate::undo::{self, Undo};
use crate::violation::Violation;
use crate::world::{Setup, World, now_ms};
use crate::wrong_clock::{DECADE_MS, HOUR_MS};

/// A script that a machine made fail which stood still is played again.
const TRIES: usize = 3;

/// Runs that are enough to see that jobs run.
const ENOUGH: usize = 3;

/// What is done to a world, and which fault it counts as.
fn play(setup: &Setup, kind: Kind, act: impl Fn(&mut World)) {
    for _ in 0..TRIES {
        let mut world = World::start(setup);
        act(&mut world);
        let (evidence, folder) = world.finish();
        let (begun_ms, ended_ms) = (evidence.from_ms, evidence.to_ms);
        let fault = Fault { kind, target: "script".into(), begun_ms, ended_ms };
        let evidence = Evidence { faults: vec![fault], ..evidence };
        let violations: Vec<Violation> = check(&evidence);
        if violations.is_empty() {
            return;
        }
        let kept = folder.expect("nobody has taken it").keep();
        assert!(!evidence.held_up_ms.is_empty(), "{violations:?}; kept in {}", kept.display());
        println!("played again: {violations:?}, and everything stood still at {:?}", evidence.held_up_ms);
    }
    panic!("the machine stood still {TRIES} times in a row");
}

/// Two jobs of every second, whose ticks are not waited for.
fn prompt_jobs() -> Setup {
    let Setup { mut jobs, .. } = quick_jobs();
    jobs.iter_mut().for_each(|job| job.start_deadline_ms = 3_000);
    Setup { jobs, replicas: 2, ..Setup::default() }
}

/// A run that goes on, under a lock that its holder renews only now and then; at each tick it looks whether it has it.
fn one_job(lease_ms: i64, period_ms: i64) -> Setup {
    let job = JobPlan { lease_ms, ..JobPlan::new(JOB, period_ms, 80_000) };
    Setup { jobs: vec![job], replicas: 3, ..Setup::default() }
}

fn ms(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).expect("not negative"))
}

/// Jobs run while all clocks are ahead by so much; they still are afterwards.
fn run_ahead_by(world: &mut World, by_ms: i64) {
    let_them_run(world);
    world.step_all_to(by_ms);
    let_them_run(world);
}

/// Jobs run again within a lease and some seconds, and nobody has to do anything for it.
fn runs_again(world: &mut World) {
    world.skip_lines();
    let deadline = now_ms() + patience_ms(&world.jobs[0]);
    let mut runs = 0;
    while runs < ENOUGH && now_ms() < deadline {
        runs += usize::from(world.has_heard("run recorded", JOB));
        pause(Duration::from_millis(20));
    }
    assert!(runs >= ENOUGH, "{runs} runs within a lease of the right clock, {:?}", world.look());
}

#[test]
fn jobs_run_within_a_lease_of_clocks_that_were_years_ahead_and_are_right_again() {
    for by_ms in [HOUR_MS, DECADE_MS] {
        play(&prompt_jobs(), Kind::BothHour, |world| {
            run_ahead_by(world, by_ms);
            world.step_all_to(0);
            runs_again(world);
        });
    }
}

#[test]
fn jobs_run_within_a_lease_of_a_right_clock_after_a_first_start_years_ahead() {
    play(&Setup { ahead_ms: DECADE_MS, ..prompt_jobs() }, Kind::BothDecade, |world| {
        let_them_run(world);
        world.step_all_to(0);
        runs_again(world);
    });
}

#[test]
fn jobs_run_within_a_lease_of_a_failover_from_a_server_that_was_ahead() {
    play(&prompt_jobs(), Kind::FailoverAhead, |world| {
        let_them_run(world);
        wait_until("the standby to follow", || world.standby().is_following());
        world.server().clock().step_to(HOUR_MS);
        pause(Duration::from_secs(5));
        world.fail_over();
        runs_again(world);
    });
}

#[test]
fn jobs_run_within_a_lease_of_a_restart_soon_after_a_servers_clock_was_set_right() {
    play(&prompt_jobs(), Kind::RestartAhead, |world| {
        let_them_run(world);
        let clock = world.server().clock().clone();
        clock.step_to(HOUR_MS);
        pause(Duration::from_secs(5));
        clock.step_to(0);
        pause(Duration::from_secs(8));
        undo::end(world, Undo::LosePower(Kept::All));
        undo::end(world, Undo::RestartServer);
        runs_again(world);
    });
}

#[test]
fn jobs_run_within_a_lease_where_all_replicas_start_again_after_clocks_were_ahead() {
    play(&prompt_jobs(), Kind::BothHour, |world| {
        run_ahead_by(world, HOUR_MS);
        world.step_all_to(0);
        world.replicas.iter_mut().for_each(Replica::kill);
        world.replicas.iter_mut().for_each(Replica::start);
        runs_again(world);
    });
}

#[test]
fn jobs_run_within_a_lease_of_a_new_server_whatever_a_clock_ahead_left_on_disks() {
    play(&prompt_jobs(), Kind::BothHour, |world| {
        run_ahead_by(world, HOUR_MS);
        world.replicas.iter_mut().for_each(Replica::kill);
        world.step_all_to(0);
        world.about_to_forget();
        let _: () = world.server().ask(&["FLUSHALL"]);
        world.replicas.iter_mut().for_each(Replica::start);
        runs_again(world);
    });
}

#[test]
fn marks_that_are_set_back_while_the_servers_clock_is_behind_open_no_tick_that_ran() {
    play(&prompt_jobs(), Kind::ServerBehind, |world| {
        let_them_run(world);
        let clock = world.server().clock().clone();
        clock.step_to(-20_000);
        pause(Duration::from_secs(2));
        let status = set_back::begin(world).wait().expect("it is a child of this process");
        assert_eq!(status.code(), Some(1), "the command is refused");
        clock.step_to(0);
        let_them_run(world);
    });
}

#[test]
fn a_lock_is_not_given_away_while_the_servers_clock_runs_a_tenth_faster() {
    play(&one_job(40_000, 1_000), Kind::ServerSlew, |world| {
        let holder = world.wait_for_message("run started", JOB);
        let holder = world.number(&holder["node"]);
        world.wait_for_message("lock renewed", JOB);
        world.server().clock().slew(100_000);
        world.proxies[holder].cut();
        // By the server's clock the lease is over in nine tenths of its time.
        pause(Duration::from_secs(44));
    });
}

#[test]
fn a_lock_whose_record_was_deleted_is_not_given_to_one_with_a_shorter_lease() {
    play(&one_job(60_000, 30_000), Kind::DelAsked, |world| {
        world.wait_for_message("lock renewed", JOB);
        world.delete(&Key::State.names(&[JOB.to_owned()]));
        // One who has seen the record knows how long its lease is.
        world.ask_for_the_lock(JOB);
        pause(Duration::from_secs(14));
    });
}

#[test]
fn a_starting_replica_gets_no_lock_whose_record_and_job_list_were_deleted() {
    play(&one_job(60_000, 15_000), Kind::DelPair, |world| {
        let holder = world.wait_for_message("run started", JOB);
        let starts = (world.number(&holder["node"]) + 1) % world.replicas.len();
        world.replicas[starts].kill();
        world.wait_for_message("lock renewed", JOB);
        let keys = [Key::State, Key::Jobs].map(|key| key.names(&[JOB.to_owned()])).concat();
        world.delete(&keys);
        world.replicas[starts].start();
        pause(Duration::from_secs(10));
    });
}

#[test]
fn jobs_run_within_a_lease_after_any_two_keys_were_deleted_at_once() {
    play(&prompt_jobs(), Kind::DelPair, |world| {
        let_them_run(world);
        let jobs: Vec<String> = world.jobs.iter().map(|job| job.name.clone()).collect();
        for (nth, first) in Key::ALL.iter().enumerate() {
            for second in &Key::ALL[nth + 1..] {
                let keys = [first, second].map(|key| key.names(&jobs)).concat();
                world.about_to_forget();
                assert!(world.delete(&keys), "the server is up");
                runs_again(world);
            }
        }
    });
}

#[test]
fn a_tick_does_not_run_again_where_the_store_goes_back_within_its_life() {
    let Setup { jobs, replicas, .. } = quick_jobs();
    play(&Setup { jobs, replicas, ..Setup::default() }, Kind::SwapDb, |world| {
        let_them_run(world);
        world.replicas[2].signal(Signal::SIGTERM);
        assert!(world.replicas[2].wait(), "a replica did not drain");
        let back = crate::rollback::swap(world, &mut Dice::of(1)).expect("the server is up");
        let_them_run(world);
        undo::end(world, back.undo);
        world.replicas[2].start();
        world.skip_lines();
        world.wait_for("the new replica's run", |line| {
            line["message"] == "run recorded" && line["node"] == "n2"
        });
        pause(Duration::from_secs(5));
    });
}

#[test]
fn false_hints_keep_no_job_from_running() {
    play(&quick_jobs(), Kind::HintForged, |world| {
        let_them_run(world);
        let forger = Forger::begin(world, &[Lie::Decided], Dice::of(1));
        world.skip_lines();
        (0..2 * ENOUGH).for_each(|_| drop(world.wait_for_message("run recorded", JOB)));
        drop(forger);
    });
}

#[test]
fn a_false_hint_of_a_long_lease_keeps_no_job_from_running_after_a_restart() {
    play(&prompt_jobs(), Kind::HintForged, |world| {
        let_them_run(world);
        let forger = Forger::begin(world, &[Lie::LongLease], Dice::of(1));
        pause(Duration::from_secs(3));
        drop(forger);
        undo::end(world, Undo::LosePower(Kept::All));
        undo::end(world, Undo::RestartServer);
        world.skip_lines();
        pause(ms(patience_ms(&world.jobs[0])));
        assert!(world.has_heard("run recorded", JOB), "no run after the restart");
    });
}
