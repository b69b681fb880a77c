//! Acts by the API and by forms, on a store without sockets between.

use std::time::Duration;

use axum::http::Request;
use axum::http::request::Builder;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::http::testing::{Served, ServedAnswer, TOKENS};
use crate::job::{Overlap, RunId, Tick};
use crate::lease::{Answer, Manual, Record, Request as StoreRequest};
use crate::operate::audit::{ActNote, newest_notes};
use crate::store::{Feed, Store};
use crate::view::testing::run_id;

/// The kind of a form's body.
const FORM: &str = "application/x-www-form-urlencoded";

/// A replica with tokens whose store answers.
async fn served() -> Served {
    let served = Served::new().await.with_tokens();
    served.report(false);
    // Once something was read, the store is open.
    served
        .send(Request::get("/api/v1/jobs").header("authorization", format!("Bearer {}", TOKENS[1])), "")
        .await;
    served
}

fn by(token: &str, path: &str, kind: &str) -> Builder {
    Request::post(path).header("authorization", format!("Bearer {token}")).header("content-type", kind)
}

/// Sends an act by the API, by maria.
async fn api(served: &Served, act: &str, body: Value) -> (ServedAnswer, Value) {
    let path = format!("/api/v1/jobs/backup/{act}");
    let answer = served.send(by(TOKENS[1], &path, "application/json"), &body.to_string()).await;
    let value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    (answer, value)
}

/// Sends an act by a form, by maria.
async fn form(served: &Served, act: &str, body: &str) -> ServedAnswer {
    served.send(by(TOKENS[1], &format!("/jobs/backup/{act}"), FORM), body).await
}

/// The page at this path, as maria sees it.
async fn page(served: &Served, path: &str) -> ServedAnswer {
    served.send(Request::get(path).header("authorization", format!("Bearer {}", TOKENS[1])), "").await
}

async fn notes(served: &Served) -> Vec<ActNote> {
    newest_notes(&served.bench.store, None, 100).await.expect("answers").notes
}

async fn record(served: &Served) -> Record {
    let record = served.bench.store.record_of(&served.bench.spec("backup").name).await.expect("answers");
    record.expect("it is open")
}

/// Waits for an order in the record, and takes it with this run, as a replica does.
async fn take(served: &Served, run: u8) -> RunId {
    let order = loop {
        match record(served).await.order {
            Some(order) => break order,
            None => sleep(Duration::from_millis(10)).await,
        }
    };
    let spec = served.bench.spec("backup");
    let manual = Manual {
        caller: served.bench.caller("n1").await,
        run: run_id(run),
        tick: Tick(served.bench.now()),
        asked: served.bench.now(),
        order: Some(order),
        lease: spec.lease,
        overlap: Overlap::Skip,
        rerun_deadline: None,
    };
    let reply = served.bench.store.submit(&spec.name, &StoreRequest::Manual(manual)).await.expect("answers");
    assert!(matches!(reply.answer, Answer::Won { .. }), "{reply:?}");
    order
}

#[tokio::test]
async fn a_pause_is_answered_with_its_end_and_noted_with_who_asked_and_why() {
    let served = served().await;
    let (answer, paused) = api(&served, "pause", json!({ "for": "2h", "reason": "month end" })).await;
    assert_eq!((answer.status, &paused["state"], &paused["by"]), (200, &json!("paused"), &json!("maria")));
    assert_eq!(paused["until"], "2026-11-20T14:05:05.000Z");
    assert!(record(&served).await.paused.is_some());
    let [note] = &notes(&served).await[..] else { panic!("one note") };
    assert_eq!(
        (note.by.as_str(), note.act.as_str(), note.why.as_deref()),
        ("maria", "pause", Some("month end"))
    );
    assert!(note.result.starts_with("is paused until 2026-11-20 14:05:05 UTC"), "{note:?}");
    for state in ["resumed", "not_paused"] {
        let (answer, resumed) = api(&served, "resume", json!({})).await;
        assert_eq!((answer.status, &resumed["state"]), (200, &json!(state)));
    }
    assert_eq!(notes(&served).await.len(), 3);
}

#[tokio::test]
async fn a_page_that_is_opened_while_the_store_is_away_does_not_say_that_nobody_acted() {
    let served = served().await;
    api(&served, "pause", json!({})).await;
    assert_eq!(page(&served, "/replicas").await.status, 200);
    served.report(true);
    let away = page(&served, "/jobs/backup").await;
    assert_eq!(away.status, 200);
    assert!(away.body.contains("What was done lately is not known"), "{}", away.body);
    assert!(!away.body.contains("Nobody has acted"), "{}", away.body);
    served.report(false);
    // The list is read once a second.
    while !page(&served, "/jobs/backup").await.body.contains("<b>pause</b>") {
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_shown_without_the_store_is_loaded_again_and_an_act_is_not() {
    let served = Served::new().await.with_tokens();
    served.report(true);
    for path in ["/jobs/nobody", "/replicas"] {
        let answer = page(&served, path).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, "1"), "{path}");
        assert!(answer.body.contains("<meta http-equiv=\"refresh\" content=\"5\">"), "{}", answer.body);
        assert!(answer.body.contains("This page is loaded again every 5 seconds."), "{}", answer.body);
    }
    let answer = form(&served, "pause", "").await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(!answer.body.contains("http-equiv"), "{}", answer.body);
    let absent = page(&served, "/jobs/backup/runs/01939d2c-0000").await;
    assert!(absent.status == 404 && absent.body.contains("has its whole id"), "{absent:?}");
    assert!(!absent.body.contains("http-equiv"), "{}", absent.body);
}

#[tokio::test]
async fn an_order_is_answered_with_its_run_and_where_to_find_it() {
    let served = served().await;
    served.bench.beat("n1", "f", &[]).await;
    let key = run_id(50).to_string();
    let path = "/api/v1/jobs/backup/trigger";
    let request = || by(TOKENS[1], path, "application/json").header("idempotency-key", &key);
    let (answer, order) = tokio::join!(served.send(request(), "{}"), take(&served, 2));
    assert_eq!((answer.status, order), (202, run_id(50)), "{answer:?}");
    let started: Value = serde_json::from_str(&answer.body).expect("JSON");
    let run = run_id(2).to_string();
    assert_eq!(
        (&started["state"], &started["run"], &started["order"]),
        (&json!("started"), &json!(run), &json!(key))
    );
    assert_eq!(answer.header("location"), format!("/api/v1/runs/{run}?job=backup"));
    let again = served.send(request(), "{}").await;
    assert_eq!((again.status, again.body), (202, answer.body), "the same key gives the same run");
    assert_eq!(record(&served).await.order, None);
}

#[tokio::test]
async fn an_order_that_no_replica_takes_is_answered_with_what_it_waits_for() {
    let served = served().await;
    served.bench.beat("n1", "f", &[]).await;
    let (answer, waiting) = api(&served, "trigger", json!({})).await;
    assert_eq!((answer.status, &waiting["state"], &waiting["run"]), (202, &json!("waiting"), &Value::Null));
    let message = waiting["message"].as_str().expect("a text");
    assert!(message.starts_with("waiting for a replica to pick this up, until"), "{message}");
    take(&served, 2).await;
    let is_told = async {
        while notes(&served).await.len() < 2 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), is_told).await.expect("what became of it is noted");
    let last = notes(&served).await.pop().expect("a note");
    assert!(last.result.contains(&run_id(2).to_string()), "{last:?}");
}

#[tokio::test]
async fn an_order_is_withdrawn_when_its_replica_drains() {
    let served = served().await;
    served.bench.beat("n1", "f", &[]).await;
    let drained = async {
        while record(&served).await.order.is_none() {
            sleep(Duration::from_millis(10)).await;
        }
        served.drain();
    };
    let ((answer, problem), ()) = tokio::join!(api(&served, "trigger", json!({})), drained);
    assert_eq!((answer.status, &problem["title"]), (503, &json!("this replica stops")));
    served.shared.acts.all_ended().await;
    assert_eq!(record(&served).await.order, None);
    assert_eq!(notes(&served).await.len(), 1);
}

#[tokio::test]
async fn what_the_cluster_refuses_is_told_in_the_words_of_the_commands_and_noted() {
    let served = served().await;
    for (act, body, words) in [
        ("trigger", json!({}), "no live replica"),
        ("kill", json!({}), "job `backup` is not running"),
        ("kill", json!({ "run": run_id(9).to_string() }), "job `backup` is not running"),
        ("unlock", json!({ "confirm": "backup" }), "nobody holds the lock of job `backup`"),
    ] {
        let (answer, problem) = api(&served, act, body).await;
        assert_eq!((answer.status, &problem["title"]), (409, &json!("the act was refused")), "{act}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{problem}");
        let note = notes(&served).await.pop().expect("a note");
        assert!(note.act.as_str() == act && note.result.starts_with("refused: "), "{note:?}");
    }
}

#[tokio::test]
async fn a_run_is_told_to_stop_and_a_dead_holder_loses_its_lock() {
    let served = served().await;
    served.bench.at(600);
    served.bench.win("backup", "n1", 3, 600).await;
    let (answer, stopping) = api(&served, "kill", json!({ "run": run_id(3).to_string() })).await;
    assert_eq!(
        (answer.status, &stopping["state"], &stopping["node"]),
        (202, &json!("stopping"), &json!("n1"))
    );
    assert_eq!(record(&served).await.stop_run, Some(run_id(3)));
    let (answer, other) =
        api(&served, "unlock", json!({ "confirm": "backup", "run": run_id(4).to_string() })).await;
    assert_eq!(answer.status, 409, "{other}");
    served.bench.at(620);
    let (answer, unlocked) = api(&served, "unlock", json!({ "confirm": "backup" })).await;
    assert_eq!((answer.status, &unlocked["state"]), (200, &json!("unlocked")), "{unlocked}");
    assert!(!record(&served).await.is_running());
}

#[tokio::test]
async fn lines_that_are_no_acts_hide_none_on_the_page_and_are_counted() {
    let served = served().await;
    api(&served, "pause", json!({ "reason": "month end" })).await;
    for forged in ["{}", "forged"] {
        served.bench.store.append(Feed::Acts, forged).await.expect("answers");
    }
    let shown = page(&served, "/jobs/backup").await.body;
    assert!(shown.contains("because: month end"), "{shown}");
    assert!(shown.contains("2 lines in the list of acts cannot be read"), "{shown}");
}

#[tokio::test]
async fn a_tick_that_lies_ahead_is_refused_with_its_time_and_the_way_out() {
    let served = served().await;
    served.bench.beat("n1", "f", &[]).await;
    let (answer, problem) = api(&served, "trigger", json!({ "tick": "2026-11-20T12:10:00Z" })).await;
    assert_eq!(answer.status, 409, "{problem}");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("tick `2026-11-20T12:10:00.000Z` lies ahead"), "{problem}");
    assert!(problem["help"].as_str().is_some_and(|help| help.contains("or none")), "{problem}");
    assert_eq!(record(&served).await.order, None);
    assert_eq!(form(&served, "trigger", "tick=2030-01-01").await.status, 409);
}

#[tokio::test]
async fn an_instant_that_is_no_tick_is_a_bad_field_of_the_api_and_of_the_form() {
    let served = served().await;
    served.bench.beat("n1", "f", &[]).await;
    let (answer, problem) = api(&served, "trigger", json!({ "tick": "2026-11-20T11:57:03Z" })).await;
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (400, "application/problem+json"),
        "{problem}"
    );
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(
        detail.starts_with("`backup` has no tick at Fri 2026-11-20 12:57:03 +01:00; it has one"),
        "{problem}"
    );
    let help = problem["help"].as_str().unwrap_or_default();
    assert!(
        help.starts_with("write `2026-11-20T12:55:00.000+01:00` or `2026-11-20T13:00:00.000"),
        "{problem}"
    );
    assert_eq!(form(&served, "trigger", "tick=11:57:03Z").await.status, 400);
    assert_eq!(record(&served).await.order, None);
}

#[tokio::test]
async fn a_body_that_is_none_of_the_act_is_refused_without_repeating_it() {
    let served = served().await;
    for (path, kind, body, status, words) in [
        ("backup/pause", "application/json", "{\"by\":\"script\"}", 400, "this act has `for`, `reason`"),
        ("backup/trigger", "application/json", "{\"command\":\"script\"}", 400, "this act has `tick`"),
        ("backup/pause", "application/json", "{\"for\":\"script\"}", 400, "no duration"),
        ("backup/pause", "application/json", "{\"for\":7}", 400, "no object of texts"),
        ("backup/pause", "application/json", "script", 400, "no object of texts"),
        ("backup/pause", "application/json", "", 400, "no object of texts"),
        ("backup/pause?for=script", "application/json", "{}", 400, "use the body"),
        ("backup/pause", FORM, "for=script", 415, "not JSON"),
        ("backup/kill", "application/json", "{\"run\":\"\"}", 400, "no id of a run"),
        ("backups/pause", "application/json", "{}", 404, "did you mean `backup`?"),
        ("%3Cscript%3E/pause", "application/json", "{}", 404, "no such job"),
    ] {
        let answer = served.send(by(TOKENS[1], &format!("/api/v1/jobs/{path}"), kind), body).await;
        assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
        assert_eq!(answer.header("content-type"), "application/problem+json");
        assert!(answer.body.contains(words) && !answer.body.contains("script"), "{path} {body}: {answer:?}");
    }
    let request = by(TOKENS[1], "/api/v1/jobs/backup/trigger", "application/json");
    let answer = served.send(request.header("idempotency-key", "script"), "{}").await;
    assert!(answer.status == 400 && !answer.body.contains("script"), "{answer:?}");
    assert!(notes(&served).await.is_empty());
}

#[tokio::test]
async fn a_token_that_may_only_read_gets_nothing_done_and_two_of_its_tries_are_noted() {
    let served = served().await;
    for act in ["trigger", "pause", "resume", "kill", "unlock"] {
        for (path, kind) in [
            (format!("/api/v1/jobs/backup/{act}"), "application/json"),
            (format!("/jobs/backup/{act}"), FORM),
        ] {
            let answer = served.send(by(TOKENS[0], &path, kind), "{}").await;
            assert_eq!(answer.status, 403, "{path}: {answer:?}");
        }
    }
    let notes = notes(&served).await;
    assert_eq!(notes.len(), 2);
    assert_eq!(
        (notes[0].by.as_str(), notes[0].result.as_str()),
        ("grafana", "refused: this token may only read")
    );
    assert_eq!(record(&served).await.paused, None);
}

#[tokio::test]
async fn the_eleventh_act_on_a_job_within_a_minute_has_to_wait() {
    let served = served().await;
    for _ in 0..10 {
        assert_eq!(api(&served, "resume", json!({})).await.0.status, 200);
    }
    let (answer, problem) = api(&served, "resume", json!({})).await;
    assert_eq!((answer.status, &problem["title"]), (429, &json!("too many acts")));
    let wait: u64 = answer.header("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(form(&served, "resume", "").await.status, 429, "forms count, too");
    assert_eq!(notes(&served).await.len(), 10);
}

#[tokio::test]
async fn a_form_leads_back_to_the_job_whose_page_tells_what_was_done() {
    let served = served().await;
    let before = page(&served, "/jobs/backup").await;
    assert!(before.body.contains("Nobody has acted on this job lately"), "{}", before.body);
    assert!(before.body.contains("action=\"/jobs/backup/pause\""), "{}", before.body);
    let answer = form(&served, "pause", "for=2h&reason=month+end").await;
    assert_eq!((answer.status, answer.header("location")), (303, "/jobs/backup#acts"), "{answer:?}");
    let after = page(&served, "/jobs/backup").await;
    for text in
        ["is paused until 2026-11-20 14:05:05 UTC", "because: month end", "maria", "/jobs/backup/resume"]
    {
        assert!(after.body.contains(text), "{text}: {}", after.body);
    }
}

#[tokio::test]
async fn a_form_that_is_filled_in_badly_comes_back_with_the_error_beside_its_field() {
    let served = served().await;
    let answer = form(&served, "pause", "for=%3Cscript%3E&reason=month+end").await;
    assert_eq!((answer.status, answer.header("content-type")), (400, "text/html; charset=utf-8"));
    for text in
        ["aria-invalid=\"true\"", "`for` is no duration", "value=\"month end\"", "value=\"&#60;script&#62;\""]
    {
        assert!(answer.body.contains(text), "{text}: {}", answer.body);
    }
    let answer = form(&served, "unlock", "confirm=payout").await;
    assert!(answer.status == 400 && answer.body.contains("write `backup`"), "{answer:?}");
    let answer = form(&served, "pause", "by=script").await;
    assert!(
        answer.status == 400 && answer.body.contains("this act has <code>for</code>, <code>reason</code>"),
        "{answer:?}"
    );
    let answer = form(&served, "kill", "").await;
    assert!(
        answer.status == 409 && answer.body.contains("job <code>backup</code> is not running"),
        "{answer:?}"
    );
    let answer = served.send(by(TOKENS[1], "/jobs/backup/kill", "application/json"), "{}").await;
    assert_eq!(answer.status, 415, "{answer:?}");
}

#[tokio::test]
async fn stopping_a_run_and_releasing_a_lock_are_confirmed_on_a_page_of_their_own() {
    let served = served().await;
    let idle = page(&served, "/jobs/backup/kill").await;
    assert!(idle.status == 200 && idle.body.contains("It is not running."), "{}", idle.body);
    served.bench.at(600);
    served.bench.win("backup", "n1", 3, 600).await;
    served.shared.board.note_change(&served.bench.spec("backup").name);
    let kill = page(&served, "/jobs/backup/kill").await;
    let run = format!("name=\"run\" value=\"{}\"", run_id(3));
    assert!(kill.body.contains(&run) && kill.body.contains("SIGKILL after 10s"), "{}", kill.body);
    let unlock = page(&served, "/jobs/backup/unlock").await;
    assert!(unlock.body.contains(&run) && unlock.body.contains("name=\"confirm\""), "{}", unlock.body);
    assert!(unlock.body.contains("the next run would overlap with it"), "{}", unlock.body);
    let only_reads =
        Request::get("/jobs/backup/kill").header("authorization", format!("Bearer {}", TOKENS[0]));
    let refused = served.send(only_reads, "").await;
    assert!(
        refused.body.contains("your token may only read") && !refused.body.contains("<form"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn who_may_not_act_sees_why_and_no_form() {
    let served = Served::new().await;
    served.report(false);
    let (_, _, body) = served.get("/jobs/backup").await;
    assert!(body.contains("no tokens are set up") && !body.contains("method=\"post\""), "{body}");
}
