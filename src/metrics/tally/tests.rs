//! Events and what they count.

use std::collections::BTreeMap;

use crate::events::Changes;
use crate::job::{Fence, NodeName, RunId};
use crate::metrics::samples::SampleValue;
use crate::store::StoreError;
use crate::time::{BootInstant, SystemClock};

use super::*;

const NOON: UtcMillis = UtcMillis(1_800_014_400_000);

fn name(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

fn tally() -> Tally {
    Tally::of([name("a"), name("b")], Arc::new(SystemClock))
}

/// Returns what is not zero: `NAME LABELS` with the number; of a histogram, how many values it has.
fn counted(tally: &Tally) -> BTreeMap<String, f64> {
    let mut counted = BTreeMap::new();
    for (family, samples) in tally.samples() {
        for sample in samples {
            let number = match sample.value {
                SampleValue::Number(number) => number,
                SampleValue::Histogram(histogram) => histogram.count as f64,
            };
            let labels = sample.labels.join(" ");
            counted.insert(format!("{} {labels}", family.name).trim_end().to_owned(), number);
        }
    }
    // Both are set from the start.
    counted.remove("solocron_file_load_timestamp_seconds");
    counted.remove("solocron_file_load_success");
    counted.retain(|_, number| *number != 0.0);
    counted
}

/// Returns what these events count in a new tally.
fn counts(events: &[Event]) -> BTreeMap<String, f64> {
    let tally = tally();
    events.iter().for_each(|event| tally.count(event));
    counted(&tally)
}

fn expected(numbers: &[(&str, f64)]) -> BTreeMap<String, f64> {
    numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
}

fn run(job: &str, cause: Cause) -> Run {
    Run { job: name(job), tick: Tick(NOON), run: RunId::new(), fence: Fence(7), cause }
}

fn started(run: &Run, late: Duration) -> Event {
    Event::RunStarted { run: run.clone(), late, waited: false, sent: BootInstant(Duration::ZERO) }
}

fn ended(run: &Run, verdict: Verdict, took: Duration) -> Event {
    Event::RunEnded {
        run: run.clone(),
        attempt: 1,
        verdict,
        exit_code: None,
        signal: None,
        took,
        at: run.tick.instant().plus(took),
        stop_signals: StopSignals::default(),
        stages: None,
        error: None,
    }
}

const SUCCEEDED: Verdict = Verdict::plain(Outcome::Succeeded);
const LATE: Duration = Duration::from_millis(3);
const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_run_counts_when_it_starts_and_when_it_ends() {
    let run = run("a", Cause::Schedule);
    assert_eq!(
        counts(&[started(&run, LATE), ended(&run, SUCCEEDED, MINUTE)]),
        expected(&[
            ("solocron_tick_lateness_seconds", 1.0),
            ("solocron_ticks_total succeeded", 1.0),
            ("solocron_run_duration_seconds ok", 1.0),
        ])
    );
}

#[test]
fn only_scheduled_ticks_that_waited_for_no_run_show_how_late_the_replica_is() {
    for cause in [Cause::CatchUp, Cause::Rerun, Cause::Manual] {
        assert_eq!(counts(&[started(&run("a", cause), LATE)]), expected(&[]), "{cause}");
    }
    let waited = Event::RunStarted {
        run: run("a", Cause::Schedule),
        late: LATE,
        waited: true,
        sent: BootInstant(Duration::ZERO),
    };
    assert_eq!(counts(&[waited]), expected(&[]));
}

#[test]
fn a_run_that_an_operator_or_a_newer_tick_stopped_is_in_no_duration() {
    let killed = Verdict::because(Outcome::Killed, Reason::Operator);
    let of_killed = counts(&[ended(&run("a", Cause::Schedule), killed, MINUTE)]);
    assert_eq!(of_killed, expected(&[("solocron_ticks_total killed operator", 1.0)]));
    let lost = Verdict::because(Outcome::Interrupted, Reason::LockLost);
    let of_lost = counts(&[ended(&run("a", Cause::Schedule), lost, MINUTE)]);
    assert_eq!(
        of_lost,
        expected(&[
            ("solocron_ticks_total interrupted lock_lost", 1.0),
            ("solocron_run_duration_seconds failed", 1.0)
        ])
    );
}

#[test]
fn a_run_of_a_replica_that_is_down_counts_on_the_one_that_records_it() {
    let event = Event::Peer(PeerEvent::RunInterrupted {
        run: run("b", Cause::Schedule),
        peer: NodeName::parse("n2").expect("a name"),
        verdict: Verdict::because(Outcome::Interrupted, Reason::NodeLost),
        took: MINUTE,
        at: NOON,
    });
    let tally = tally();
    tally.count(&event);
    let job = tally.jobs().of_job(&name("b")).expect("it is in the file");
    assert_eq!((job.results(), job.run_time(), job.failure_at()), ([0, 1, 0, 0], MINUTE, Some(NOON)));
    assert_eq!(counted(&tally).get("solocron_ticks_total interrupted node_lost"), Some(&1.0));
}

#[test]
fn each_signal_of_a_stop_counts_with_its_cause_also_of_an_attempt_before_the_last() {
    let run = run("a", Cause::Schedule);
    let signals = |term, kill| StopSignals { term, kill };
    let Event::RunEnded { attempt, exit_code, signal, took, at, stages, error, .. } =
        ended(&run, SUCCEEDED, MINUTE)
    else {
        panic!("it is one")
    };
    let stopped = Event::RunEnded {
        run: run.clone(),
        verdict: Verdict::because(Outcome::Interrupted, Reason::NodeLost),
        stop_signals: signals(Some(StopReason::Shutdown), Some(StopReason::GuardLost)),
        attempt,
        exit_code,
        signal,
        took,
        at,
        stages,
        error,
    };
    let failed = Event::AttemptFailed {
        run,
        attempt: 1,
        verdict: Verdict::plain(Outcome::TimedOut),
        exit_code: None,
        signal: Some(9),
        error: None,
        stop_signals: signals(Some(StopReason::Timeout), Some(StopReason::Timeout)),
        again_in: MINUTE,
    };
    let counts = counts(&[failed, stopped]);
    let kills: Vec<&String> = counts.keys().filter(|name| name.starts_with("solocron_kills")).collect();
    let expected = [
        "solocron_kills_total kill timeout",
        "solocron_kills_total term drain",
        "solocron_kills_total term timeout",
    ];
    assert_eq!(kills, expected, "a run whose guard was killed was not stopped");
    assert_eq!(counts.get("solocron_attempts_failed_total"), Some(&1.0));
}

#[test]
fn the_store_the_clocks_and_the_locks_count() {
    let store = || "redis".to_owned();
    let run = run("a", Cause::Schedule);
    let events = [
        Event::StoreReached { store: store() },
        Event::StoreChanged { what: StoreChange::NewEra },
        Event::StoreChanged { what: StoreChange::DataLost },
        Event::StoreChanged { what: StoreChange::ClockStepped },
        Event::StoreChanged { what: StoreChange::ClockSlewed },
        Event::ClockStepped,
        Event::Renewed {
            run: run.clone(),
            sent: BootInstant(Duration::ZERO),
            left: Duration::from_secs(25),
            lease: Duration::from_secs(30),
        },
        Event::LockLost { run: run.clone(), why: "could not renew it in time" },
        Event::ClaimAbandoned { job: name("a"), run: run.run, reason: Reason::Shutdown },
    ];
    let numbers = [
        ("solocron_store_up", 1.0),
        ("solocron_store_eras_total", 2.0),
        ("solocron_clock_steps_total", 2.0),
        ("solocron_renewal_slack_ratio", 1.0),
        ("solocron_locks_lost_total", 1.0),
        ("solocron_claims_abandoned_total shutdown", 1.0),
    ];
    assert_eq!(counts(&events), expected(&numbers));
    let lost = [Event::StoreReached { store: store() }, Event::StoreLost(StoreError::NotSent("down".into()))];
    assert_eq!(counts(&lost), expected(&[]));
}

#[test]
fn the_stages_of_a_start_count_each_by_itself() {
    let millis = Duration::from_millis;
    let stages = StartStages { claim: millis(0), grant: millis(1), prepare: millis(2), spawn: millis(3) };
    let tally = tally();
    tally.count_stages(&stages);
    let counted = counted(&tally);
    assert!(
        ["claim", "grant", "prepare", "spawn"]
            .iter()
            .all(|stage| { counted.get(&format!("solocron_start_stage_seconds {stage}")) == Some(&1.0) })
    );
}

#[test]
fn a_file_that_is_refused_shows_until_one_is_loaded() {
    let tally = tally();
    let success = || {
        let samples =
            tally.samples().into_iter().find(|(family, _)| family.name == "solocron_file_load_success");
        samples.expect("it is there").1.remove(0).value
    };
    assert_eq!(success(), SampleValue::Number(1.0));
    tally.file_refused();
    assert_eq!(success(), SampleValue::Number(0.0));
    tally.count(&Event::Reloaded { file: "f".into(), changes: Changes::default() });
    assert_eq!(success(), SampleValue::Number(1.0));
}

#[test]
fn a_tick_of_a_job_is_ok_failed_missed_or_skipped() {
    let verdict = |outcome, reason| Verdict::because(outcome, reason);
    for (verdict, result) in [
        (SUCCEEDED, 0),
        (Verdict::plain(Outcome::Failed), 1),
        (Verdict::plain(Outcome::TimedOut), 1),
        (verdict(Outcome::Interrupted, Reason::NodeLost), 1),
        (verdict(Outcome::Unknown, Reason::LeftBehind), 1),
        (verdict(Outcome::Missed, Reason::Late), 2),
        (verdict(Outcome::Unknown, Reason::StoreReset), 2),
        (verdict(Outcome::Skipped, Reason::Paused), 3),
        (verdict(Outcome::Killed, Reason::Replaced), 3),
    ] {
        let tally = tally();
        tally.count(&Event::TickConsumed { job: name("a"), tick: Tick(NOON), verdict, at: NOON });
        let job = tally.jobs().of_job(&name("a")).expect("it is in the file");
        let mut results = [0; 4];
        results[result] = 1;
        assert_eq!(job.results(), results, "{verdict}");
        assert_eq!(job.success_at(), Some(NOON).filter(|_| result == 0), "{verdict}");
        assert_eq!(job.failure_at(), Some(NOON).filter(|_| result == 1 || result == 2), "{verdict}");
        assert_eq!(job.decided(), Some(Tick(NOON)), "{verdict}");
    }
}

#[test]
fn instants_of_a_job_never_go_back() {
    let (tally, earlier) = (tally(), Run { tick: Tick(NOON.minus(MINUTE)), ..run("a", Cause::Schedule) });
    tally.count(&ended(&run("a", Cause::Schedule), SUCCEEDED, MINUTE));
    tally.count(&ended(&earlier, SUCCEEDED, Duration::from_secs(1)));
    let job = tally.jobs().of_job(&name("a")).expect("it is in the file");
    assert_eq!((job.success_tick(), job.success_at()), (Some(NOON), Some(NOON.plus(MINUTE))));
}

#[test]
fn a_run_is_shown_while_it_is_running_here_and_no_other_end_hides_it() {
    let (tally, run) = (tally(), run("a", Cause::Manual));
    let running = || tally.jobs().of_job(&name("a")).expect("it is in the file").running();
    tally.count(&started(&run, MINUTE));
    let expected = RunningHere { run: run.run, tick: Tick(NOON), started: NOON.plus(MINUTE) };
    assert_eq!(running(), Some(expected));
    let other = Event::ClaimAbandoned { job: name("a"), run: RunId::new(), reason: Reason::Edited };
    tally.count(&other);
    assert_eq!(running(), Some(expected));
    tally.count(&ended(&run, SUCCEEDED, MINUTE));
    assert_eq!(running(), None);
}

#[test]
fn a_run_by_hand_or_once_more_decides_no_tick_and_one_that_others_took_is_decided() {
    let tally = tally();
    let decided = || tally.jobs().of_job(&name("a")).expect("it is in the file").decided();
    for cause in [Cause::Manual, Cause::Rerun] {
        tally.count(&started(&run("a", cause), LATE));
        assert_eq!(decided(), None, "{cause}");
    }
    tally.count(&Event::TickDecided { job: name("a"), tick: Tick(NOON), holder: None, how: None });
    assert_eq!(decided(), Some(Tick(NOON)));
}

#[test]
fn jobs_come_and_go_with_the_file_and_those_of_no_file_count_in_total_alone() {
    let tally = tally();
    let reload = |added: &[&str], removed: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|one| name(one)).collect();
        let changes = Changes { added: names(added), changed: Vec::new(), removed: names(removed) };
        tally.count(&Event::Reloaded { file: "f".into(), changes });
    };
    tally.count(&ended(&run("c", Cause::Schedule), SUCCEEDED, MINUTE));
    assert!(tally.jobs().of_job(&name("c")).is_none());
    assert_eq!(counted(&tally).get("solocron_ticks_total succeeded"), Some(&1.0));
    tally.count(&ended(&run("a", Cause::Schedule), SUCCEEDED, MINUTE));
    reload(&["c"], &["a"]);
    let results = |job| tally.jobs().of_job(&name(job)).map(|job| job.results());
    assert_eq!((results("a"), results("c")), (None, Some([0; 4])));
    reload(&["a"], &["c"]);
    assert_eq!((results("a"), results("c")), (Some([0; 4]), None));
}
