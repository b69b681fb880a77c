//! The terminal in which somebody started the replica: who may open it types there, as whoever that is.

use std::process::Stdio;

use crate::process::{Program, Scene};
use crate::{file, printed};

#[test]
fn a_job_has_no_terminal_and_a_session_of_its_own() {
    let job = "shell = '(: < /dev/tty) 2> /dev/null && echo can type || echo has none; \
               cut -d\" \" -f6,7 /proc/$$/stat | sed \"s/^$$ /own /\"; echo over'";
    let scene = Scene::new(&file("", job));
    let words =
        format!("exec '{}' run --job-output stdout --log-format json", env!("CARGO_BIN_EXE_solocron"));
    let mut command = std::process::Command::new("script");
    scene
        .equip(&mut command)
        .args(["-qec", &words, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null());
    let mut replica = Program::start(&mut command);
    // The session and its terminal, by number.
    assert_eq!(printed(&mut replica), ["has none", "own 0"]);
}
