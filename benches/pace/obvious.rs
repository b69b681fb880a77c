//! The obvious program, as it is written everywhere: a scheduler in each process, `SET key token NX PX`, the command, and
//! compare-and-delete. It stands here as a reference for speed, and for nothing else: whoever comes after the lock was
//! released runs the tick once more, and nobody notices a lock that was lost.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use solocron::time::{Clock, SystemClock};
use tokio::process::Command;
use tokio_cron_scheduler::{Job, JobScheduler};

use crate::contender::Plan;

const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Longer than a command takes.
const LOCK_MS: u64 = 30_000;

/// Runs until it is killed.
pub(crate) fn run(store: &str, words: &[&str]) {
    let (plan, store) = (Plan::of(words), store.to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let client = redis::Client::open(store).expect("a good url");
        let connection = client.get_multiplexed_async_connection().await.expect("a server");
        let scheduler = JobScheduler::new().await.expect("a scheduler");
        for number in 0..plan.jobs {
            scheduler.add(job(&plan, number, &connection)).await.expect("a job");
        }
        scheduler.start().await.expect("it starts");
        std::future::pending::<()>().await;
    });
}

fn job(plan: &Plan, number: usize, connection: &MultiplexedConnection) -> Job {
    let (every_ms, connection) = (plan.every_s * 1_000, connection.clone());
    let (program, records, once_ms) = (plan.program.clone(), plan.records.clone(), plan.once_s * 1_000);
    let run = move |connection: MultiplexedConnection| {
        let now = SystemClock.utc().0;
        let tick = if every_ms == 0 { once_ms } else { now / every_ms * every_ms };
        let (program, records) = (program.clone(), records.clone());
        async move { run_alone(connection, &program, &records, number, tick).await }
    };
    if every_ms == 0 {
        let left = u64::try_from(once_ms - SystemClock.utc().0).unwrap_or(0);
        return Job::new_one_shot_async(Duration::from_millis(left), move |_, _| {
            Box::pin(run(connection.clone()))
        })
        .expect("a job");
    }
    let schedule = format!("*/{} * * * * *", plan.every_s);
    Job::new_async(schedule.as_str(), move |_, _| Box::pin(run(connection.clone()))).expect("a job")
}

async fn run_alone(
    mut connection: MultiplexedConnection,
    program: &str,
    records: &str,
    number: usize,
    tick: i64,
) {
    let (key, token) = (format!("lock:job{number}"), uuid::Uuid::now_v7().to_string());
    let mut set = redis::cmd("SET");
    set.arg(&key).arg(&token).arg("NX").arg("PX").arg(LOCK_MS);
    let won: Option<String> = set.query_async(&mut connection).await.expect("a server");
    if won.is_none() {
        return;
    }
    let words = [records, &format!("job{number}"), &tick.to_string()];
    Command::new(program).args(words).status().await.expect("the program was compiled");
    let mut release = redis::cmd("EVAL");
    release.arg(RELEASE).arg(1).arg(&key).arg(&token);
    let _: i64 = release.query_async(&mut connection).await.expect("a server");
}
