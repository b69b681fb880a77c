//! What each call answers, from a store without sockets between.

use serde_json::Value;

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
        ("/api/v1/jobs/backup/why?at=script", 400, "write `02:30` for the last one"),
        ("/api/v1/jobs/backup/why?at=2026-03-29T02:30:00", 400, "does not exist in Europe/Berlin"),
        ("/api/v1/jobs?is=script", 400, "one of failing, running"),
        ("/api/v1/status?script=1", 400, "this call takes none"),
        ("/api/v1/history?job=script", 404, "no such job"),
        ("/api/v1/history?outcome=script", 400, "one of running, succeeded"),
        ("/api/v1/history?since=script", 400, "a duration before now"),
        ("/api/v1/runs/script", 404, "no such run"),
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
