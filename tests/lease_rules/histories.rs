//! Random histories of honest replicas: whatever happens, runs never overlap, no tick runs twice, fences grow, and each
//! decided tick is told of.

use proptest::prelude::*;
use solocron::lease::Memory;

use crate::honest::{Step, World};

const REPLICAS: usize = 3;

fn who() -> impl Strategy<Value = usize> {
    0..REPLICAS
}

/// Steps on a store that keeps what it acknowledged.
fn remembered() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop_oneof![1_u64..2_500, 2_500_u64..12_000].prop_map(|ms| Step::Pass { ms }),
        8 => (who(), 0_u64..3, 0_usize..6, prop::bool::weighted(0.85))
            .prop_map(|(who, back, policy, has_renewed_lately)| Step::Claim { who, back, policy, has_renewed_lately }),
        1 => who().prop_map(|who| Step::Repeat { who }),
        1 => (who(), 0_usize..2).prop_map(|(who, policy)| Step::Manual { who, policy }),
        5 => (who(), prop::bool::weighted(0.8)).prop_map(|(who, has_renewed_lately)| Step::Renew { who, has_renewed_lately }),
        4 => (who(), any::<bool>()).prop_map(|(who, is_interrupted)| Step::Finish { who, is_interrupted }),
        1 => who().prop_map(|who| Step::Abandon { who }),
        1 => who().prop_map(|who| Step::Crash { who }),
        2 => (who(), any::<bool>()).prop_map(|(who, is_cut_off)| Step::CutOff { who, is_cut_off }),
        1 => (0_u64..10).prop_map(|seconds| Step::Pause { seconds }),
    ]
}

/// The same on a store that forgets.
fn forgetful() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => remembered(),
        1 => Just(Step::Copy),
        1 => (0_usize..4, 0..=REPLICAS)
            .prop_map(|(how, then_cut_off)| Step::Forget { how, then_cut_off }),
    ]
}

fn holds(memory: Memory, replicas: usize, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut world = World::new(memory, replicas);
    for step in steps {
        let step = within(step, replicas);
        world.take(step).map_err(|wrong| TestCaseError::fail(format!("after {step:?}: {wrong}")))?;
    }
    Ok(())
}

/// The same step by a replica that is there.
fn within(mut step: Step, replicas: usize) -> Step {
    match &mut step {
        Step::Claim { who, .. }
        | Step::Repeat { who }
        | Step::Manual { who, .. }
        | Step::Renew { who, .. }
        | Step::Finish { who, .. }
        | Step::Abandon { who }
        | Step::Crash { who }
        | Step::CutOff { who, .. } => *who %= replicas,
        Step::Pass { .. } | Step::Pause { .. } | Step::Copy | Step::Forget { .. } => {}
    }
    step
}

/// At least so many cases; more where the surroundings ask for more (`make random`).
fn config(cases: u32) -> ProptestConfig {
    let asked_for = ProptestConfig::default();
    ProptestConfig {
        cases: cases.max(asked_for.cases),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..asked_for
    }
}

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn on_a_store_that_remembers_each_tick_runs_once_and_is_told_of_once(
        is_durable in any::<bool>(),
        replicas in 2..=REPLICAS,
        steps in prop::collection::vec(remembered(), 1..120),
    ) {
        holds(if is_durable { Memory::Durable } else { Memory::Forgetful }, replicas, steps)?;
    }

    #[test]
    fn on_a_store_that_forgets_no_tick_runs_twice_and_no_runs_overlap(
        replicas in 2..=REPLICAS,
        steps in prop::collection::vec(forgetful(), 1..120),
    ) {
        holds(Memory::Forgetful, replicas, steps)?;
    }
}

/// The same histories in a process of their own, with a protection switched off.
#[cfg(feature = "test-switches")]
fn outcome(switched_off: &str) -> std::process::Output {
    let test = "histories::on_a_store_that_remembers_each_tick_runs_once_and_is_told_of_once";
    std::process::Command::new(std::env::current_exe().expect("a test has a file"))
        .args([test, "--exact"])
        .env("SOLOCRON_SWITCH_OFF", switched_off)
        .output()
        .expect("a process")
}

#[cfg(feature = "test-switches")]
#[test]
fn the_histories_notice_that_the_mark_is_switched_off() {
    assert!(outcome("").status.success());
    let off = outcome("mark");
    let said = String::from_utf8_lossy(&off.stderr).into_owned() + &String::from_utf8_lossy(&off.stdout);
    assert!(!off.status.success() && said.contains("Test failed: after"), "{said}");
}
