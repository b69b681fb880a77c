//! Every path that can be asked for, one after the other, by wrk, of one replica with 10,000 jobs besides ten that come every
//! second: how many requests a second it answers, and whether its starts are late.

use std::net::SocketAddr;

use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::c_program::compile;
use crate::contender::{AtWork, Contender, Place};
use crate::http_client::get;
use crate::lateness::{Starts, quantile};
use crate::load::Wrk;
use crate::measure::sleep_until;
use crate::redis_server::RedisServer;
use crate::workload::Workload;

/// How long each path is asked for, in seconds, if nothing is said.
const SECONDS: u64 = 5;

/// The pages, which openapi.json does not describe.
const PAGES: [&str; 9] = [
    "/",
    "/?page=100",
    "/?q=idle99",
    "/?by=job&span=24h",
    "/jobs/job0",
    "/jobs/job0/runs/{run}",
    "/replicas",
    "/login",
    "/nothing",
];

/// Paths of probes and scrapers.
const OTHERS: [&str; 5] = ["/healthz", "/readyz", "/metrics", "/metrics?jobs=all", "/metrics?jobs=none"];

/// Paths of the API about other jobs, and with parameters.
const MORE: [&str; 3] = ["/api/v1/jobs?page=100", "/api/v1/jobs?q=idle99", "/api/v1/jobs/idle9"];

/// Asks for everything, and prints a table.
pub(crate) fn run(words: &[&str]) {
    let seconds = words.first().and_then(|word| word.parse().ok()).unwrap_or(SECONDS);
    let workload = Workload::all().iter().find(|workload| workload.name == "W8").expect("it is there");
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let redis = RedisServer::start();
    let url = redis.url();
    let place = Place {
        folder: folder.path(),
        program: compile(folder.path(), "bench_job", &["-static"]),
        records: folder.path().join("records"),
        redis: &url,
        once_s: 0,
    };
    let mut at_work = AtWork::start(Contender::Redis(1), workload, &place);
    let address = at_work.address();
    // Long enough for 10,000 jobs to be opened, and for some runs.
    sleep_until(SystemClock.utc().0 + 20_000);
    println!(
        "| path | bytes | requests per second | p99, ms | errors | starts late, p50, ms | p99, ms | lost |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = vec![String::new()];
    all.extend(paths(address));
    for path in all {
        // Whole seconds: the ticks of the first one are decided by then, and those of the last one have started.
        let from_ms = (SystemClock.utc().0 / 1_000 + 1) * 1_000;
        sleep_until(from_ms - 300);
        let bytes = if path.is_empty() { 0 } else { get(address, &path).body.len() };
        let wrk = (!path.is_empty()).then(|| Wrk::start(address, &path, seconds + 1));
        let to_ms = from_ms + i64::try_from(seconds).expect("some seconds") * 1_000;
        sleep_until(to_ms + 500);
        at_work.expect_all_alive();
        let report = wrk.map(Wrk::report).unwrap_or_default();
        sleep_until(to_ms + 2_000);
        let late = Starts::read(&place.records).lateness_us(from_ms, to_ms);
        let lost = usize::try_from(seconds).expect("some seconds") * workload.jobs - late.len();
        let ms = |of_thousand| quantile(&late, of_thousand).map_or(f64::NAN, |us| us as f64 / 1e3);
        let name = if path.is_empty() { "nobody asks" } else { path.as_str() };
        println!(
            "| {name} | {bytes} | {:.0} | {:.1} | {} | {:.1} | {:.1} | {lost} |",
            report.per_second,
            report.p99_ms,
            report.errors,
            ms(500),
            ms(990)
        );
    }
}

/// Every path, with its variable parts filled in.
fn paths(address: SocketAddr) -> Vec<String> {
    let json = |path: &str| -> Value { serde_json::from_str(&get(address, path).body).unwrap_or_default() };
    let described = json("/api/v1/openapi.json");
    let described = described["paths"].as_object().expect("the paths of the API");
    let can_be_asked = |operations: &Value| {
        let content = operations["get"]["responses"]["200"]["content"].as_object();
        // A stream has no end, and wrk would wait for it.
        content.is_some_and(|content| !content.contains_key("text/event-stream"))
    };
    let of_api =
        described.iter().filter(|(_, operations)| can_be_asked(operations)).map(|(path, _)| path.as_str());
    let newest = json("/api/v1/history?job=job0&n=1");
    let run = newest[0]["run"].as_str().unwrap_or("none").to_owned();
    let filled = |path: &str| {
        let path = path.replace("{job}", "job0").replace("{run}", &run);
        let parameters = match path.rsplit('/').next() {
            Some("why") => "?at=00:00:30",
            Some("history") => "?job=job0",
            _ => "",
        };
        format!("{path}{parameters}")
    };
    let mut all: Vec<String> =
        OTHERS.into_iter().chain(PAGES).chain(of_api).chain(MORE).map(filled).collect();
    // The script and the style sheet, as the first page names them.
    let home = get(address, "/").body;
    let assets = home.split('"').filter(|word| word.starts_with("/assets/")).map(str::to_owned);
    all.extend(assets);
    all.dedup();
    all
}
