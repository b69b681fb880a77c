//! One contender under one workload, once.

use std::sync::mpsc;
use std::time::Duration;

use nix::unistd::Pid;
use solocron::time::{Clock, SystemClock};

use crate::c_program::compile;
use crate::contender::{AtWork, Contender, Place, status};
use crate::costs::{Served, cpu_us, pss_kib};
use crate::lateness::{Starts, quantile};
use crate::load::{Load, UnderWay};
use crate::redis_server::RedisServer;
use crate::workload::{Coming, Workload};

/// Nothing is measured before everything is at work: first starts wait two seconds.
const SETTLING_S: i64 = 8;

/// What comes last has started by then.
const LAST_S: i64 = 3;

/// A replica is started so long before an instant: not ready for it before it comes, and there when it does.
const JUST_BEFORE_MS: i64 = 100;

/// The stages of a start, and what their median and their 99th percentile are called.
const STAGES: [(&str, &str, &str); 4] = [
    ("claim", "stage claim, p50, ms", "stage claim, p99, ms"),
    ("grant", "stage grant, p50, ms", "stage grant, p99, ms"),
    ("prepare", "stage prepare, p50, ms", "stage prepare, p99, ms"),
    ("spawn", "stage spawn, p50, ms", "stage spawn, p99, ms"),
];

/// What was measured, by name; times in milliseconds.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// Starts a contender, lets the workload come, and tells what it was like. `server` are arguments of its Redis.
pub(crate) fn measure(workload: &Workload, contender: Contender, server: &[&str]) -> Figures {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let redis = RedisServer::start_with(server);
    let url = redis.url();
    let from_s = SystemClock.utc().0 / 1_000
        + SETTLING_S
        + i64::try_from((workload.jobs + workload.idle) / 1_000).expect("few");
    let place = Place {
        folder: folder.path(),
        program: compile(folder.path(), "bench_job", &["-static"]),
        records: folder.path().join("records"),
        redis: &url,
        once_s: from_s + 2,
    };
    let window_ms = (from_s * 1_000, (from_s + workload.lasts_s) * 1_000);
    match workload.coming {
        Coming::First => start_up(workload, contender, &place, window_ms.0),
        Coming::Never => idle(workload, contender, &place, window_ms),
        Coming::Every(_) | Coming::Once => busy(workload, contender, (&place, &redis, server), window_ms),
    }
}

/// How long a replica that is started takes until it starts a tick, where the store knows all of its jobs. It is started a
/// moment before that tick's instant, which so is over when the replica is ready.
fn start_up(workload: &Workload, contender: Contender, place: &Place<'_>, from_ms: i64) -> Figures {
    let before = AtWork::start(contender, workload, place);
    sleep_until(from_ms - 500);
    drop(before);
    sleep_until(from_ms + 1_000 - JUST_BEFORE_MS);
    let began_us = SystemClock.utc().0 * 1_000;
    let _started = AtWork::start(contender, workload, place);
    sleep_until(from_ms + LAST_S * 1_000);
    let starts = Starts::read(&place.records);
    let first_us = starts.since_us(began_us).min();
    vec![("until it starts a tick, ms", first_us.map_or(f64::NAN, |at| (at - began_us) as f64 / 1e3))]
}

/// What replicas cost that have nothing to do.
fn idle(
    workload: &Workload,
    contender: Contender,
    place: &Place<'_>,
    (from_ms, to_ms): (i64, i64),
) -> Figures {
    let mut at_work = AtWork::start(contender, workload, place);
    sleep_until(from_ms - 500);
    let before = cpu_of(&at_work);
    sleep_until(to_ms - 500);
    at_work.expect_all_alive();
    let cpu_us = cpu_of(&at_work) - before;
    let pss_of = |family: Vec<Pid>| family.into_iter().filter_map(pss_kib).sum::<i64>();
    let pss = at_work.families().into_iter().map(pss_of).max().unwrap_or_default();
    let per_replica = contender.replicas() as f64;
    vec![
        ("processor, % of a core, one replica", cpu_us as f64 / seconds(workload) / 1e4 / per_replica),
        ("memory (PSS), MiB, one replica", pss as f64 / 1_024.0),
    ]
}

/// How late commands start, and what that costs Redis.
fn busy(
    workload: &Workload,
    contender: Contender,
    (place, redis, server): (&Place<'_>, &RedisServer, &[&str]),
    (from_ms, to_ms): (i64, i64),
) -> Figures {
    // Another server shows what the same replicas cost that have nothing to do.
    let idle = RedisServer::start_with(server);
    let (idle_url, idle_folder) = (idle.url(), tempfile::tempdir().expect("a folder for temporary files"));
    let idle_place = Place { folder: idle_folder.path(), redis: &idle_url, ..place.clone() };
    let idle_workload = Workload { coming: Coming::Never, ..*workload };
    // Beside a flood, what heartbeats cost is not what is asked.
    let has_idlers = matches!(contender, Contender::Redis(_)) && workload.load == Load::Nothing;
    let mut idlers = has_idlers.then(|| AtWork::start(contender, &idle_workload, &idle_place));
    let mut at_work = AtWork::start(contender, workload, place);
    // In the middle between two seconds: what comes is counted once.
    sleep_until(from_ms - 500);
    let load = UnderWay::start(workload, &at_work, place.folder);
    let besides: &[&str] = if matches!(contender, Contender::Obvious(_)) { &["set"] } else { &[] };
    let (before, idle_before) = (Served::by(redis, besides), Served::by(&idle, &[]));
    let killed_ms = workload.kills.then(|| {
        sleep_until((from_ms + to_ms) / 2 - 500);
        at_work.kill_first();
        (from_ms + to_ms) / 2
    });
    sleep_until(to_ms - 500);
    idlers.iter_mut().for_each(AtWork::expect_all_alive);
    at_work.expect_all_alive();
    let (served, beats) =
        (Served::by(redis, besides).since(before), Served::by(&idle, &[]).since(idle_before));
    let under_load = load.end();
    sleep_until(to_ms + LAST_S * 1_000);
    let starts = Starts::read(&place.records);
    let mut figures = pace(workload, &starts, (from_ms, to_ms));
    figures.extend(under_load);
    let counts_calls = !workload.kills && workload.load == Load::Nothing;
    if matches!(contender, Contender::Redis(_) | Contender::Obvious(_)) && counts_calls {
        let per_tick = |all: i64, beats: i64| (all - beats) as f64 / ticks(workload) as f64;
        figures.extend([
            ("calls to Redis per tick, heartbeats apart", per_tick(served.commands, beats.commands)),
            ("Redis processor per tick, heartbeats apart, µs", per_tick(served.cpu_us, beats.cpu_us)),
            ("heartbeats: calls to Redis per second", beats.commands as f64 / seconds(workload)),
            ("heartbeats: Redis processor per second, µs", beats.cpu_us as f64 / seconds(workload)),
        ]);
    }
    if matches!(contender, Contender::Redis(_) | Contender::Local(_)) {
        figures.extend(stages(&status(contender, place)));
    }
    if let Some(killed_ms) = killed_ms {
        let late = |from: i64, to: i64| quantile(&starts.lateness_us(from, to), 1_000).unwrap_or_default();
        let (usual, after) = (late(from_ms, killed_ms), late(killed_ms, killed_ms + 3_000));
        figures.push(("latest within 3 s of the kill − latest before, ms", (after - usual) as f64 / 1e3));
    }
    figures
}

fn seconds(workload: &Workload) -> f64 {
    workload.lasts_s as f64
}

fn pace(workload: &Workload, starts: &Starts, (from_ms, to_ms): (i64, i64)) -> Figures {
    let late = starts.lateness_us(from_ms, to_ms);
    let ms = |of_thousand| quantile(&late, of_thousand).map_or(f64::NAN, |us| us as f64 / 1e3);
    vec![
        ("late, p50, ms", ms(500)),
        ("late, p99, ms", ms(990)),
        ("late, last, ms", ms(1_000)),
        ("lost", ticks(workload) as f64 - late.len() as f64),
        ("doubled", starts.doubled(from_ms, to_ms) as f64),
    ]
}

/// The stages of a start, by what replicas tell of themselves: the mean of their medians, and the slowest.
fn stages(status: &serde_json::Value) -> Figures {
    let replicas = status["replicas"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |stage: &str, quantile: &str| -> Vec<f64> {
        let times = replicas.iter().filter_map(|replica| replica["stages"].as_array()).flatten();
        times.filter(|times| times["stage"] == stage).filter_map(|times| times[quantile].as_f64()).collect()
    };
    let mut figures = Vec::new();
    for (stage, median, slowest) in STAGES {
        let (usual, slow) = (of(stage, "p50_us"), of(stage, "p99_us"));
        if !usual.is_empty() {
            figures.push((median, usual.iter().sum::<f64>() / usual.len() as f64 / 1e3));
            figures.push((slowest, slow.into_iter().fold(0.0, f64::max) / 1e3));
        }
    }
    figures
}

/// How many ticks come.
fn ticks(workload: &Workload) -> usize {
    let times = match workload.coming {
        Coming::Every(seconds) => usize::try_from(workload.lasts_s / seconds).expect("some"),
        Coming::Once => 1,
        Coming::Never | Coming::First => 0,
    };
    times * workload.jobs
}

fn cpu_of(at_work: &AtWork) -> i64 {
    at_work.families().into_iter().flatten().filter_map(cpu_us).sum()
}

/// Lets time pass, which is what is measured.
pub(crate) fn sleep_until(at_ms: i64) {
    let left = Duration::from_millis(u64::try_from(at_ms - SystemClock.utc().0).unwrap_or(0));
    let (_open, never) = mpsc::channel::<()>();
    // It can only time out.
    let _ = never.recv_timeout(left);
}
