//! The image, as far as can be seen without a builder: all that Cargo asks for goes there.

use std::process::Command;

use crate::markdown::file;

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
    assert_eq!(copied, ["Cargo.toml", "Cargo.lock", "templates", "src"]);
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
