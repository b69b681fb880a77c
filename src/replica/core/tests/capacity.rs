//! How many runs a replica has at once, and which job is next.

use super::*;

#[test]
fn a_job_that_finds_no_free_slot_starts_as_soon_as_one_is_free() {
    let mut bench = Bench::of(&[("a", AT_TEN), ("b", AT_TEN)], Some(1));
    bench.pass(6_000);
    let first = bench.started().join(" ");
    assert!(first == "a" || first == "b", "{first}");
    bench.pass(1_000);
    assert_eq!(bench.started.len(), 1);
    let events = bench.events.len();
    bench.end(&first);
    assert_eq!(bench.started.len(), 2, "at once, without another alarm: {:?}", &bench.events[events..]);
    assert_ne!(bench.started()[0], bench.started()[1]);
}

#[test]
fn a_job_whose_runs_follow_each_other_does_not_keep_another_from_its_slot() {
    let every_second = "schedule = \"* * * * * *\"\noverlap = \"wait\"";
    let mut bench = Bench::of(&[("busy", every_second), ("other", AT_TEN)], Some(1));
    bench.pass(500);
    for _ in 0..6 {
        // The next tick of the job waits for the end of this run.
        bench.pass(1_500);
        let name = (*bench.started().last().expect("one is going")).to_owned();
        bench.end(&name);
    }
    assert!(bench.started().contains(&"other"), "{:?}", bench.started());
}

#[test]
fn a_run_that_has_ended_keeps_its_slot_until_its_lock_is_released() {
    let mut bench = Bench::of(&[("a", AT_TEN), ("b", AT_TEN)], Some(1));
    bench.pass(6_000);
    let first = bench.started()[0].to_owned();
    bench.tell(CoreInput::RunEnded(RunExit { run: bench.run_of(&first), was_cut_short: false }));
    bench.pass(1_000);
    assert_eq!(bench.started.len(), 1);
}

#[test]
fn a_claim_under_way_takes_a_slot_and_one_in_vain_frees_it() {
    let mut bench = Bench::of(&[("a", AT_TEN), ("b", AT_TEN)], Some(1));
    bench.answers = Answers::Later;
    bench.pass(5_300);
    assert_eq!(bench.kept.len(), 2, "the other job waits for a slot, and claims as one that cannot run");
    let Some(CoreInput::ClaimsAnswered { answers, .. }) = bench.kept.first_mut() else { panic!("no claim") };
    assert_eq!(answers.len(), 1);
    let (claimed, reply) = &mut answers[0];
    let claimed = claimed.clone();
    reply.as_mut().expect("the store is up").answer = crate::lease::Answer::Decided { by: None, how: None };
    bench.let_answers_in();
    let started = bench.started();
    assert_eq!(started.len(), 1, "{started:?}");
    assert_ne!(started[0], claimed.as_str());
}

#[test]
fn a_claim_whose_answer_is_lost_keeps_its_slot() {
    let mut bench = Bench::of(&[("a", AT_TEN), ("b", AT_TEN)], Some(1));
    bench.answers = Answers::Lost;
    bench.pass(5_050);
    let claims = bench.count("claim");
    bench.pass(3_000);
    assert!(bench.count("claim") > claims, "the same tick is claimed again");
    assert_eq!(bench.core.capacity.waiting(), 1, "the other job waits");
}

#[test]
fn another_limit_counts_at_once_and_ends_nothing() {
    let mut bench = Bench::of(&[("a", AT_TEN), ("b", AT_TEN), ("c", AT_TEN)], Some(1));
    bench.pass(6_000);
    let jobs = [("a", AT_TEN), ("b", AT_TEN), ("c", AT_TEN)];
    bench.tell(CoreInput::Reload(Box::new(file(&jobs, Some(2)))));
    assert_eq!(bench.started.len(), 2);
    bench.tell(CoreInput::Reload(Box::new(file(&jobs, Some(1)))));
    assert_eq!(bench.stops, []);
    let first = bench.started()[0].to_owned();
    bench.end(&first);
    assert_eq!(bench.started.len(), 2, "the other run has the one slot");
    bench.tell(CoreInput::Reload(Box::new(file(&jobs, None))));
    assert_eq!(bench.started.len(), 3);
}

#[test]
fn a_limit_that_comes_later_counts_the_runs_that_are_going() {
    let jobs = [("a", "schedule = \"10 * * * * *\""), ("b", "schedule = \"20 * * * * *\"")];
    let mut bench = Bench::of(&jobs, None);
    bench.pass(6_000);
    assert_eq!(bench.started(), ["a"]);
    bench.tell(CoreInput::Reload(Box::new(file(&jobs, Some(1)))));
    bench.pass(10_000);
    assert_eq!(bench.started(), ["a"], "`b` has no slot");
    bench.end("a");
    assert_eq!(bench.started(), ["a", "b"]);
}

#[test]
fn the_next_run_of_a_job_takes_the_slot_of_its_current_one() {
    let keys = format!("{AT_TEN}\noverlap = \"wait\"");
    let mut bench = Bench::of(&[("a", keys.as_str())], Some(1));
    bench.pass(16_000);
    assert_eq!(bench.started(), ["a"]);
    bench.end("a");
    assert_eq!(bench.started_at(), [10_000, 20_000]);
}

#[test]
fn finishes_are_recorded_at_once_where_a_job_may_wait_for_a_slot() {
    let bench = Bench::of(&[("a", AT_TEN)], Some(1));
    assert_eq!(bench.count("HurryFinishes"), 1);
    let bench = Bench::of(&[("a", AT_TEN)], None);
    assert_eq!(bench.count("HurryFinishes"), 0);
}
