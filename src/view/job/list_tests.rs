//! Which jobs a list shows, and in which order.

use std::sync::Arc;
use std::time::Duration;

use crate::config::testing::config;
use crate::job::Tick;
use crate::lease::{Era, Phase, Record, ScheduleHash};
use crate::store::{Beat, BeatRun, Peer};
use crate::time::UtcMillis;
use crate::view::job::{Definition, KnownJob};
use crate::view::testing::{NOON, node, run_id};

use super::*;

const FILE: &str = r#"
cluster.store = "local"
[jobs.backup]
schedule = "*/5 * * * *"
shell = "true"
description = "Copies the Ledger"
[jobs.hourly]
schedule = "0 * * * *"
shell = "true"
[jobs.minutely]
schedule = "* * * * *"
shell = "true"
[jobs.payout]
schedule = "0 18 * * *"
shell = "true"
[jobs.retired]
schedule = "0 0 * * *"
shell = "true"
enabled = false
[jobs.slow]
schedule = "0 13 * * *"
shell = "true"
"#;

/// A second after noon.
fn now() -> UtcMillis {
    UtcMillis(NOON + 1_000)
}

/// Returns the record of a job of the file whose ticks are all decided.
fn record(spec: &crate::job::JobSpec) -> Record {
    Record {
        schedule_hash: ScheduleHash::of(&spec.schedule),
        schedule_since: UtcMillis(NOON - 90_000_000),
        mark: now(),
        ..Record::empty(Era::default())
    }
}

/// Returns the jobs of the file, with `payout` failing, `slow` running, `hourly` paused and `minutely` late, and two jobs
/// that only the store knows.
fn snapshot() -> Snapshot {
    let jobs = config(FILE).jobs;
    let state = |spec: Arc<crate::job::JobSpec>| {
        let usual = record(&spec);
        let record = match spec.name.as_str() {
            "payout" => Record { failures_in_row: 2, failing_since: Some(now()), ..usual },
            "slow" => Record {
                phase: Phase::Running,
                run: Some(run_id(1)),
                tick: Some(Tick(now())),
                owner: Some(node("n1")),
                started: Some(now()),
                ..usual
            },
            "hourly" => Record { paused: Some(now().plus(Duration::from_secs(60))), ..usual },
            "minutely" => Record { mark: UtcMillis(NOON - 7_200_000), ..usual },
            _ => usual,
        };
        JobState::of(spec.into(), Ok(Some(record)), Ok(Vec::new()))
    };
    let mut states: Vec<JobState> = jobs.into_values().map(state).collect();
    for (name, ended) in [("lately-removed", NOON - 60_000), ("long-removed", NOON - 172_800_000)] {
        let name = JobName::parse(name).expect("a name");
        let record = Record { ended: Some(UtcMillis(ended)), ..Record::empty(Era::default()) };
        let job = KnownJob { name, definition: Definition::Absent };
        states.push(JobState::of(job, Ok(Some(record)), Ok(Vec::new())));
    }
    let running = vec![BeatRun {
        job: JobName::parse("slow").expect("a name"),
        run: run_id(1),
        lease_ms: 0,
        end: None,
    }];
    let beat = Beat { running, ..Beat::of(node("n1"), run_id(90), "f".into(), UtcMillis(NOON)) };
    Snapshot::of(now(), vec![Peer { at: now(), beat }], states)
}

fn names(query: &JobQuery) -> Vec<String> {
    let list = JobList::of(&snapshot(), Expected::default());
    list.page(query).jobs.iter().map(ToString::to_string).collect()
}

#[test]
fn troubles_come_first_then_what_runs_then_the_next_tick_and_then_the_name() {
    assert_eq!(
        names(&JobQuery::default()),
        ["minutely", "payout", "slow", "backup", "hourly", "lately-removed", "retired"]
    );
}

#[test]
fn a_text_and_conditions_narrow_the_list_down() {
    use JobCondition::{Absent, Disabled, Failing, Late, Paused, Running};
    for (text, conditions, expected) in [
        ("", vec![Failing], vec!["payout"]),
        ("", vec![Running], vec!["slow"]),
        ("", vec![Paused], vec!["hourly"]),
        ("", vec![Late], vec!["minutely"]),
        ("", vec![Disabled], vec!["retired"]),
        ("", vec![Absent], vec!["lately-removed", "long-removed"]),
        ("", vec![Failing, Paused], vec!["payout", "hourly"]),
        ("LY", vec![], vec!["minutely", "hourly", "lately-removed"]),
        ("ledger", vec![], vec!["backup"]),
        ("ledger", vec![Failing], vec![]),
        ("long", vec![], vec![]),
        ("long", vec![Absent], vec!["long-removed"]),
    ] {
        let query = JobQuery { text: text.into(), conditions: conditions.clone(), page: 1 };
        assert_eq!(names(&query), expected, "{text:?} {conditions:?}");
    }
}

#[test]
fn counts_are_of_all_jobs_whatever_is_asked_for() {
    let list = JobList::of(&snapshot(), Expected::default());
    assert_eq!(list.count(None), 7);
    assert_eq!(JobCondition::ALL.map(|condition| list.count(Some(condition))), [1, 1, 1, 1, 1, 2]);
    let due: Vec<&str> =
        list.jobs().iter().filter(|job| job.due.is_some()).map(|job| job.name.as_str()).collect();
    assert_eq!(due, ["minutely"]);
}

#[test]
fn pages_hold_fifty_jobs_and_a_page_beyond_the_last_is_the_last() {
    let job = |number: usize| format!("[jobs.j{number:03}]\nschedule = \"@daily\"\nshell = \"true\"\n");
    let file = format!("cluster.store = \"local\"\n{}", (0..101).map(job).collect::<String>());
    let state = |spec: Arc<crate::job::JobSpec>| {
        let record = record(&spec);
        JobState::of(spec.into(), Ok(Some(record)), Ok(Vec::new()))
    };
    let states = config(file).jobs.into_values().map(state).collect();
    let list = JobList::of(&Snapshot::of(now(), Vec::new(), states), Expected::default());
    for (page, number, first, count) in
        [(0, 1, "j000", 50), (1, 1, "j000", 50), (2, 2, "j050", 50), (3, 3, "j100", 1), (99, 3, "j100", 1)]
    {
        let found = list.page(&JobQuery { page, ..JobQuery::default() });
        assert_eq!((found.page, found.pages, found.wanted), (number, 3, 101), "page {page}");
        assert_eq!((found.jobs[0].as_str(), found.jobs.len()), (first, count), "page {page}");
    }
    let none = list.page(&JobQuery { text: "nothing".into(), ..JobQuery::default() });
    assert_eq!(none, JobListPage { jobs: Vec::new(), wanted: 0, page: 1, pages: 1 });
}

#[test]
fn each_condition_is_read_by_its_word() {
    for condition in JobCondition::ALL {
        assert_eq!(JobCondition::parse(condition.as_str()), Some(condition));
    }
    assert_eq!(JobCondition::parse("fine"), None);
}
