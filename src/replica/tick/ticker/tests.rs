//! The ticker under a virtual clock: days pass in milliseconds, and no tick is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::config::testing::config;
use crate::job::{JobSpec, Tick};
use crate::replica::tick::next_ticks::NextTicks;
use crate::replica::tick::ticker::{LEAD, Ticker};
use crate::time::{BootInstant, Clock, UtcMillis, Waiting, Woke};

/// A clock that follows the runtime's paused time, from the first minute of 2026 on.
#[derive(Debug)]
struct Virtual {
    begun: Instant,
}

const BEGUN: UtcMillis = UtcMillis(1_767_225_630_000);

impl Clock for Virtual {
    fn utc(&self) -> UtcMillis {
        BEGUN.plus(self.begun.elapsed())
    }

    fn boot(&self) -> BootInstant {
        BootInstant(self.begun.elapsed())
    }

    fn wait_until(&self, at: UtcMillis) -> Waiting<'_> {
        Box::pin(async move {
            tokio::time::sleep_until(self.begun + at.since(BEGUN)).await;
            Woke::Due
        })
    }

    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep_until(self.begun + at.0))
    }
}

fn jobs(count: usize, schedule: &str) -> Vec<Arc<JobSpec>> {
    let job = |number| format!("[jobs.job{number}]\nschedule = \"{schedule}\"\ncommand = [\"true\"]\n");
    let text = "[cluster]\nstore = \"local\"\n".to_owned() + &(0..count).map(job).collect::<String>();
    config(text).jobs.into_values().collect()
}

/// Returns every tick that is announced within `span`, and how long before its instant.
async fn announced(jobs: Vec<Arc<JobSpec>>, span: Duration) -> Vec<(String, Tick, Duration)> {
    let clock = Arc::new(Virtual { begun: Instant::now() });
    let mut next_ticks = NextTicks::default();
    next_ticks.plan(jobs, clock.utc());
    let (announce, mut heard) = mpsc::unbounded_channel();
    let ticker = Ticker::start(
        Arc::new(Mutex::new(next_ticks)),
        {
            let clock = Arc::clone(&clock);
            Arc::new(move || clock.utc())
        },
        announce,
    )
    .await
    .expect("the scheduler starts");
    let mut announced = Vec::new();
    let until = BEGUN.plus(span);
    while let Ok(Some(coming)) = tokio::time::timeout_at(clock.begun + span, heard.recv()).await {
        let now = clock.utc();
        let in_span = coming.into_iter().filter(|coming| coming.tick.instant() <= until);
        announced.extend(in_span.map(|coming| {
            let ahead = coming.tick.instant().since(now);
            (coming.job.to_string(), coming.tick, ahead)
        }));
    }
    ticker.stop().await;
    announced
}

#[tokio::test(start_paused = true)]
async fn two_days_of_minutely_jobs_are_announced_once_each_and_ahead_of_their_instants() {
    let announced = announced(jobs(10, "* * * * *"), Duration::from_secs(2 * 86_400)).await;
    let mut per_job = BTreeMap::<&str, Vec<Tick>>::new();
    for (job, tick, _) in &announced {
        per_job.entry(job).or_default().push(*tick);
    }
    assert_eq!(per_job.len(), 10);
    for ticks in per_job.values() {
        let expected: Vec<Tick> =
            (0..2 * 1_440).map(|minute| Tick(UtcMillis(1_767_225_660_000 + minute * 60_000))).collect();
        assert_eq!(*ticks, expected);
    }
    let least = announced.iter().map(|(_, _, ahead)| *ahead).min().expect("there are some");
    assert!(least >= LEAD - Duration::from_millis(600), "{least:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_jobs_due_at_one_instant_lose_nothing() {
    let announced = announced(jobs(1_000, "0 * * * *"), Duration::from_secs(3 * 3_600)).await;
    assert_eq!(announced.len(), 3_000);
    let mut distinct: Vec<_> = announced.iter().map(|(job, tick, _)| (job, tick)).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 3_000);
}

#[tokio::test(start_paused = true)]
async fn a_job_every_second_is_announced_every_second() {
    let announced = announced(jobs(1, "* * * * * *"), Duration::from_secs(600)).await;
    let seconds: Vec<i64> = announced.iter().map(|(_, tick, _)| tick.as_millis() / 1_000).collect();
    let expected: Vec<i64> = (1..=600).map(|second| BEGUN.0 / 1_000 + second).collect();
    assert_eq!(seconds, expected);
}

#[test]
fn a_clock_that_was_stepped_by_years_brings_no_more_ticks_than_may_still_start() {
    let hour = Duration::from_secs(3_600);
    let mut next_ticks = NextTicks::default();
    next_ticks.plan(jobs(1, "* * * * * *"), BEGUN);
    let late = BEGUN.plus(hour * 24 * 3_650);
    let taken = next_ticks.take_until(late);
    assert_eq!(taken.len(), 3_601, "the oldest, and those of the last hour");
    assert_eq!(taken.last().map(|coming| coming.tick.instant()), Some(late));
    assert_eq!(next_ticks.earliest(), Some(late.plus(Duration::from_secs(1))));
}
