//! What a hostile or a broken client gets, and what it cannot do to others.

use std::io::{Read, Write};
use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::time::{Clock, SystemClock};

use crate::http_client::{connect, get, request, send};
use crate::process::Scene;
use crate::{IDLE, start};

/// More connections than the server has at once.
const MANY: usize = 200;

#[test]
fn requests_beyond_the_limits_are_refused_with_their_status() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let head = "Host: localhost\r\nConnection: close\r\n";
    for (what, bytes, statuses) in [
        ("long path", format!("GET /{} HTTP/1.1\r\n{head}\r\n", "a".repeat(5_000)), [414, 414]),
        (
            "long head",
            format!("GET /healthz HTTP/1.1\r\n{head}X: {}\r\n\r\n", "a".repeat(20_000)),
            [431, 431],
        ),
        ("many headers", format!("GET /healthz HTTP/1.1\r\n{head}{}\r\n", "X: 1\r\n".repeat(70)), [431, 431]),
        (
            "chunked",
            format!("GET /healthz HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            [411, 411],
        ),
        (
            "both lengths",
            format!(
                "POST /healthz HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"
            ),
            [400, 411],
        ),
        (
            "two lengths",
            format!("GET /healthz HTTP/1.1\r\n{head}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
            [400, 400],
        ),
        ("body of a GET", format!("GET /healthz HTTP/1.1\r\n{head}Content-Length: 3\r\n\r\nabc"), [413, 413]),
        ("folded header", format!("GET /healthz HTTP/1.1\r\n{head}X: a\r\n b\r\n\r\n"), [400, 400]),
        ("bare CR", format!("GET /healthz HTTP/1.1\r\n{head}X: a\rb\r\n\r\n"), [400, 400]),
        ("no HTTP", "hello\r\n\r\n".to_owned(), [400, 400]),
        ("other method", format!("POST /healthz HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n"), [405, 405]),
        (
            "preflight",
            format!("OPTIONS /healthz HTTP/1.1\r\n{head}Origin: http://evil.example\r\n\r\n"),
            [405, 405],
        ),
        ("no such path", format!("GET /nothing HTTP/1.1\r\n{head}\r\n"), [404, 404]),
        ("parent folder", format!("GET /../healthz HTTP/1.1\r\n{head}\r\n"), [404, 404]),
        ("escaped", format!("GET /%2e%2e/healthz%00 HTTP/1.1\r\n{head}\r\n"), [404, 404]),
        (
            "upgrade",
            "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n"
                .to_owned(),
            [200, 200],
        ),
    ] {
        let answer = send(address, bytes.as_bytes());
        assert!(statuses.contains(&answer.status), "{what}: {answer:?}");
        let allows = answer.header_names().into_iter().any(|name| name.starts_with("access-control"));
        assert!(!allows, "{what}: {answer:?}");
    }
}

#[test]
fn every_answer_tells_browsers_what_they_must_not_do_and_repeats_nothing() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    for path in ["/healthz", "/readyz", "/%3Cscript%3Ealert(1)%3C/script%3E"] {
        let answer = get(address, path);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert!(!answer.body.contains("script"), "{}", answer.body);
    }
    let answer = get(address, "/nothing");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let problem: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!((&problem["title"], &problem["status"]), (&"no such page".into(), &404.into()));
}

#[test]
fn a_client_that_sends_no_request_is_closed_within_seconds() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let began = SystemClock.boot();
    let mut idle = connect(address);
    let mut slow = connect(address);
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: a").expect("it listens");
    for stream in [&mut idle, &mut slow] {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    let took = SystemClock.boot().since(began);
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn connections_that_send_nothing_lock_out_no_probe() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let _idle: Vec<_> = (0..MANY).map(|_| connect(address)).collect();
    for _ in 0..10 {
        assert_eq!(get(address, "/healthz").status, 200);
    }
}

#[test]
fn open_connections_do_not_hold_up_the_end_of_a_replica() {
    let scene = Scene::new(IDLE);
    let (mut replica, address) = start(&scene, &[]);
    let idle: Vec<_> = (0..32).map(|_| connect(address)).collect();
    let mut kept = connect(address);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it listens");
    let mut answer = [0; 12];
    kept.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    replica.signal(Signal::SIGTERM);
    replica.wait_for_event("replica stopped");
    let stopped = SystemClock.boot();
    replica.wait().expect_code(0);
    let took = SystemClock.boot().since(stopped);
    // The bound is one second; the rest is for a busy machine.
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop((idle, kept));
}

#[test]
fn a_connection_is_kept_for_further_requests() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let mut stream = connect(address);
    for _ in 0..3 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it listens");
        let (mut answer, mut byte) = (Vec::new(), [0]);
        while !answer.ends_with(b"ok\n") {
            stream.read_exact(&mut byte).expect("an answer");
            answer.push(byte[0]);
        }
    }
    assert_eq!(request(address, "HEAD /healthz", &[]).body, "");
}
