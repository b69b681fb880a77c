//! Jobs that multiply while they are killed, each process in a session of its own.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use solocron::time::{BootInstant, Clock, SystemClock};

use crate::c_program::compile;
use crate::process::{Program, Scene};
use crate::victims::{eventually, is_guard_of_a_run, name_of, parent_of, written};

/// So many chains of processes, each of which replaces others that are broken.
const CHAINS: u32 = 60;

/// The shortest lease there is.
const LEASE: Duration = Duration::from_secs(5);

/// The holder may have renewed a sixth of the lease before it is killed: this is left then. How much less it takes depends on
/// the machine.
const ENOUGH: Duration = Duration::from_millis(4_160);

fn start() -> (Scene, Program, Pid) {
    let scene = Scene::new(&format!(
        "cluster = {{ name = \"test\", store = \"local\" }}\n[jobs.hydra]\nschedule = \"* * * * * *\"\n\
         lease = \"{}s\"\nshell = 'echo $$ > new; mv new main; exec ./hydra alive {CHAINS} 10'\n",
        LEASE.as_secs()
    ));
    compile(&scene.path(""), "hydra", &[]);
    let replica = scene.run(&[]);
    let main = written(&scene, "main");
    let guard = parent_of(main);
    assert!(is_guard_of_a_run(&name_of(guard)));
    eventually("a sign of life of the last chain", || {
        is_every_chain_alive(&scene.path("alive")).then_some(())
    });
    (scene, replica, guard)
}

/// The file is one number, and then two words for each chain, the first of which is its last sign of life.
fn is_every_chain_alive(file: &Path) -> bool {
    let Ok(bytes) = std::fs::read(file) else { return false };
    let chains: Vec<_> = bytes.chunks_exact(16).map(|chunk| &chunk[8..]).collect();
    chains.len() >= CHAINS as usize
        && chains[..CHAINS as usize].iter().all(|alive| alive.iter().any(|byte| *byte != 0))
}

fn last_sign_of_life(file: &Path) -> BootInstant {
    let bytes = std::fs::read(file).expect("it was there");
    let alive = bytes.first_chunk().expect("a number");
    BootInstant(Duration::from_nanos(u64::from_le_bytes(*alive)))
}

#[test]
fn a_job_that_forks_as_fast_as_it_is_killed_is_dead_before_its_lease_ends() {
    let (scene, replica, _) = start();
    let killed = SystemClock.boot();
    replica.signal(Signal::SIGKILL);
    // The guard ends when nothing is left that descends from it.
    replica.wait_until_all_gone();
    let lived = last_sign_of_life(&scene.path("alive")).since(killed);
    assert!(lived < ENOUGH, "last sign of life {lived:?} after the replica's end");
}

#[test]
fn a_job_that_multiplies_does_not_outlive_its_killed_guard_either() {
    let (scene, mut replica, guard) = start();
    let killed = SystemClock.boot();
    kill(guard, Signal::SIGKILL).expect("it guards");
    assert_eq!(replica.wait_for_event("run ended")["reason"], "node_lost");
    let lived = last_sign_of_life(&scene.path("alive")).since(killed);
    assert!(lived < ENOUGH, "last sign of life {lived:?} after the guard's end");
}
