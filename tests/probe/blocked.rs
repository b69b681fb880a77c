//! The embedded store while a program does not end its write: what `status` makes of it.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use crate::process::Scene;
use crate::said::{said, wrong};

const JOBS: &str = r#"
[cluster]
store = "local"
[jobs.a]
schedule = "* * * * * *"
lease = "5s"
command = ["true"]
"#;

/// A shell of SQLite that has begun to write.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn status_names_the_process_that_keeps_everybody_from_writing() {
    let scene = Scene::new(JOBS);
    let mut replica = scene.run(&[]);
    replica.wait_for_event("run ended");
    let (text, code) = said(&scene, "local", &["status", "--check"]);
    assert!(text.starts_with("ok") && code == 0, "{text}");

    let mut shell = Command::new("sqlite3");
    let shell = shell.arg(scene.path("state/store.sqlite3")).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut shell = Shell(shell.spawn().expect("a tool of these tests"));
    let input = shell.0.stdin.as_mut().expect("a pipe");
    input.write_all(b".timeout 10000\nBEGIN IMMEDIATE;\n").expect("it reads");

    let named =
        format!("no replica can write to the store, so no job runs: process {} (sqlite3)", shell.0.id());
    wrong(&scene, "local", &named);

    drop(shell);
    replica.signal(Signal::SIGTERM);
    replica.wait();
}
