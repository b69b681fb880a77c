//! What each call answers, from a store without sockets between.

use axum::http::Method;
use serde_json::Value;

use crate::http::route::table::routes;
use crate::http::testing::Served;
use crate::view::testing::run_id;

async fn json(served: &Served, path: &str) -> Value {
    let (status, kind, body) = served.get(path).await;
    assert_eq!((status.as_u16(), kind.as_str()), (200, "application/json"), "{path}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
}

#[tokio::test]
async fn each_call_shows_what_the_store_knows_and_no_output() {
    let served = Served::new().await;
    served.report(false);
    let run = run_id(1).to_string();
    let status = json(&served, "/api/v1/status").await;
    assert_eq!((&status["complete"], &status["store_answers"]), (&true.into(), &true.into()), "{status}");
    assert_eq!(status["as_of"], "2026-11-20T12:06:40.000Z");
    assert_eq!(status["jobs"].as_array().map(Vec::len), Some(3));
    assert_eq!(status["jobs"][0]["last"]["run"], run.as_str());
    let one = json(&served, "/api/v1/jobs/backup").await;
    assert_eq!(one["jobs"], Value::Array(vec![status["jobs"][0].clone()]));
    let failing = json(&served, "/api/v1/jobs?is=failing").await;
    assert_eq!((&failing["matching"], &failing["jobs"]), (&1.into(), &one["jobs"]));
    assert_eq!((&failing["counts"]["all"], &failing["counts"]["disabled"]), (&3.into(), &1.into()));
    let history = json(&served, "/api/v1/history?job=backup").await;
    assert_eq!((&history[0]["run"], &history[0]["tail"]), (&run.as_str().into(), &Value::Null));
    for path in [format!("/api/v1/runs/{run}"), format!("/api/v1/runs/{run}?job=backup")] {
        assert_eq!(json(&served, &path).await, history[0], "{path}");
    }
    assert_eq!(json(&served, "/api/v1/history").await, history);
    let next = json(&served, "/api/v1/jobs/payout/next?n=2").await;
    assert_eq!(
        (&next[1]["tick"], next.as_array().map(Vec::len)),
        (&"2026-11-20T14:00:00.000Z".into(), Some(2))
    );
    assert_eq!(json(&served, "/api/v1/jobs/retired/next").await, Value::Array(Vec::new()));
    let why = json(&served, "/api/v1/jobs/backup/why?at=2026-11-20T12:05:00Z").await;
    let why = why["explanation"].as_str().expect("a text");
    assert!(why.contains("failed with exit code 3"), "{why}");
    assert_eq!(json(&served, "/api/v1/replicas").await["replicas"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_without_repeating_it() {
    let served = Served::new().await;
    served.report(false);
    for (path, status, words) in [
        ("/api/v1/jobs/backups", 404, "did you mean `backup`?"),
        ("/api/v1/jobs/%3Cscript%3E", 404, "no such job"),
        ("/api/v1/jobs/script/next", 404, "no such job"),
        ("/api/v1/jobs/backup/next?n=1001", 400, "a number from 1 to 1000"),
        ("/api/v1/jobs/backup/why", 400, "write `?at=02:30`"),
        ("/api/v1/jobs/backup/why?at=script", 400, "write `02:30` or"),
        ("/api/v1/jobs/backup/why?at=2026-03-29T02:30:00", 400, "does not exist in Europe/Berlin"),
        ("/api/v1/jobs?is=script", 400, "one of failing, running"),
        ("/api/v1/status?script=1", 400, "this call takes none"),
        ("/api/v1/history?job=script", 404, "no such job"),
        ("/api/v1/history?outcome=script", 400, "one of running, succeeded"),
        ("/api/v1/history?since=script", 400, "a duration before now"),
        ("/api/v1/runs/script", 404, "no such run"),
        ("/api/v1/runs/01939d2c-0000?job=backup", 404, "write the whole id"),
        ("/api/v1/runs/01939d2c-0000-7000-8000-000000000009", 404, "name the job"),
        ("/api/v1/runs/01939d2c-0000-7000-8000-000000000009?job=backup", 404, "newest 200 ticks"),
    ] {
        let (found, kind, body) = served.get(path).await;
        assert_eq!((found.as_u16(), kind.as_str()), (status, "application/problem+json"), "{path}: {body}");
        assert!(body.contains(words) && !body.contains("script"), "{path}: {body}");
    }
}

#[tokio::test]
async fn while_the_store_is_away_what_has_to_be_read_is_refused_at_once() {
    let served = Served::new().await;
    served.report(true);
    for path in ["/api/v1/status", "/api/v1/jobs", "/api/v1/history?job=backup"] {
        let (status, _, body) = served.get(path).await;
        assert_eq!(status.as_u16(), 503, "{path}: {body}");
        assert!(body.contains("the store does not answer"), "{path}: {body}");
    }
}

/// A log with what must not reach a terminal.
const LOG: &str =
    "2026-11-20T12:05:00.100Z out one \u{1b}[31mred\u{1b}[0m\n2026-11-20T12:05:00.200Z err two\n";

#[tokio::test]
async fn the_log_of_a_run_here_is_read_piece_by_piece_with_a_token() {
    let served = Served::new().await;
    served.report(false);
    served.write_log("backup", run_id(1), LOG);
    let path = format!("/api/v1/runs/{}/log", run_id(1));
    let ask = async |query: &str| -> Value {
        let (status, kind, body) = served.get_as_reader(&format!("{path}?job=backup{query}")).await;
        assert_eq!((status.as_u16(), kind.as_str()), (200, "application/json"), "{query}: {body}");
        serde_json::from_str(&body).expect("JSON")
    };
    let first = ask("").await;
    let text = "2026-11-20T12:05:00.100Z out one red\n2026-11-20T12:05:00.200Z err two\n";
    assert_eq!(
        (&first["text"], &first["from"], &first["missing"], &first["next"], &first["size"], &first["end"]),
        (&text.into(), &0.into(), &0.into(), &LOG.len().into(), &LOG.len().into(), &Value::Null)
    );
    assert_eq!((&first["job"], &first["node"]), (&"backup".into(), &"n1".into()));
    let end = ask(&format!("&from={}", LOG.len())).await;
    assert_eq!((&end["end"], &end["text"], &end["why"]), (&"over".into(), &"".into(), &Value::Null));
    assert_eq!((&end["from"], &end["next"]), (&LOG.len().into(), &LOG.len().into()));
    assert_eq!(ask("&from=-40").await["text"], "2026-11-20T12:05:00.200Z err two\n");
    assert_eq!(ask("&raw").await["text"], LOG);
    let without_job = served.get_as_reader(&path).await;
    assert_eq!(without_job.0.as_u16(), 200, "{}", without_job.2);
}

#[tokio::test]
async fn a_log_is_downloaded_without_escapes_or_as_it_is() {
    let served = Served::new().await;
    served.report(false);
    let long: String = (0..20_000).map(|n| format!("2026-11-20T12:05:00.100Z out line {n}\n")).collect();
    let log = format!("{LOG}{long}torn \u{1b}[31m");
    served.write_log("backup", run_id(1), &log);
    let path = format!("/api/v1/runs/{}/log?job=backup&download", run_id(1));
    let (status, kind, raw) = served.get_as_reader(&format!("{path}&raw")).await;
    assert_eq!((status.as_u16(), kind.as_str()), (200, "text/plain; charset=utf-8"));
    assert!(raw == log, "{} bytes of {}", raw.len(), log.len());
    let (_, _, plain) = served.get_as_reader(&path).await;
    assert!(!plain.contains('\u{1b}') && plain.starts_with("2026-11-20T12:05:00.100Z out one red\n"));
    assert!(plain.ends_with(" out line 19999\ntorn "), "{:?}", plain.get(plain.len() - 60..));
    let (_, _, end) = served.get_as_reader(&format!("{path}&from=-40")).await;
    assert!(end.len() <= 40, "{end}");
}

#[tokio::test]
async fn why_no_log_is_shown_is_told() {
    let served = Served::new().await;
    served.report(false);
    let run = run_id(1).to_string();
    let path = |query: &str| format!("/api/v1/runs/{run}/log?job=backup{query}");
    let (status, _, body) = served.get(&path("")).await;
    assert_eq!(status.as_u16(), 403);
    assert!(body.contains("shown only with a token"), "{body}");
    let absent = served.get_as_reader(&path("")).await.2;
    let absent: Value = serde_json::from_str(&absent).expect("JSON");
    assert_eq!((&absent["end"], &absent["size"]), (&Value::Null, &0.into()), "it may begin: {absent}");
    let absent = served.get_as_reader(&path("&wait=3")).await.2;
    let absent: Value = serde_json::from_str(&absent).expect("JSON");
    assert_eq!((&absent["end"], &absent["text"]), (&"absent".into(), &"".into()), "{absent}");
    for (query, status, words) in [
        ("&from=x", 400, "a number of bytes"),
        ("&wait=11", 400, "a number from 0 to 10"),
        ("&raw=no", 400, "`true`, `false`, or nothing"),
        ("&follow", 400, "this call takes `job`, `from`"),
    ] {
        let (found, _, body) = served.get_as_reader(&path(query)).await;
        assert_eq!(found.as_u16(), status, "{query}: {body}");
        assert!(body.contains(words), "{query}: {body}");
    }
    let other = "/api/v1/runs/01939d2c-0000-7000-8000-000000000009/log?job=backup";
    assert_eq!(served.get_as_reader(other).await.0.as_u16(), 404);
}

#[tokio::test]
async fn no_more_than_16_clients_read_output_at_once() {
    let served = Served::new().await;
    served.report(false);
    let path = format!("/api/v1/runs/{}/log?job=backup&wait=1", run_id(1));
    let taken: Vec<_> = (0..16).filter_map(|_| served.shared.streams.take_output()).collect();
    assert_eq!(taken.len(), 16);
    let (status, _, body) = served.get_as_reader(&path).await;
    assert_eq!(status.as_u16(), 503, "{body}");
    assert!(body.contains("too many read output"), "{body}");
    drop(taken);
    assert_eq!(served.get_as_reader(&path).await.0.as_u16(), 200);
}

#[tokio::test]
async fn without_a_token_no_route_shows_what_a_job_printed() {
    const MARKER: &str = "the end of run";
    let served = Served::new().await;
    served.report(false);
    let run = run_id(1).to_string();
    served.write_log("backup", run_id(1), &format!("2026-11-20T12:05:00.100Z out {MARKER}\n"));
    let filled = |path: &str| path.replace("{job}", "backup").replace("{run}", &run);
    let mut shown = Vec::new();
    for route in routes().iter().filter(|route| route.method == Method::GET) {
        let path = filled(route.path);
        let queries =
            ["?job=backup", "?at=2026-11-20T12:05:00Z"].map(|query| (format!("{path}{query}"), "*/*"));
        let plain = ["*/*", "text/event-stream"].map(|kind| (path.clone(), kind));
        for (path, kind) in plain.into_iter().chain(queries) {
            let beginning = served.beginning(&path, kind, false).await;
            assert!(!beginning.contains(MARKER), "{path} {kind}: {beginning}");
            if served.beginning(&path, kind, true).await.contains(MARKER) {
                shown.push(route.path);
            }
        }
    }
    shown.dedup();
    // With a token the marker is found, so that it would be found without one, too.
    for path in
        ["/", "/jobs/{job}/runs/{run}", "/api/v1/history", "/api/v1/runs/{run}", "/api/v1/runs/{run}/log"]
    {
        assert!(shown.contains(&path), "{path}: {shown:?}");
    }
}

#[tokio::test]
async fn the_log_of_a_run_of_another_job_is_not_found() {
    let served = Served::new().await;
    served.report(false);
    served.list_run("backup", run_id(9));
    let path = format!("/api/v1/runs/{}/log?job=payout", run_id(9));
    let (status, _, body) = served.get_as_reader(&path).await;
    assert_eq!(status.as_u16(), 404, "{body}");
}
