//! What a hostile or a broken client gets, and what it cannot do to others.

use std::io::{Read, Write};
use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::http_client::{OpenAnswer, connect, get, request, send};
use crate::process::Scene;
use crate::redis_server::RedisServer;
use crate::{IDLE, TOKEN, eventually, start, write_private};

use super::clients::{closed_within, read_to_end, slow, without_reading};

/// More connections than the server has at once.
const MANY: usize = 200;

/// Lets time pass between two things that a client does.
#[expect(clippy::disallowed_methods, reason = "clients are slow, or patient")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

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
fn a_client_that_takes_too_long_for_a_head_is_closed_after_five_seconds() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let idle = connect(address);
    let mut kept = connect(address);
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it listens");
    let slow = slow(address, 1);
    // One that sends a byte now and then has no more time than one that sends nothing.
    let mut dripping = connect(address);
    let mut drops = dripping.try_clone().expect("a socket");
    let dripped = std::thread::spawn(move || {
        let sent = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: a-header-that-never-ends";
        for byte in sent.iter().cycle() {
            if drops.write_all(&[*byte]).is_err() {
                return;
            }
            pause(Duration::from_millis(300));
        }
    });
    for mut stream in [idle, kept].into_iter().chain(slow) {
        let (_, took) = read_to_end(&mut stream);
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
    let (_, took) = read_to_end(&mut dripping);
    assert!(took < Duration::from_secs(15), "{took:?}");
    dripped.join().expect("it has ended");
}

#[test]
fn a_body_that_is_too_long_or_does_not_come_is_refused() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let head =
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n";
    let post = |length: usize, sent: usize| {
        let mut stream = connect(address);
        let request = format!("{head}Content-Length: {length}\r\n\r\n{}", "a".repeat(sent));
        // The answer may come, and the connection end, before everything is sent.
        let _ = stream.write_all(request.as_bytes());
        read_to_end(&mut stream)
    };
    // As long as allowed, and refused for another reason: it comes from no page of the server.
    let (answer, _) = post(16 << 10, 16 << 10);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let (answer, took) = post((16 << 10) + 1, 0);
    assert!(answer.starts_with("HTTP/1.1 413 ") && took < Duration::from_secs(4), "{answer} {took:?}");
    let (answer, _) = post(1 << 40, 100_000);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let (answer, took) = post(100, 50);
    assert!(answer.starts_with("HTTP/1.1 408 ") || answer.is_empty(), "{answer}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_client_that_reads_nothing_is_disconnected() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    for client in &mut without_reading(address, "/metrics", 2) {
        let took = closed_within(client, Duration::from_secs(40));
        assert!(took.is_some(), "it is still connected");
    }
    assert_eq!(get(address, "/healthz").status, 200);
}

#[test]
fn connections_that_send_nothing_or_half_of_a_request_lock_out_nobody() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let idle: Vec<_> = (0..MANY).map(|_| connect(address)).collect();
    let slow = slow(address, MANY);
    let bodies = (0..MANY).map(|_| {
        let mut stream = connect(address);
        // An earlier one of them is closed to make room.
        let _ = stream.write_all(b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n");
        stream
    });
    let bodies: Vec<_> = bodies.collect();
    for path in ["/healthz", "/api/v1/openapi.json", "/login"].into_iter().cycle().take(9) {
        assert_eq!(get(address, path).status, 200, "{path}");
    }
    drop((idle, slow, bodies));
}

#[test]
fn a_flood_of_wrong_tokens_locks_out_no_probe_and_no_right_token() {
    let scene = Scene::new(IDLE);
    let file = scene.path("token");
    write_private(&file, TOKEN);
    let tokens =
        format!("[http.tokens]\nm = {{ token = \"${{file:{}}}\", may = \"act\" }}\n", file.display());
    scene.edit(&format!("{IDLE}{tokens}"));
    let (_replica, address) = start(&scene, &[]);
    let until = SystemClock.boot().plus(Duration::from_secs(3));
    let guess = move || {
        let mut statuses = Vec::new();
        while SystemClock.boot() < until {
            let mut stream = connect(address);
            let guess = b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer hunter2\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(guess);
            statuses.push(read_to_end(&mut stream).0.get(9..12).unwrap_or_default().to_owned());
        }
        statuses
    };
    let guessers: Vec<_> = (0..100).map(|_| std::thread::spawn(guess)).collect();
    let bearer = format!("Bearer {TOKEN}");
    while SystemClock.boot() < until {
        assert_eq!(get(address, "/healthz").status, 200);
        pause(Duration::from_millis(20));
    }
    let statuses: Vec<String> = guessers.into_iter().flat_map(|one| one.join().expect("it ends")).collect();
    let refused = |status: &&String| matches!(status.as_str(), "401" | "429" | "503" | "");
    assert_eq!(statuses.iter().find(|status| !refused(status)), None);
    assert!(statuses.iter().any(|status| status == "429"), "{statuses:?}");
    let answer = eventually("an answer", || {
        Some(request(address, "GET /replicas", &[("Authorization", &bearer)])).filter(|it| it.status != 503)
    });
    assert_eq!(answer.status, 200);
}

#[test]
fn however_many_look_the_store_is_read_some_twenty_times_a_second() {
    let redis = RedisServer::start();
    let jobs: String = (0..300)
        .map(|job| format!("[jobs.job{job}]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n"))
        .collect();
    let scene = Scene::new(&format!("cluster = {{ name = \"t\", store = \"{}\" }}\n{jobs}", redis.url()));
    let (_replica, address) = start(&scene, &[]);
    eventually("a status", || (get(address, "/api/v1/status").status == 200).then_some(()));
    let calls = || -> i64 {
        let stats = redis.cli(&["INFO", "commandstats"]);
        let of = |name: &str| {
            let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:calls=")))?;
            line.split(',').next()?.parse::<i64>().ok()
        };
        of("evalsha").unwrap_or(0) + of("eval").unwrap_or(0)
    };
    let (began, before) = (SystemClock.boot(), calls());
    let until = began.plus(Duration::from_secs(4));
    let look = move |client: usize| {
        let mut looked = 0;
        while SystemClock.boot() < until {
            let job = (client * 37 + looked) % 300;
            for path in ["/".to_owned(), format!("/jobs/job{job}"), format!("/api/v1/jobs?page={}", job / 50)]
            {
                get(address, &path);
            }
            looked += 1;
        }
    };
    let clients: Vec<_> = (0..8).map(|client| std::thread::spawn(move || look(client))).collect();
    clients.into_iter().for_each(|client| client.join().expect("it ends"));
    let (made, took) = (calls() - before, SystemClock.boot().since(began).as_secs_f64());
    // The replica's own heartbeats are some three calls a second.
    assert!(made as f64 / took <= 30.0, "{made} calls in {took} s");
}

#[test]
fn while_the_store_hangs_every_page_is_answered_in_time() {
    let redis = RedisServer::start();
    let cluster = format!("cluster = {{ name = \"t\", store = \"{}\" }}", redis.url());
    let scene = Scene::new(&IDLE.replace("cluster.store = \"local\"", &cluster));
    let (_replica, address) = start(&scene, &[]);
    redis.freeze();
    let paths = ["/", "/jobs/never", "/jobs/never?at=02:30", "/replicas", "/metrics", "/api/v1/status"];
    let more = ["/api/v1/jobs/never/why?at=02:30", "/api/v1/history?job=never", "/healthz", "/readyz"];
    let asked: Vec<_> = paths.into_iter().chain(more).cycle().take(40).collect();
    let answers = asked.into_iter().map(|path| {
        std::thread::spawn(move || {
            let began = SystemClock.boot();
            (path, get(address, path).status, SystemClock.boot().since(began))
        })
    });
    for answer in answers.collect::<Vec<_>>() {
        let (path, status, took) = answer.join().expect("an answer");
        assert!(matches!(status, 200 | 404 | 503), "{path}: {status}");
        // The bound is ten seconds; the rest is for a busy machine.
        assert!(took < Duration::from_secs(15), "{path}: {took:?}");
        assert!(path != "/healthz" || status == 200);
    }
    redis.thaw();
}

#[test]
fn a_stream_sends_at_most_one_update_a_second() {
    let scene = Scene::new(&IDLE.replace("0 0 29 2 *", "* * * * * *"));
    let (_replica, address) = start(&scene, &[]);
    let mut stream = OpenAnswer::open(address, "/", &[("Accept", "text/event-stream")]);
    stream.wait_for("event: now");
    let began = SystemClock.boot();
    for _ in 0..4 {
        stream.wait_for("event: now");
    }
    let took = SystemClock.boot().since(began);
    assert!(took >= Duration::from_secs(3), "{took:?}");
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
