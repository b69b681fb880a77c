//! `status --watch`: on a terminal it has the screen until it is left, and gives everything back; elsewhere it only prints.

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{Program, Scene, make_fifo, say_to};
use crate::stage::file_of;

/// What changes to the other screen of a terminal, and back.
const SCREENS: [&str; 2] = ["\u{1b}[?1049h", "\u{1b}[?1049l"];

/// A replica, and a command on a terminal whose keys come from a FIFO. After the command, the shell tells its exit code and how
/// the terminal is set.
fn on_terminal(words: &str) -> (Scene, Program, Program) {
    let scene = Scene::new(&file_of("[jobs.hand]\nschedule = \"0 0 29 2 *\"\ncommand = [\"true\"]\n"));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    make_fifo(&scene.path("keys"));
    // The shell lives on after Ctrl-C.
    let line = "trap : INT; sh -c 'tty; echo pid $$; exec $SOLOCRON $WORDS'; echo code $?; stty -a";
    let mut command = Command::new("sh");
    scene.equip(&mut command).args(["-c", "exec script -qec \"$LINE\" /dev/null <> keys"]);
    command.env("LINE", line).env("SHELL", "/bin/sh").env("TERM", "xterm").env("WORDS", words);
    let shell = Program::start(command.env("SOLOCRON", env!("CARGO_BIN_EXE_solocron")));
    (scene, replica, shell)
}

/// Asserts that the former screen and settings of the terminal are back.
fn assert_left(said: &str, code: i32) {
    let [entered, left] =
        SCREENS.map(|screen| said.match_indices(screen).map(|(at, _)| at).collect::<Vec<_>>());
    assert!(entered.len() == 1 && left.len() == 1 && entered < left, "{said:?}");
    let (_, after) = said.split_at(left[0]);
    assert!(after.contains(&format!("code {code}\n")), "{said:?}");
    for set in [" icanon ", " echo ", "susp = ^Z"] {
        assert!(after.contains(set), "{set}: {said:?}");
    }
}

#[test]
fn a_watch_on_a_terminal_gives_the_screen_back_when_it_is_left_in_any_way() {
    for (way, code) in [("q", 0), ("\u{3}", 130), ("SIGTERM", 143)] {
        let (scene, _replica, mut shell) = on_terminal("status --watch");
        let pid = shell.wait_for("with its pid", |line| line.starts_with("pid "));
        shell.wait_for("of its table", |line| line.contains("HEARTBEAT"));
        if way == "SIGTERM" {
            let pid = pid.trim_start_matches("pid ").trim().parse().expect("a number");
            kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it is there");
        } else {
            say_to(&scene.path("keys"), way);
        }
        assert_left(&shell.wait().log, code);
    }
}

#[test]
fn a_watch_keeps_to_the_size_of_its_terminal_when_that_gets_smaller() {
    let (_scene, _replica, mut shell) = on_terminal("status --watch");
    let terminal = shell.wait_for("with its name", |line| line.starts_with("/dev/"));
    shell.wait_for("of its table", |line| line.contains("HEARTBEAT"));
    let resized = Command::new("stty").args(["-F", &terminal, "rows", "4", "cols", "80"]).status();
    assert!(resized.expect("a program").success());
    shell.wait_for("about the rest", |line| line.ends_with(" more lines; a taller terminal shows them"));
}

#[test]
fn a_watch_that_fails_gives_the_screen_back_before_it_says_why() {
    let (_scene, _replica, shell) = on_terminal("status nobody --watch");
    let said = shell.wait().log;
    assert_left(&said, 2);
    let (_, after) = said.split_once(SCREENS[1]).expect("it was left");
    assert!(after.contains("error: there is no job `nobody`"), "{said:?}");
}

#[test]
fn a_watch_in_a_pipe_prints_one_text_after_the_other_and_nothing_for_a_terminal() {
    let scene = Scene::new(&file_of("[jobs.hand]\nschedule = \"0 0 29 2 *\"\ncommand = [\"true\"]\n"));
    let mut replica = scene.run(&[]);
    replica.wait_for_event("replica started");
    let mut watch = Program::start(&mut scene.command(&["status", "--watch"]));
    for _ in 0..2 {
        watch.wait_for("of its table", |line| line.contains("HEARTBEAT"));
    }
    assert!(!watch.lines().iter().any(|line| line.contains('\u{1b}')), "{:?}", watch.lines());
    watch.signal(Signal::SIGTERM);
    assert_eq!(watch.wait().status.code(), None, "it has no handler");
}
