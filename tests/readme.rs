//! What the README shows is true: its files load, its commands exist, and its Redis user may do what is needed. Of its
//! image that is looked at which can be without a builder: what goes there is all that Cargo asks for.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;

use std::path::Path;
use std::process::Command;

use clap::Parser;
use nix::sys::signal::Signal;
use process::{Program, Scene};
use redis_server::RedisServer;
use solocron::cli::Cli;
use solocron::config::{Overrides, Source, load, render};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of the README in this language.
fn blocks(language: &str) -> Vec<String> {
    let readme = file("README.md");
    let mut blocks: Vec<String> = Vec::new();
    let mut within = false;
    for line in readme.lines() {
        match line.strip_prefix("```") {
            Some(opened) if !within => {
                within = opened == language;
                if within {
                    blocks.push(String::new());
                }
            }
            Some(_) => within = false,
            None if within => blocks.last_mut().expect("it was pushed").extend([line, "\n"]),
            None => {}
        }
    }
    assert!(!blocks.is_empty(), "the README has {language}");
    blocks
}

/// The commands of the README's `sh` blocks, without their comments.
fn commands() -> Vec<Vec<String>> {
    let line = |line: &str| words(line.split(" # ").next().unwrap_or(line));
    blocks("sh").iter().flat_map(|block| block.lines().map(line).collect::<Vec<_>>()).collect()
}

/// The words of a command line; quotes hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_jobs_toml_is_accepted_without_a_warning() {
    for text in blocks("toml").into_iter().chain([file("jobs.toml")]) {
        let source = Source::new("README.md", text);
        let warnings = match load(&source, &Overrides::default(), &|_| None) {
            Ok((config, warnings)) => {
                assert!(!config.jobs.is_empty());
                warnings
            }
            Err(problems) => panic!("{}", render(problems.as_slice(), &source, false)),
        };
        assert!(warnings.is_empty(), "{}", render(&warnings, &source, false));
    }
}

#[test]
fn the_two_first_commands_are_there_and_do_exist() {
    let first: Vec<String> = blocks("sh").remove(0).lines().map(str::to_owned).collect();
    assert_eq!(first, ["cargo run --release -- run --replicas 3", "make test"]);
    assert!(file("Makefile").contains("\ntest: "));
    assert!(file(".ci/run").contains("\nmake test\n"));
}

#[test]
fn every_command_line_is_understood() {
    let mut seen = 0;
    for command in commands() {
        let own = match command.iter().position(|word| word == "--") {
            Some(at) if command.starts_with(&["cargo".to_owned(), "run".to_owned()]) => &command[at + 1..],
            _ if command.first().is_some_and(|word| word == "solocron") => &command[1..],
            _ => continue,
        };
        let arguments = ["solocron"].into_iter().chain(own.iter().map(String::as_str));
        if let Err(error) = Cli::try_parse_from(arguments) {
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{command:?}: {error}");
        }
        seen += 1;
    }
    assert!(seen > 10, "only {seen} command lines were found");
}

#[test]
fn every_command_of_the_help_is_in_the_readme() {
    let help = Program::start(Scene::new("").command(&["--help"]).current_dir("/")).wait().expect_code(0).log;
    let listed: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for name in &listed {
        assert!(
            commands().iter().any(|words| words.starts_with(&["solocron".to_owned(), (*name).to_owned()])),
            "{name}"
        );
    }
    for name in [
        "run",
        "check",
        "next",
        "status",
        "history",
        "logs",
        "reload",
        "pause",
        "resume",
        "kill",
        "trigger",
        "unlock",
        "exec",
        "completions",
        "man",
    ] {
        assert!(listed.contains(&name), "{name} is not in:\n{help}");
    }
}

#[test]
fn every_variable_of_run_is_in_the_readme() {
    let help = Program::start(Scene::new("").command(&["run", "--help"]).current_dir("/")).wait().log;
    let readme = file("README.md");
    let variables: Vec<&str> =
        help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next()).collect();
    assert!(variables.len() > 5, "{help}");
    for name in variables {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_redis_user_may_do_what_is_needed() {
    let rule = blocks("text")
        .into_iter()
        .find(|block| block.starts_with("ACL SETUSER solocron"))
        .expect("the ACL line");
    let server = RedisServer::start();
    let said = server.cli(&words(&rule).iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(said, "OK");
    let scene = Scene::new(
        "[cluster]\nname = \"billing\"\nstore = \"${STORE}\"\n[jobs.a]\nschedule = \"* * * * * *\"\nshell = \"true\"\n",
    );
    let url = server.url().replace("redis://", "redis://solocron:PASSWORD@").replace("/0", "/1");
    let start = |args: &[&str]| Program::start(scene.command(args).env("STORE", &url));
    let mut replica = start(&["run", "--log-format", "json", "--log-level", "debug"]);
    replica.wait_for_event("run recorded");
    start(&["status"]).wait().expect_code(0);
    start(&["history"]).wait().expect_code(0);
    start(&["pause", "a"]).wait().expect_code(0);
    start(&["resume", "a"]).wait().expect_code(0);
    start(&["exec", "--lock", "b", "--", "true"]).wait().expect_code(0);
    replica.signal(Signal::SIGTERM);
    let log = replica.wait().expect_code(0).log;
    assert!(!log.contains("store is set up"), "what may not be read is no warning:\n{log}");
    let refused = server.cli(&["ACL", "LOG"]);
    let lines: Vec<&str> = refused.lines().collect();
    let objects = lines.windows(2).filter(|pair| pair[0] == "object").map(|pair| pair[1]);
    assert!(objects.eq(["config|get"]), "nothing but the optional right was refused:\n{refused}");
    assert!(file("README.md").contains("`+config|get`"));
}

/// What the Dockerfile copies from the project.
fn copied(dockerfile: &str) -> Vec<&str> {
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    let from_project = copies.filter(|copy| !copy.starts_with("--from"));
    from_project.flat_map(|copy| copy.rsplit_once(' ').expect("a source and a target").0.split(' ')).collect()
}

#[test]
fn what_the_image_is_built_from_goes_to_the_builder() {
    let (dockerfile, ignored) = (file("Dockerfile"), file(".dockerignore"));
    let copied = copied(&dockerfile);
    assert_eq!(copied, ["Cargo.toml", "Cargo.lock", "src"]);
    for source in copied {
        assert!(
            ignored.lines().any(|line| line == format!("!{source}")),
            "{source} is left out by .dockerignore"
        );
    }
}

#[test]
fn cargo_finds_all_that_it_asks_for_under_the_empty_program() {
    let builder = tempfile::tempdir().expect("a folder for temporary files");
    for name in ["Cargo.toml", "Cargo.lock"] {
        std::fs::write(builder.path().join(name), file(name)).expect("the folder can be written to");
    }
    let dockerfile = file("Dockerfile");
    let first_run = dockerfile.split_once("RUN ").and_then(|(_, rest)| rest.split_once("&& cargo build"));
    let empty_program = first_run.expect("the dependencies are built first").0.replace("\\\n", " ");
    let made = Command::new("sh").args(["-ec", &empty_program]).current_dir(&builder).status();
    assert!(made.expect("there is a shell").success(), "{empty_program}");

    // A program that is not there: Cargo reads everything before it says so, and builds nothing.
    let build = ["build", "--release", "--locked", "--offline", "--bin", "nothing"];
    let built =
        Command::new(env!("CARGO")).args(build).current_dir(&builder).output().expect("Cargo runs the tests");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(said.contains("no bin target named `nothing`"), "{said}");
}
