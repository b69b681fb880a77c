//! What README shows of a terminal, done: its commands are run in a shell, and what they print is what is shown, but for
//! instants, durations, ids, and which replica it was.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::markdown::{Page, file};
use crate::masking::masked;
use crate::process::{Program, Scene, make_fifo};

/// A job of the jobs.toml that comes with solocron runs once a minute.
const DEADLINE: Duration = Duration::from_secs(100);

/// What a shell says by itself of a process that was killed; the number of the line is chance.
const SHELL_NOTE: &str = " Killed ";

/// A command, and what is shown of its output.
struct Step {
    command: String,
    shown: String,
}

/// The steps of `console` blocks.
fn steps(page: &Page) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in page.blocks_in("console").iter().flat_map(|block| block.lines()) {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push(Step { command: command.to_owned(), shown: String::new() }),
            None => steps.last_mut().expect("a command comes first").shown.extend([line, "\n"]),
        }
    }
    steps
}

/// A shell in a folder of its own, where `solocron` is the program under test.
struct Shell {
    program: Program,
    commands: File,
    /// The folder, as long as it is needed.
    _scene: Scene,
}

impl Shell {
    fn start(jobs: &str) -> Self {
        let scene = Scene::new(jobs);
        make_fifo(&scene.path("commands"));
        let mut bash = Command::new("bash");
        bash.args(["-c", "exec bash < commands"]);
        let folder = Path::new(env!("CARGO_BIN_EXE_solocron")).parent().expect("a folder");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a PATH"));
        let program = Program::start(scene.equip(&mut bash).env("PATH", path).env("TZ", "UTC"));
        let both = OpenOptions::new().read(true).write(true).open(scene.path("commands"));
        Self { program, commands: both.expect("the FIFO was made"), _scene: scene }
    }

    /// What a command prints.
    fn run(&mut self, command: &str) -> String {
        let before = self.program.lines().len();
        writeln!(self.commands, "{command}\necho --done--").expect("the shell reads");
        self.program.wait_for(&format!("after `{command}`"), |line| line == "--done--");
        let lines = &self.program.lines()[before..];
        let printed = lines.iter().filter(|line| *line != "--done--" && !line.contains(SHELL_NOTE));
        printed.map(|line| format!("{line}\n")).collect()
    }

    /// Runs a command until it prints what is shown.
    fn run_until_it_prints(&mut self, step: &Step) -> String {
        let deadline = SystemClock.boot().plus(DEADLINE);
        let wanted = masked(&step.shown);
        loop {
            let printed = self.run(&step.command);
            if masked(&printed) == wanted {
                return printed;
            }
            assert!(
                SystemClock.boot() < deadline,
                "`{}` prints\n{printed}\nand README shows\n{}\nmasked: {:#?}\nand {wanted:#?}\nall of it:\n{}",
                step.command,
                step.shown,
                masked(&printed),
                self.program.lines().join("\n"),
            );
            self.run("sleep 0.2");
        }
    }
}

/// The replica that runs `report`, in a screen of `status`.
fn runs_report(status: &str) -> String {
    let row = status.lines().find(|line| line.contains(" live ") && line.ends_with(" report"));
    let node = row.and_then(|row| row.split_whitespace().next());
    node.unwrap_or_else(|| panic!("no replica runs it:\n{status}")).to_owned()
}

/// `kill -9 %2`, for the replica `n2`, which is the shell's second job.
fn kill_of(node: &str) -> String {
    format!("kill -9 %{}", node.strip_prefix('n').expect("n1, n2, n3"))
}

#[test]
fn the_quick_start_goes_as_it_is_shown() {
    let page = Page::read("README.md").section(|heading| heading == "Quick start").expect("the section");
    let mut shell = Shell::start(&page.blocks_in("toml").remove(0));
    let mut holders: Option<(String, String)> = None;
    let mut killed = String::new();
    for step in steps(&page) {
        if step.command.starts_with("kill ") {
            let (shown, real) = holders.take().expect("`status` comes before");
            assert_eq!(step.command, kill_of(&shown), "it is the replica that is shown");
            shell.run(&kill_of(&real));
            killed = real;
        } else if step.shown.is_empty() {
            assert_eq!(shell.run(&step.command), "");
        } else {
            let printed = shell.run_until_it_prints(&step);
            if step.command == "solocron status" {
                holders = Some((runs_report(&step.shown), runs_report(&printed)));
            }
        }
    }
    let history = shell.run("solocron history");
    let ran_again = history.lines().find(|line| line.contains("rerun")).expect("the tick ran once more");
    assert!(!killed.is_empty() && !ran_again.contains(&killed), "{killed}:\n{history}");
}

#[test]
fn the_first_screen_of_status_is_what_it_prints() {
    let page = Page::read("README.md");
    let step = steps(&page).remove(0);
    assert_eq!(step.command, "solocron status");
    let mut shell = Shell::start(&file("jobs.toml"));
    shell.run("SOLOCRON_NODE=vm solocron run --replicas 3 > log &");
    shell.run_until_it_prints(&step);
}
