//! Where a replica serves HTTP: the ports of several replicas, and ports that are taken.

use std::net::{SocketAddr, TcpListener};

use crate::http_client::get;
use crate::process::{Program, Scene};
use crate::{IDLE, eventually};

/// Ports in a row that were free a moment ago.
fn free_ports(count: u16) -> u16 {
    eventually("free ports in a row", || {
        let first = TcpListener::bind("127.0.0.1:0").ok()?;
        let port = first.local_addr().ok()?.port();
        let next: Option<Vec<_>> =
            (1..count).map(|more| TcpListener::bind(("127.0.0.1", port.checked_add(more)?)).ok()).collect();
        next.map(|_| port)
    })
}

#[test]
fn replicas_of_one_command_serve_on_ports_in_a_row() {
    let scene = Scene::new(IDLE);
    let port = free_ports(3);
    let listen = format!("127.0.0.1:{port}");
    let mut command = scene.command(&["run", "--replicas", "3", "--log-format", "json", "--listen", &listen]);
    let mut replicas = Program::start(command.env_remove("SOLOCRON_NO_HTTP"));
    for _ in 0..3 {
        replicas.wait_for_event("serving HTTP");
    }
    for port in port..port + 3 {
        assert_eq!(get(SocketAddr::from(([127, 0, 0, 1], port)), "/healthz").status, 200);
    }
}

#[test]
fn an_explicit_port_that_is_taken_ends_the_replica_with_the_way_out() {
    let scene = Scene::new(IDLE);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut command = scene.command(&["run", "--listen", &address]);
    let ended = Program::start(command.env_remove("SOLOCRON_NO_HTTP")).wait().expect_code(1);
    assert!(
        ended.log.contains(&format!("no HTTP on {address}")) && ended.log.contains("--no-http"),
        "{}",
        ended.log
    );
}

#[test]
fn with_no_http_nothing_listens() {
    let scene = Scene::new(IDLE);
    let mut replica = scene.run(&["--no-http"]);
    replica.wait_for_event("store reached");
    let tables =
        ["tcp", "tcp6"].map(|table| std::fs::read_to_string(format!("/proc/{}/net/{table}", replica.pid())));
    let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{}/fd", replica.pid()))
        .expect("its descriptors")
        .flatten()
        .filter_map(|fd| Some(std::fs::read_link(fd.path()).ok()?.to_string_lossy().into_owned()))
        .collect();
    let listening = tables.iter().flatten().flat_map(|table| table.lines()).filter(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_own = words.get(9).is_some_and(|inode| sockets.contains(&format!("socket:[{inode}]")));
        words.get(3) == Some(&"0A") && is_own
    });
    assert_eq!(listening.count(), 0);
}
