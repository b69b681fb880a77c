//! Why a tick whose run was interrupted does not run again: the store decides that, and this reads what it decided
//! by, for the log.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::events::event::Event;
use crate::hold::context::Context;
use crate::job::{Cause, JobSpec, Tick};
use crate::lease::{HistoryEntry, Record};
use crate::time::UtcMillis;

use super::orphans::last_record;

/// How long the log line waits for the reason.
const LIMIT: Duration = Duration::from_secs(2);

/// The entry of a rerun follows that of its run within this many entries, unless very many ticks were decided
/// meanwhile.
const NEWEST: usize = 16;

/// Logs that the tick does not run again, with the reason if the store contains it.
pub(crate) async fn tell(context: Arc<Context>, spec: Arc<JobSpec>, tick: Tick) {
    let job = std::slice::from_ref(&spec.name);
    let read = async {
        let record = last_record(&context, &spec.name).await?;
        let (_, entries) = context.store.history(job, NEWEST).await.ok()?.pop()?;
        reason(&record, &entries, &spec, tick, context.now())
    };
    let why = timeout(LIMIT, read).await.ok().flatten();
    context.events.tell(Event::TickNotRerun { job: spec.name.clone(), tick, why });
}

/// Returns why the tick was not granted again, as far as the job's record and its newest entries show.
fn reason(
    record: &Record,
    entries: &[HistoryEntry],
    spec: &JobSpec,
    tick: Tick,
    now: UtcMillis,
) -> Option<&'static str> {
    let is_rerun = |entry: &HistoryEntry| entry.tick == tick && entry.cause == Cause::Rerun;
    let too_late = |ended: UtcMillis| now.since(ended) >= record.lease + spec.start_deadline_of(tick);
    if entries.iter().any(is_rerun) {
        Some("its rerun was cut short as well")
    } else if record.paused.is_some_and(|until| now < until) {
        Some("its job is paused")
    } else if record.schedule_hash.0 != spec.schedule.fingerprint() || tick.instant() <= record.schedule_since
    {
        Some("its schedule was edited")
    } else {
        record.ended.is_some_and(too_late).then_some("it was too late for that")
    }
}

#[cfg(test)]
mod tests {
    use crate::job::{Outcome, Reason, RunId, Verdict};
    use crate::lease::{Era, ScheduleHash};
    use crate::replica::tick::claiming::tests::contest;

    use super::*;

    const NOW: UtcMillis = UtcMillis(100_000);

    #[test]
    fn each_reason_is_read_from_what_the_store_decided_by() {
        let contest = contest("schedule = \"* * * * *\"");
        let spec = contest.spec();
        let tick = Tick::at_millis(60_000);
        let lost = Verdict::because(Outcome::Interrupted, Reason::NodeLost);
        let entry = |cause| HistoryEntry {
            run: Some(RunId::new()),
            ..HistoryEntry::without_run(tick, cause, lost, NOW)
        };
        let mut record = Record::empty(Era::default());
        record.schedule_hash = ScheduleHash::of(&spec.schedule);
        let told = |record: &Record, causes: &[Cause]| {
            let entries: Vec<HistoryEntry> = causes.iter().map(|cause| entry(*cause)).collect();
            reason(record, &entries, spec, tick, NOW)
        };
        let once = [Cause::Schedule];
        assert_eq!(told(&record, &once), None, "somebody stopped it, or a newer tick took its place");
        assert_eq!(told(&record, &[Cause::Schedule, Cause::Manual]), None);
        let again = [Cause::Schedule, Cause::Rerun];
        assert_eq!(told(&record, &again), Some("its rerun was cut short as well"));
        record.ended = Some(UtcMillis(NOW.0 - 60_000));
        assert_eq!(told(&record, &once), Some("it was too late for that"));
        record.paused = Some(UtcMillis(NOW.0 + 1));
        assert_eq!(told(&record, &once), Some("its job is paused"));
        record.paused = Some(NOW);
        record.schedule_since = tick.instant();
        assert_eq!(told(&record, &once), Some("its schedule was edited"));
    }
}
