//! Why a tick whose run was cut short does not run again: the store decides that, and this reads what it decided by, for the log.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::job::{JobSpec, Tick, UtcMillis};
use crate::lease::{Entry, Record};

use super::errand::Done;
use super::event::Event;
use super::shop::Shop;

/// The log does not wait longer for the reason.
const LIMIT: Duration = Duration::from_secs(2);

/// A rerun follows its run within this many entries, unless very many ticks were decided meanwhile.
const NEWEST: usize = 16;

/// Logs that the tick does not run again, with the reason where the store tells.
pub(super) async fn tell(shop: Arc<Shop>, spec: Arc<JobSpec>, tick: Tick) -> Done {
    let job = std::slice::from_ref(&spec.name);
    let read = async {
        let record = shop.store.records(job).await.ok()?.pop()??;
        let (_, entries) = shop.store.history(job, NEWEST).await.ok()?.pop()?;
        Some(reason(&record, &entries, (&spec, tick), shop.now()))
    };
    let why = timeout(LIMIT, read).await.ok().flatten();
    shop.events.tell(Event::TickNotRerun { job: spec.name.clone(), tick, why });
    Done::Announced
}

/// Why the tick was not granted again, by the job's record and its newest entries.
fn reason(
    record: &Record,
    entries: &[Entry],
    (spec, tick): (&JobSpec, Tick),
    now: UtcMillis,
) -> &'static str {
    let runs = entries.iter().filter(|entry| entry.tick == tick && entry.run.is_some()).count();
    if runs > 1 {
        "its rerun was cut short as well"
    } else if record.paused.is_some_and(|until| now < until) {
        "its job is paused"
    } else if record.sched.0 != spec.schedule.fingerprint() || tick.instant() <= record.since {
        "its schedule was edited"
    } else {
        "it was too late for that"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Cause, Outcome, Reason, RunId, Verdict};
    use crate::lease::{Era, ScheduleHash};
    use crate::replica::contest_tests::contest;

    const NOW: UtcMillis = UtcMillis(100_000);

    #[test]
    fn each_reason_is_read_from_what_the_store_decided_by() {
        let contest = contest("schedule = \"* * * * *\"");
        let spec = contest.spec();
        let tick = Tick::at_millis(60_000);
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        let entry =
            || Entry { run: Some(RunId::new()), ..Entry::without_run(tick, Cause::Schedule, lost, NOW) };
        let mut record = Record::empty(Era::default());
        record.sched = ScheduleHash::of(&spec.schedule);
        let told = |record: &Record, runs: usize| {
            let entries: Vec<Entry> = std::iter::repeat_with(entry).take(runs).collect();
            reason(record, &entries, (spec, tick), NOW)
        };
        assert_eq!(told(&record, 1), "it was too late for that");
        assert_eq!(told(&record, 2), "its rerun was cut short as well");
        record.paused = Some(UtcMillis(NOW.0 + 1));
        assert_eq!(told(&record, 1), "its job is paused");
        record.paused = Some(NOW);
        record.since = tick.instant();
        assert_eq!(told(&record, 1), "its schedule was edited");
    }
}
