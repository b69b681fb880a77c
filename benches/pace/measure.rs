//! One contender under one workload, once.

use std::sync::mpsc;
use std::time::Duration;

use solocron::clock::{Clock, SystemClock};

use crate::c_program::compile;
use crate::contender::{AtWork, Contender, Place, status};
use crate::costs::{Served, cpu_us, pss_kib};
use crate::lateness::{Starts, quantile};
use crate::redis_server::RedisServer;
use crate::workload::{Coming, Workload};

/// Nothing is measured before everything is at work: first starts wait two seconds.
const SETTLING_S: i64 = 8;

/// What comes last has started by then.
const LAST_S: i64 = 3;

/// The stages of a start, and what their median and their 99th percentile are called.
const STAGES: [(&str, &str, &str); 4] = [
    ("claim", "stage claim, p50, ms", "stage claim, p99, ms"),
    ("grant", "stage grant, p50, ms", "stage grant, p99, ms"),
    ("prepare", "stage prepare, p50, ms", "stage prepare, p99, ms"),
    ("spawn", "stage spawn, p50, ms", "stage spawn, p99, ms"),
];

/// What was measured, by name; times in milliseconds.
pub(crate) type Figures = Vec<(&'static str, f64)>;

/// Starts a contender, lets the workload come, and tells what it was like.
pub(crate) fn measure(workload: &Workload, contender: Contender) -> Figures {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    // The other one shows what a server costs whose replicas have nothing to do.
    let (redis, idle) = (RedisServer::start(), RedisServer::start());
    let url = redis.url();
    let from_s =
        SystemClock.utc().0 / 1_000 + SETTLING_S + i64::try_from(workload.jobs / 1_000).expect("few");
    let place = Place {
        folder: folder.path(),
        program: compile(folder.path(), "bench_job", &["-static"]),
        records: folder.path().join("records"),
        redis: &url,
        once_s: from_s + 2,
    };
    let (idle_url, idle_folder) = (idle.url(), tempfile::tempdir().expect("a folder for temporary files"));
    let idle_place = Place { folder: idle_folder.path(), redis: &idle_url, ..place.clone() };
    let idle_workload = Workload { coming: Coming::Never, ..*workload };
    let mut idlers = matches!(contender, Contender::Redis(_))
        .then(|| AtWork::start(contender, &idle_workload, &idle_place));
    let mut at_work = AtWork::start(contender, workload, &place);
    let (from_ms, to_ms) = (from_s * 1_000, (from_s + workload.lasts_s) * 1_000);
    // In the middle between two seconds: what comes is counted once.
    sleep_until(from_ms - 500);
    let besides: &[&str] = if matches!(contender, Contender::Obvious(_)) { &["set"] } else { &[] };
    let (before, cpu_before) = (Served::by(&redis, besides), cpu_of(&at_work));
    let idle_before = Served::by(&idle, &[]);
    let killed_ms = workload.kills.then(|| {
        sleep_until((from_ms + to_ms) / 2 - 500);
        at_work.kill_first();
        (from_ms + to_ms) / 2
    });
    sleep_until(to_ms - 500);
    idlers.iter_mut().for_each(AtWork::expect_all_alive);
    at_work.expect_all_alive();
    let (served, cpu_us) = (Served::by(&redis, besides).since(before), cpu_of(&at_work) - cpu_before);
    let idle_us = Served::by(&idle, &[]).since(idle_before).cpu_us;
    let pss = at_work.pids().into_iter().filter_map(pss_kib).max().unwrap_or_default();
    let seconds = workload.lasts_s as f64;
    let idle = vec![
        ("processor, % of a core, one process", cpu_us as f64 / seconds / 1e4 / contender.replicas() as f64),
        ("memory (PSS), MiB, one process", pss as f64 / 1_024.0),
    ];
    if workload.coming == Coming::Never {
        return idle;
    }
    sleep_until(to_ms + LAST_S * 1_000);
    let starts = Starts::read(&place.records);
    let mut figures = pace(workload, &starts, (from_ms, to_ms));
    if matches!(contender, Contender::Redis(_) | Contender::Obvious(_)) {
        let ticks = ticks(workload) as f64;
        let beats = if matches!(contender, Contender::Redis(_)) {
            contender.replicas() as f64 * seconds
        } else {
            0.0
        };
        figures
            .push(("commands to Redis per tick, heartbeats apart", (served.commands as f64 - beats) / ticks));
        figures.push((
            "Redis processor per tick, heartbeats apart, µs",
            (served.cpu_us - idle_us) as f64 / ticks,
        ));
    }
    if matches!(contender, Contender::Redis(_) | Contender::Local(_)) {
        figures.extend(stages(&status(contender, &place)));
    }
    if let Some(killed_ms) = killed_ms {
        let late = |from: i64, to: i64| quantile(&starts.lateness_us(from, to), 1_000).unwrap_or_default();
        let (usual, after) = (late(from_ms, killed_ms), late(killed_ms, killed_ms + 3_000));
        figures.push(("latest within 3 s of the kill − latest before, ms", (after - usual) as f64 / 1e3));
    }
    figures
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
        Coming::Never => 0,
    };
    times * workload.jobs
}

fn cpu_of(at_work: &AtWork) -> i64 {
    at_work.pids().into_iter().filter_map(cpu_us).sum()
}

/// Lets time pass, which is what is measured.
fn sleep_until(at_ms: i64) {
    let left = Duration::from_millis(u64::try_from(at_ms - SystemClock.utc().0).unwrap_or(0));
    let (_open, never) = mpsc::channel::<()>();
    // It can only time out.
    let _ = never.recv_timeout(left);
}
