//! What counts as a problem, and what does not.

use std::sync::Arc;
use std::time::Duration;

use crate::job::{Cause, JobSpec, Label, Outcome, Reason, Verdict};
use crate::lease::{HistoryEntry, Phase};
use crate::store::{Beat, Slewed};
use crate::view::testing::{Bench, FILE, NOON, node, run_id};

use super::*;

/// Two live replicas and jobs that were just opened: nothing is wrong.
pub(super) async fn healthy(file: &str) -> (Bench, Snapshot) {
    let bench = Bench::new(file).await;
    for job in ["backup", "payout"] {
        bench.open(job).await;
    }
    let fingerprint = bench.config.fingerprint.clone();
    bench.beat("n1", &fingerprint, &[]).await;
    bench.beat("n2", &fingerprint, &[]).await;
    let jobs = bench.jobs();
    let snapshot = Snapshot::take(&bench.store, jobs, DEPTH).await.expect("answers");
    assert!(problems(&snapshot, bench.expected()).is_empty());
    (bench, snapshot)
}

/// Lets time pass while the replicas send heartbeats.
fn pass(snapshot: &mut Snapshot, time: Duration) {
    snapshot.now = snapshot.now.plus(time);
    snapshot.ages_to = snapshot.now;
    for peer in &mut snapshot.peers {
        peer.at = snapshot.now;
    }
}

pub(super) fn messages(snapshot: &Snapshot, bench: &Bench) -> Vec<String> {
    problems(snapshot, bench.expected()).into_iter().map(|problem| problem.message).collect()
}

/// An entry of the tick this many minutes after noon, decided at its instant.
fn entry(minute: i64, outcome: Outcome, reason: Option<Reason>) -> HistoryEntry {
    let tick = Tick::at_millis(NOON + minute * 60_000);
    HistoryEntry::without_run(tick, Cause::Schedule, Verdict { outcome, reason }, tick.instant())
}

/// Gives a job these entries, oldest first, and counts them in its record as a store does.
fn decide(job: &mut JobState, entries: Vec<HistoryEntry>) {
    let record = job.record.as_mut().expect("opened");
    (record.failures_in_row, record.failing_since) = (0, None);
    (record.last_success_tick, record.last_success_end) = (None, None);
    entries.iter().for_each(|entry| record.count_entry(entry, UtcMillis(i64::MAX)));
    job.entries = entries;
}

#[tokio::test]
async fn replicas_with_different_files_or_releases_are_named_with_what_they_have() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.peers[1].beat =
        Beat { file: "f2".into(), version: "0.2.0".into(), ..snapshot.peers[1].beat.clone() };
    let file = &bench.config.fingerprint;
    assert_eq!(messages(&snapshot, &bench).len(), 2);
    let [files, versions] = &messages(&snapshot, &bench)[..] else { panic!("two") };
    assert!(files.contains(&format!("n1 ({})", &file[..8])) && files.contains("n2 (f2)"), "{files}");
    assert_eq!(
        versions,
        "live replicas are of different releases: n1 (0.1.0) and n2 (0.2.0); upgrade the older ones"
    );
    snapshot.peers[1].at = UtcMillis(0);
    let kinds: Vec<Kind> = problems(&snapshot, bench.expected()).iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [Kind::TooFewReplicas], "what a dead replica had does not matter");
}

#[tokio::test]
async fn a_clock_that_differs_from_the_stores_is_said_of_live_replicas() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.peers[0].beat.ahead_ms = Some(90_000);
    snapshot.peers[1].beat.ahead_ms = Some(-2_000);
    let said = messages(&snapshot, &bench);
    assert!(
        matches!(&said[..], [one, two]
            if one.starts_with("the clock of n1 is") && one.contains("ahead of the store's; check NTP")
            && two.starts_with("the clock of n2 is") && two.contains("behind the store's")),
        "{said:?}"
    );
}

#[tokio::test]
async fn a_slewed_clock_of_the_store_is_said_once_for_all_live_replicas_that_see_it() {
    let (bench, mut snapshot) = healthy(FILE).await;
    pass(&mut snapshot, Duration::from_secs(40));
    let slewed =
        |second: i64, faster_ppm| Some(Slewed { since: UtcMillis(NOON + second * 1_000), faster_ppm });
    snapshot.peers[0].beat.slewed = slewed(12, 83_310);
    snapshot.peers[1].beat.slewed = slewed(10, 83_290);
    let found = problems(&snapshot, bench.expected());
    assert_eq!((found.len(), found[0].kind), (1, Kind::ClockSlewed));
    assert_eq!(found[0].since, Some(Rfc3339(UtcMillis(NOON + 10_000))));
    assert_eq!(
        found[0].message,
        "the store's clock is slewed: measured by n2, it runs 8.3 % too fast since 2026-11-20 12:00:10 UTC (30s ago). Until it has \
         been steady for one lease, jobs of dead replicas are not taken over, and jobs with a mark in the future do not run; all other jobs \
         run. Wait until NTP has corrected the clock; if you cannot wait, use `solocron unlock JOB`"
    );
    snapshot.peers[0].beat.slewed = None;
    let one = messages(&snapshot, &bench);
    assert!(one[0].starts_with("the store's clock, or that of n2, is slewed: measured by n2"), "{one:?}");
    // Any client that can write to the store may have set this value.
    snapshot.peers[1].beat.slewed = Some(Slewed { since: UtcMillis(i64::MIN), faster_ppm: i64::MIN });
    let found = problems(&snapshot, bench.expected());
    assert!(found[0].since.is_none() && found[0].message.contains("% too slow. Until"), "{found:?}");
    snapshot.peers[1].at = UtcMillis(0);
    assert!(!messages(&snapshot, &bench).iter().any(|said| said.contains("slewed")), "only the living count");
}

#[tokio::test]
async fn a_record_of_a_newer_release_is_said() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.jobs[0].record.as_mut().expect("opened").schema = SCHEMA + 1;
    let all = messages(&snapshot, &bench);
    assert_eq!(all.len(), 1);
    assert!(
        all[0].starts_with("`backup` has a record of schema 2, and this release knows up to 1"),
        "{all:?}"
    );
}

#[tokio::test]
async fn a_tick_is_overdue_only_after_its_start_deadline_and_one_lease() {
    let file = FILE.replace("[\"payout\"]", "[\"payout\"]\nstart_deadline = \"10m\"");
    let (bench, mut snapshot) = healthy(&file).await;
    snapshot.jobs.retain(|job| job.name.as_str() == "payout");
    pass(&mut snapshot, Duration::from_secs(3_600 + 600 + 30));
    assert!(messages(&snapshot, &bench).is_empty());
    pass(&mut snapshot, Duration::from_millis(1));
    assert_eq!(
        messages(&snapshot, &bench),
        [
            "`payout` is overdue: its tick of 2026-11-20 13:00:00 UTC (10m 30s ago) neither ran nor was recorded as missed; \
          see the replicas' logs"
        ]
    );
    snapshot.jobs[0].record.as_mut().expect("opened").schedule_hash.0 = "edited".into();
    assert!(messages(&snapshot, &bench).is_empty(), "by another schedule nothing can be said");
}

#[tokio::test]
async fn a_holder_that_is_silent_is_named_with_how_long_its_lock_lasts() {
    let (bench, mut snapshot) = healthy(FILE).await;
    pass(&mut snapshot, Duration::from_secs(12));
    snapshot.peers[1].at = UtcMillis(NOON);
    let record = snapshot.jobs[0].record.as_mut().expect("opened");
    record.phase = Phase::Running;
    record.run = Some(run_id(1));
    record.tick = Some(Tick::at_millis(NOON));
    record.owner = Some(node("n2"));
    record.lease = Duration::from_secs(30);
    record.ended = Some(UtcMillis(NOON));
    let all = problems(&snapshot, bench.expected());
    let held = all.iter().find(|problem| problem.kind == Kind::HolderLost).expect("it is silent");
    assert_eq!(
        held.message,
        "`backup` was running on n2, last heartbeat 12s ago; its lock expires in 18s unless it is renewed"
    );
    assert_eq!((held.node.as_ref(), held.since), (Some(&node("n2")), Some(Rfc3339(UtcMillis(NOON)))));
}

#[tokio::test]
async fn a_holder_that_is_no_replica_is_heard_by_its_renewals() {
    let (bench, mut snapshot) = healthy(FILE).await;
    pass(&mut snapshot, Duration::from_secs(12));
    let now = snapshot.now;
    let record = snapshot.jobs[0].record.as_mut().expect("opened");
    record.phase = Phase::Running;
    record.run = Some(run_id(1));
    record.tick = Some(Tick::at_millis(NOON));
    record.owner = Some(node("crontab-host"));
    record.lease = Duration::from_secs(30);
    // Renewed every five seconds, and four more are allowed.
    record.ended = Some(now.minus(Duration::from_secs(9)));
    let is_lost = |snapshot: &Snapshot| {
        problems(snapshot, bench.expected()).iter().any(|problem| problem.kind == Kind::HolderLost)
    };
    assert!(!is_lost(&snapshot));
    pass(&mut snapshot, Duration::from_millis(1));
    assert!(is_lost(&snapshot));
}

#[tokio::test]
async fn a_failure_stays_trouble_until_a_run_succeeds_whatever_is_skipped_or_killed() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let failed = entry(5, Outcome::Failed, None);
    let skipped = entry(10, Outcome::Skipped, Some(Reason::Overlap));
    let mut entries = vec![failed, skipped.clone()];
    decide(&mut snapshot.jobs[0], entries.clone());
    let failing = messages(&snapshot, &bench);
    assert!(matches!(&failing[..], [one] if one.starts_with("`backup`: failed, in 5m (see")), "{failing:?}");
    entries.push(entry(15, Outcome::Killed, Some(Reason::Operator)));
    decide(&mut snapshot.jobs[0], entries.clone());
    assert_eq!(messages(&snapshot, &bench), failing, "a killed run is no success");
    entries.extend([entry(20, Outcome::Succeeded, None), skipped]);
    decide(&mut snapshot.jobs[0], entries.clone());
    assert!(messages(&snapshot, &bench).is_empty());
    entries.push(entry(25, Outcome::Killed, Some(Reason::Replaced)));
    decide(&mut snapshot.jobs[0], entries);
    assert!(messages(&snapshot, &bench).is_empty(), "a killed run is no failure");
}

#[tokio::test]
async fn more_is_read_of_a_failing_job_only_while_no_entry_tells_how_it_failed() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let skipped = entry(10, Outcome::Skipped, Some(Reason::Overlap));
    let entries = vec![entry(5, Outcome::Failed, None), skipped.clone()];
    decide(&mut snapshot.jobs[0], entries.clone());
    assert!(!needs_depth(&snapshot.jobs[0]));
    snapshot.jobs[0].entries.remove(0);
    assert!(needs_depth(&snapshot.jobs[0]));
    let told = messages(&snapshot, &bench);
    assert!(told[0].starts_with("`backup`: its last tick did not succeed"), "{told:?}");
    decide(&mut snapshot.jobs[0], vec![skipped]);
    assert!(!needs_depth(&snapshot.jobs[0]), "it does not fail");
}

#[tokio::test]
async fn failures_before_and_after_a_killed_run_are_in_a_row() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let entries = vec![
        entry(5, Outcome::Succeeded, None),
        entry(10, Outcome::Failed, None),
        entry(15, Outcome::Killed, Some(Reason::Operator)),
        entry(20, Outcome::Failed, None),
    ];
    decide(&mut snapshot.jobs[0], entries);
    let problem = problems(&snapshot, bench.expected()).remove(0);
    assert_eq!((problem.kind, problem.count), (Kind::LastOutcome, Some(2)));
}

#[tokio::test]
async fn failures_are_known_from_the_record_before_any_entry_was_read() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let now = snapshot.now;
    let job = &mut snapshot.jobs[0];
    job.entries.clear();
    let record = job.record.as_mut().expect("a record");
    (record.failures_in_row, record.failing_since) = (3, Some(now));
    let problem = problems(&snapshot, bench.expected()).remove(0);
    assert_eq!((problem.kind, problem.count), (Kind::LastOutcome, Some(3)));
    assert!(problem.message.contains("its last tick did not succeed"), "{}", problem.message);
    assert!(problem.message.contains("; 3 ticks in a row did not succeed, since "), "{}", problem.message);
}

#[tokio::test]
async fn ticks_in_a_row_are_counted_with_the_folded_ones_and_those_that_were_not_read() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let folded = HistoryEntry {
        after: Some(UtcMillis(NOON)),
        count: Some(12),
        ..entry(60, Outcome::Missed, Some(Reason::NoReplica))
    };
    let entries = vec![entry(0, Outcome::Succeeded, None), folded, entry(65, Outcome::Failed, None)];
    decide(&mut snapshot.jobs[0], entries);
    let problem = problems(&snapshot, bench.expected()).remove(0);
    assert_eq!(problem.count, Some(13));
    assert!(
        problem.message.contains("; 13 ticks in a row did not succeed, since 2026-11-20 13:00:00 UTC"),
        "{problem:?}"
    );

    decide(&mut snapshot.jobs[0], (0..172).map(|minute| entry(minute, Outcome::Failed, None)).collect());
    snapshot.jobs[0].entries.drain(..172 - DEPTH);
    let problem = problems(&snapshot, bench.expected()).remove(0);
    assert_eq!((problem.count, problem.since), (Some(172), Some(Rfc3339(UtcMillis(NOON)))));
    let words = "; 172 ticks in a row did not succeed, since 2026-11-20 12:00:00 UTC";
    assert!(problem.message.contains(words), "{problem:?}");
}

#[tokio::test]
async fn a_job_that_no_live_replica_has_the_labels_of_is_trouble() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let label = |label: &str| Label::parse(label).expect("a label");
    let payout = snapshot.jobs.iter_mut().find(|job| job.name.as_str() == "payout").expect("it is there");
    let spec = JobSpec { only_on: vec![label("eu"), label("gpu")], ..JobSpec::clone(bench.spec("payout")) };
    payout.definition = Definition::Known(Arc::new(spec));
    snapshot.peers[1].beat.labels = vec![label("gpu")];
    assert_eq!(
        messages(&snapshot, &bench),
        ["`payout` does not run: no live replica has all the labels `eu`, `gpu`; start one with \
             `solocron run --label eu,gpu`"]
    );
    snapshot.peers[1].beat.labels = vec![label("gpu"), label("eu")];
    assert!(messages(&snapshot, &bench).is_empty());
    snapshot.peers[1].beat.draining = true;
    assert!(messages(&snapshot, &bench).iter().any(|message| message.starts_with("`payout` does not run")));
}

#[tokio::test]
async fn ticks_missed_for_want_of_a_replica_are_no_second_trouble_but_a_failure_is() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let payout = snapshot.jobs.iter_mut().find(|job| job.name.as_str() == "payout").expect("it is there");
    let only_on = vec![Label::parse("gpu").expect("a label")];
    let spec = JobSpec { only_on, ..JobSpec::clone(bench.spec("payout")) };
    payout.definition = Definition::Known(Arc::new(spec));
    let missed = |minute| entry(minute, Outcome::Missed, Some(Reason::NoReplica));
    decide(payout, vec![missed(0), missed(60)]);
    let found = problems(&snapshot, bench.expected());
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (one.kind, one.count, one.since),
        (Kind::NoReplicaFits, Some(2), Some(Rfc3339(UtcMillis(NOON))))
    );
    assert!(
        one.message.starts_with(
            "`payout` does not run: no live replica has the label `gpu`; start one with `solocron run --label gpu`; \
             2 ticks in a row did not succeed, since 2026-11-20 12:00:00 UTC"
        ),
        "{one:?}"
    );
    // Before its entries are read, the record counts the same ticks.
    let payout = snapshot.jobs.iter_mut().find(|job| job.name.as_str() == "payout").expect("it is there");
    payout.entries.clear();
    let unread = problems(&snapshot, bench.expected());
    assert_eq!(unread.iter().map(|problem| &problem.message).collect::<Vec<_>>(), [&one.message]);
    let payout = snapshot.jobs.iter_mut().find(|job| job.name.as_str() == "payout").expect("it is there");
    decide(payout, vec![missed(0), entry(60, Outcome::Failed, None)]);
    let kinds: Vec<Kind> = problems(&snapshot, bench.expected()).iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, [Kind::NoReplicaFits, Kind::LastOutcome]);
}

#[tokio::test]
async fn while_the_store_is_away_ages_go_on_and_nothing_more_becomes_overdue() {
    let (bench, mut snapshot) = healthy(FILE).await;
    decide(&mut snapshot.jobs[0], vec![entry(0, Outcome::Failed, None)]);
    snapshot.ages_to = snapshot.now.plus(Duration::from_secs(86_400));
    let told = messages(&snapshot, &bench);
    assert!(matches!(&told[..], [one] if one.starts_with("`backup`: failed, 1d ago (see")), "{told:?}");
}

#[tokio::test]
async fn problems_of_jobs_of_which_more_was_read_replace_the_former_ones() {
    let (bench, mut snapshot) = healthy(FILE).await;
    for job in &mut snapshot.jobs[..2] {
        decide(job, vec![entry(0, Outcome::Failed, None)]);
        job.entries.clear();
    }
    snapshot.peers[1].beat.version = "0.2.0".into();
    let former = problems(&snapshot, bench.expected());
    let entries = vec![entry(0, Outcome::Failed, None)];
    let read = JobState { entries, ..snapshot.jobs[1].clone() };
    let read = Snapshot::of(snapshot.now, snapshot.peers.clone(), vec![read]);
    let again = problems_again(&former, &read, bench.expected());
    let told: Vec<&str> = again.iter().map(|problem| problem.message.as_str()).collect();
    let [releases, payout, backup] = told[..] else { panic!("{told:?}") };
    assert!(releases.starts_with("live replicas are of different releases"), "{told:?}");
    assert!(payout.starts_with("`payout`: failed, now"), "{told:?}");
    assert!(backup.starts_with("`backup`: its last tick did not succeed"), "{told:?}");
}

#[tokio::test]
async fn a_last_outcome_is_told_in_words() {
    let (bench, mut snapshot) = healthy(FILE).await;
    decide(&mut snapshot.jobs[0], vec![entry(5, Outcome::Interrupted, Some(Reason::LockLost))]);
    let told = messages(&snapshot, &bench);
    assert!(told[0].starts_with("`backup`: interrupted (its replica lost the lock), "), "{told:?}");
    decide(&mut snapshot.jobs[0], vec![entry(5, Outcome::TimedOut, None)]);
    let told = messages(&snapshot, &bench);
    assert!(told[0].starts_with("`backup`: timed out, "), "{told:?}");
}

#[tokio::test]
async fn a_job_that_is_not_enabled_troubles_nobody() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let record = snapshot.jobs[0].record.clone();
    let retired = snapshot.jobs.iter_mut().find(|job| !job.definition.may_run()).expect("one is not");
    retired.record = record;
    decide(retired, vec![entry(0, Outcome::Failed, None)]);
    assert!(messages(&snapshot, &bench).is_empty());
}

#[tokio::test]
async fn a_job_that_no_replica_could_open_is_trouble_once_one_had_the_time() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.jobs[0].record = None;
    let said = "`backup` does not run: it has no record in the store, as no replica could open it; see the replicas' logs, \
                and `solocron check --probe`";
    assert_eq!(messages(&snapshot, &bench), [said]);
    let now = snapshot.now;
    for peer in &mut snapshot.peers {
        // By a clock that is a minute ahead.
        peer.beat.started = now.plus(Duration::from_secs(60)).minus(Duration::from_millis(9_999));
        peer.beat.ahead_ms = Some(60_000);
    }
    let has_no_record = |snapshot: &Snapshot| {
        problems(snapshot, bench.expected()).iter().any(|problem| problem.kind == Kind::NoRecord)
    };
    assert!(!has_no_record(&snapshot), "both have just started");
    pass(&mut snapshot, Duration::from_millis(1));
    assert!(has_no_record(&snapshot));
    let disabled = JobSpec { enabled: false, ..JobSpec::clone(bench.spec("backup")) };
    snapshot.jobs[0].definition = Definition::Known(Arc::new(disabled));
    assert!(!has_no_record(&snapshot), "it needs none");
}

#[tokio::test]
async fn a_job_that_no_replica_has_heard_of_is_trouble() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.jobs[0].record = None;
    for peer in &mut snapshot.peers {
        peer.beat.file = "another".into();
    }
    assert_eq!(
        messages(&snapshot, &bench),
        [
            "`backup` does not run: it has no record in the store, as no live replica has loaded this jobs.toml; reload them"
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_read_of_one_job_is_its_own_trouble() {
    let (bench, snapshot) = healthy(FILE).await;
    let file = rusqlite::Connection::open(bench.folder.path().join("store.sqlite3")).expect("a store");
    file.execute("UPDATE records SET fields = '{\"schema\": \"x\\u001b[2J\"}' WHERE job = 'payout'", [])
        .expect("its row");
    let jobs = bench.jobs();
    let spoilt = Snapshot::take(&bench.store, jobs, DEPTH).await.expect("the others can be read");
    assert_eq!(
        messages(&spoilt, &bench),
        [
            "the store's data for `payout` cannot be read, and the job may not run: local store: job `payout`: stored field \
          `schema` holds `x\\u{1b}[2J`, which this release cannot read"
        ]
    );
    assert_eq!(spoilt.jobs[0].record, snapshot.jobs[0].record);
}

#[tokio::test]
async fn replicas_that_were_stopped_or_drain_are_named_as_such() {
    let (bench, mut snapshot) = healthy(FILE).await;
    snapshot.peers[1].beat.draining = true;
    assert_eq!(messages(&snapshot, &bench), ["1 of 2 replicas take ticks; draining: n2"]);
    let gone = snapshot.peers[1].at;
    pass(&mut snapshot, Duration::from_secs(14));
    snapshot.peers[1].at = gone;
    assert_eq!(messages(&snapshot, &bench), ["1 of 2 replicas is down: n2, stopped 14s ago"]);
    snapshot.peers[1].beat.draining = false;
    assert_eq!(messages(&snapshot, &bench), ["1 of 2 replicas is down: n2, last heartbeat 14s ago"]);
}
