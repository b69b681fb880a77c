//! Requests that are not what they should be: foreign hosts, odd paths, unwanted methods, and what every answer has to say.

use std::io::Write;
use std::net::SocketAddr;

use crate::http_client::{Answer, connect, get, request, send};
use crate::process::{Program, Scene};
use crate::{IDLE, address_of, eventually, start};

use super::clients::read_to_end;

/// One address of every kind.
const PATHS: [&str; 14] = [
    "/",
    "/jobs/never",
    "/replicas",
    "/login",
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/v1/status",
    "/api/v1/jobs",
    "/api/v1/jobs/never",
    "/api/v1/jobs/never/next",
    "/api/v1/replicas",
    "/api/v1/history",
    "/api/v1/openapi.json",
];

/// Paths that take any host.
const ANY_HOST: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

fn with_host(address: SocketAddr, line: &str, hosts: &str) -> Answer {
    send(address, format!("{line} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n").as_bytes())
}

/// Waits until everything can be answered.
fn wait_until_ready(address: SocketAddr) {
    eventually("an answer", || (get(address, "/api/v1/status").status == 200).then_some(()));
    eventually("ready", || (get(address, "/readyz").status == 200).then_some(()));
}

#[test]
fn only_names_of_this_server_are_answered_but_for_health_and_metrics() {
    let scene = Scene::new(&format!("{IDLE}[http]\nhosts = [\"cron.internal\"]\n"));
    let (_replica, address) = start(&scene, &[]);
    wait_until_ready(address);
    for path in PATHS {
        let line = format!("GET {path}");
        let is_open = ANY_HOST.contains(&path);
        for (hosts, refused) in [
            ("Host: evil.example\r\n", 421),
            ("Host: 127.0.0.1.evil.example\r\n", 421),
            ("Host: evil.example:7070\r\n", 421),
            ("Host: \r\n", 400),
            ("Host: localhost\r\nHost: localhost\r\n", 400),
            ("", 400),
        ] {
            let answer = with_host(address, &line, hosts);
            let expected = if is_open { 200 } else { refused };
            assert_eq!(answer.status, expected, "{path} {hosts:?}: {answer:?}");
            assert!(!answer.body.contains("evil"), "{answer:?}");
        }
        for host in ["localhost", "127.0.0.1:7070", "[::1]", "10.0.0.1", "Cron.Internal:80"] {
            let answer = with_host(address, &line, &format!("Host: {host}\r\n"));
            assert_eq!(answer.status, 200, "{path} {host}: {answer:?}");
        }
    }
    let other = with_host(address, "GET http://evil.example/", "Host: localhost\r\n");
    assert_eq!(other.status, 400, "{other:?}");
    let same = with_host(address, "GET http://localhost/replicas", "Host: localhost\r\n");
    assert_eq!(same.status, 200, "{same:?}");
}

#[test]
fn every_answer_has_the_headers_that_protect_and_none_that_opens() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    wait_until_ready(address);
    let foreign = [("Origin", "http://evil.example"), ("Access-Control-Request-Method", "POST")];
    let mut answers: Vec<(String, Answer, u16)> = Vec::new();
    for path in PATHS {
        answers.push((path.to_owned(), request(address, &format!("GET {path}"), &foreign), 200));
        let preflight = request(address, &format!("OPTIONS {path}"), &foreign);
        answers.push((format!("OPTIONS {path}"), preflight, 405));
        for method in ["PUT", "DELETE", "PATCH", "TRACE"] {
            let line = format!("{method} {path}");
            answers.push((line.clone(), request(address, &line, &[]), 405));
        }
    }
    for (path, status) in
        [("/nothing", 404), ("/jobs/nobody", 404), ("/api/v1/jobs/nobody", 404), ("/?page=x", 200)]
    {
        answers.push((path.to_owned(), get(address, path), status));
    }
    let long = format!("/?q={}", "a".repeat(5_000));
    answers.push(("long".to_owned(), get(address, &long), 414));
    answers.push(("body".to_owned(), request(address, "GET /", &[("Content-Length", "1")]), 413));
    answers.push(("TE".to_owned(), request(address, "GET /", &[("Transfer-Encoding", "chunked")]), 411));
    for (what, answer, status) in answers {
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let names = answer.header_names();
        let opens =
            |name: &&str| name.starts_with("access-control") || *name == "server" || *name == "upgrade";
        assert!(!names.iter().any(opens), "{what}: {names:?}");
        for name in [
            "content-security-policy",
            "x-content-type-options",
            "referrer-policy",
            "cross-origin-opener-policy",
            "cross-origin-resource-policy",
            "cache-control",
        ] {
            assert!(names.contains(&name), "{what}: {name}");
        }
    }
}

#[test]
fn a_request_to_upgrade_is_answered_as_if_it_were_none() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    wait_until_ready(address);
    for (kind, more) in [
        ("h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"),
        ("websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"),
    ] {
        let head = format!("Host: localhost\r\nConnection: close, Upgrade\r\nUpgrade: {kind}\r\n{more}");
        for path in ["/healthz", "/", "/api/v1/status"] {
            let answer = send(address, format!("GET {path} HTTP/1.1\r\n{head}\r\n").as_bytes());
            assert_eq!(answer.status, 200, "{path} {kind}");
        }
    }
    // A client that speaks HTTP/2 from the start is disconnected.
    let mut stream = connect(address);
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("it listens");
    assert_eq!(read_to_end(&mut stream).0, "");
}

#[test]
fn odd_paths_lead_nowhere_and_are_not_repeated() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    wait_until_ready(address);
    let long = "a".repeat(65);
    let names = [
        "..",
        ".",
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%2f..%2fjobs.toml",
        "%00",
        "never%00",
        "never%0d%0aSet-Cookie:%20x=y",
        "%ff%fe",
        "<script>alert(1)</script>",
        "%3Cscript%3Ealert(1)%3C/script%3E",
        "{{7*7}}",
        "*",
        "$(reboot)",
        long.as_str(),
    ];
    for name in names {
        for path in [
            format!("/{name}"),
            format!("/jobs/{name}"),
            format!("/jobs/{name}/runs/{name}"),
            format!("/jobs/never/runs/{name}"),
            format!("/assets/{name}"),
            format!("/api/v1/jobs/{name}"),
            format!("/api/v1/jobs/{name}/next"),
            format!("/api/v1/jobs/{name}/why?at=02:30"),
            format!("/api/v1/runs/{name}"),
        ] {
            let answer = get(address, &path);
            assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
            for part in ["script>alert", "passwd", "reboot", "7*7", "Set-Cookie", "set-cookie", &long] {
                assert!(!answer.body.contains(part), "{path}: {answer:?}");
            }
            assert_eq!(answer.header("set-cookie"), None, "{path}");
        }
    }
    for path in ["//evil.example/", "/./healthz", "/jobs/../healthz", "/jobs//never", "/jobs/never/"] {
        assert_eq!(get(address, path).status, 404, "{path}");
    }
    // What is asked for is repeated in the page's own form alone, and there as text.
    let page = get(address, "/?q=%3Cscript%3Ealert(1)%3C/script%3E%22%27");
    assert!(page.status == 200 && !page.body.contains("<script>alert"), "{}", page.body);
    for path in
        ["/api/v1/status?%3Cscript%3E=1", "/api/v1/jobs?is=%3Cscript%3E", "/api/v1/history?n=%3Cscript%3E"]
    {
        let answer = get(address, path);
        assert!(answer.status == 400 && !answer.body.contains("script"), "{path}: {answer:?}");
    }
}

#[test]
fn elsewhere_without_tokens_only_health_and_metrics_are_served() {
    let scene = Scene::new(IDLE);
    let mut command = scene.command(&["run", "--log-format", "json", "--node", "n", "--listen", "0.0.0.0:0"]);
    let mut replica = Program::start(command.env_remove("SOLOCRON_NO_HTTP"));
    let port = address_of(&mut replica).port();
    replica.wait_for("about tokens", |line| line.contains("only health and metrics"));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    eventually("ready", || (get(address, "/readyz").status == 200).then_some(()));
    for path in PATHS {
        let answer = get(address, path);
        if ANY_HOST.contains(&path) {
            assert_eq!(answer.status, 200, "{path}");
        } else {
            assert_eq!(answer.status, 403, "{path}: {answer:?}");
            assert!(!answer.body.contains("never"), "{path}: {answer:?}");
        }
    }
    for path in ["/assets/page.css", "/api/v1/events", "/api/v1/jobs/never/why?at=02:30"] {
        assert_eq!(get(address, path).status, 403, "{path}");
    }
    let login =
        request(address, "POST /login", &[("Content-Length", "0"), ("Sec-Fetch-Site", "same-origin")]);
    assert_eq!(login.status, 403, "{login:?}");
}
