//! The embedded store between time namespaces: one machine, one file, and boot clocks that differ.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use solocron::job::Overlap;
use solocron::lease::{Answer, Request};
use solocron::store::{LocalStore, Store};
use solocron::time::SystemClock;

use crate::support::sample;
use crate::world::{Replica, World, cluster, file, patiently};

/// Names the file to the process in the other time namespace.
const FILE: &str = "SOLOCRON_TEST_TIME_FILE";

/// What that process prints before the time in which the lock frees itself, in milliseconds.
const FREES_IN: &str = "frees in ";

#[tokio::test]
async fn a_lock_ends_at_the_same_moment_in_every_time_namespace() {
    // The test starts itself as the process in the other namespace.
    if let Some(path) = std::env::var_os(FILE) {
        return ask_for_the_lock(Path::new(&path)).await;
    }
    for ahead in ["100000", "-5"] {
        let world = World::local();
        world.opened().await.win().await;
        let World::Local(folder) = &world else { unreachable!("it was made local") };
        let output = Command::new("unshare")
            .args(["--time", "--boottime", ahead, "--fork", "--"])
            .arg(std::env::current_exe().expect("a test has a file"))
            .args(["a_lock_ends_at_the_same_moment_in_every_time_namespace", "--nocapture"])
            .env(FILE, file(folder))
            .stderr(Stdio::inherit())
            .output()
            .expect("util-linux");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let frees_in = said.lines().find_map(|line| line.strip_prefix(FREES_IN)?.parse().ok());
        let frees_in = Duration::from_millis(frees_in.unwrap_or_else(|| panic!("{said}")));
        assert!(frees_in > Duration::ZERO && frees_in <= sample::LEASE, "{ahead} s ahead: {frees_in:?}");
    }
}

/// Asks, as one replica more, for the lock that another holds.
async fn ask_for_the_lock(path: &Path) {
    let store = LocalStore::start(path, cluster(), Box::new(SystemClock)).expect("a local disk");
    let era = patiently(|| store.pulse(None)).await.expect("a pulse").era;
    let replica = Replica { store: std::sync::Arc::new(store), era };
    let mut claim = replica.claim(Duration::ZERO).await;
    claim.overlap = Overlap::Wait;
    match replica.ask(Request::Claim(claim)).await.answer {
        // What libtest says so far ends without a new line.
        Answer::Held { frees_in, .. } => println!("\n{FREES_IN}{}", frees_in.as_millis()),
        other => panic!("the lock is held: {other:?}"),
    }
}
