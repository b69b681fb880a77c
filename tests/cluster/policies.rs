//! The policies of a job, each as its sentence in the contract says it.

use std::time::Duration;

use serde_json::Value;
use solocron::config::{Overrides, Source, load};
use solocron::lease::{Era, Record, ScheduleHash};
use solocron::time::{Clock, SystemClock};

use crate::harness::{Cluster, covers, millis_of};
use crate::plan::Plan;
use crate::redis_server::RedisServer;
use crate::witness::{assert_safe, check};

const THREE: &[i64] = &[0; 3];

/// How a tick ended: `missed (late)`, or only the outcome where that says all.
fn ending(event: &Value) -> String {
    let outcome = event["outcome"].as_str().unwrap_or_default();
    event["reason"].as_str().map_or(outcome.to_owned(), |reason| format!("{outcome} ({reason})"))
}

/// The endings in history of the tick of this event.
fn endings_of(history: &[Value], event: &Value) -> Vec<String> {
    let tick_ms = millis_of(event, "tick");
    history.iter().filter(|entry| covers(entry, tick_ms)).map(ending).collect()
}

#[test]
fn with_wait_each_tick_runs_in_its_turn_once_the_previous_run_is_over() {
    let redis = RedisServer::start();
    let url = redis.url();
    let keys = "overlap = \"wait\"\nstart_deadline = \"30s\"\nlease = \"12s\"";
    let plan = Plan { schedule: "*/2 * * * * *", keys, run_ms: 2_600, skews_ms: THREE, ..Plan::on(&url) };
    let mut cluster = Cluster::start(&plan);
    cluster.wait_for_runs(4);
    let runs = cluster.stop();
    assert_eq!(check(&runs[..4], 2_000), [], "no tick is left out, and no two run together");
    let waited_ms = runs[3].start_us / 1_000 - runs[3].tick_ms;
    assert!(waited_ms >= 1_700, "{waited_ms}");
}

#[test]
fn with_wait_a_tick_that_waits_past_its_start_deadline_is_missed_with_one_entry() {
    let keys = "overlap = \"wait\"\nstart_deadline = \"3s\"\nlease = \"5s\"";
    let plan = Plan { schedule: "*/2 * * * * *", keys, run_ms: 4_500, skews_ms: THREE, ..Plan::on("local") };
    let mut cluster = Cluster::start(&plan);
    let missed = cluster.wait_for("a tick that waited too long", |event| event["message"] == "tick missed");
    assert_eq!(ending(&missed), "missed (late)");
    let later = cluster.wait_for("a later tick", |event| {
        event["message"] == "run ended" && event["tick"].as_str() > missed["tick"].as_str()
    });
    assert_eq!(later["outcome"], "succeeded");
    assert_eq!(endings_of(&cluster.history(), &missed), ["missed (late)"]);
    assert_safe(&cluster.stop(), 2_000);
}

/// Runs go on until they are replaced; each ends at the next tick.
fn assert_replaced(store: &str, replicas: &[i64], lease: &str) {
    let keys =
        format!("overlap = \"replace\"\nkill_grace = \"1s\"\nlease = \"{lease}\"\nstart_deadline = \"5s\"");
    let (schedule, keys) = ("*/6 * * * * *", keys.as_str());
    let plan = Plan { schedule, keys, run_ms: 600_000, skews_ms: replicas, ..Plan::on(store) };
    let mut cluster = Cluster::start(&plan);
    let mut ended = Vec::new();
    for _ in 0..3 {
        ended.push(cluster.wait_for_message("run ended"));
    }
    let history = cluster.history();
    for (_, run) in &ended {
        assert_eq!(ending(run), "killed (replaced)");
        assert_eq!(endings_of(&history, run), ["killed (replaced)"]);
    }
    let runs = cluster.stop();
    for (pair, (dead, _)) in runs.windows(2).zip(&ended) {
        assert_eq!(pair[1].tick_ms, pair[0].tick_ms + 6_000);
        assert!(pair[1].fence > pair[0].fence);
        // That a run has ended is said when nothing of it is left.
        assert!(pair[1].start_us >= dead.as_microsecond(), "{pair:?} {dead}");
    }
}

#[test]
fn with_replace_the_previous_run_is_stopped_wherever_it_is_and_then_the_tick_runs() {
    let redis = RedisServer::start();
    // The holder hears of it when it renews, and the others ask again, both every sixth of the lease.
    assert_replaced(&redis.url(), THREE, "6s");
}

#[test]
fn with_replace_a_run_of_the_same_replica_is_stopped_at_once() {
    // Neither a renewal nor the next question, which are ten seconds away, is waited for.
    assert_replaced("local", &[0], "60s");
}

/// Schedule and zone of a job with this schedule, as records know them.
fn hash_of(schedule: &str) -> ScheduleHash {
    let job = format!("[jobs.job0]\nschedule = \"{schedule}\"\ncommand = [\"true\"]\n");
    let source = Source::new("jobs.toml", format!("[cluster]\nstore = \"local\"\n{job}"));
    let (config, _) = load(&source, &Overrides::default(), &|_| None).expect("a good file");
    ScheduleHash::of(&config.jobs.into_values().next().expect("one job").schedule)
}

/// Puts the job's record there, as replicas have left it that went away so long ago.
fn leave_record(redis: &RedisServer, sched: ScheduleHash, ago: Duration) {
    let mark = SystemClock.utc().minus(ago);
    let record = Record { mark, schedule_hash: sched, ..Record::empty(Era("former".into())) };
    let fields = record.to_fields();
    let words = fields.iter().flat_map(|(name, value)| [*name, value.as_str()]);
    let command: Vec<&str> = ["HSET", "solocron:{test/job0}:state"].into_iter().chain(words).collect();
    redis.cli(&command);
}

const THREE_HOURS: Duration = Duration::from_secs(3 * 3_600);

fn hourly_with_catch_up<'a>(store: &'a str, schedule: &'a str) -> Plan<'a> {
    let keys = "catch_up = \"last\"\nstart_deadline = \"500ms\"\nlease = \"5s\"";
    Plan { schedule, keys, skews_ms: THREE, ..Plan::on(store) }
}

#[test]
fn with_catch_up_the_newest_missed_tick_runs_once_however_long_the_outage() {
    let redis = RedisServer::start();
    // Half an hour from now, so that no hour turns meanwhile.
    let minute = (SystemClock.utc().0 / 60_000 + 30) % 60;
    let (url, schedule) = (redis.url(), format!("{minute} * * * *"));
    leave_record(&redis, hash_of(&schedule), THREE_HOURS);
    let mut cluster = Cluster::start(&hourly_with_catch_up(&url, &schedule));
    let (_, ended) = cluster.wait_for_message("run ended");
    assert_eq!((ended["cause"].as_str(), ended["outcome"].as_str()), (Some("catch_up"), Some("succeeded")));
    let history = cluster.history();
    assert_eq!(history.len(), 2, "{history:#?}");
    assert_eq!((ending(&history[0]), history[0]["count"].as_u64()), ("missed (no_replica)".into(), Some(2)));
    assert_eq!((ending(&history[1]), &history[1]["cause"]), ("succeeded".into(), &ended["cause"]));
    assert_eq!(cluster.stop().len(), 1);
}

#[test]
fn with_retries_a_failed_run_is_tried_again_on_the_same_replica_and_lock() {
    let redis = RedisServer::start();
    let url = redis.url();
    let keys = "retries = 2\nretry_delay = \"500ms\"\nsuccess_codes = [1]\nlease = \"30s\"";
    let mut cluster =
        Cluster::start(&Plan { schedule: "*/10 * * * * *", keys, skews_ms: THREE, ..Plan::on(&url) });
    let (_, ended) = cluster.wait_for_message("run ended");
    assert_eq!((ending(&ended), ended["attempt"].as_u64()), ("failed".into(), Some(3)));
    let history = cluster.history();
    assert_eq!(history.len(), 1, "{history:#?}");
    assert_eq!((&history[0]["tick"], history[0]["attempt"].as_u64()), (&ended["tick"], Some(3)));

    let attempts = cluster.stop();
    assert_eq!(attempts.len(), 3);
    for (pair, delay_us) in attempts.windows(2).zip([500_000, 1_000_000]) {
        let (earlier, later) = (&pair[0], &pair[1]);
        assert_eq!(
            (&earlier.node, earlier.fence, earlier.tick_ms),
            (&later.node, later.fence, later.tick_ms)
        );
        assert!(later.start_us - earlier.start_us >= delay_us, "the delay doubles: {attempts:?}");
    }
}

#[test]
fn a_drain_does_not_wait_for_further_attempts() {
    let keys = "retries = 2\nretry_delay = \"10m\"\nsuccess_codes = [1]\nlease = \"30s\"";
    let mut cluster = Cluster::start(&Plan { keys, flags: &["--drain 50s"], ..Plan::on("local") });
    cluster.wait_for_message("attempt failed, trying again");
    let before = SystemClock.boot();
    assert_eq!(cluster.stop().len(), 1);
    let took = SystemClock.boot().since(before);
    assert!(took < Duration::from_secs(25), "as long as runs may go on in a drain: {took:?}");
}
