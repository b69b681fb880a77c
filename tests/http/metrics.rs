//! Scrapes: formats, series from the first moment on, what moves them, and who may scrape.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;

use crate::http_client::{connect, get, request};
use crate::process::Scene;
use crate::{IDLE, TOKEN, eventually, start, write_private};

/// A job that succeeds every second, and one that fails.
const BUSY: &str = "cluster.store = \"local\"\n[jobs.good]\nschedule = \"* * * * * *\"\nshell = \"true\"\n\
    [jobs.bad]\nschedule = \"* * * * * *\"\nshell = \"exit 3\"\n";

const OTHER: &str = "abcdefghijklmnopqrstuvwxyz0123456789abcdefg=";

/// The number of a series in a scrape; `None` if it is not there.
fn number(scrape: &str, series: &str) -> Option<f64> {
    scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok())
}

fn scraped(address: SocketAddr, series: &str) -> Option<f64> {
    number(&get(address, "/metrics").body, series)
}

#[test]
fn a_scrape_before_any_tick_has_every_series_in_both_formats() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let text = get(address, "/metrics");
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for series in [
        "solocron_ticks_total{outcome=\"succeeded\",reason=\"\"}",
        "solocron_locks_lost_total",
        "solocron_job_success_timestamp_seconds{job_name=\"never\"}",
        "solocron_job_ticks_total{job_name=\"never\",result=\"failed\"}",
        "solocron_http_requests_total{route=\"/metrics\",code=\"2xx\"}",
        "solocron_renewal_slack_ratio_count",
    ] {
        assert_eq!(number(&text.body, series), Some(0.0), "{series}\n{}", text.body);
    }
    assert!(text.body.contains("# TYPE solocron_locks_lost_total counter\n"), "{}", text.body);
    let open = request(address, "GET /metrics", &[("Accept", "application/openmetrics-text; version=1.0.0")]);
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert!(open.body.contains("# TYPE solocron_locks_lost counter\n"), "{}", open.body);
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
}

#[test]
fn runs_move_the_series_of_their_job_and_of_the_replica() {
    let scene = Scene::new(BUSY);
    let (_replica, address) = start(&scene, &[]);
    for series in [
        "solocron_job_ticks_total{job_name=\"good\",result=\"ok\"}",
        "solocron_job_ticks_total{job_name=\"bad\",result=\"failed\"}",
        "solocron_job_success_timestamp_seconds{job_name=\"good\"}",
        "solocron_job_failure_timestamp_seconds{job_name=\"bad\"}",
        "solocron_job_run_seconds_total{job_name=\"good\"}",
        "solocron_tick_lateness_seconds_count",
        "solocron_store_up",
        "solocron_replica_taking_ticks",
        "solocron_replicas{state=\"taking\"}",
        "solocron_store_request_duration_seconds_count{request=\"claim\"}",
        "solocron_jobs{state=\"failing\"}",
        "solocron_jobs_in_trouble{kind=\"last_outcome\"}",
        "process_resident_memory_bytes",
    ] {
        eventually(series, || scraped(address, series).filter(|number| *number > 0.0));
    }
    let due = "solocron_job_success_due_timestamp_seconds{job_name=\"bad\"}";
    assert!(scraped(address, due).is_some_and(|due| due > 1.7e9));
    let scrape = get(address, "/metrics").body;
    assert_eq!(number(&scrape, "solocron_jobs{state=\"enabled\"}"), Some(2.0));
    assert!(scrape.contains("solocron_info{") && scrape.contains("store_kind=\"local\""), "{scrape}");
}

#[test]
fn a_scrape_says_which_jobs_have_series() {
    let scene = Scene::new(BUSY);
    let (_replica, address) = start(&scene, &[]);
    eventually("a failure", || {
        scraped(address, "solocron_job_ticks_total{job_name=\"bad\",result=\"failed\"}")
            .filter(|count| *count > 0.0)
    });
    let jobs = |mode: &str| {
        let scrape = get(address, &format!("/metrics?jobs={mode}"));
        let has = |job: &str| {
            scrape.body.contains(&format!("solocron_job_success_timestamp_seconds{{job_name=\"{job}\"}}"))
        };
        (scrape.status, has("good"), has("bad"))
    };
    assert_eq!(jobs("all"), (200, true, true));
    assert_eq!(jobs("trouble"), (200, false, true));
    assert_eq!(jobs("none"), (200, false, false));
    assert_eq!(jobs("some"), (400, false, false));
    let twice = get(address, "/metrics?jobs=all&jobs=none");
    assert!(twice.status == 400 && twice.body.contains("`jobs` is given more than once"), "{}", twice.body);
}

#[test]
fn with_tokens_a_scrape_needs_one_and_a_reload_changes_them() {
    let scene = Scene::new(&format!(
        "{IDLE}[http.tokens]\ngrafana = {{ token = \"${{file:FILE}}\", may = \"read\" }}\n"
    ));
    let file = scene.path("token");
    write_private(&file, TOKEN);
    let jobs = std::fs::read_to_string(scene.path("jobs.toml")).expect("it was written");
    scene.edit(&jobs.replace("FILE", &file.display().to_string()));
    let (mut replica, address) = start(&scene, &[]);
    let status = |token: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> =
            bearer.iter().map(|bearer| ("Authorization", bearer.as_str())).collect();
        request(address, "GET /metrics", &headers).status
    };
    assert_eq!((status(None), status(Some(TOKEN)), status(Some(OTHER))), (401, 200, 401));
    assert_eq!(get(address, "/healthz").status, 200);

    write_private(&file, &format!("{OTHER}\n{TOKEN}\n"));
    replica.signal(Signal::SIGHUP);
    // A reload of tokens ends connections, also one whose request has just been sent.
    let answers = |token: &str, start: &str| {
        let mut stream = connect(address);
        let line = format!(
            "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        let mut text = String::new();
        let read = stream.write_all(line.as_bytes()).and_then(|()| stream.read_to_string(&mut text));
        (read.is_ok() && text.starts_with(start)).then_some(())
    };
    eventually("both tokens", || answers(OTHER, "HTTP/1.1 200"));
    assert_eq!(status(Some(TOKEN)), 200);

    write_private(&file, OTHER);
    replica.signal(Signal::SIGHUP);
    eventually("the former token is refused", || answers(TOKEN, "HTTP/1.1 401"));
    assert_eq!(status(Some(OTHER)), 200);

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("it is there");
    replica.signal(Signal::SIGHUP);
    let problem = replica.wait_for("about the file", |line| line.contains("may be read by all users"));
    assert!(problem.contains("grafana") && !problem.contains(OTHER), "{problem}");
    assert_eq!(status(Some(OTHER)), 200, "a bad file changes nothing");
}

#[test]
fn the_sixth_wrong_token_in_a_minute_is_told_to_wait_and_a_right_one_is_let_in() {
    let scene = Scene::new(IDLE);
    let file = scene.path("token");
    write_private(&file, TOKEN);
    let tokens =
        format!("[http.tokens]\nmaria = {{ token = \"${{file:{}}}\", may = \"act\" }}\n", file.display());
    scene.edit(&format!("{IDLE}{tokens}"));
    let (_replica, address) = start(&scene, &[]);
    let sent =
        |token: &str| request(address, "GET /metrics", &[("Authorization", &format!("Bearer {token}"))]);
    for _ in 0..5 {
        assert_eq!(sent(OTHER).status, 401);
    }
    let answer = sent(OTHER);
    assert_eq!(answer.status, 429);
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    let scrape = sent(TOKEN);
    assert_eq!(scrape.status, 200);
    let counted: f64 = scrape
        .body
        .lines()
        .filter(|line| line.starts_with("solocron_http_wrong_tokens_total"))
        .filter_map(|line| line.split(' ').next_back()?.parse::<f64>().ok())
        .sum();
    assert_eq!(counted, 6.0, "{}", scrape.body);
}
