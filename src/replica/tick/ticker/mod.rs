//! Announces ticks well ahead of their instant, with tokio-cron-scheduler over a storage of our own. Only this file
//! names that crate, and relies on it only to wake up: [`NextTicks`] decides which ticks come, and other code waits for
//! the exact instant.

#[cfg(test)]
mod tests;

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{RwLock, mpsc};
use tokio_cron_scheduler::job::JobToRunAsync;
use tokio_cron_scheduler::job::job_data::{self, JobAndNextTick, JobStoredData, JobType, job_stored_data};
use tokio_cron_scheduler::store::{DataStore, InitStore};
use tokio_cron_scheduler::{
    Context, JobCode, JobScheduler, JobSchedulerError, MetaDataStorage, PinnedGetFuture,
    SimpleNotificationCode, SimpleNotificationStore, ToCode,
};
use uuid::Uuid;

use crate::time::UtcMillis;

use super::next_ticks::{Coming, NextTicks};

/// Ticks are announced this long before their instant: the scheduler polls twice a second, and may be late.
pub(crate) const LEAD: Duration = Duration::from_millis(1_500);

/// The scheduler has a single job, "announce what comes", so that its channels can never overflow.
const ANNOUNCE: Uuid = Uuid::from_u128(0x736f_6c6f_6372_6f6e_0000_0000_0000_0001);

/// At most two announcements are queued at a time; the rest is slack.
const CHANNEL_SIZE: usize = 64;

/// The ticker could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the scheduler could not be started: {0}")]
pub struct TickerError(String);

/// The next ticks, shared by the scheduler and the replica.
pub(crate) type SharedNextTicks = Arc<Mutex<NextTicks>>;

/// Returns the time by which ticks are due.
pub(crate) type DueClock = Arc<dyn Fn() -> UtcMillis + Send + Sync>;

/// The running ticker.
pub(crate) struct Ticker {
    scheduler: JobScheduler,
}

impl Ticker {
    /// Starts announcing the next ticks.
    pub(crate) async fn start(
        next_ticks: SharedNextTicks,
        now: DueClock,
        announce: mpsc::UnboundedSender<Vec<Coming>>,
    ) -> Result<Self, TickerError> {
        let failed = |error: JobSchedulerError| TickerError(format!("{error:?}"));
        let source = TickSource { next_ticks, now, announce };
        let scheduler = JobScheduler::new_with_storage_and_code(
            Box::new(source.clone()),
            Box::new(SimpleNotificationStore::default()),
            Box::new(source),
            Box::new(SimpleNotificationCode::default()),
            CHANNEL_SIZE,
        )
        .await
        .map_err(failed)?;
        scheduler.start().await.map_err(failed)?;
        Ok(Self { scheduler })
    }

    /// Stops announcing.
    pub(crate) async fn stop(mut self) {
        // It only sets a flag: no error is worth reporting.
        let _ = self.scheduler.shutdown().await;
    }
}

/// Takes the ticks that come within `LEAD` out of the next ticks.
pub(crate) fn take_coming(next_ticks: &SharedNextTicks, now: UtcMillis) -> Vec<Coming> {
    next_ticks.lock().unwrap_or_else(PoisonError::into_inner).take_until(now.plus(LEAD))
}

#[derive(Clone)]
struct TickSource {
    next_ticks: SharedNextTicks,
    now: DueClock,
    announce: mpsc::UnboundedSender<Vec<Coming>>,
}

type StorageReply<T> = Pin<Box<dyn Future<Output = Result<T, JobSchedulerError>> + Send>>;

fn done<T: Send + 'static>(value: T) -> StorageReply<T> {
    Box::pin(ready(Ok(value)))
}

impl InitStore for TickSource {
    fn init(&mut self) -> StorageReply<()> {
        done(())
    }

    fn inited(&mut self) -> StorageReply<bool> {
        done(true)
    }
}

/// Reads of the scheduler's one job always return the same data, and its writes are ignored.
impl DataStore<JobStoredData> for TickSource {
    fn get(&mut self, id: Uuid) -> StorageReply<Option<JobStoredData>> {
        done((id == ANNOUNCE).then(|| JobStoredData {
            id: Some(ANNOUNCE.into()),
            last_updated: None,
            last_tick: None,
            next_tick: 1,
            job_type: JobType::Repeated as i32,
            count: 0,
            extra: Vec::new(),
            ran: false,
            stopped: false,
            job: Some(job_stored_data::Job::NonCronJob(job_data::NonCronJob {
                repeating: true,
                repeated_every: 1,
            })),
            time_offset_seconds: 0,
        }))
    }

    fn add_or_update(&mut self, _: JobStoredData) -> StorageReply<()> {
        done(())
    }

    fn delete(&mut self, _: Uuid) -> StorageReply<()> {
        done(())
    }
}

impl MetaDataStorage for TickSource {
    /// The one job is due while a tick within `LEAD` is not announced yet.
    fn list_next_ticks(&mut self) -> StorageReply<Vec<JobAndNextTick>> {
        let earliest = self.next_ticks.lock().unwrap_or_else(PoisonError::into_inner).earliest();
        let horizon = (self.now)().plus(LEAD);
        let due = earliest.is_some_and(|earliest| earliest <= horizon);
        // Any time in the past means "now"; zero would delete the job.
        let job = JobAndNextTick {
            id: Some(ANNOUNCE.into()),
            job_type: JobType::Repeated as i32,
            next_tick: 1,
            last_tick: None,
        };
        done(if due { vec![job] } else { Vec::new() })
    }

    fn set_next_and_last_tick(
        &mut self,
        _: Uuid,
        _: Option<DateTime<Utc>>,
        _: Option<DateTime<Utc>>,
    ) -> StorageReply<()> {
        done(())
    }

    fn time_till_next_job(&mut self) -> StorageReply<Option<Duration>> {
        done(None)
    }
}

impl ToCode<Box<JobToRunAsync>> for TickSource {
    fn init(&mut self, _: &Context) -> StorageReply<()> {
        done(())
    }

    fn get(&mut self, id: Uuid) -> PinnedGetFuture<Box<JobToRunAsync>> {
        let source = self.clone();
        let announce: Box<JobToRunAsync> = Box::new(move |_, _| {
            let coming = take_coming(&source.next_ticks, (source.now)());
            // The replica may have stopped listening.
            let _ = source.announce.send(coming);
            Box::pin(ready(()))
        });
        done((id == ANNOUNCE).then(|| Arc::new(RwLock::new(announce))))
    }
}

impl JobCode for TickSource {}
