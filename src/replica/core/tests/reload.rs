//! What another jobs.toml changes, in one step.

use super::*;

fn load(bench: &mut Bench, jobs: &[(&str, &str)]) {
    bench.reloaded = None;
    bench.tell(CoreInput::Reload(Box::new(file(jobs, None))));
    assert!(bench.reloaded.is_some());
}

#[test]
fn a_new_job_runs_at_its_next_tick_and_a_removed_one_does_not() {
    let mut bench = Bench::of(&[("old", AT_TEN)], None);
    load(&mut bench, &[("new", AT_TEN)]);
    bench.pass(16_000);
    assert!(bench.started().iter().all(|name| *name == "new"), "{:?}", bench.started());
    assert!(!bench.started.is_empty());
}

#[test]
fn a_run_that_is_going_outlives_the_removal_of_its_job() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    bench.pass(6_000);
    load(&mut bench, &[("other", AT_TEN)]);
    assert_eq!(bench.stops, []);
    bench.end("j");
    bench.pass(20_000);
    assert!(!bench.started()[1..].contains(&"j"), "{:?}", bench.started());
}

#[test]
fn what_a_removed_job_may_be_granted_is_given_back() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    bench.answers = Answers::Later;
    bench.pass(5_050);
    load(&mut bench, &[("other", AT_TEN)]);
    bench.let_answers_in();
    assert_eq!(bench.started.len(), 0);
    assert_eq!(bench.count("give back j"), 1);
    assert!(!bench.records[&job("j")].is_running());
}

#[test]
fn a_claim_with_the_former_lease_starts_nothing_and_the_tick_runs_by_the_new_one() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    bench.answers = Answers::Later;
    bench.pass(5_050);
    let keys = format!("{AT_TEN}\nlease = \"60s\"");
    load(&mut bench, &[("j", &keys)]);
    bench.let_answers_in();
    bench.pass(1_000);
    let leases: Vec<u64> = bench.started.iter().map(|start| start.grant.lease.length.as_secs()).collect();
    assert_eq!(leases, [60], "and that once");
    assert_eq!(bench.started_at(), [10_000]);
}

#[test]
fn the_heartbeat_shows_the_file_and_the_labels_at_once() {
    let mut bench = Bench::of(&[("j", AT_TEN)], None);
    let now = bench.count("BeatNow");
    let mut other = file(&[("j", AT_TEN)], None);
    (other.hash, other.labels) = ("f2".into(), vec!["gpu".parse().expect("a label")]);
    bench.tell(CoreInput::Reload(Box::new(other)));
    let beat = bench.beat.as_ref().expect("a heartbeat");
    assert_eq!((beat.file.as_str(), beat.labels.len()), ("f2", 1));
    assert_eq!(bench.count("BeatNow"), now + 1);
}

#[test]
fn a_job_that_requires_a_label_runs_from_the_reload_that_brings_it() {
    let keys = format!("{AT_TEN}\nonly_on = [\"gpu\"]");
    let jobs = [("j", keys.as_str())];
    let mut bench = Bench::of(&jobs, None);
    bench.pass(6_000);
    assert_eq!(bench.started.len(), 0);
    let mut labelled = file(&jobs, None);
    labelled.labels = vec!["gpu".parse().expect("a label")];
    bench.tell(CoreInput::Reload(Box::new(labelled)));
    assert_eq!(bench.started_at(), [10_000], "it is still in time");
}
