//! A checker that cannot fail is worth nothing: one history by hand for each violation, and one that is right.

use crate::checker::check;
use crate::evidence::Evidence;
use crate::fault::{Fault, Kind};
use crate::inspector::Look;
use crate::jobs::{JobPlan, Policy};
use crate::ledger::Recorded;
use crate::testimony::Testimony;

/// The one that operators pause.
pub(crate) const JOB: &str = crate::hands::PAUSED;

/// The replicas start at this instant, and `CLOCK_BOOTTIME` with them.
const BEGUN_MS: i64 = 1_000_000;

/// Ten ticks from when things have settled, each of which ran for three seconds and was renewed once.
fn good() -> Evidence {
    let job = JobPlan::new(JOB, 5_000, 3_000);
    let ticks = (0..10).map(|n| BEGUN_MS + 10_000 + n * 5_000);
    let runs: Vec<Testimony> = ticks.map(run).collect();
    let renewals =
        runs.iter().map(|run| (run.run.clone(), vec![run.started_ms - 10, run.started_ms + 1_000])).collect();
    let entries = runs.iter().map(record).collect();
    let to_ms = BEGUN_MS + 10_000 + 9 * 5_000 + job.start_deadline_ms + 2_000;
    Evidence { jobs: vec![job], runs, renewals, entries, from_ms: BEGUN_MS, to_ms, ..Evidence::default() }
}

/// A run that starts 10 ms after its tick and lives for three seconds.
fn run(tick_ms: i64) -> Testimony {
    let started_ms = tick_ms + 10 - BEGUN_MS;
    Testimony {
        job: JOB.into(),
        tick_ms,
        run: format!("run-{tick_ms}"),
        fence: tick_ms,
        cause: "schedule".into(),
        node: "n0".into(),
        started_utc_ms: tick_ms + 10,
        started_ms,
        lives_ms: (0..=150).map(|beat| started_ms + beat * 20).collect(),
        end: Some("normal".into()),
    }
}

fn record(run: &Testimony) -> Recorded {
    Recorded {
        run: Some(run.run.clone()),
        outcome: "succeeded".into(),
        started_ms: Some(run.started_utc_ms),
        ..no_run(run.tick_ms, "", "")
    }
}

fn no_run(tick_ms: i64, outcome: &str, reason: &str) -> Recorded {
    Recorded {
        job: JOB.into(),
        tick_ms,
        after_ms: None,
        count: None,
        run: None,
        cause: "schedule".into(),
        outcome: outcome.into(),
        reason: reason.into(),
        started_ms: None,
        id: format!("{tick_ms}-0"),
    }
}

/// The names of what is found after a change to the good history.
pub(crate) fn found(change: impl FnOnce(&mut Evidence)) -> Vec<&'static str> {
    let mut evidence = good();
    change(&mut evidence);
    check(&evidence).iter().map(crate::violation::Violation::name).collect()
}

pub(crate) fn fault(kind: Kind, evidence: &Evidence) -> Fault {
    Fault { kind, target: "redis".into(), begun_ms: evidence.from_ms, ended_ms: evidence.to_ms }
}

/// The third tick did not run, and this is its record.
fn third_did_not_run(evidence: &mut Evidence, outcome: &str, reason: &str) {
    let tick_ms = evidence.runs.remove(2).tick_ms;
    evidence.entries[2] = no_run(tick_ms, outcome, reason);
}

#[test]
fn nothing_is_wrong_with_a_good_history() {
    assert_eq!(found(|_| {}), Vec::<&str>::new());
}

#[test]
fn two_runs_at_a_time_are_an_overlap_also_of_what_the_first_one_left_behind() {
    let beyond = |evidence: &mut Evidence| {
        let life = evidence.runs[3].started_ms + 1;
        evidence.runs[2].lives_ms.push(life);
        evidence.renewals.get_mut(&evidence.runs[2].run).expect("it renewed").push(life - 20);
    };
    assert_eq!(found(beyond), ["overlap"]);
}

#[test]
fn a_second_run_of_a_tick_is_told() {
    let again = |evidence: &mut Evidence| evidence.runs[3].tick_ms = evidence.runs[2].tick_ms;
    assert!(found(again).contains(&"twice"));
    let rerun = |evidence: &mut Evidence| {
        again(evidence);
        evidence.runs[3].cause = "rerun".into();
    };
    assert!(found(rerun).contains(&"twice"), "nobody asked for a rerun");
    let asked = |evidence: &mut Evidence| {
        rerun(evidence);
        evidence.jobs[0].policy = Policy::Reruns;
    };
    assert!(!found(asked).contains(&"twice"), "a rerun is asked for");
    let first = |evidence: &mut Evidence| {
        asked(evidence);
        evidence.runs[2].cause = "rerun".into();
    };
    assert!(found(first).contains(&"twice"), "no two of them");
}

/// The fourth run is of the third tick as well, and both have their records; the store went back so long before it began.
fn ran_twice(evidence: &mut Evidence, kind: Kind, ago_ms: i64) {
    let (tick_ms, again) = (evidence.runs[2].tick_ms, evidence.runs.remove(3));
    evidence.entries.remove(3);
    evidence.to_ms = evidence.from_ms;
    let node = "n1".into();
    let again = Testimony { tick_ms, node, started_utc_ms: again.started_utc_ms - 1_000, ..again };
    let ended_ms = again.started_utc_ms - ago_ms;
    let second = Recorded { run: Some(again.run.clone()), ..record(&again) };
    evidence.contradictions.push([evidence.entries[2].clone(), second.clone()]);
    evidence.entries.push(second);
    evidence.runs.insert(3, again);
    evidence.faults.push(Fault { ended_ms, ..fault(kind, evidence) });
}

#[test]
fn a_tick_may_run_twice_only_where_a_recent_rollback_hid_its_first_run() {
    let twice = |kind, ago_ms| found(|evidence| ran_twice(evidence, kind, ago_ms));
    for kind in [Kind::SwapDb, Kind::RestoreRecords] {
        assert_eq!(twice(kind, 1_400), Vec::<&str>::new());
        assert_eq!(twice(kind, 1_600), ["twice", "trouble"], "all have heard of it");
        assert_eq!(twice(kind, -300), ["twice", "trouble"], "it had not gone back yet");
        assert_eq!(twice(kind, 4_500), ["twice", "trouble"], "it had gone back before the first");
    }
    assert_eq!(twice(Kind::FlushAll, 1_400), ["twice", "trouble"], "everybody notices that");
    let by_one_replica = |is_started_anew: bool| {
        found(|evidence| {
            ran_twice(evidence, Kind::SwapDb, 1_400);
            evidence.runs[3].node = evidence.runs[2].node.clone();
            let [first, second] = [&evidence.runs[2], &evidence.runs[3]];
            let kill = Fault {
                kind: Kind::KillReplica,
                target: first.node.clone(),
                begun_ms: first.started_utc_ms,
                ended_ms: second.started_utc_ms,
            };
            evidence.faults.extend(is_started_anew.then_some(kill));
        })
    };
    assert_eq!(by_one_replica(false), ["twice", "trouble"], "it was told");
    assert_eq!(by_one_replica(true), Vec::<&str>::new());
    let kept_after_it = found(|evidence| {
        ran_twice(evidence, Kind::SwapDb, 1_400);
        evidence.faults[0].begun_ms = evidence.runs[2].started_utc_ms + 1_100;
    });
    assert_eq!(kept_after_it, ["twice", "trouble"], "the older state knows of it");
    let slow = |ago_ms, target: &str| {
        found(|evidence| {
            ran_twice(evidence, Kind::SwapDb, ago_ms);
            evidence.faults.push(Fault {
                target: target.into(),
                ended_ms: i64::MAX,
                ..fault(Kind::LagAll, evidence)
            });
        })
    };
    assert_eq!(slow(2_000, "all, 100ms"), Vec::<&str>::new());
    assert_eq!(slow(2_200, "all, 100ms"), ["twice", "trouble"]);
}

#[test]
fn a_run_may_start_beside_another_only_where_a_recent_rollback_lost_its_lock() {
    let beside = |ago_ms| {
        found(|evidence| {
            let life = evidence.runs[3].started_ms + 1;
            evidence.runs[2].lives_ms.push(life);
            evidence.runs[3].node = "n1".into();
            evidence.renewals.get_mut(&evidence.runs[2].run).expect("it renewed").push(life - 20);
            let ended_ms = evidence.runs[3].started_utc_ms - ago_ms;
            evidence.faults.push(Fault { ended_ms, ..fault(Kind::SwapDb, evidence) });
        })
    };
    assert_eq!(beside(1_400), Vec::<&str>::new());
    assert_eq!(beside(1_600), ["overlap"]);
    assert_eq!(beside(5_020), ["overlap"], "the first was asked for afterwards");
}

#[test]
fn a_run_counts_as_told_from_when_it_was_asked_for() {
    let slow = |sent_ms| {
        found(|evidence| {
            ran_twice(evidence, Kind::SwapDb, 1_000);
            // The store went back 200 ms before the first began.
            let first = &mut evidence.runs[2];
            first.started_utc_ms += 3_200;
            evidence.renewals.insert(
                first.run.clone(),
                vec![first.started_ms - sent_ms, first.started_ms, first.started_ms + 1_000],
            );
        })
    };
    assert_eq!(slow(250), Vec::<&str>::new());
    assert_eq!(slow(150), ["twice", "trouble"]);
}

#[test]
fn a_run_may_be_recorded_as_missed_only_where_a_recent_rollback_hid_it() {
    let written = |id: String, ended_ms: i64| {
        found(|evidence| {
            let ran = evidence.entries[2].clone();
            let (after_ms, missed) =
                (Some(evidence.entries[1].tick_ms), no_run(ran.tick_ms, "missed", "late"));
            let missed = Recorded { after_ms, id, ..missed };
            let ended_ms = ran.tick_ms + ended_ms;
            evidence.faults.push(Fault { ended_ms, ..fault(Kind::SwapDb, evidence) });
            evidence.contradictions.push([ran, missed.clone()]);
            evidence.entries.push(missed);
        })
    };
    let missed = |ended_ms| written("1-1".into(), ended_ms);
    // The next tick, five seconds later, may be claimed for three seconds more.
    assert_eq!(missed(8_100), Vec::<&str>::new());
    assert_eq!(missed(8_300), ["covered twice", "untrue", "trouble"]);
    assert_eq!(missed(-1_000), ["covered twice", "untrue", "trouble"], "the run was asked for after it");
    let tick_ms = good().entries[2].tick_ms;
    let late = |ended_ms| written(format!("{}-0", tick_ms + 20_000), ended_ms);
    assert_eq!(late(19_900), Vec::<&str>::new(), "no lock was granted for a while");
    assert_eq!(late(20_300), ["covered twice", "untrue", "trouble"]);
}

#[test]
fn a_skipped_tick_may_run_only_where_a_recent_rollback_hid_the_skip() {
    let skipped = |read_ms: i64, ended_ms: i64| {
        found(|evidence| {
            let ran = evidence.entries[2].clone();
            // The run before went on at its instant.
            let began_ms = evidence.runs[2].started_ms;
            evidence.runs[1].lives_ms.push(began_ms - 1);
            let sent = evidence.renewals.get_mut(&evidence.runs[1].run).expect("it renewed");
            sent.push(began_ms - 100);
            let skipped = Recorded { id: "1-1".into(), ..no_run(ran.tick_ms, "skipped", "overlap") };
            evidence.read_ms.insert(skipped.name(), ran.tick_ms + read_ms);
            let ended_ms = ran.tick_ms + ended_ms;
            evidence.faults.push(Fault { ended_ms, ..fault(Kind::SwapDb, evidence) });
            evidence.entries.push(skipped);
        })
    };
    assert_eq!(skipped(-900, -800), Vec::<&str>::new());
    assert_eq!(skipped(-700, -800), ["covered twice", "untrue"], "it was recorded after that");
    assert_eq!(skipped(-1_900, -1_800), ["covered twice", "untrue"], "all have heard of it");
}

#[test]
fn a_run_by_hand_is_no_run_of_the_tick_and_its_record_none_of_it() {
    let by_hand = |evidence: &mut Evidence| {
        third_did_not_run(evidence, "missed", "no_replica");
        let tick_ms = evidence.entries[2].tick_ms;
        let manual = Testimony { cause: "manual".into(), ..run(tick_ms) };
        evidence.entries.push(Recorded { cause: "manual".into(), ..record(&manual) });
        evidence.runs.insert(2, manual);
    };
    assert_eq!(found(by_hand), ["not run"]);
}

#[test]
fn a_tick_may_be_late_where_everything_stood_still_and_nowhere_else() {
    let late = |evidence: &mut Evidence, stood_still_ms: i64| {
        third_did_not_run(evidence, "missed", "late");
        let from_ms = evidence.entries[2].tick_ms + stood_still_ms;
        evidence.held_up_ms.push((from_ms, from_ms + 1_000));
    };
    assert_eq!(found(|evidence| late(evidence, -500)), Vec::<&str>::new());
    assert_eq!(found(|evidence| late(evidence, -3_000)), ["not run"]);
}

#[test]
fn a_rerun_has_a_record_of_its_own_after_the_one_that_was_cut_short() {
    let rerun = |evidence: &mut Evidence, policy| {
        evidence.jobs[0].policy = policy;
        let again = Recorded {
            run: Some(evidence.runs[3].run.clone()),
            cause: "rerun".into(),
            ..evidence.entries[2].clone()
        };
        evidence.entries[2].outcome = "interrupted".into();
        evidence.entries.insert(3, again);
    };
    assert_eq!(found(|evidence| rerun(evidence, Policy::Reruns)), Vec::<&str>::new());
    assert_eq!(found(|evidence| rerun(evidence, Policy::Plain)), ["covered twice"]);
}

#[test]
fn a_paused_job_skips_and_a_waiting_one_is_late_by_right_where_they_were() {
    let paused = |evidence: &mut Evidence| third_did_not_run(evidence, "skipped", "paused");
    assert_eq!(found(paused), ["skipped for nothing", "not run"]);
    let by_right = |evidence: &mut Evidence| {
        paused(evidence);
        let tick_ms = evidence.entries[2].tick_ms;
        evidence.pauses_ms.push((tick_ms - 500, tick_ms + 500));
    };
    assert_eq!(found(by_right), Vec::<&str>::new());
    // It waited for the lock, and was decided once the pause was there.
    let later = |evidence: &mut Evidence, after_ms| {
        paused(evidence);
        let from_ms = evidence.entries[2].tick_ms + evidence.jobs[0].start_deadline_ms + after_ms;
        evidence.pauses_ms.push((from_ms, from_ms + 500));
    };
    assert_eq!(found(|evidence| later(evidence, 900)), Vec::<&str>::new());
    assert_eq!(found(|evidence| later(evidence, 1_100)), ["skipped for nothing", "not run"]);
    let late = |evidence: &mut Evidence, until_ms, policy| {
        third_did_not_run(evidence, "missed", "late");
        evidence.jobs[0].policy = policy;
        let life = evidence.entries[2].tick_ms - BEGUN_MS + until_ms;
        evidence.runs[1].lives_ms.push(life);
        evidence.renewals.get_mut(&evidence.runs[1].run).expect("it renewed").push(life - 20);
    };
    assert_eq!(found(|evidence| late(evidence, 3_000, Policy::Waits)), Vec::<&str>::new());
    assert_eq!(found(|evidence| late(evidence, 500, Policy::Waits)), ["not run"]);
    assert_eq!(found(|evidence| late(evidence, 3_000, Policy::Plain)), ["not run"], "it is skipped");
    let by_hand = |evidence: &mut Evidence, began_ms| {
        third_did_not_run(evidence, "missed", "late");
        let tick_ms = evidence.entries[2].tick_ms;
        let manual = Testimony { cause: "manual".into(), run: "by hand".into(), ..run(tick_ms + began_ms) };
        let sent = vec![manual.started_ms - 10, manual.started_ms + 1_000];
        evidence.renewals.insert(manual.run.clone(), sent);
        evidence.entries.push(Recorded { cause: "manual".into(), ..record(&manual) });
        evidence.runs.insert(2, manual);
    };
    assert_eq!(found(|evidence| by_hand(evidence, 50)), Vec::<&str>::new());
    assert_eq!(found(|evidence| by_hand(evidence, 900)), ["not run"]);
}

#[test]
fn a_fence_that_does_not_rise_is_told() {
    assert_eq!(found(|evidence| evidence.runs[3].fence = evidence.runs[2].fence), ["fence"]);
    let after = |nth: usize, kind: Kind, evidence: &mut Evidence| {
        evidence.runs[3].fence = evidence.runs[2].fence;
        let ended_ms = evidence.runs[nth].started_utc_ms + 1;
        evidence.faults.push(Fault { ended_ms, ..fault(kind, evidence) });
    };
    assert_eq!(found(|evidence| after(2, Kind::RestoreRecords, evidence)), Vec::<&str>::new());
    assert_eq!(found(|evidence| after(1, Kind::RestoreRecords, evidence)), ["fence"]);
    assert_eq!(found(|evidence| after(2, Kind::FlushAll, evidence)), ["fence"]);
}

#[test]
fn a_sign_of_life_after_the_lease_is_told_also_when_a_renewal_came_later() {
    let silent = |evidence: &mut Evidence| {
        evidence.jobs[0].lease_ms = 3_000;
        evidence.renewals.get_mut(&evidence.runs[2].run).expect("it renewed").pop();
    };
    assert_eq!(found(silent), ["overstay"]);
    let late = |evidence: &mut Evidence| {
        silent(evidence);
        let end = evidence.runs[2].last_ms();
        evidence.renewals.get_mut(&evidence.runs[2].run).expect("it renewed").push(end);
    };
    assert_eq!(found(late), ["overstay"]);
}

#[test]
fn a_run_whose_guards_are_frozen_at_its_kill_is_dead_by_the_end_of_its_lease() {
    let late = |by_ms: i64, target: &str, ended_ms: i64| {
        found(|evidence| {
            // The renewal is the last one, two seconds before the last sign of life.
            evidence.jobs[0].lease_ms = 2_000 - by_ms;
            let run = &evidence.runs[2];
            let ended_ms = run.started_utc_ms + run.last_ms() - run.started_ms + ended_ms;
            let (target, begun_ms) = (target.into(), ended_ms - 400);
            evidence.runs.retain(|run| run.run == format!("run-{}", BEGUN_MS + 20_000));
            evidence.entries.retain(|entry| entry.tick_ms == BEGUN_MS + 20_000);
            evidence.to_ms = evidence.from_ms;
            evidence.faults.push(Fault { kind: Kind::StopBoth, target, begun_ms, ended_ms });
        })
    };
    assert_eq!(late(-490, "n0", 100), Vec::<&str>::new());
    assert_eq!(late(-490, "n1", 100), ["overstay"], "another one was frozen");
    assert_eq!(late(-490, "n0", -600), ["overstay"], "it was not frozen any more");
    assert_eq!(late(10, "n0", 100), ["overstay"]);
}

#[test]
fn a_tick_may_be_late_where_the_server_stood_still_without_a_fault() {
    let late = |asked_ms: i64, fault_ago_ms: Option<i64>| {
        found(|evidence| {
            third_did_not_run(evidence, "missed", "late");
            let begun_ms = evidence.entries[2].tick_ms;
            let look =
                Look { begun_ms, ended_ms: begun_ms + asked_ms, asked_ms, code: Some(0), ..Look::default() };
            evidence.looks.push(look);
            let at = fault_ago_ms.map(|ago_ms| begun_ms - ago_ms);
            let faults = at.map(|at| Fault { begun_ms: at, ended_ms: at, ..fault(Kind::Cut, evidence) });
            evidence.faults.extend(faults);
            // No lease and no deadline of this job is as short as what a fault does to a server.
            evidence.jobs[0].lease_ms = 1_000;
            evidence.renewals.values_mut().for_each(|sent| {
                let first = sent[0];
                sent.extend((1..8).map(|nth| first + nth * 490));
                sent.sort_unstable();
            });
        })
    };
    assert_eq!(late(350, None), Vec::<&str>::new());
    assert_eq!(late(250, None), ["not run"]);
    assert_eq!(late(600, Some(8_500)), ["not run"], "that was the fault");
}

#[test]
fn a_grant_before_its_instant_is_told() {
    assert_eq!(
        found(|evidence| evidence.entries[2].started_ms = Some(evidence.entries[2].tick_ms - 1)),
        ["early"]
    );
}

#[test]
fn a_command_before_its_instant_is_told_unless_a_clock_was_wrong() {
    let hasty = |evidence: &mut Evidence| evidence.runs[2].started_utc_ms = evidence.runs[2].tick_ms - 1;
    assert_eq!(found(hasty), ["early"]);
    let by_a_wrong_clock = |evidence: &mut Evidence| {
        hasty(evidence);
        evidence.faults.push(fault(Kind::ReplicaAhead, evidence));
    };
    assert_eq!(found(by_a_wrong_clock), Vec::<&str>::new());
    let at_another_time = |evidence: &mut Evidence| {
        hasty(evidence);
        let ended_ms = evidence.runs[2].tick_ms - 10_001;
        evidence.faults.push(Fault { ended_ms, ..fault(Kind::ServerAhead, evidence) });
    };
    assert_eq!(found(at_another_time), ["early"]);
}

#[test]
fn a_tick_without_a_record_is_told_even_if_faults_excuse_that_it_did_not_run() {
    let gone = |evidence: &mut Evidence| {
        evidence.runs.remove(2);
        evidence.entries.remove(2);
        evidence.faults.push(fault(Kind::StopRedis, evidence));
    };
    assert_eq!(found(gone), ["uncovered"]);
}

#[test]
fn a_second_record_of_a_tick_is_told() {
    let twice = |evidence: &mut Evidence| {
        let tick_ms = evidence.entries[2].tick_ms;
        evidence
            .entries
            .insert(3, Recorded { run: Some("other".into()), ..no_run(tick_ms, "interrupted", "") });
    };
    assert_eq!(found(twice), ["covered twice"]);
}

#[test]
fn a_tick_that_did_not_run_may_be_recorded_in_two_lives_for_different_reasons() {
    let in_two_lives = |is_forgotten: bool| {
        found(|evidence| {
            third_did_not_run(evidence, "missed", "late");
            evidence.faults.push(fault(Kind::Failover, evidence));
            let tick_ms = evidence.entries[2].tick_ms;
            evidence
                .entries
                .insert(3, Recorded { id: "1-1".into(), ..no_run(tick_ms, "missed", "capacity") });
            for (at, read_ms) in [(2, 1_000), (3, 6_000)] {
                let name = evidence.entries[at].name();
                evidence.read_ms.insert(name, tick_ms + read_ms);
            }
            evidence.losses_ms.extend(is_forgotten.then_some(tick_ms + 4_000));
        })
    };
    assert_eq!(in_two_lives(true), Vec::<&str>::new());
    assert_eq!(in_two_lives(false), ["covered twice"]);
}

#[test]
fn a_grant_that_was_given_back_may_come_back_with_a_store_that_took_over() {
    let given_back = |has_run: bool, is_forgotten: bool, is_witnessed: bool| {
        found(|evidence| {
            if !has_run {
                third_did_not_run(evidence, "missed", "store_unreachable");
            }
            evidence.faults.push(fault(Kind::Failover, evidence));
            let tick_ms = evidence.entries[2].tick_ms;
            let run = if is_witnessed { evidence.runs[3].run.clone() } else { "other".into() };
            let interrupted = Recorded {
                run: Some(run),
                id: format!("{tick_ms}-1"),
                ..no_run(tick_ms, "interrupted", "lock_lost")
            };
            evidence.entries.insert(3, interrupted);
            evidence.losses_ms.extend(is_forgotten.then_some(tick_ms + 4_000));
        })
    };
    for has_run in [false, true] {
        assert_eq!(given_back(has_run, true, false), Vec::<&str>::new(), "{has_run}");
        assert_eq!(given_back(has_run, false, false), ["covered twice"], "{has_run}");
        assert_eq!(given_back(has_run, true, true), ["covered twice"], "{has_run}");
    }
}

#[test]
fn a_store_that_forgot_nothing_must_know() {
    let unknown =
        |evidence: &mut Evidence| evidence.entries[2] = no_run(evidence.entries[2].tick_ms, "unknown", "");
    assert_eq!(found(unknown), ["needlessly unknown"]);
    let forgot = |evidence: &mut Evidence| {
        unknown(evidence);
        evidence.losses_ms.push(evidence.entries[2].tick_ms + 500);
    };
    assert_eq!(found(forgot), Vec::<&str>::new());
}

#[test]
fn a_record_that_is_not_true_is_told() {
    let ran =
        |evidence: &mut Evidence| evidence.entries[2] = no_run(evidence.entries[2].tick_ms, "missed", "late");
    assert_eq!(found(ran), ["untrue"]);
    let did_not = |evidence: &mut Evidence| {
        evidence.runs.remove(2);
        evidence.faults.push(fault(Kind::StopRedis, evidence));
    };
    assert_eq!(found(did_not), ["untrue"]);
}

#[test]
fn a_wrong_count_is_told() {
    let folded = |evidence: &mut Evidence, count| {
        third_did_not_run(evidence, "missed", "no_replica");
        evidence.faults.push(fault(Kind::KillReplica, evidence));
        let after_ms = Some(evidence.entries[1].tick_ms);
        evidence.entries[2] = Recorded { after_ms, count: Some(count), ..evidence.entries[2].clone() };
    };
    assert_eq!(found(|evidence| folded(evidence, 2)), ["miscounted"]);
    assert_eq!(found(|evidence| folded(evidence, 1)), Vec::<&str>::new());
}

#[test]
fn a_skip_for_a_run_that_was_not_going_on_is_told() {
    let skipped = |evidence: &mut Evidence| {
        third_did_not_run(evidence, "skipped", "overlap");
        evidence.faults.push(fault(Kind::KillReplica, evidence));
    };
    assert_eq!(found(skipped), ["skipped for nothing"]);
    let by_right = |evidence: &mut Evidence| {
        skipped(evidence);
        let life = evidence.entries[2].tick_ms - BEGUN_MS;
        evidence.runs[1].lives_ms.push(life);
        evidence.renewals.get_mut(&evidence.runs[1].run).expect("it renewed").push(life - 20);
    };
    assert_eq!(found(by_right), Vec::<&str>::new());
}

#[test]
fn a_tick_that_did_not_run_needs_a_fault_near_it() {
    let missed = |evidence: &mut Evidence| third_did_not_run(evidence, "missed", "no_replica");
    assert_eq!(found(missed), ["not run"]);
    let near = |evidence: &mut Evidence| {
        missed(evidence);
        let at = evidence.entries[2].tick_ms - 10_000;
        evidence.faults.push(Fault { begun_ms: at, ended_ms: at, ..fault(Kind::Cut, evidence) });
    };
    assert_eq!(found(near), Vec::<&str>::new());
    let long_ago = |evidence: &mut Evidence| {
        missed(evidence);
        let at = evidence.entries[2].tick_ms - 20_000;
        evidence.faults.push(Fault { begun_ms: at, ended_ms: at, ..fault(Kind::Cut, evidence) });
    };
    assert_eq!(found(long_ago), ["not run"]);
}

#[test]
fn what_is_left_behind_is_told() {
    assert_eq!(found(|evidence| evidence.troubles.push("left behind: sleep".into())), ["trouble"]);
}

#[test]
fn what_a_clock_of_another_year_named_is_no_second_run_and_not_early() {
    let ahead = |evidence: &mut Evidence| {
        let of_later = |run: &Testimony| Testimony {
            tick_ms: run.tick_ms + 3_600_000,
            run: format!("{} again", run.run),
            fence: run.fence + 1,
            started_utc_ms: run.started_utc_ms + 4_000,
            started_ms: run.started_ms + 4_000,
            lives_ms: vec![run.started_ms + 4_000],
            ..run.clone()
        };
        let twice = of_later(&evidence.runs[8]);
        evidence.renewals.insert(twice.run.clone(), vec![twice.started_ms]);
        evidence.runs.push(twice);
    };
    assert_eq!(found(ahead), ["early"], "all clocks were right");
    let by_a_wrong_clock = |evidence: &mut Evidence| {
        ahead(evidence);
        evidence.faults.push(fault(Kind::BothHour, evidence));
    };
    assert_eq!(found(by_a_wrong_clock), Vec::<&str>::new());
}
