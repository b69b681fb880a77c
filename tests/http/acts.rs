//! Acts over HTTP on real replicas: what each does, who may send it and from where, and the notes and lines that they leave.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::http_client::{Answer, get, request, send};
use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::{TOKEN, eventually, start, write_private};

/// Jobs that run only by hand.
const JOBS: &str = "[jobs.sleeper]\nschedule = \"0 0 29 2 *\"\nshell = \"exec sleep 600\"\nkill_grace = \"1s\"\n\
    [jobs.quick]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n";

/// The token of `grafana`, which may only read.
const READ: &str = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr";

/// Every act, with the fields that it needs.
const ACTS: [(&str, &str, &str); 5] = [
    ("trigger", "{}", ""),
    ("pause", "{}", ""),
    ("resume", "{}", ""),
    ("kill", "{}", ""),
    ("unlock", "{\"confirm\":\"quick\"}", "confirm=quick"),
];

/// A replica on this store, with the tokens `maria`, which may act, and `grafana`, which may read.
fn with_tokens(store: &str) -> (Scene, Program, SocketAddr) {
    let scene = Scene::new("");
    let tokens = [("maria", TOKEN, "act"), ("grafana", READ, "read")].map(|(name, token, may)| {
        let file = scene.path(name);
        write_private(&file, token);
        format!("{name} = {{ token = \"${{file:{}}}\", may = \"{may}\" }}\n", file.display())
    });
    let cluster = format!("[cluster]\nname = \"t\"\nstore = \"{store}\"\n");
    scene.edit(&format!("{cluster}{JOBS}[http.tokens]\n{}", tokens.concat()));
    let (replica, address) = start(&scene, &[]);
    eventually("ready", || (get(address, "/readyz").status == 200).then_some(()));
    (scene, replica, address)
}

/// Sends a body with these headers.
fn post(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> Answer {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    send(address, head.as_bytes())
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

const AS_JSON: &str = "Content-Type: application/json";

const AS_FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// Sends an act by the API, by maria.
fn act(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> (Answer, Value) {
    let token = bearer(TOKEN);
    let headers = [&[token.as_str(), AS_JSON][..], headers].concat();
    let answer = post(address, &format!("/api/v1/jobs/{path}"), &headers, body);
    let value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    (answer, value)
}

/// What maria reads at this path.
fn read(address: SocketAddr, path: &str) -> Answer {
    let token = format!("Bearer {TOKEN}");
    request(address, &format!("GET {path}"), &[("Authorization", token.as_str())])
}

fn read_json(address: SocketAddr, path: &str) -> Value {
    serde_json::from_str(&read(address, path).body).unwrap_or(Value::Null)
}

/// Logs in, and returns the cookie as the browser sends it back.
fn cookie(address: SocketAddr, token: &str) -> String {
    let body = format!("token={}", token.replace('=', "%3D"));
    let answer = post(address, "/login", &[AS_FORM, "Sec-Fetch-Site: same-origin"], &body);
    let set = answer.header("set-cookie").expect("a cookie");
    format!("Cookie: {}", set.split(';').next().expect("a value"))
}

/// Does everything that there is to do, and looks at what it leaves.
fn everything(store: &str) {
    let (scene, mut replica, address) = with_tokens(store);
    let key = "Idempotency-Key: 0a1b2c3d-0000-4000-8000-000000000001";
    let (answer, started) = act(address, "sleeper/trigger", &[key], "{}");
    assert_eq!((answer.status, &started["state"], &started["by"]), (202, &json!("started"), &json!("maria")));
    let run = started["run"].as_str().expect("a run").to_owned();
    let location = answer.header("location").expect("where its run is").to_owned();
    assert_eq!(location, format!("/api/v1/runs/{run}?job=sleeper"));
    assert_eq!(read_json(address, &location)["outcome"], "running");
    let (answer, again) = act(address, "sleeper/trigger", &[key], "{}");
    assert_eq!((answer.status, &again["run"]), (202, &json!(run)), "the same key gives the same run");

    let (answer, refused) = act(address, "sleeper/unlock", &[], "{\"confirm\":\"sleeper\"}");
    assert_eq!(answer.status, 409, "{refused}");
    assert!(refused["detail"].as_str().is_some_and(|why| why.contains("is alive")), "{refused}");
    let (answer, stopping) = act(address, "sleeper/kill", &[], &json!({ "run": run }).to_string());
    assert_eq!((answer.status, &stopping["run"], &stopping["node"]), (202, &json!(run), &json!("n")));
    eventually("the end of the run", || (read_json(address, &location)["outcome"] == "killed").then_some(()));
    let (answer, refused) = act(address, "sleeper/kill", &[], "{}");
    assert_eq!((answer.status, &refused["title"]), (409, &json!("the act was refused")));

    let (answer, paused) = act(address, "quick/pause", &[], "{\"for\":\"2h\",\"reason\":\"month end\"}");
    assert_eq!((answer.status, &paused["state"]), (200, &json!("paused")), "{paused}");
    eventually("a paused job", || {
        let job = read_json(address, "/api/v1/jobs?is=paused");
        (job["jobs"][0]["job"] == "quick").then_some(())
    });
    assert_eq!(act(address, "quick/resume", &[], "{}").1["state"], "resumed");

    let told = replica.wait_for_event_of("operator acted", |line| line["act"] == "pause");
    assert_eq!(
        (&told["job"], &told["by"], &told["from"]),
        (&json!("quick"), &json!("maria"), &json!("127.0.0.1"))
    );
    let noted = Program::start(&mut scene.command(&["acts", "--format", "json"])).wait().expect_code(0);
    let noted: Value =
        serde_json::from_str(&noted.log).unwrap_or_else(|error| panic!("{error}: {}", noted.log));
    let noted: Vec<(&str, &str)> = noted
        .as_array()
        .expect("notes")
        .iter()
        .filter_map(|note| Some((note["act"].as_str()?, note["by"].as_str()?)))
        .collect();
    let acts = ["trigger", "trigger", "unlock", "kill", "kill", "pause", "resume"].map(|act| (act, "maria"));
    assert_eq!(noted, acts);
}

#[test]
fn acts_do_what_the_commands_do_and_leave_notes_on_an_embedded_store() {
    everything("local");
}

#[test]
fn acts_do_what_the_commands_do_and_leave_notes_on_redis() {
    let redis = RedisServer::start();
    everything(&redis.url());
}

#[test]
fn a_token_that_may_only_read_gets_no_act_done() {
    let (_scene, mut replica, address) = with_tokens("local");
    let read = bearer(READ);
    for (name, body, form) in ACTS {
        let answer = post(address, &format!("/api/v1/jobs/quick/{name}"), &[&read, AS_JSON], body);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (403, Some("application/problem+json")),
            "{name}"
        );
        let answer = post(address, &format!("/jobs/quick/{name}"), &[&read, AS_FORM], form);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (403, Some("text/html; charset=utf-8")),
            "{name}"
        );
        let answer = post(address, &format!("/api/v1/jobs/quick/{name}"), &[AS_JSON], body);
        assert_eq!(answer.status, 401, "{name} without a token");
    }
    let told = replica.wait_for_event("operator acted");
    assert_eq!(
        (&told["by"], &told["result"]),
        (&json!("grafana"), &json!("refused: this token may only read"))
    );
    let history = read_json(address, "/api/v1/history?job=quick");
    assert_eq!(history, json!([]), "nothing ran");
}

#[test]
fn a_browser_acts_only_from_a_page_of_this_server() {
    let (_scene, _replica, address) = with_tokens("local");
    let (maria, grafana) = (cookie(address, TOKEN), cookie(address, READ));
    for (sent, site, status) in [
        (&maria, "Sec-Fetch-Site: same-site", 403),
        (&maria, "Sec-Fetch-Site: cross-site", 403),
        (&maria, "Sec-Fetch-Site: none", 403),
        (&maria, "X-Nothing: told", 403),
        (&grafana, "Sec-Fetch-Site: same-origin", 403),
        (&maria, "Sec-Fetch-Site: same-origin", 303),
    ] {
        let answer = post(address, "/jobs/quick/pause", &[sent, site, AS_FORM], "reason=month+end");
        assert_eq!(answer.status, status, "{sent} {site}: {answer:?}");
    }
    let token = bearer(TOKEN);
    for (site, status) in
        [("Sec-Fetch-Site: cross-site", 403), ("X-Nothing: told", 200), ("Sec-Fetch-Site: same-origin", 200)]
    {
        let answer = post(address, "/api/v1/jobs/quick/resume", &[&token, site, AS_JSON], "{}");
        assert_eq!(answer.status, status, "{site}: {answer:?}");
    }
    let in_body = format!("token={}&reason=x", TOKEN.replace('=', "%3D"));
    let answer = post(address, "/jobs/quick/pause", &["Sec-Fetch-Site: same-origin", AS_FORM], &in_body);
    assert_eq!(answer.status, 303, "to the login");
    assert!(answer.header("location").is_some_and(|to| to.starts_with("/login")), "{answer:?}");
}

#[test]
fn the_page_of_a_job_has_its_forms_and_tells_what_was_done() {
    let (_scene, _replica, address) = with_tokens("local");
    let maria = cookie(address, TOKEN);
    let page = |path: &str| {
        let (_, value) = maria.split_once(": ").expect("a header");
        eventually("a page", || {
            let headers = [("Cookie", value), ("Sec-Fetch-Site", "same-origin")];
            Some(request(address, &format!("GET {path}"), &headers)).filter(|answer| answer.status == 200)
        })
    };
    let before = page("/jobs/quick").body;
    assert!(
        before.contains("action=\"/jobs/quick/trigger\"") && before.contains("Nobody has acted"),
        "{before}"
    );
    let order = before.split("name=\"order\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let order = format!("order={}", order.expect("an order"));
    let own = [maria.as_str(), "Sec-Fetch-Site: same-origin", AS_FORM];
    // Sent twice, as by a double click, it is one order.
    for _ in 0..2 {
        let answer = post(address, "/jobs/quick/trigger", &own, &order);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/jobs/quick#acts")), "{answer:?}");
    }
    let after = page("/jobs/quick").body;
    assert!(after.contains("role=\"status\"") && after.contains("a replica has picked this up"), "{after}");
    let ended = eventually("its run", || {
        let ticks = read_json(address, "/api/v1/history?job=quick");
        ticks[0]["finished"].is_string().then_some(ticks)
    });
    assert_eq!(ended.as_array().map(Vec::len), Some(1), "{ended}");

    let refused = post(address, "/jobs/quick/kill", &own, "");
    assert!(refused.status == 409 && refused.body.contains("role=\"alert\""), "{refused:?}");
    assert!(page("/jobs/quick/unlock").body.contains("nobody holds the lock"), "the page says it before");
    let wrong = post(address, "/jobs/quick/unlock", &own, "confirm=other");
    assert!(wrong.status == 400 && wrong.body.contains("write `quick`"), "{wrong:?}");
}
