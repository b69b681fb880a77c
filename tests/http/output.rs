//! What jobs print, asked of a replica that does not run them: two replicas with state folders of their own, and one Redis.

use std::net::SocketAddr;
use std::path::PathBuf;

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::http_client::{Answer, OpenAnswer, get, request};
use crate::process::{Ended, Program, Scene};
use crate::redis_server::RedisServer;
use crate::schema::problems;
use crate::{TOKEN, address_of, eventually, write_private};

/// What the job prints.
const PRINTED: &str = "printed-by-a-job";

/// Replicas `n1`, which is asked, and `n2`, which alone can run the job `talk`.
struct Pair {
    scene: Scene,
    _redis: RedisServer,
    n1: Program,
    n2: Program,
    address: SocketAddr,
}

impl Pair {
    /// Starts both, with a token for n1 or without.
    fn start(script: &str, has_token: bool) -> Self {
        let (scene, redis) = (Scene::new(""), RedisServer::start());
        let token = scene.path("token");
        write_private(&token, TOKEN);
        let tokens = match has_token {
            true => format!(
                "[http.tokens]\nmaria = {{ token = \"${{file:{}}}\", may = \"read\" }}\n",
                token.display()
            ),
            false => String::new(),
        };
        scene.edit(&format!(
            "[cluster]\nname = \"test\"\nstore = \"{}\"\n[jobs.talk]\nschedule = \"0 0 29 2 *\"\nonly_on = [\"talks\"]\n\
             shell = '''{script}'''\n{tokens}",
            redis.url()
        ));
        let mut n1 = replica(&scene, "n1", &["--listen", "127.0.0.1:0"]);
        let address = address_of(&mut n1);
        let n2 = replica(&scene, "n2", &["--label", "talks"]);
        let pair = Self { scene, _redis: redis, n1, n2, address };
        eventually("known", || pair.give(&["resume", "talk"]).status.success().then_some(()));
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scene.path(name)
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.path(name), "").expect("a writable folder");
    }

    fn give(&self, args: &[&str]) -> Ended {
        Program::start(&mut self.scene.command(args)).wait()
    }

    /// Runs the job by hand; gives back its run, once n2 has started it.
    fn trigger(&mut self) -> String {
        self.give(&["trigger", "talk"]).expect_code(0);
        let started = self.n2.wait_for_event("run started");
        started["run"].as_str().expect("an id").to_owned()
    }

    /// The answer to a GET by somebody who may read.
    fn get(&self, path: &str) -> Answer {
        request(self.address, &format!("GET {path}"), &[("Authorization", &bearer())])
    }

    /// A piece of the run's output.
    fn piece(&self, run: &str, query: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/log?job=talk&{query}");
        let answer = self.get(&path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// Everything that the run printed and prints until it ends, with what stands before each text.
    fn read_to_the_end(&self, run: &str) -> String {
        let (mut text, mut from) = (String::new(), 0);
        loop {
            let piece = self.piece(run, &format!("from={from}&wait=10"));
            assert_eq!((&piece["from"], &piece["missing"]), (&from.into(), &0.into()), "{piece}");
            text += piece["text"].as_str().expect("a text");
            from = piece["next"].as_u64().expect("a number");
            if !piece["end"].is_null() {
                assert_eq!(piece["end"], "over", "{piece}");
                return text;
            }
        }
    }

    fn stop(self) {
        for replica in [self.n1, self.n2] {
            replica.signal(Signal::SIGCONT);
            replica.signal(Signal::SIGTERM);
            replica.wait().expect_code(0);
        }
    }
}

fn replica(scene: &Scene, node: &str, more: &[&str]) -> Program {
    let state = scene.path(node).display().to_string();
    let log = ["run", "--log-format", "json", "--log-level", "debug"];
    let place = ["--node", node, "--state-dir", &state];
    let mut command = scene.command(&[&log[..], &place, more].concat());
    if more.contains(&"--listen") {
        command.env_remove("SOLOCRON_NO_HTTP");
    }
    Program::start(&mut command)
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

/// What the job itself printed, of lines as they are stored.
fn texts(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.split_once("Z out ").map(|(_, text)| text)).collect()
}

/// Prints lines, waits for the file `go` in the folder of jobs.toml, and prints another one.
const TWO_STEPS: &str = "echo one; echo two; while [ ! -e go ]; do sleep 0.1; done; echo three; exit 3";

#[test]
fn the_output_of_a_run_elsewhere_is_read_while_it_runs_and_later() {
    let mut pair = Pair::start(TWO_STEPS, true);
    let run = pair.trigger();
    let first = eventually("output", || {
        let piece = pair.piece(&run, "wait=5");
        piece["text"].as_str().is_some_and(|text| texts(text) == ["one", "two"]).then_some(piece)
    });
    assert_eq!((&first["node"], &first["end"]), (&"n2".into(), &Value::Null), "{first}");
    let document: Value = serde_json::from_str(&pair.get("/api/v1/openapi.json").body).expect("JSON");
    let schema = serde_json::json!({ "$ref": "#/components/schemas/LogPiece" });
    assert_eq!(problems(&document, &schema, &first), Vec::<String>::new());
    let next = first["next"].as_u64().expect("a number");
    let nothing = pair.piece(&run, &format!("from={next}"));
    assert_eq!(
        (&nothing["text"], &nothing["next"], &nothing["end"]),
        (&"".into(), &next.into(), &Value::Null)
    );

    pair.touch("go");
    assert_eq!(texts(&pair.read_to_the_end(&run)), ["one", "two", "three"]);
    pair.n2.wait_for_event("run recorded");
    assert_eq!(texts(&pair.read_to_the_end(&run)), ["one", "two", "three"], "later, too");
    let file = pair.get(&format!("/api/v1/runs/{run}/log?job=talk&download"));
    assert_eq!(texts(&file.body), ["one", "two", "three"], "{file:?}");
    let name = format!("attachment; filename=\"talk-{run}.log\"");
    assert_eq!(file.header("content-disposition"), Some(name.as_str()));
    pair.stop();
}

#[test]
fn a_page_shows_the_output_of_a_run_elsewhere_line_by_line_until_its_end() {
    let mut pair = Pair::start(TWO_STEPS, true);
    let run = pair.trigger();
    let path = format!("/jobs/talk/runs/{run}");
    let page = eventually("the page with output", || {
        Some(pair.get(&path)).filter(|page| page.status == 200 && page.body.contains("</i> two\n"))
    });
    assert!(page.body.contains("Live from n2, which is asked through the store."), "{}", page.body);
    let next =
        page.body.split("data-next=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an offset");
    let bearer = bearer();
    let headers = |next| {
        [
            ("Authorization", bearer.as_str()),
            ("Accept", "text/event-stream"),
            ("X-Parts", "none"),
            ("X-Output", next),
        ]
    };
    let mut late = OpenAnswer::open(pair.address, &path, &headers("0"));
    let shown = late.wait_for("</i> two\n");
    assert!(shown.contains("</i> one\n") && !shown.contains("three"), "a browser that has nothing: {shown}");
    let mut stream = OpenAnswer::open(pair.address, &path, &headers(next));
    let before = stream.wait_for("event: note\ndata: Live from n2");
    assert!(!before.contains("event: output"), "it has these lines: {before}");
    pair.touch("go");
    for stream in [&mut stream, &mut late] {
        let shown = stream.wait_for("event: over");
        assert!(
            shown.contains("event: output\ndata: <pre data-next=\"") && shown.contains("</i> three\n"),
            "{shown}"
        );
    }
    let ended = eventually("the ended run", || {
        Some(pair.get(&path)).filter(|page| page.body.contains("failed with exit code 3"))
    });
    for text in ["</i> one\n", "</i> three\n", "From n2, which is asked through the store."] {
        assert!(ended.body.contains(text), "{text}: {}", ended.body);
    }
    assert!(!ended.body.contains("data-next"), "{}", ended.body);
    let home = eventually("the last lines", || {
        Some(pair.get("/")).filter(|page| page.body.contains(">three\n</span></pre>"))
    });
    assert!(home.body.contains(">two\n</span><span class=\"line\">three\n</span></pre>"), "{}", home.body);
    pair.stop();
}

#[test]
fn a_replica_that_does_not_answer_is_named_and_the_kept_end_is_shown() {
    let mut pair = Pair::start("echo one; echo two", true);
    let run = pair.trigger();
    pair.n2.wait_for_event("run recorded");
    pair.n2.signal(Signal::SIGSTOP);
    let began = SystemClock.boot();
    let piece = pair.piece(&run, "");
    assert_eq!((&piece["end"], &piece["why"]), (&"silent".into(), &"n2 does not answer".into()), "{piece}");
    let file = pair.get(&format!("/api/v1/runs/{run}/log?job=talk&download"));
    assert_eq!(file.status, 503, "{file:?}");
    assert!(file.body.contains("n2 does not answer"), "{file:?}");
    let page = pair.get(&format!("/jobs/talk/runs/{run}"));
    assert!(
        page.body.contains("n2 does not answer. This is the end of it, as the store keeps it."),
        "{}",
        page.body
    );
    assert!(page.body.contains(">two\n</span>"), "{}", page.body);
    let took = SystemClock.boot().since(began);
    assert!(took.as_secs() < 20, "{took:?}");
    pair.stop();
}

#[test]
fn without_tokens_no_answer_contains_what_a_job_elsewhere_printed() {
    let mut pair = Pair::start(&format!("echo {PRINTED}; exit 3"), false);
    let run = pair.trigger();
    pair.n2.wait_for_event("run recorded");
    eventually("the failure", || {
        Some(get(pair.address, "/")).filter(|page| page.body.contains("talk") && page.status == 200).map(drop)
    });
    let document: Value =
        serde_json::from_str(&get(pair.address, "/api/v1/openapi.json").body).expect("JSON");
    let described = document["paths"].as_object().expect("paths").keys().map(String::as_str);
    let pages = ["/", "/jobs/{job}", "/jobs/{job}/runs/{run}", "/replicas", "/login"];
    for path in described.chain(pages).filter(|path| *path != "/api/v1/events") {
        let filled = path.replace("{job}", "talk").replace("{run}", &run);
        for query in ["", "?job=talk", "?job=talk&download&raw", "?at=2026-11-23T02:30:00Z", "?before=100"] {
            let answer = get(pair.address, &format!("{filled}{query}"));
            assert!(!answer.body.contains(PRINTED), "{filled}{query}: {answer:?}");
        }
    }
    let path = format!("/jobs/talk/runs/{run}");
    let page = get(pair.address, &path);
    assert!(page.body.contains("What jobs print is shown only with a token"), "{}", page.body);
    let mut stream =
        OpenAnswer::open(pair.address, &path, &[("Accept", "text/event-stream"), ("X-Output", "0")]);
    let first = stream.wait_for("event: now");
    let second = stream.wait_for("event: now");
    assert!(!first.contains("event: output") && !second.contains(PRINTED), "{first}{second}");
    assert_eq!(get(pair.address, &format!("/api/v1/runs/{run}/log?job=talk")).status, 403);
    pair.stop();
}

#[test]
fn a_flood_of_questions_is_bounded() {
    let mut pair = Pair::start(TWO_STEPS, true);
    let run = pair.trigger();
    // Each asks from another place on, so that each is a question of its own.
    let mut statuses = Vec::new();
    for from in 1_000_000..1_000_100 {
        let answer = pair.get(&format!("/api/v1/runs/{run}/log?job=talk&from={from}"));
        assert!([200, 503].contains(&answer.status), "{answer:?}");
        if answer.status == 503 {
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
        }
        statuses.push(answer.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 60, "{statuses:?}");
    assert_eq!(get(pair.address, "/healthz").status, 200);
    pair.touch("go");
    pair.n2.wait_for_event("run recorded");
    pair.stop();
}
