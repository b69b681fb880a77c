//! What the board reads, keeps and forgets.

use crate::config::testing::config;
use crate::job::{Cause, NodeName, Outcome, Tick, Verdict};
use crate::lease::{Era, HistoryEntry, Phase, Record, ScheduleHash};
use crate::store::{Beat, BeatRun, Peer};

use super::*;

fn name(name: &str) -> JobName {
    JobName::parse(name).expect("a name")
}

fn at(seconds: u64) -> BootInstant {
    BootInstant(Duration::from_secs(1_000 + seconds))
}

fn read(seconds: u64) -> ReadAt {
    let store = UtcMillis(1_700_000_000_000).plus(Duration::from_secs(seconds));
    ReadAt { store, boot: at(seconds) }
}

fn file(jobs: &[&str]) -> Arc<JobsByName> {
    let job = |job: &&str| format!("[jobs.{job}]\nschedule = \"@daily\"\nshell = \"true\"\n");
    let jobs: String = jobs.iter().map(job).collect();
    Arc::new(config(format!("cluster.store = \"local\"\n{jobs}")).jobs)
}

/// The record of a job whose newest decided tick was at this second.
fn record(mark: i64) -> Record {
    Record {
        mark: UtcMillis(1_700_000_000_000 + mark * 1_000),
        schedule_hash: ScheduleHash("x".into()),
        ..Record::empty(Era::default())
    }
}

fn standing(mark: i64) -> Option<JobStanding> {
    Some(JobStanding::of(&record(mark)))
}

fn glance(mark: i64, outcome: Outcome) -> JobGlance {
    let tick = Tick(record(mark).mark);
    let entry = HistoryEntry::without_run(tick, Cause::Schedule, Verdict::plain(outcome), tick.instant());
    JobGlance { record: Some(record(mark)), entries: vec![entry], unread: None }
}

/// A table of these jobs, whose standings were read at second 0.
fn swept(jobs: &[&str]) -> JobTable {
    let mut table = JobTable::of(&file(jobs));
    let standings = jobs.iter().map(|job| (name(job), standing(0))).collect();
    table.take_in_all(standings, read(0));
    table
}

fn view(table: &mut JobTable, job: &str, is_deep: bool, now: u64) {
    table.note_view([name(job)].iter(), is_deep, at(now));
}

/// Returns how many entries of `a` are known.
fn entries(table: &JobTable) -> usize {
    table.states([name("a")].iter()).first().map_or(0, |state| state.entries.len())
}

#[test]
fn a_job_has_older_entries_unless_fewer_were_read_than_asked_for() {
    let mut table = swept(&["a"]);
    let has_older = |table: &JobTable| table.states([name("a")].iter())[0].has_older;
    view(&mut table, "a", true, 1);
    assert!(has_older(&table), "none was read");
    for (depth, damage, is_told) in [(1, None, true), (2, None, false), (2, Some("damaged"), true)] {
        let unread = damage.map(str::to_owned);
        let read_again = JobGlance { unread, ..glance(0, Outcome::Succeeded) };
        table.take_in_glance(&name("a"), read_again, depth, read(1));
        assert_eq!(has_older(&table), is_told, "{depth} {damage:?}");
    }
}

#[test]
fn what_nobody_looks_at_is_not_read() {
    let mut table = swept(&["a", "b"]);
    assert_eq!(table.next_read(at(0)), None);
}

#[test]
fn what_somebody_looks_at_is_read_once_and_again_when_it_changed() {
    let mut table = swept(&["a", "b"]);
    view(&mut table, "a", true, 1);
    let wanted = Some(BoardRead::Glance(vec![name("a")], GLANCED_ENTRIES));
    assert_eq!(table.next_read(at(1)), wanted);
    assert!(!table.is_current([name("a")].iter(), at(1)));
    table.take_in_glance(&name("a"), glance(0, Outcome::Succeeded), GLANCED_ENTRIES, read(1));
    assert_eq!((table.next_read(at(1)), entries(&table)), (None, 1));
    assert!(table.is_current([name("a")].iter(), at(1)));
    table.note_change(&name("a"));
    assert_eq!(table.next_read(at(2)), wanted);
}

#[test]
fn of_a_job_that_nobody_looks_at_only_its_standing_is_read_when_it_changed() {
    let mut table = swept(&["a", "b"]);
    table.note_change(&name("b"));
    assert_eq!(table.next_read(at(1)), Some(BoardRead::Standings(vec![name("b")])));
    table.take_in_standing(&name("b"), standing(5), read(1));
    assert_eq!(table.next_read(at(1)), None);
    assert_eq!(
        table.states([name("b")].iter())[0].record.as_ref().map(|record| record.mark),
        Some(record(5).mark)
    );
}

#[test]
fn a_doubt_is_settled_by_the_standing_and_entries_are_read_only_if_it_differs() {
    let mut table = swept(&["a"]);
    view(&mut table, "a", true, 1);
    table.take_in_glance(&name("a"), glance(0, Outcome::Succeeded), GLANCED_ENTRIES, read(1));
    for (mark, after) in [(0, None), (9, Some(BoardRead::Glance(vec![name("a")], GLANCED_ENTRIES)))] {
        table.doubt_all();
        assert_eq!(table.next_read(at(2)), Some(BoardRead::Standings(vec![name("a")])));
        table.take_in_standing(&name("a"), standing(mark), read(2));
        assert_eq!(table.next_read(at(2)), after);
    }
    assert_eq!(entries(&table), 1, "what is shown stays until it is read again");
}

#[test]
fn checks_leave_alone_what_was_read_a_moment_ago() {
    let mut table = swept(&["a", "b"]);
    view(&mut table, "a", true, 0);
    table.take_in_glance(&name("a"), glance(0, Outcome::Succeeded), GLANCED_ENTRIES, read(0));
    table.doubt_viewed(Duration::from_secs(5), at(4));
    table.doubt_due([name("b")].iter(), at(4));
    assert_eq!(table.next_read(at(4)), None);
    table.doubt_viewed(Duration::from_secs(5), at(5));
    table.doubt_due([name("b")].iter(), at(5));
    assert_eq!(table.next_read(at(5)), Some(BoardRead::Standings(vec![name("a"), name("b")])));
}

#[test]
fn a_failing_job_is_read_further_back_only_where_its_newest_entry_is_no_failure() {
    let mut table = swept(&["a"]);
    view(&mut table, "a", false, 1);
    assert_eq!(table.next_read(at(1)), Some(BoardRead::Glance(vec![name("a")], 1)));
    let wanted = Some(BoardRead::Glance(vec![name("a")], GLANCED_ENTRIES));
    for (newest, after) in [(Outcome::Failed, None), (Outcome::Skipped, wanted)] {
        let mut glance = glance(0, newest);
        glance.record.iter_mut().for_each(|record| record.failures_in_row = 1);
        table.take_in_glance(&name("a"), glance, 1, read(1));
        view(&mut table, "a", false, 1);
        assert_eq!(table.next_read(at(1)), after, "{newest}");
    }
}

#[test]
fn entries_are_forgotten_a_minute_after_the_last_look() {
    let mut table = swept(&["a"]);
    view(&mut table, "a", true, 1);
    table.take_in_glance(&name("a"), glance(0, Outcome::Succeeded), GLANCED_ENTRIES, read(1));
    table.forget(at(61));
    assert_eq!(entries(&table), 1);
    table.forget(at(62));
    assert_eq!((entries(&table), table.next_read(at(62))), (0, None));
}

#[test]
fn each_read_is_of_few_jobs_and_each_kind_has_its_turn() {
    let jobs: Vec<String> = (0..30).map(|number| format!("j{number:02}")).collect();
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let mut table = swept(&jobs);
    jobs.iter().take(20).for_each(|job| view(&mut table, job, true, 1));
    jobs.iter().skip(20).for_each(|job| table.note_change(&name(job)));
    let kinds: Vec<_> = (0..3)
        .map(|_| match table.next_read(at(1)) {
            Some(BoardRead::Glance(jobs, newest)) => (jobs.len(), newest),
            Some(BoardRead::Standings(jobs)) => (jobs.len(), 0),
            None => (0, 0),
        })
        .collect();
    assert_eq!(kinds, [(10, GLANCED_ENTRIES), (10, 0), (10, GLANCED_ENTRIES)]);
}

#[test]
fn no_more_jobs_than_fit_are_kept_with_all_glanced_entries() {
    let jobs: Vec<String> = (0..MOST_DEEP + 10).map(|number| format!("j{number}")).collect();
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let mut table = swept(&jobs);
    let names: Vec<JobName> = jobs.iter().map(|job| name(job)).collect();
    table.note_view(names.iter(), true, at(1));
    let deep = table.jobs.values().filter(|job| job.wanted(at(1)) > 1).count();
    assert_eq!(deep, MOST_DEEP);
}

#[test]
fn another_file_changes_definitions_and_adds_its_jobs() {
    let mut table = swept(&["a", "b"]);
    let before = table.version();
    table.reload(&file(&["b", "c"]));
    let is_absent = |state: &JobState| matches!(state.definition, Definition::Absent);
    let absent: Vec<bool> = table.all_states().iter().map(is_absent).collect();
    assert_eq!(absent, [true, false, false]);
    assert!(table.version() > before && table.next_read(at(1)).is_some());
}

#[test]
fn what_may_have_changed_is_known_only_up_to_its_last_read() {
    let mut table = swept(&["a", "b"]);
    let names = [name("a"), name("b")];
    let latest = UtcMillis(1_700_000_099_000);
    assert_eq!(table.as_of(names.iter(), latest), latest);
    table.note_change(&names[1]);
    assert_eq!(table.as_of(names.iter(), latest), read(0).store);
    assert_eq!(table.as_of(names[..1].iter(), latest), latest);
}

#[test]
fn a_run_that_no_heartbeat_lists_is_looked_after_every_second_until_it_ends() {
    let mut table = swept(&["a"]);
    let run = RunId::new();
    let running = Record { phase: Phase::Running, run: Some(run), ..record(0) };
    table.take_in_standing(&name("a"), Some(JobStanding::of(&running)), read(1));
    let mut listed = ListedRuns::default();
    table.doubt_running(&listed, at(1));
    assert_eq!(table.next_read(at(1)), None, "it was just read");
    table.doubt_running(&listed, at(2));
    assert_eq!(table.next_read(at(2)), Some(BoardRead::Standings(vec![name("a")])));
    table.take_in_standing(&name("a"), Some(JobStanding::of(&running)), read(2));
    let node = NodeName::parse("n1").expect("a name");
    let running = vec![BeatRun { job: name("a"), run, lease_ms: 0, end: None }];
    let beat = Beat { running, ..Beat::of(node, RunId::new(), "f".into(), UtcMillis(1)) };
    listed.hear(&[Peer { at: UtcMillis(1), beat }]);
    table.doubt_running(&listed, at(9));
    assert_eq!(table.next_read(at(9)), None, "a heartbeat tells of its end");
}
