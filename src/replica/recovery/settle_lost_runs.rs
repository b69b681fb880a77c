//! Asks the store about runs without their replicas; `lost_runs` decides when.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};

use crate::events::run_ref::Run;
use crate::hold::context::Context;
use crate::job::JobName;
use crate::lease::{Manual, Record, Request};
use crate::replica::errand::Done;
use crate::store::StoreError;

use super::lost_runs::Settled;

/// How many records are read at the same time, each by a call of its own.
const SEARCHED_AT_A_TIME: usize = 64;

/// The entry of a run that has just ended is among so many of the newest.
const NEWEST_ENTRIES: usize = 4;

/// Reads the records of these jobs, and returns those with a run that is going. A record that cannot be read hides no
/// other. Jobs for which the store did not answer are returned as unread.
pub(super) async fn search(context: Arc<Context>, jobs: Vec<JobName>) -> Done {
    let look = |job: JobName| {
        let context = Arc::clone(&context);
        async move {
            let read = context.store.records(std::slice::from_ref(&job)).await;
            (job, read)
        }
    };
    let mut looks = stream::iter(jobs).map(look).buffer_unordered(SEARCHED_AT_A_TIME);
    let (mut running, mut unread) = (Vec::new(), Vec::new());
    while let Some((job, read)) = looks.next().await {
        match read {
            Ok(records) => {
                let records = records.into_iter().flatten().filter(Record::is_running);
                running.extend(records.map(|record| (job.clone(), record)));
            }
            Err(StoreError::Refused(_)) => {}
            Err(StoreError::NotSent(_) | StoreError::Unknown(_)) => unread.push(job),
        }
    }
    Done::Searched { running, unread }
}

/// Makes the store end a run whose lock is over, unless it has ended, and reads its entry.
pub(super) async fn settle(context: Arc<Context>, run: Run, manual: Manual) -> Done {
    let settled = settle_run(&context, &run, manual).await.unwrap_or(Settled::InVain);
    Done::Settled { run, settled }
}

async fn settle_run(context: &Context, run: &Run, manual: Manual) -> Result<Settled, StoreError> {
    let job = std::slice::from_ref(&run.job);
    let going_on = |records: Vec<Option<Record>>| {
        let goes_on = |record: &Record| record.is_running() && record.run == Some(run.run);
        records.into_iter().flatten().find(goes_on)
    };
    let before = going_on(context.store.records(job).await?);
    if let Some(record) = &before {
        let left = record.lock_left(context.store_time());
        if !left.is_zero() {
            return Ok(Settled::Held(left));
        }
        let reply = context.store.submit(&run.job, &Request::Manual(manual)).await?;
        context.hear(&reply);
        if going_on(context.store.records(job).await?).is_some() {
            return Ok(Settled::InVain);
        }
    }
    let history = context.store.history(job, NEWEST_ENTRIES).await?;
    let entry = history.into_iter().flat_map(|(_, entries)| entries).find(|entry| entry.run == Some(run.run));
    Ok(Settled::Over { here: before.is_some(), entry: entry.map(Box::new) })
}
