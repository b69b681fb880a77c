//! The API: every call answers as described, shows what the commands show, and nothing that jobs print without a token.

use std::net::SocketAddr;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::http_client::{Answer, OpenAnswer, get, request};
use crate::process::{Program, Scene};
use crate::redis_server::RedisServer;
use crate::schema::problems;
use crate::{IDLE, TOKEN, eventually, start, write_private};

/// What the jobs print.
const PRINTED: &str = "printed-by-a-job";

/// A job that succeeds every second, one that fails and prints, and one that is disabled.
fn busy() -> String {
    format!(
        "cluster.store = \"local\"\n[jobs.good]\nschedule = \"* * * * * *\"\nshell = \"true\"\ndescription = \"Does well\"\n\
         [jobs.bad]\nschedule = \"* * * * * *\"\nshell = \"echo {PRINTED}; exit 3\"\n\
         [jobs.missing]\nschedule = \"* * * * * *\"\ncommand = [\"/no/such/{PRINTED}\"]\n\
         [jobs.retired]\nschedule = \"@daily\"\nshell = \"true\"\nenabled = false\n"
    )
}

/// The headers that carry the token.
fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

/// A scene in which requests need the token.
fn with_token(scene: &Scene, jobs: &str) {
    let file = scene.path("token");
    write_private(&file, TOKEN);
    let tokens =
        format!("[http.tokens]\nmaria = {{ token = \"${{file:{}}}\", may = \"read\" }}\n", file.display());
    scene.edit(&format!("{jobs}{tokens}"));
}

fn parsed(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

fn json(address: SocketAddr, path: &str) -> Value {
    let answer = get(address, path);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    parsed(&answer)
}

/// Waits until each of the jobs that run has ended once, and gives back a run of `bad`.
fn wait_for_runs(address: SocketAddr) -> String {
    eventually("runs", || {
        let status = parsed(&Some(get(address, "/api/v1/status")).filter(|answer| answer.status == 200)?);
        let jobs = status["jobs"].as_array()?.clone();
        let ended = jobs.iter().filter(|job| job["last"]["run"].is_string()).count();
        let bad = jobs.iter().find(|job| job["job"] == "bad")?;
        let run = bad["last"]["run"].as_str()?;
        (ended == 3).then(|| run.to_owned())
    })
}

/// Every path of the description that can be read, with its variable parts filled in.
fn paths(document: &Value, run: &str) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    let paths = paths.filter(|(_, calls)| calls["get"].is_object()).map(|(path, _)| path);
    let filled = |path: &String| {
        let filled = path.replace("{job}", "bad").replace("{run}", run);
        if path.ends_with("/why") { format!("{filled}?at=2026-11-23T02:30:00Z") } else { filled }
    };
    paths.map(|path| (path.clone(), filled(path))).collect()
}

#[test]
fn every_call_answers_as_it_is_described() {
    let scene = Scene::new(&busy());
    let (_replica, address) = start(&scene, &[]);
    let run = wait_for_runs(address);
    let document = json(address, "/api/v1/openapi.json");
    for (path, filled) in paths(&document, &run) {
        let content = document["paths"][&path]["get"]["responses"]["200"]["content"].as_object();
        let (kind, described) = content.and_then(|kinds| kinds.iter().next()).expect("a content");
        // Streams, and what jobs print: tests/http/output.rs.
        if kind == "text/event-stream" || path.ends_with("/log") {
            continue;
        }
        let answer = get(address, &filled);
        assert_eq!(answer.status, 200, "{filled}: {answer:?}");
        let sent = answer.header("content-type").unwrap_or_default();
        assert!(sent.starts_with(kind), "{filled}: {sent}");
        if kind == "application/json" {
            let found = problems(&document, &described["schema"], &parsed(&answer));
            assert!(found.is_empty(), "{filled}: {found:#?}");
        }
    }
    for path in ["/api/v1/jobs/nobody", "/api/v1/history?n=0"] {
        let schema = serde_json::json!({ "$ref": "#/components/schemas/ProblemDetails" });
        let found = problems(&document, &schema, &parsed(&get(address, path)));
        assert!(found.is_empty(), "{path}: {found:#?}");
    }
}

#[test]
fn nothing_that_jobs_print_is_shown_without_a_token() {
    let scene = Scene::new(&busy());
    let (replica, address) = start(&scene, &[]);
    let mut events = OpenAnswer::open(address, "/api/v1/events", &[]);
    let run = wait_for_runs(address);
    let document = json(address, "/api/v1/openapi.json");
    for (path, filled) in paths(&document, &run) {
        if path != "/api/v1/events" {
            assert!(!get(address, &filled).body.contains(PRINTED), "{filled}");
        }
    }
    let told = events.wait_for("spawn_failed");
    assert!(!told.contains(PRINTED), "{told}");

    // The same with a token, so that the marker would be found.
    with_token(&scene, &busy());
    replica.signal(Signal::SIGHUP);
    eventually("tokens", || (get(address, "/api/v1/status").status == 401).then_some(()));
    let bearer = bearer();
    let with_it = [("Authorization", bearer.as_str())];
    for path in [format!("/api/v1/runs/{run}?job=bad"), "/api/v1/history?job=bad".to_owned()] {
        let answer = request(address, &format!("GET {path}"), &with_it);
        assert!(answer.body.contains(PRINTED), "{path}: {answer:?}");
    }
    let mut events = OpenAnswer::open(address, "/api/v1/events", &with_it);
    events.wait_for(&format!("/no/such/{PRINTED}"));
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn a_tick_is_shown_as_the_command_shows_it() {
    let scene = Scene::new(IDLE);
    with_token(&scene, &busy());
    let (_replica, address) = start(&scene, &[]);
    let bearer = bearer();
    let with_it = [("Authorization", bearer.as_str())];
    let shown = eventually("a failure", || {
        let answer = request(address, "GET /api/v1/history?job=bad&failed=true&n=1", &with_it);
        parsed(&answer).get(0).filter(|tick| tick["run"].is_string()).cloned()
    });
    let printed = Program::start(&mut scene.command(&["history", "bad", "-n", "200", "--format", "json"]));
    let printed: Value = serde_json::from_str(&printed.wait().expect_code(0).log).expect("JSON");
    let same = printed.as_array().expect("ticks").iter().find(|tick| tick["run"] == shown["run"]);
    assert_eq!(same, Some(&shown));
}

#[test]
fn the_list_of_jobs_is_narrowed_down_and_says_how_many_there_are_of_each() {
    let scene = Scene::new(&busy());
    let (_replica, address) = start(&scene, &[]);
    wait_for_runs(address);
    let names = |query: &str| -> Vec<String> {
        let jobs = json(address, &format!("/api/v1/jobs{query}"));
        let jobs = jobs["jobs"].as_array().expect("jobs").clone();
        jobs.iter().filter_map(|job| job["job"].as_str().map(str::to_owned)).collect()
    };
    eventually("failing jobs", || (names("?is=failing") == ["bad", "missing"]).then_some(()));
    assert_eq!(names("?is=disabled"), ["retired"]);
    assert_eq!(names("?q=WELL"), ["good"]);
    assert_eq!(names("?q=nothing"), Vec::<String>::new());
    assert_eq!(names("").len(), 4);
    assert_eq!(names("").last().map(String::as_str), Some("retired"), "it has no next tick");
    let jobs = json(address, "/api/v1/jobs?page=9");
    assert_eq!((&jobs["page"], &jobs["pages"], &jobs["matching"]), (&1.into(), &1.into(), &4.into()));
    assert_eq!((&jobs["counts"]["all"], &jobs["counts"]["disabled"]), (&4.into(), &1.into()));
}

#[test]
fn links_lead_through_the_whole_past() {
    let scene = Scene::new(&busy());
    let (replica, address) = start(&scene, &[]);
    wait_for_runs(address);
    eventually("ticks", || {
        let ticks = json(address, "/api/v1/history?outcome=succeeded&n=1000");
        ticks.as_array().filter(|ticks| ticks.len() >= 5).map(drop)
    });
    // From here on, nothing is added to what is read.
    let whole = json(address, "/api/v1/history?outcome=succeeded&n=5");
    let newest = whole[4]["finished"].as_str().expect("an instant").to_owned();
    let base = format!("/api/v1/history?outcome=succeeded&until={newest}");
    let all = json(address, &format!("{base}&n=1000"));
    let (mut pages, mut next) = (Vec::new(), Some(format!("{base}&n=2")));
    while let Some(path) = next {
        let answer = get(address, &path);
        let mut page = parsed(&answer).as_array().expect("ticks").clone();
        assert!(page.len() <= 2, "{page:?}");
        page.append(&mut pages);
        pages = page;
        let link = answer.header("link").and_then(|link| link.strip_prefix('<')?.split_once('>'));
        next = link.map(|(path, _)| path.to_owned());
    }
    assert_eq!(Value::Array(pages), all);
    replica.signal(Signal::SIGTERM);
    replica.wait().expect_code(0);
}

#[test]
fn an_answer_that_the_client_has_is_not_sent_again() {
    let redis = RedisServer::start();
    let scene = Scene::new(&of_redis(&redis));
    let (_replica, address) = start(&scene, &[]);
    eventually("a status", || (get(address, "/api/v1/status").status == 200).then_some(()));
    // Heartbeats change the answer every second; without them it stays as it is.
    redis.freeze();
    eventually("not ready", || (get(address, "/readyz").status == 503).then_some(()));
    let answer = eventually("the last answer", || {
        let answer = get(address, "/api/v1/status");
        let again = get(address, "/api/v1/status");
        (answer.header("etag").is_some() && answer.header("etag") == again.header("etag")).then_some(answer)
    });
    let tag = answer.header("etag").expect("a tag");
    let again = request(address, "GET /api/v1/status", &[("If-None-Match", tag)]);
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    redis.thaw();
    eventually("another answer", || {
        let again = request(address, "GET /api/v1/status", &[("If-None-Match", tag)]);
        (again.status == 200).then_some(())
    });
}

#[test]
fn while_the_store_is_away_the_last_state_is_shown_with_its_time() {
    let redis = RedisServer::start();
    let scene = Scene::new(&of_redis(&redis));
    let (_replica, address) = start(&scene, &[]);
    eventually("a status", || (get(address, "/api/v1/status").status == 200).then_some(()));
    redis.freeze();
    eventually("not ready", || (get(address, "/readyz").status == 503).then_some(()));
    let as_of = eventually("no answer of the store", || {
        let status = json(address, "/api/v1/status");
        (status["store_answers"] == false).then(|| status["as_of"].clone())
    });
    let status = json(address, "/api/v1/status");
    assert_eq!((&status["as_of"], &status["store_answers"]), (&as_of, &false.into()));
    assert_eq!(status["replicas"][0]["live"], true);
    assert_eq!(status["jobs"][0]["job"], "never");
    // What is not kept cannot be shown.
    assert_eq!(get(address, "/api/v1/history").status, 503);
    redis.thaw();
    eventually("news", || (json(address, "/api/v1/status")["as_of"] != as_of).then_some(()));
}

#[test]
fn streams_tell_what_happens_are_bounded_and_end_when_the_replica_drains() {
    let scene = Scene::new(&busy().replace("shell = \"true\"", "shell = \"exec sleep 2\""));
    let (replica, address) = start(&scene, &["--drain", "1m"]);
    let ask = |client| OpenAnswer::open_as(client, address, "/api/v1/events", &[]);
    let open = |client| {
        let mut stream = ask(client);
        let head = stream.wait_for(": still here");
        assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
        stream
    };
    let of_one_client: Vec<OpenAnswer> = (0..8).map(|_| open(1)).collect();
    let refused = get(address, "/api/v1/events");
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{refused:?}");
    assert!(refused.body.contains("8 pages and programs may follow this replica"), "{refused:?}");
    let others = (8..32).map(|number| open(number / 8 + 1));
    let mut streams: Vec<OpenAnswer> = of_one_client.into_iter().chain(others).collect();
    let answer = ask(5).wait_for("\r\n\r\n");
    assert!(answer.contains(" 503 ") && answer.to_lowercase().contains("retry-after: 1"), "{answer}");
    for stream in &mut streams {
        let told = stream.wait_for("event: run_ended");
        assert!(told.contains("event: run_started"), "{told}");
    }
    assert_eq!(get(address, "/healthz").status, 200);
    replica.signal(Signal::SIGTERM);
    for stream in &mut streams {
        stream.wait_for("event: bye");
    }
    drop(streams);
    replica.wait().expect_code(0);
}

/// A cluster on this server whose one job never runs.
fn of_redis(redis: &RedisServer) -> String {
    let cluster = format!("cluster = {{ name = \"t\", store = \"{}\" }}", redis.url());
    IDLE.replace("cluster.store = \"local\"", &cluster)
}
