//! `import crontab` and completions as they are called.

#[path = "support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use process::Scene;

/// What a command prints that reads this.
fn output(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env("TZ", "Europe/Berlin").spawn().expect("the program");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("our child")
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_crontab_becomes_a_file_that_check_accepts_and_what_is_missing_is_told() {
    let scene = Scene::new("");
    let crontab =
        "MAILTO=ops@example.org\n# nightly\n30 2 * * * /usr/local/bin/backup --all\n61 * * * * broken\n";
    let made = output(&mut scene.command(&["import", "crontab", "-"]), crontab);
    let (toml, said) = texts(&made);
    assert_eq!(made.status.code(), Some(0), "{said}");
    assert!(toml.contains("# nightly\n[jobs.backup]\nschedule = \"30 2 * * *\"\n"), "{toml}");
    assert!(toml.contains("timezone = \"Europe/Berlin\""), "{toml}");
    for line in [
        "warning: standard input:1: not carried over: MAILTO=ops@example.org",
        "warning: standard input:4: not carried over: 61 * * * * broken",
        "standard input: 1 job converted, 2 lines not carried over",
    ] {
        assert!(said.lines().any(|told| told == line), "{said}");
    }
    std::fs::write(scene.path("jobs.toml"), toml).expect("a writable folder");
    let checked = output(&mut scene.command(&["check"]), "");
    assert_eq!(checked.status.code(), Some(0), "{:?}", texts(&checked));
}

#[test]
fn a_file_is_read_in_the_systems_form_where_it_is_asked_for() {
    let scene = Scene::new("");
    std::fs::write(scene.path("crontab"), "@daily root /opt/report\n").expect("a writable folder");
    let (toml, _) = texts(&output(&mut scene.command(&["import", "crontab", "crontab", "--system"]), ""));
    assert!(toml.contains("user = \"root\"\nshell = \"/opt/report\"\n"), "{toml}");
    let (toml, said) = texts(&output(&mut scene.command(&["import", "crontab", "crontab"]), ""));
    assert!(toml.contains("shell = \"root /opt/report\"\n") && said.contains("`--system`"), "{said}");
}

#[test]
fn without_a_single_job_nothing_is_printed_and_it_fails() {
    let scene = Scene::new("");
    for (crontab, told) in [("@reboot x\n", "has no entry that could be converted"), ("", "has no entry")] {
        let made = output(&mut scene.command(&["import", "crontab", "-"]), crontab);
        let (toml, said) = texts(&made);
        assert_eq!((made.status.code(), toml.as_str()), (Some(1), ""), "{said}");
        assert!(said.contains(told), "{said}");
    }
    let made = output(&mut scene.command(&["import", "crontab", "missing"]), "");
    assert_eq!(made.status.code(), Some(1));
    assert!(texts(&made).1.contains("missing cannot be read (No such file"), "{:?}", texts(&made));
}

const JOBS: &str = "[cluster]\nstore = \"redis://127.0.0.1:1/0\"\nname = \"${UNSET}\"\n[jobs.backup]\n[jobs.bill]\n[jobs.other]\n";

/// The answers to a shell in which these words were typed.
fn completed(scene: &Scene, words: &[&str]) -> Vec<String> {
    let mut command = scene.command(&[&["--", "solocron"], words].concat());
    command.env("SOLOCRON_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true").env("_CLAP_IFS", "\n");
    let (out, err) = texts(&output(&mut command, ""));
    assert_eq!(err, "");
    out.lines().map(str::to_owned).collect()
}

#[test]
fn names_of_jobs_are_completed_from_the_file_in_reach_without_its_store() {
    let scene = Scene::new(JOBS);
    for command in ["trigger", "pause", "resume", "kill", "unlock", "history", "logs", "next"] {
        assert_eq!(completed(&scene, &[command, "b"]), ["backup", "bill"], "{command}");
    }
    assert_eq!(completed(&scene, &["exec", "--job", "o"]), ["other"]);
    assert_eq!(completed(&scene, &["exec", "--lock", "o"]), ["other"]);
    assert_eq!(completed(&scene, &["his"]), ["history"]);
    std::fs::write(scene.path("b.toml"), "[jobs.elsewhere]\n").expect("a writable folder");
    let named = scene.path("b.toml").display().to_string();
    assert_eq!(completed(&scene, &["--config", &named, "kill", "e"]), ["elsewhere"]);
    std::fs::remove_file(scene.path("jobs.toml")).expect("it is there");
    assert_eq!(completed(&scene, &["kill", "b"]), Vec::<String>::new());
}

#[test]
fn each_shell_gets_a_script_that_asks_the_program() {
    let scene = Scene::new("");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (script, said) = texts(&output(&mut scene.command(&["completions", shell]), ""));
        assert!(
            script.contains("SOLOCRON_COMPLETE") && script.contains("solocron"),
            "{shell}: {script}{said}"
        );
    }
}
