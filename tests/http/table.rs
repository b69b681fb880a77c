//! Every call of `openapi.json`, with every right, from every origin, by a right and a wrong host.

use std::io::{Read, Write};
use std::net::SocketAddr;

use serde_json::Value;

use crate::http_client::{connect, get};
use crate::process::Scene;
use crate::{IDLE, TOKEN, eventually, start, write_private};

/// The token that may only read.
const READ: &str = "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr";

/// Calls that take any host and come from anywhere: those of probes and scrapers.
const ANY_HOST: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// A call of the description.
#[derive(Debug)]
struct Call {
    method: String,
    path: String,
    is_open: bool,
}

/// The calls of the description, with the variable parts of their paths filled in.
fn calls(document: &Value) -> Vec<Call> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, call) in methods.as_object().expect("methods") {
            let run = "01939d2c-0000-7000-8000-000000000009";
            all.push(Call {
                method: method.to_uppercase(),
                path: path.replace("{job}", "never").replace("{run}", run),
                is_open: call["security"].as_array().is_some_and(Vec::is_empty),
            });
        }
    }
    all
}

/// The status of the answer to a call. Only the head of the answer is read: some have no end.
fn status(address: SocketAddr, call: &Call, host: &str, headers: &[String]) -> u16 {
    let Call { method, path, .. } = call;
    // No act has this field: whoever may act gets nothing done.
    let body = if method == "POST" { "{\"nothing\":\"at all\"}" } else { "" };
    let kind = if method == "POST" { "Content-Type: application/json\r\n" } else { "" };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n{kind}{headers}\r\n{body}",
        body.len()
    );
    let mut stream = connect(address);
    stream.write_all(head.as_bytes()).expect("it listens");
    let (mut answer, mut buffer) = (Vec::new(), [0; 512]);
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    status.unwrap_or_else(|| panic!("{method} {path}: {answer}"))
}

#[test]
fn every_call_is_allowed_to_whom_and_from_where_it_should_be() {
    let scene = Scene::new(IDLE);
    let tokens = [("maria", TOKEN, "act"), ("grafana", READ, "read")].map(|(name, token, may)| {
        let file = scene.path(name);
        write_private(&file, token);
        format!("{name} = {{ token = \"${{file:{}}}\", may = \"{may}\" }}\n", file.display())
    });
    scene.edit(&format!("{IDLE}[http.tokens]\n{}", tokens.concat()));
    let (_replica, address) = start(&scene, &[]);
    eventually("ready", || (get(address, "/readyz").status == 200).then_some(()));
    let document: Value = serde_json::from_str(&get(address, "/api/v1/openapi.json").body).expect("JSON");
    let calls = calls(&document);
    assert!(calls.len() > 15, "{calls:?}");
    for call in &calls {
        let (is_act, takes_all) = (call.method == "POST", ANY_HOST.contains(&call.path.as_str()));
        for token in [None, Some(READ), Some(TOKEN)] {
            for site in [None, Some("same-origin"), Some("none"), Some("same-site"), Some("cross-site")] {
                for host in ["localhost", "evil.example"] {
                    let headers: Vec<String> = [
                        token.map(|token| format!("Authorization: Bearer {token}")),
                        site.map(|site| format!("Sec-Fetch-Site: {site}")),
                    ]
                    .into_iter()
                    .flatten()
                    .collect();
                    let is_foreign = matches!(site, Some("same-site" | "cross-site"));
                    let refused = match token {
                        _ if !takes_all && host != "localhost" => Some(421),
                        _ if !takes_all && is_foreign => Some(403),
                        _ if call.is_open => None,
                        None => Some(401),
                        Some(READ) if is_act => Some(403),
                        Some(_) => None,
                    };
                    let found = status(address, call, host, &headers);
                    let is_refused = [401, 403, 421].contains(&found);
                    assert_eq!(
                        is_refused.then_some(found),
                        refused,
                        "{call:?} {token:?} {site:?} {host}: {found}"
                    );
                    // Nothing was done, and nothing went wrong.
                    assert!(found < 500 && (!is_act || found >= 400), "{call:?}: {found}");
                }
            }
        }
    }
}
