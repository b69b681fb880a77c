//! Asks the store about runs without their replicas; `lost_runs` decides when.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};

use crate::events::run_ref::Run;
use crate::hold::context::Context;
use crate::job::JobName;
use crate::lease::{Manual, Record, Request};
use crate::replica::core::CoreInput;
use crate::store::StoreError;

use super::lost_runs::Settled;

/// How many records are read at the same time, each by a call of its own.
const SEARCHED_AT_A_TIME: usize = 64;

/// The entry of a run that has just ended is among so many of the newest.
pub(crate) const NEWEST_ENTRIES: usize = 4;

/// Reads the records of these jobs, and returns those with a run that is going. A record that cannot be read hides no
/// other. Jobs for which the store did not answer are returned as unread.
pub(crate) async fn search(context: Arc<Context>, jobs: Vec<JobName>) -> CoreInput {
    let look = |job: JobName| {
        let context = Arc::clone(&context);
        async move {
            let read = context.store.record_of(&job).await;
            (job, read)
        }
    };
    let mut looks = stream::iter(jobs).map(look).buffer_unordered(SEARCHED_AT_A_TIME);
    let (mut running, mut unread) = (Vec::new(), Vec::new());
    while let Some((job, read)) = looks.next().await {
        match read {
            Ok(record) => running.extend(record.filter(Record::is_running).map(|record| (job, record))),
            Err(StoreError::Refused(_)) => {}
            Err(StoreError::NotSent(_) | StoreError::Unknown(_)) => unread.push(job),
        }
    }
    CoreInput::RunsFound { running, unread }
}

/// Makes the store end a run whose lock is over, unless it has ended, and reads its entry.
pub(crate) async fn settle(context: Arc<Context>, run: Run, manual: Manual) -> CoreInput {
    let settled = settle_run(&context, &run, manual).await.unwrap_or(Settled::InVain);
    CoreInput::LostRunSettled { run, settled }
}

async fn settle_run(context: &Context, run: &Run, manual: Manual) -> Result<Settled, StoreError> {
    let goes_on = |record: &Record| record.is_running() && record.run == Some(run.run);
    let before = context.store.record_of(&run.job).await?.filter(goes_on);
    if let Some(record) = &before {
        let left = record.lock_left(context.store_time());
        if !left.is_zero() {
            return Ok(Settled::Held(left));
        }
        let reply = context.store.submit(&run.job, &Request::Manual(manual)).await?;
        context.store_clock.hear(&reply);
        if context.store.record_of(&run.job).await?.is_some_and(|record| goes_on(&record)) {
            return Ok(Settled::InVain);
        }
    }
    let history = context.store.history(std::slice::from_ref(&run.job), NEWEST_ENTRIES).await?;
    let entry = history.into_iter().flat_map(|(_, entries)| entries).find(|entry| entry.run == Some(run.run));
    Ok(Settled::Over { here: before.is_some(), entry: entry.map(Box::new) })
}
