//! What a file that was loaded again changes, and what it leaves alone.

use std::os::unix::fs::symlink;

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use super::process::{Program, Scene, make_fifo, say_to};
use super::{BAD, LOADED, file, run_after, said_at, says, tick};

/// Reads the FIFO `go` in each run, with its end trapped: it goes on until somebody writes.
const WAITING: &str =
    "schedule = \"* * * * * *\"\nshell = \"echo it waits; read word < go; echo told to $word\"";

/// What only looking now and then finds out comes later than this.
const AT_ONCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(4);

/// A folder whose file is `config/jobs.toml`.
fn scene(jobs: &[(&str, &str)]) -> Scene {
    let scene = Scene::new("");
    make_fifo(&scene.path("go"));
    put(&scene, &file(jobs));
    scene
}

/// Puts another file into the place of `config/jobs.toml`, in a way that no watch of a folder tells of: a link in the
/// midst of its path leads elsewhere.
fn put(scene: &Scene, text: &str) {
    let versions = std::fs::read_dir(scene.path(".")).expect("a folder").count();
    let version = format!("version-{versions}");
    std::fs::create_dir(scene.path(&version)).expect("a folder");
    std::fs::write(scene.path(&version).join("jobs.toml"), text).expect("a writable folder");
    symlink(version, scene.path("config.new")).expect("a link");
    std::fs::rename(scene.path("config.new"), scene.path("config")).expect("renamed");
}

fn started(jobs: &[(&str, &str)]) -> (Scene, Program) {
    let scene = scene(jobs);
    let args = ["--config", "config/jobs.toml", "--job-output", "stdout", "--log-level", "debug"];
    let mut replica = scene.run(&args);
    replica.wait_for_event("replica started");
    (scene, replica)
}

/// Loads this file by SIGHUP, and waits for what is said then.
fn signalled(scene: &Scene, replica: &mut Program, text: &str, message: &str) -> Value {
    put(scene, text);
    let before = SystemClock.utc().timestamp();
    replica.signal(Signal::SIGHUP);
    let said = replica.wait_for_event(message);
    assert!(said_at(&said).duration_since(before) < AT_ONCE, "the signal did it, and not the watch: {said}");
    said
}

fn load(scene: &Scene, replica: &mut Program, text: &str) -> Value {
    signalled(scene, replica, text, LOADED)
}

fn end(replica: Program) -> String {
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0).log
}

/// The ticks of the job's runs in these lines.
fn ticks(log: &str, job: &str) -> Vec<jiff::Timestamp> {
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let runs = events.filter(|event| event["message"] == "run ended" && event["job"] == job);
    runs.map(|event| tick(&event)).collect()
}

#[test]
fn sighup_loads_added_changed_and_removed_jobs_and_a_new_one_starts_soon() {
    let (scene, mut replica) = started(&[("goes", &says("one")), ("stays", &says("one"))]);
    replica.wait_for_event_of("run ended", |event| event["job"] == "goes");
    let loaded = load(&scene, &mut replica, &file(&[("comes", &says("two")), ("stays", &says("two"))]));
    let listed = ["added", "changed", "removed"].map(|field| loaded[field].as_str().unwrap_or_default());
    assert_eq!(listed, ["comes", "stays", "goes"]);
    let at = said_at(&loaded);
    let first = replica.wait_for_event_of("run started", |event| event["job"] == "comes");
    // The first two seconds nothing of it starts, and then the next tick does; after a loss it would be a lease.
    let wait = said_at(&first).duration_since(at);
    assert!(wait < jiff::SignedDuration::from_secs(20), "{wait:?}");
    run_after(&mut replica, "stays", at);
    let log = end(replica);
    assert!(ticks(&log, "goes").iter().all(|tick| *tick <= at), "{log}");
    let after = log.split(LOADED).nth(1).expect("it was loaded");
    let said = |word: &str| after.contains(&format!("it says {word}"));
    assert!(said("two"), "{log}");
    // A run of the former definition may just have begun.
    assert!(after.matches("it says one").count() <= 2, "{log}");
}

#[test]
fn a_bad_file_keeps_the_jobs_and_every_problem_is_said() {
    let (scene, mut replica) = started(&[("stays", &says("one"))]);
    let bad = file(&[("stays", "schedule = \"61 * * * *\"\nshell = \"x\""), ("b", "schedule = \"@daily\"")]);
    let bad = format!("{bad}colour = \"red\"\n[jobs.good]\nschedule = \"@daily\"\nshell = \"true\"\n");
    let refused = signalled(&scene, &mut replica, &bad, BAD);
    assert_eq!(refused["level"], "WARN");
    run_after(&mut replica, "stays", said_at(&refused));
    let log = end(replica);
    for problem in ["`61`", "jobs.toml:3:", "`b`", "jobs.toml:5:", "unknown key `colour`"] {
        assert!(log.contains(problem), "{problem} is not in:\n{log}");
    }
    assert!(!log.contains(LOADED), "{log}");
}

#[test]
fn a_variable_that_a_job_needs_and_nobody_set_is_a_problem_of_the_file() {
    let (scene, mut replica) = started(&[("stays", &says("one"))]);
    let needy = format!("{}\nenv = {{ TOKEN = \"${{NOBODY_SET_IT}}\" }}", says("two"));
    put(&scene, &file(&[("stays", &needy)]));
    replica.signal(Signal::SIGHUP);
    replica.wait_for("about the variable", |line| line.contains("NOBODY_SET_IT"));
    replica.wait_for_event(BAD);
    let log = end(replica);
    assert!(!log.contains("it says two"), "{log}");
}

#[test]
fn a_run_keeps_its_definition_and_that_of_a_removed_job_finishes_and_is_the_last() {
    let (scene, mut replica) = started(&[("waiting", WAITING)]);
    replica.wait_for("of the job", |line| line.contains("it waits"));
    let loaded = load(&scene, &mut replica, &file(&[("other", &says("two"))]));
    run_after(&mut replica, "other", said_at(&loaded));
    say_to(&scene.path("go"), "finish\n");
    replica.wait_for("of its end", |line| line.contains("told to finish"));
    let ended = replica.wait_for_event_of("run ended", |event| event["job"] == "waiting");
    assert_eq!(ended["outcome"], "succeeded");
    replica.wait_for_event_of("run recorded", |event| event["job"] == "waiting");
    run_after(&mut replica, "other", said_at(&ended));
    let log = end(replica);
    assert_eq!(log.matches("it waits").count(), 1, "{log}");
}

#[test]
fn an_edit_that_leaves_the_schedule_takes_effect_with_the_next_run_and_stops_none() {
    let (scene, mut replica) = started(&[("waiting", WAITING)]);
    replica.wait_for("of the job", |line| line.contains("it waits"));
    load(&scene, &mut replica, &file(&[("waiting", &format!("{}\nlease = \"60s\"", says("two")))]));
    say_to(&scene.path("go"), "finish\n");
    replica.wait_for("of its end", |line| line.contains("told to finish"));
    replica.wait_for("of the next run", |line| line.contains("it says two"));
    end(replica);
}

#[test]
fn an_edited_schedule_starts_now_and_runs_nothing_older() {
    let yearly = "schedule = \"0 0 1 1 *\"\nstart_deadline = \"1h\"\nshell = \"true\"";
    let (scene, mut replica) = started(&[("edited", yearly), ("clock", &says("one"))]);
    // Ticks of the schedule to come pass before it is there.
    for _ in 0..3 {
        replica.wait_for_event_of("run ended", |event| event["job"] == "clock");
    }
    let edited = "schedule = \"* * * * * *\"\nstart_deadline = \"1h\"\nshell = \"true\"";
    let loaded = load(&scene, &mut replica, &file(&[("edited", edited)]));
    let first = replica.wait_for_event_of("run ended", |event| event["job"] == "edited");
    assert!(tick(&first) >= said_at(&loaded), "{first}");
    end(replica);
}

#[test]
fn a_job_that_is_enabled_again_starts_now_and_what_passed_meanwhile_were_no_ticks() {
    let on = format!("{}\nstart_deadline = \"1h\"", says("one"));
    let off = format!("{on}\nenabled = false");
    let (scene, mut replica) = started(&[("flipped", &on), ("clock", &says("two"))]);
    // Right before a tick, that one may have been granted already when the file is loaded.
    let is_far_from_next = |event: &Value| said_at(event).subsec_millisecond() < 500;
    replica.wait_for_event_of("run recorded", |event| event["job"] == "flipped" && is_far_from_next(event));
    let stopped = load(&scene, &mut replica, &file(&[("flipped", &off), ("clock", &says("two"))]));
    for _ in 0..3 {
        replica.wait_for_event_of("run ended", |event| event["job"] == "clock");
    }
    let started = load(&scene, &mut replica, &file(&[("flipped", &on), ("clock", &says("two"))]));
    run_after(&mut replica, "flipped", said_at(&started));
    let ended = replica.wait_for_event_of("run recorded", |event| event["job"] == "flipped");
    assert!(tick(&ended) >= said_at(&started), "{ended}");
    let log = end(replica);
    let between = |at: &jiff::Timestamp| *at > said_at(&stopped) && *at < said_at(&started);
    assert!(!ticks(&log, "flipped").iter().any(between), "{log}");
    let mut history =
        scene.command(&["history", "flipped", "--format", "json", "--config", "config/jobs.toml"]);
    let past = Program::start(&mut history).wait().expect_code(0).log;
    let past: Value = serde_json::from_str(&past).expect("JSON");
    let missed: Vec<&Value> =
        past.as_array().expect("a list").iter().filter(|tick| tick["outcome"] == "missed").collect();
    // One may have been granted just as the file was loaded.
    assert!(missed.len() <= 1, "{past:#}");
    assert!(missed.iter().all(|tick| tick["reason"] == "edited"), "{past:#}");
}

#[test]
fn another_store_or_name_is_refused_with_everything_else_of_the_file() {
    let (scene, mut replica) = started(&[("stays", &says("one"))]);
    let other = file(&[("comes", &says("two"))]);
    for (text, key, change) in [
        (other.replace("\"test\"", "\"best\""), "`[cluster] name`", "`test` to `best`"),
        (
            other.replace("\"local\"", "\"local:other.db\""),
            "`[cluster] store`",
            "`local` to `local:other.db`",
        ),
    ] {
        put(&scene, &text);
        replica.signal(Signal::SIGHUP);
        let line = replica.wait_for("about the change", |line| line.contains(key) && line.contains(change));
        assert!(line.contains("restart the replica") && line.contains("WARN"), "{line}");
        let refused: Value = serde_json::from_str(&line).expect("JSON");
        run_after(&mut replica, "stays", said_at(&refused));
    }
    let log = end(replica);
    assert!(!log.contains("it says two") && !log.contains(LOADED), "{log}");
}

#[test]
fn a_parent_passes_sighup_on_to_all_its_replicas() {
    let scene = scene(&[("goes", &says("one"))]);
    let mut replicas = scene.run(&["--config", "config/jobs.toml", "--replicas", "2"]);
    for _ in 0..2 {
        replicas.wait_for("of a replica's start", |line| line.contains("replica started"));
    }
    put(&scene, &file(&[("comes", &says("two"))]));
    let before = SystemClock.utc().timestamp();
    replicas.signal(Signal::SIGHUP);
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let event = replicas.wait_for_event(LOADED);
        nodes.push(event["node"].as_str().expect("a name").to_owned());
        assert!(said_at(&event).duration_since(before) < AT_ONCE, "{event}");
    }
    nodes.sort();
    assert_eq!(nodes, ["n-1", "n-2"]);
    replicas.signal(Signal::SIGTERM);
    replicas.wait().expect_code(0);
}

#[test]
fn another_max_running_counts_at_once_also_for_what_runs_already() {
    let limited =
        |limit: u32, jobs: &[(&str, &str)]| format!("{}[replica]\nmax_running = {limit}\n", file(jobs));
    let short = says("nothing");
    let (long, both) = ([("long", WAITING)], [("long", WAITING), ("short", short.as_str())]);
    let (scene, mut replica) = started(&long);
    replica.wait_for_event("run started");

    load(&scene, &mut replica, &limited(1, &both));
    let is_full = |event: &Value| event["job"] == "short" && event["reason"] == "capacity";
    let missed = replica.wait_for_event_of("tick missed", is_full);
    let loaded = said_at(&load(&scene, &mut replica, &limited(2, &both)));
    let started = replica.wait_for_event_of("run started", |event| event["job"] == "short");

    assert!(said_at(&missed) < loaded && said_at(&started) > loaded, "{missed} {started}");
    say_to(&scene.path("go"), "end\n");
    let log = end(replica);
    assert!(ticks(&log, "short").iter().all(|at| *at >= tick(&started)), "{log}");
}
