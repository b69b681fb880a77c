use std::time::Duration;

use crate::job::{Cause, Outcome, Tick, Verdict};
use crate::lease::{HistoryEntry, Leaps, LeaseInstant};
use crate::view::job::JobState;
use crate::view::snapshot::Snapshot;
use crate::view::testing::FILE;

use super::super::tests::{healthy, messages};

#[tokio::test]
async fn a_mark_in_the_future_is_trouble_only_where_ticks_do_not_run_when_they_come() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let (now, hour) = (snapshot.now, snapshot.now.plus(Duration::from_secs(3_600)));
    let record = snapshot.jobs[0].record.as_mut().expect("it was opened");
    (record.mark, record.leaps) = (hour, Leaps::default());
    let said = messages(&snapshot, &bench);
    assert!(matches!(&said[..], [one] if one.starts_with("a clock was ahead")), "{said:?}");
    let leap = format!("{}-{}", now.0, hour.0);
    snapshot.jobs[0].record.as_mut().expect("it was opened").leaps = leap.parse().expect("leaps");
    assert_eq!(messages(&snapshot, &bench), [""; 0]);
}

#[tokio::test]
async fn a_wait_for_a_longer_lease_than_the_files_that_nobody_is_known_to_hold_is_named() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let (now, until) = (snapshot.now, snapshot.now.plus(Duration::from_secs(600)));
    let own = bench.spec("backup").lease;
    let record = snapshot.jobs[0].record.as_mut().expect("it was opened");
    (record.locked_until, record.lease) = (LeaseInstant(until.0), own);
    assert_eq!(messages(&snapshot, &bench), [""; 0], "its own lease is no matter");
    snapshot.jobs[0].record.as_mut().expect("it was opened").lease = Duration::from_secs(600);
    let said = messages(&snapshot, &bench);
    let names = |said: &str| said.contains("with a lease of 10m") && said.contains("solocron unlock");
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
    snapshot.jobs[0].record.as_mut().expect("it was opened").locked_until = LeaseInstant(now.plus(own).0);
    let said = messages(&snapshot, &bench);
    assert!(
        matches!(&said[..], [one] if one.contains("the store was restarted")),
        "it is soon over: {said:?}"
    );
}

#[tokio::test]
async fn while_jobs_wait_a_lease_after_a_reset_of_the_store_one_line_says_so() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let now = snapshot.now;
    for job in &mut snapshot.jobs {
        let lease = job.spec().expect("the file says it").lease;
        let Some(record) = job.record.as_mut() else { continue };
        (record.locked_until, record.lease) = (LeaseInstant(now.plus(lease / 2).0), lease);
    }
    let said = messages(&snapshot, &bench);
    let names = |said: &str| said.contains("do not start before") && said.contains("(in 15s)");
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
    let record = snapshot.jobs[0].record.as_mut().expect("it was opened");
    (record.locked_until, record.lease) =
        (LeaseInstant(now.plus(Duration::from_secs(2)).0), Duration::from_secs(2));
    snapshot.jobs.truncate(1);
    assert_eq!(messages(&snapshot, &bench), [""; 0], "a first start");
}

fn payout(snapshot: &mut Snapshot) -> &mut JobState {
    let job = snapshot.jobs.iter_mut().find(|job| job.name.as_str() == "payout");
    job.expect("it is in the file")
}

#[tokio::test]
async fn a_tick_that_the_store_forgot_is_named_until_a_later_one_has_run() {
    let (bench, mut snapshot) = healthy(FILE).await;
    let (hour, now) = (Duration::from_secs(3_600), snapshot.now);
    let job = payout(&mut snapshot);
    let forgotten =
        bench.spec("payout").schedule.next_after(now.minus(3 * hour)).expect("it runs every hour");
    let before = forgotten.instant().minus(hour);
    let record = job.record.as_mut().expect("it was opened");
    (record.mark, record.schedule_since, record.lost_after) = (now, before, Some(before));
    let said = messages(&snapshot, &bench);
    let names =
        |said: &str| said.starts_with("`payout`: the store forgot whether its tick of 2026-11-20 10:00");
    assert!(matches!(&said[..], [one] if names(one)), "{said:?}");
    // By a clock that was ahead, tomorrow's tick has run.
    let well = Verdict { outcome: Outcome::Succeeded, reason: None };
    let job = payout(&mut snapshot);
    job.entries.push(HistoryEntry::without_run(Tick(now.plus(24 * hour)), Cause::Schedule, well, now));
    assert_eq!(messages(&snapshot, &bench), said);
    let job = payout(&mut snapshot);
    job.entries.clear();
    // The same in a leap, except for ticks that are known to have run.
    let record = job.record.as_mut().expect("it was opened");
    record.lost_after = None;
    record.leaps = format!("{}-{}?", before.0, now.0).parse().expect("leaps");
    assert_eq!(messages(&snapshot, &bench), said);
    let job = payout(&mut snapshot);
    let record = job.record.as_mut().expect("it was opened");
    let ran = forgotten.instant();
    record.leaps = format!("{}-{}? {}-{}=", before.0, ran.0, ran.0 - 1, ran.0).parse().expect("leaps");
    record.lost_after = Some(before);
    record.mark = ran;
    assert_eq!(messages(&snapshot, &bench), [""; 0], "it is known to have run");
    let job = payout(&mut snapshot);
    let record = job.record.as_mut().expect("it was opened");
    (record.mark, record.leaps) = (now, Leaps::default());
    job.entries.push(HistoryEntry::without_run(Tick(now), Cause::Manual, well, now));
    assert_eq!(messages(&snapshot, &bench), [""; 0], "it has run since");
}
