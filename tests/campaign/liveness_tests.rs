//! What people are told, or not: histories by hand for each violation, and for what is none.

use crate::checker_tests::{JOB, fault, found};
use crate::evidence::Evidence;
use crate::fault::{Fault, Kind};
use crate::inspector::{Look, Named};

/// A look each second, all of which say the same.
fn looks(evidence: &Evidence, code: i32) -> Vec<Look> {
    let every_second = (evidence.from_ms..evidence.to_ms).step_by(1_000);
    let named = vec![Named { kind: "no_replica".into(), job: String::new() }; usize::from(code == 1)];
    let look = |at| Look {
        begun_ms: at,
        ended_ms: at + 100,
        code: Some(code),
        named: named.clone(),
        ..Look::default()
    };
    every_second.map(look).collect()
}

/// The job is not the paused one, and nothing of it ran from its fourth tick on.
fn stands_still(evidence: &mut Evidence, code: i32) {
    evidence.runs.truncate(3);
    evidence.entries.truncate(3);
    evidence.jobs[0].name = "other".into();
    evidence.runs.iter_mut().for_each(|run| run.job = "other".into());
    evidence.entries.iter_mut().for_each(|entry| entry.job = "other".into());
    evidence.looks = looks(evidence, code);
}

#[test]
fn a_job_that_stands_still_while_status_says_that_all_is_well_is_unnoticed() {
    assert!(found(|evidence| stands_still(evidence, 0)).contains(&"unnoticed"));
    assert!(!found(|evidence| stands_still(evidence, 1)).contains(&"unnoticed"), "somebody was told");
    let meanwhile = |evidence: &mut Evidence| {
        stands_still(evidence, 0);
        evidence.faults.push(fault(Kind::ServerAhead, evidence));
    };
    assert!(found(meanwhile).contains(&"unnoticed"), "a fault excuses nothing");
}

#[test]
fn a_job_that_stands_still_while_status_names_another_one_is_unnoticed() {
    let while_this_is_named = |kind: &'static str, job: &'static str| {
        move |evidence: &mut Evidence| {
            stands_still(evidence, 1);
            let named = Named { kind: kind.into(), job: job.into() };
            evidence.looks.iter_mut().for_each(|look| look.named = vec![named.clone()]);
        }
    };
    assert!(!found(while_this_is_named("overdue", "other")).contains(&"unnoticed"));
    // Neither another job nor a file that differs tells that this job does not run.
    for (kind, job) in [("overdue", "another"), ("mixed_files", "")] {
        assert!(found(while_this_is_named(kind, job)).contains(&"unnoticed"), "{kind}");
    }
    let broken = |evidence: &mut Evidence| stands_still(evidence, 101);
    assert!(found(broken).contains(&"unnoticed"), "a command that panics tells nothing");
}

#[test]
fn a_store_that_lost_everything_is_well_for_a_lease() {
    let well_for = |ms: i64, is_lost: bool| {
        found(|evidence| {
            stands_still(evidence, 1);
            let at_ms = evidence.to_ms - 15_000;
            let is_then = |look: &&mut Look| (at_ms..at_ms + ms).contains(&look.begun_ms);
            evidence.looks.iter_mut().filter(is_then).for_each(|look| look.code = Some(0));
            evidence.losses_ms.extend(is_lost.then_some(at_ms - 1_000));
        })
        .contains(&"unnoticed")
    };
    assert!(!well_for(3_000, false));
    assert!(well_for(5_000, false));
    assert!(!well_for(5_000, true));
    assert!(well_for(7_000, true));
}

#[test]
fn a_job_whose_mark_an_operator_has_set_back_waits_anew() {
    let well_for = |ms: i64, is_set_back: bool| {
        found(|evidence| {
            stands_still(evidence, 1);
            let at_ms = evidence.to_ms - ms;
            let is_then = |look: &&mut Look| at_ms <= look.begun_ms;
            evidence.looks.iter_mut().filter(is_then).for_each(|look| look.code = Some(0));
            let by_hand =
                Fault { begun_ms: at_ms - 1_000, ended_ms: at_ms, ..fault(Kind::SetBack, evidence) };
            evidence.faults.extend(is_set_back.then_some(by_hand));
        })
        .contains(&"unnoticed")
    };
    assert!(well_for(10_000, false));
    assert!(!well_for(10_000, true));
    assert!(well_for(25_000, true));
}

#[test]
fn a_mark_in_the_future_is_unnoticed_where_status_says_that_all_is_well() {
    let ahead = |evidence: &mut Evidence, code| {
        evidence.looks = looks(evidence, code);
        evidence.looks.iter_mut().for_each(|look| look.ahead.push(JOB.into()));
    };
    assert_eq!(found(|evidence| ahead(evidence, 0)), ["unnoticed"]);
    assert!(!found(|evidence| ahead(evidence, 1)).contains(&"unnoticed"));
    let for_a_moment = |evidence: &mut Evidence| {
        ahead(evidence, 0);
        evidence.looks.iter_mut().step_by(5).for_each(|look| look.ahead.clear());
    };
    assert_eq!(found(for_a_moment), Vec::<&str>::new());
}

#[test]
fn a_status_that_finds_fault_for_long_where_there_is_none_is_a_false_alarm() {
    assert_eq!(found(|evidence| evidence.looks = looks(evidence, 0)), Vec::<&str>::new());
    assert_eq!(found(|evidence| evidence.looks = looks(evidence, 1)), ["false alarm"]);
    let with_a_fault = |evidence: &mut Evidence| {
        evidence.looks = looks(evidence, 1);
        evidence.faults.push(fault(Kind::KillReplica, evidence));
    };
    assert_eq!(found(with_a_fault), Vec::<&str>::new());
}
