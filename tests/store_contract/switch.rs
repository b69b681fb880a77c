//! The mark is what keeps a tick from running twice: a test build without it grants one twice, in each store, so
//! that the checkers can be shown to notice.

use std::process::Command;
use std::time::Duration;

use solocron::job::Overlap;
use solocron::lease::{Answer, Request};

use crate::support::sample;
use crate::world::World;

/// Tells the test that it is the process with the switches.
const CHILD: &str = "SOLOCRON_TEST_SWITCHED";

/// How often one tick is granted in each store, as a process with this environment sees it.
fn grants(switched_off: &str) -> Vec<String> {
    // The switch is read once per process, and tests may share theirs.
    let output = Command::new(std::env::current_exe().expect("a test has a file"))
        .args([
            "switch::a_tick_is_granted_twice_only_where_the_mark_is_switched_off",
            "--exact",
            "--nocapture",
        ])
        .env(CHILD, "")
        .env("SOLOCRON_SWITCH_OFF", switched_off)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines().filter_map(|line| line.strip_prefix("granted ").map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_tick_is_granted_twice_only_where_the_mark_is_switched_off() {
    if std::env::var(CHILD).is_ok() {
        return claim_one_tick_three_times().await;
    }
    assert_eq!(grants(""), ["local 1", "redis 1", "postgres 1"]);
    assert_eq!(grants("mark"), ["local 3", "redis 3", "postgres 3"]);
}

/// In a process with the test's switches.
async fn claim_one_tick_three_times() {
    // What libtest says so far ends without a new line.
    println!();
    for (name, world) in
        [("local", World::local()), ("redis", World::redis()), ("postgres", World::postgres())]
    {
        println!("granted {name} {}", times_granted(&world).await);
    }
}

async fn times_granted(world: &World) -> usize {
    let replica = world.opened().await;
    let mut claim = replica.claim(Duration::ZERO).await;
    claim.overlap = Overlap::Wait;
    let mut granted = 0;
    for _ in 0..3 {
        let again = sample::claim(replica.caller().await, claim.tick);
        claim = solocron::lease::Claim { overlap: Overlap::Wait, ..again };
        match replica.ask(Request::Claim(claim.clone())).await.answer {
            Answer::Won { .. } => granted += 1,
            Answer::Decided { .. } => {}
            other => panic!("neither granted nor decided: {other:?}"),
        }
        let lease = sample::lease(&replica.record().await);
        replica.ask(Request::Finish(sample::finish(&lease, &replica.era))).await;
    }
    granted
}
