//! What a job cannot reach of the replica that runs it: its secrets, its terminal, its capabilities, its descriptors. Each
//! test is an attack that worked once.

mod account;
#[path = "../support/c_program.rs"]
mod c_program;
mod descriptors;
mod exhaustion;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
mod secrets;
mod terminal;

use process::{Program, Scene};

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

/// The replica, whose jobs' output is among its lines.
fn start(scene: &Scene, variables: &[(&str, &str)]) -> Program {
    let mut command =
        scene.command(&["run", "--log-format", "json", "--node", "n", "--job-output", "stdout"]);
    Program::start(command.envs(variables.iter().copied()))
}
