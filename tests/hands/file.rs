//! Commands without a file that is valid, or that names the job, or without any file.

use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::process::{DEADLINE, Program, Scene};
use crate::redis_server::RedisServer;
use crate::stage::{Place, Stage, file_of, shown};

/// Runs until it is killed.
const LONG: &str = "[jobs.long]\nschedule = \"* * * * * *\"\nshell = \"echo hello; sleep 600\"\n";

/// Never due by itself within a test.
const RARE: &str = "[jobs.rare]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n";

pub(crate) fn with_an_invalid_file_commands_say_so_in_one_line_and_do_their_work(place: Place) {
    let mut stage = Stage::start(place, &[LONG, RARE].concat());
    let (_, run) = stage.first_run();
    let run = run.as_str().expect("a run id").to_owned();
    stage.wait_until_known("rare");
    stage.edit(&[LONG, "retires = 2\n", RARE].concat());

    let complaint =
        "jobs.toml is invalid (1 problem): job `long`: unknown key `retires`; run `solocron check`";
    let status = stage.give(&["status"]).expect_code(0).log;
    let told = |said: &str| said.lines().filter(|line| *line == format!("warning: {complaint}")).count();
    assert_eq!(told(&status), 1, "{status}");
    let is_of = |job: &str, word: &str| {
        status.lines().any(|line| line.starts_with(job) && line.contains(word) && !line.contains("not in"))
    };
    assert!(is_of("long", shown(&run)) && is_of("rare", "in "), "the locks and what is right: {status}");
    let checked = stage.give(&["status", "--check", "--format", "json"]).expect_code(1).log;
    assert!(checked.contains("\"bad_file\""), "{checked}");

    for (words, said) in [
        (&["history"][..], "running"),
        (&["history", "long"], "running"),
        (&["pause", "long", "--reason", "incident"], "`long` is paused"),
        (&["pause", "--all"], "`rare` is paused"),
        (&["kill", "long"], "killed (operator)"),
        (&["resume", "--all"], "`long` is no longer paused"),
        (&["pause", "long"], "`long` is paused"),
        (&["exec", "--lock", "other", "--", "echo", "done"], "done"),
    ] {
        let log = stage.give(words).expect_code(0).log;
        assert!(log.contains(said) && told(&log) == 1, "{words:?}: {log}");
    }
    // A new run may have begun between the end of the pause and the next.
    stage.give(&["kill", "long"]);
    let said = stage.give(&["logs", "long", "--run", &run[..30]]).expect_code(0).log;
    assert!(said.contains("hello") && told(&said) == 1, "the kept end: {said}");
    stage.give(&["unlock", "long", "--force"]).expect_code(1);
    let said = stage.give(&["trigger", "rare", "--follow"]).expect_code(0).log;
    assert!(said.contains("succeeded on n"), "{said}");
    stage.edit(&[LONG, RARE].concat());
    stage.stop();
}

/// Waits until both replicas tell that they have loaded the file.
fn wait_until_replicas_have_the_file(stage: &Stage) {
    let deadline = SystemClock.boot().plus(DEADLINE);
    loop {
        let status = stage.ask(&["status"]);
        let replicas = status["replicas"].as_array().expect("a list");
        if replicas.len() == 2 && replicas.iter().all(|replica| replica["same_file"] == true) {
            return;
        }
        assert!(SystemClock.boot() < deadline, "they have another file: {status}");
    }
}

pub(crate) fn a_job_that_was_renamed_while_it_ran_stays_in_reach(place: Place) {
    let mut stage = Stage::start(place, LONG);
    let (holder, run) = stage.first_run();
    let run = run.as_str().expect("a run id").to_owned();
    stage.edit(&LONG.replace("long", "longer").replace("* * * * * *", "0 0 29 2 *"));
    stage.n(1).wait_for_event("jobs file loaded again");
    stage.n(2).wait_for_event("jobs file loaded again");
    stage.wait_until_known("longer");
    wait_until_replicas_have_the_file(&stage);

    let status = stage.give(&["status"]).expect_code(0).log;
    let line = status.lines().find(|line| line.starts_with("long ")).expect("it runs");
    assert!(line.contains("not in jobs.toml") && line.contains(shown(&run)), "{status}");
    let said = stage.give(&["status", "long", "--format", "json"]).expect_code(0).log;
    let json = said.find('{').expect("an object, after a note");
    let status: Value = serde_json::from_str(&said[json..]).expect("JSON");
    assert_eq!(
        (status["jobs"].as_array().map(Vec::len), &status["jobs"][0]["in_file"]),
        (Some(1), &false.into())
    );
    let history = stage.give(&["history"]).expect_code(0).log;
    assert!(history.contains("long (not in jobs.toml)"), "{history}");
    let history = stage.give(&["history", "long"]).expect_code(0).log;
    assert!(
        history.contains(shown(&run)) && history.contains("note: `long` is not in jobs.toml"),
        "{history}"
    );
    for (words, code, said) in [
        (&["pause", "long"][..], 0, "`long` is paused"),
        (&["resume", "--all"], 0, "`long` is no longer paused"),
        (&["pause", "--all"], 0, "`longer` is paused"),
        (&["resume", "long"], 0, "`long` was not paused"),
        (&["unlock", "long", "--force"], 1, "is alive"),
        (&["trigger", "long"], 1, "no live replica knows job `long`"),
        (&["logs", "long"], 0, "running"),
        (&["kill", "long"], 0, "killed (operator)"),
        (&["logs", "long"], 0, "hello"),
        (&["kill", "lnog"], 2, "did you mean `long`?"),
        (&["history", "lnog"], 2, "did you mean `long`?"),
        (&["status", "lnog"], 2, "did you mean `long`?"),
        (&["logs", "lnog"], 2, "did you mean `long`?"),
    ] {
        let log = stage.give(words).expect_code(code).log;
        assert!(log.contains(said), "{words:?}: {log}");
    }
    stage.n(holder).wait_for_event_of("run ended", |event| event["reason"] == "operator");
    stage.stop();
}

pub(crate) fn cluster_and_store_are_enough_without_a_file(place: Place) {
    let stage = Stage::start(place, RARE);
    stage.wait_until_known("rare");
    let deadline = SystemClock.boot().plus(DEADLINE);
    // A moment before it is listed, the job is known by its record.
    let status = loop {
        let status = stage.give_without_file(&["status"]).expect_code(0).log;
        if status.lines().any(|line| line.starts_with("rare")) {
            break status;
        }
        assert!(SystemClock.boot() < deadline, "{status}");
    };
    assert!(status.contains("live"), "{status}");
    assert!(!status.contains("not in jobs.toml") && !status.contains('≠'), "{status}");
    for (words, code, said) in [
        (&["trigger", "rare", "--follow"][..], 0, "succeeded on n"),
        (&["trigger", "rare", "--tick", "2026-01-02 03:04"], 2, "the time zone of `rare` is not known"),
        (&["history"], 0, "manual"),
        (&["pause", "--all"], 0, "`rare` is paused"),
        (&["resume", "rare"], 0, "is no longer paused"),
        (&["kill", "rare"], 1, "job `rare` is not running"),
        (&["kill", "raer"], 2, "there is no job `raer` in the store\n  help: did you mean `rare`?"),
    ] {
        let log = stage.give_without_file(words).expect_code(code).log;
        assert!(log.contains(said), "{words:?}: {log}");
    }
    stage.stop();
}

pub(crate) fn several_jobs_are_paused_and_resumed_at_once(place: Place) {
    let disabled = RARE.replace("rare", "retired") + "enabled = false\n";
    let stage = Stage::start(place, &[RARE, &RARE.replace("rare", "scarce"), &disabled].concat());
    stage.wait_until_known("rare");
    stage.wait_until_known("scarce");
    let said = stage.give(&["pause", "rare", "scarce", "--for", "2h"]).expect_code(0).log;
    assert!(
        said.contains("`rare` is paused until 2") && said.contains("`scarce` is paused until 2"),
        "{said}"
    );
    let said = stage.give(&["resume", "scarce", "rare"]).expect_code(0).log;
    assert_eq!(said, "`scarce` is no longer paused\n`rare` is no longer paused");
    let said = stage.give(&["pause", "--all"]).expect_code(0).log;
    assert!(said.contains("`rare` is paused") && said.contains("`scarce` is paused"), "{said}");
    assert!(!said.contains("retired"), "it has no ticks: {said}");
    let said = stage.give(&["pause", "rare", "raer"]).expect_code(2).log;
    assert!(said.contains("did you mean `rare`?"), "{said}");
    // What cannot be done for one is done for the others.
    let said = stage.give(&["resume", "retired", "rare"]).expect_code(1).log;
    assert!(said.contains("`rare` is no longer paused") && said.contains("`retired` is disabled"), "{said}");
    let said = stage.give(&["resume", "--all"]).expect_code(0).log;
    assert_eq!(said, "`scarce` is no longer paused");
    assert_eq!(stage.give(&["resume", "--all"]).expect_code(0).log, "no job was paused");
    stage.stop();
}

#[test]
fn who_may_not_list_the_jobs_of_the_store_sees_those_of_the_file() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", "-smembers"]);
    let store = server.url().replace("redis://", "redis://limited:secret@");
    let scene = Scene::new(&file_of(RARE));
    for command in ["status", "history"] {
        let said =
            Program::start(&mut scene.command(&[command, "--store", &store])).wait().expect_code(0).log;
        assert!(said.contains("note: jobs that are not in jobs.toml cannot be listed: "), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
