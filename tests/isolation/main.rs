//! What a job cannot reach of the replica that runs it: its secrets, its terminal, its capabilities, its descriptors. Each
//! test is an attack that worked once.

mod account;
#[path = "../support/c_program.rs"]
mod c_program;
mod descriptors;
mod exhaustion;
mod files;
mod memory;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod secrets;
mod terminal;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use process::{Program, Scene};

/// How replicas are started here.
const RUN: [&str; 9] =
    ["run", "--log-format", "json", "--log-level", "debug", "--node", "n", "--job-output", "stdout"];

/// A jobs.toml with one job of every second.
fn file(head: &str, job: &str) -> String {
    format!(
        "[cluster]\nname = \"test\"\nstore = \"local\"\n{head}\n[jobs.spy]\nschedule = \"* * * * * *\"\n{job}\n"
    )
}

/// What the job prints up to the line `over`.
fn printed(replica: &mut Program) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let output = replica.wait_for_event("output");
        let line = output["line"].as_str().expect("a text").to_owned();
        if line == "over" {
            return lines;
        }
        lines.push(line);
    }
}

/// The same as another user, of whom there is nothing else on the machine; only root can start it. `around` is what starts
/// setpriv, with these further flags.
fn start_as(user: &str, scene: &Scene, around: &[&str], flags: &[&str]) -> Program {
    let program = scene.give_to(user.parse().expect("a number"));
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("its owner is root");
    let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
    let words = [around, &["setpriv", &user, &group, "--clear-groups"], flags].concat();
    let mut command = Command::new(words[0]);
    scene.equip(&mut command).args(&words[1..]).arg(&program).args(RUN);
    Program::start(&mut command)
}

/// The replica, whose jobs' output is among its lines.
fn start(scene: &Scene, variables: &[(&str, &str)]) -> Program {
    let mut command = scene.command(&RUN);
    Program::start(command.envs(variables.iter().copied()))
}
