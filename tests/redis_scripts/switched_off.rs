//! Every protection that the lease protocol has is left out of the function and of the scripts alike where it is
//! switched off, and the histories reach it: they tell a protocol with it from one without.

use std::process::Command;

use solocron::lease::Protection;

use crate::pair::Pair;
use crate::support::redis_server::RedisServer;
use crate::{Reached, compare, first_seed, straight};

/// Those that `decide` has; the others are the holder's.
const OF_THE_PROTOCOL: [Protection; 8] = [
    Protection::Mark,
    Protection::MarkReset,
    Protection::LargestLease,
    Protection::Calm,
    Protection::Expect,
    Protection::Early,
    Protection::HolderCheck,
    Protection::LivingHolder,
];

/// Histories that each process compares; those of all processes together.
const HISTORIES: u128 = 6;

/// A difference must show within so many histories.
const ENOUGH: u128 = 40;

/// Tells the test that it is the process with the switches.
const CHILD: &str = "SOLOCRON_TEST_SWITCHED";

#[tokio::test]
async fn the_scripts_decide_as_the_function_does_with_any_protection_switched_off() {
    if std::env::var(CHILD).is_ok() {
        return compare_some().await;
    }
    for off in OF_THE_PROTOCOL {
        // Scripts are made once per process, and tests may share theirs.
        let test = "switched_off::the_scripts_decide_as_the_function_does_with_any_protection_switched_off";
        let output = Command::new(std::env::current_exe().expect("a test has a file"))
            .args([test, "--exact", "--nocapture"])
            .env(CHILD, "")
            .env("SOLOCRON_SWITCH_OFF", off.as_str())
            .output()
            .expect("a process");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("compared 6 histories"), "{off}: {said}");
    }
}

/// In a process with the test's switches.
async fn compare_some() {
    let server = RedisServer::start();
    let mut pair = Pair::meet(&server).await;
    let first = first_seed();
    for seed in first..first + HISTORIES {
        if let Err(difference) = compare(&mut pair, seed, &mut Reached::default(), straight).await {
            panic!("{difference}");
        }
    }
    println!("compared {HISTORIES} histories");
}

#[tokio::test]
async fn the_histories_reach_every_protection() {
    let server = RedisServer::start();
    let mut pair = Pair::meet(&server).await;
    for off in OF_THE_PROTOCOL {
        pair.function_without = Some(off);
        let mut noticed = false;
        for seed in 1..=ENOUGH {
            noticed |= compare(&mut pair, seed, &mut Reached::default(), straight).await.is_err();
            if noticed {
                break;
            }
        }
        assert!(noticed, "{off}");
    }
}
