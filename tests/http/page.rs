//! The page of a real replica: without tokens, with a login, and as a stream of its changes.

use std::net::SocketAddr;

use crate::http_client::{Answer, OpenAnswer, get, request, send};
use crate::process::{Program, Scene};
use crate::{IDLE, TOKEN, eventually, start, write_private};

/// A replica with the token `maria`, which may act.
fn with_token() -> (Scene, Program, SocketAddr) {
    let scene = Scene::new(IDLE);
    let file = scene.path("token");
    write_private(&file, TOKEN);
    scene.edit(&format!(
        "{IDLE}[http.tokens]\nmaria = {{ token = \"${{file:{}}}\", may = \"act\" }}\n",
        file.display()
    ));
    let (replica, address) = start(&scene, &[]);
    (scene, replica, address)
}

/// Sends a form.
fn post(address: SocketAddr, path: &str, (headers, body): (&str, &str)) -> Answer {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    send(address, head.as_bytes())
}

/// Logs in with this token, as a browser does.
fn log_in(address: SocketAddr, token: &str) -> Answer {
    let body = format!("token={}&next=%2Freplicas", token.replace('=', "%3D"));
    post(address, "/login", ("Sec-Fetch-Site: same-origin\r\n", &body))
}

/// What a browser sends back of a cookie.
fn sent_back(answer: &Answer) -> String {
    let set = answer.header("set-cookie").expect("a cookie");
    set.split(';').next().expect("a value").to_owned()
}

fn page(address: SocketAddr, path: &str) -> Answer {
    eventually("a page", || Some(get(address, path)).filter(|answer| answer.status == 200))
}

#[test]
fn on_loopback_the_page_needs_no_token_and_says_that_it_is_read_only() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let home = page(address, "/");
    assert_eq!(home.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(home.body.contains("<tr id=\"job-never\""), "{}", home.body);
    assert!(home.body.contains("no tokens are set up"), "{}", home.body);
    for path in
        ["/jobs/never", "/jobs/never?at=02%3A30", "/replicas", "/?by=job&span=24h&q=never&is=disabled"]
    {
        assert!(page(address, path).body.contains("<main"), "{path}");
    }
    for path in
        ["/jobs/other", "/jobs/never/runs/x", "/jobs/%2e%2e", "/assets/../page.css", "/assets/page.css"]
    {
        assert_eq!(get(address, path).status, 404, "{path}");
    }
}

#[test]
fn every_answer_of_the_page_forbids_what_it_does_not_use() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    let home = page(address, "/");
    for path in ["/", "/login", "/jobs/other", "/nowhere"] {
        let answer = get(address, path);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'"),
            "{path}: {policy}"
        );
        for part in ["connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert!(!answer.header_names().iter().any(|name| name.starts_with("access-control-")), "{path}");
    }
    let style =
        home.body.split("href=\"").find(|rest| rest.starts_with("/assets/page.")).expect("a style sheet");
    let style = get(address, style.split('"').next().expect("an address"));
    assert_eq!(style.status, 200);
    assert!(style.header("cache-control").is_some_and(|cache| cache.contains("immutable")), "{style:?}");
}

#[test]
fn a_browser_logs_in_with_a_token_reads_and_logs_out() {
    let (_scene, _replica, address) = with_token();
    let refused = get(address, "/jobs/never?at=02%3A30");
    let login = "/login?next=%2Fjobs%2Fnever%3Fat%3D02%253A30";
    assert_eq!((refused.status, refused.header("location")), (303, Some(login)));
    assert_eq!(request(address, "GET /", &[("Accept", "text/event-stream")]).status, 401);
    assert_eq!(get(address, "/login").status, 200);

    let answer = log_in(address, TOKEN);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/replicas")));
    let set = answer.header("set-cookie").expect("a cookie");
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=3600"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert!(set.starts_with(&format!("solocron_{}=maria.", address.port())) && !set.contains(TOKEN), "{set}");

    let cookie = sent_back(&answer);
    let read = |path: &str| request(address, &format!("GET {path}"), &[("Cookie", &cookie)]);
    let home = eventually("the first page", || Some(read("/")).filter(|answer| answer.status == 200));
    assert!(home.body.contains("Log out maria") && !home.body.contains(TOKEN), "{}", home.body);
    assert_eq!(request(address, "GET /", &[("Cookie", &format!("{cookie}0"))]).status, 303, "forged");
    let foreign = [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(request(address, "GET /", &foreign).status, 403);

    let out = post(address, "/logout", (&format!("Cookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n"), ""));
    assert_eq!((out.status, out.header("location")), (303, Some("/login")));
    assert!(out.header("set-cookie").is_some_and(|set| set.contains("=; ") && set.contains("Max-Age=0")));
}

#[test]
fn a_wrong_token_and_a_form_of_another_page_log_nobody_in() {
    let (_scene, _replica, address) = with_token();
    let wrong = log_in(address, "hunter2");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    assert!(
        wrong.body.contains("no token of this cluster") && !wrong.body.contains("hunter2"),
        "{}",
        wrong.body
    );
    let body = format!("token={}", TOKEN.replace('=', "%3D"));
    let origin = "Origin: http://localhost\r\n";
    for (headers, status) in [
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: none\r\n", 403),
        ("", 403),
        ("Origin: http://evil.example\r\n", 403),
        (origin, 303),
    ] {
        assert_eq!(post(address, "/login", (headers, &body)).status, status, "{headers:?}");
    }
    let away = format!("{body}&next=%2F%2Fevil.example");
    let answer = post(address, "/login", ("Sec-Fetch-Site: same-origin\r\n", &away));
    assert_eq!(answer.header("location"), Some("/"));
    for _ in 0..6 {
        log_in(address, "hunter2");
    }
    assert_eq!(log_in(address, "hunter2").status, 429);
    assert_eq!(log_in(address, TOKEN).status, 303, "a right one is always let in");
}

#[test]
fn a_stream_sends_the_parts_that_a_browser_does_not_have() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    page(address, "/");
    let mut stream = OpenAnswer::open(address, "/", &[("Accept", "text/event-stream"), ("X-Parts", "none")]);
    let first = stream.wait_for("id=\"pager\"");
    assert!(first.contains("text/event-stream"), "{first}");
    for part in ["event: now", "event: part", "id=\"top\"", "id=\"troubles\"", "id=\"job-never\""] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let later = stream.wait_for("event: now");
    assert!(!later.contains("id=\"jobs\""), "{later}");
}

/// What a browser sends that opens an address.
const AS_BROWSER: (&str, &str) =
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

/// Asserts that this is the page at an address that does not exist, which names this path and no job.
fn expect_absent(answer: &Answer, named: &str) {
    let kind = answer.header("content-type");
    assert_eq!((answer.status, kind), (404, Some("text/html; charset=utf-8")), "{named}: {answer:?}");
    let shown = format!("There is nothing at <code>{named}</code>.");
    assert!(answer.body.contains(&shown), "{named}: {}", answer.body);
    for link in ["<a href=\"/\">Jobs</a>", "<a href=\"/#timeline\">Runs of the last hour</a>"] {
        assert!(answer.body.contains(link), "{link}: {}", answer.body);
    }
    assert!(answer.header("content-security-policy").is_some(), "{answer:?}");
    assert!(!answer.body.contains("never"), "{}", answer.body);
}

#[test]
fn a_browser_gets_a_page_at_an_address_that_does_not_exist_and_a_program_a_problem() {
    let scene = Scene::new(IDLE);
    let (_replica, address) = start(&scene, &[]);
    page(address, "/");
    let opened = |path: &str| request(address, &format!("GET {path}"), &[AS_BROWSER]);
    let long = format!("/{}", "a".repeat(3_000));
    let cut = format!("/{}…", "a".repeat(198));
    for (path, named) in [
        ("/nowhere", "/nowhere"),
        ("/replicas/n9", "/replicas/n9"),
        ("/apiary?job=never", "/apiary"),
        ("/%3Cscript%3Ealert(1)%3C/script%3E", "/%3Cscript%3Ealert(1)%3C/script%3E"),
        ("/\"onclick='alert(1)'&lt;i{{7*7}}", "/&#34;onclick=&#39;alert(1)&#39;&#38;lt;i{{7*7}}"),
        (&long, &cut),
    ] {
        expect_absent(&opened(path), named);
    }
    for path in ["/api/v1/nothing", "/api/v2", "/metrics/x", "/healthz/x", "/readyz/x", "/metrics/"] {
        let answer = opened(path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (404, Some("application/problem+json")),
            "{path}"
        );
    }
    for accept in ["*/*", "application/json", "text/event-stream"] {
        let answer = request(address, "GET /nowhere", &[("Accept", accept)]);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{accept}");
    }
    for path in ["/jobs/other", "/jobs/never/runs/x", "/jobs/other/pause"] {
        let answer = opened(path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (404, Some("text/html; charset=utf-8")),
            "{path}"
        );
    }
}

#[test]
fn an_address_that_does_not_exist_shows_nothing_of_the_jobs_with_or_without_a_login() {
    let (_scene, _replica, address) = with_token();
    let bearer = format!("Bearer {TOKEN}");
    for sent in [None, Some(("Authorization", bearer.as_str())), Some(("Authorization", "Bearer wrong"))] {
        for site in ["none", "same-origin", "same-site", "cross-site"] {
            let headers: Vec<(&str, &str)> =
                [AS_BROWSER, ("Sec-Fetch-Site", site)].into_iter().chain(sent).collect();
            expect_absent(&request(address, "GET /nowhere", &headers), "/nowhere");
        }
    }
    // Whether there is such a job is told after the login alone.
    for path in ["/jobs/never", "/jobs/other", "/jobs/never/runs/x"] {
        assert_eq!(request(address, &format!("GET {path}"), &[AS_BROWSER]).status, 303, "{path}");
    }
}
