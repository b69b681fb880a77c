//! The HTTP server of real replicas: health, metrics, API, limits and rights.

mod acts;
mod api;
mod health;
#[path = "../support/http_client.rs"]
mod http_client;
mod load;
mod metrics;
mod news;
mod output;
mod page;
mod ports;
#[path = "../support/process.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod process;
#[path = "../support/redis_server.rs"]
#[expect(dead_code, reason = "other tests use more of it")]
mod redis_server;
mod schema;
mod table;

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use process::{DEADLINE, Program, Scene};
use solocron::time::{Clock, SystemClock};

/// A cluster on an embedded store whose one job never runs.
const IDLE: &str = "cluster.store = \"local\"\n[jobs.never]\nschedule = \"0 0 29 2 *\"\nshell = \"true\"\n";

/// A token.
const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG=";

/// From one look to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Starts a replica that serves HTTP on a free port of this machine; returns its address, too.
fn start(scene: &Scene, args: &[&str]) -> (Program, SocketAddr) {
    let mut command =
        scene.command(&["run", "--log-format", "json", "--node", "n", "--listen", "127.0.0.1:0"]);
    let mut replica = Program::start(command.args(args).env_remove("SOLOCRON_NO_HTTP"));
    let address = address_of(&mut replica);
    (replica, address)
}

/// Waits until a replica serves HTTP, and returns its address.
fn address_of(replica: &mut Program) -> SocketAddr {
    let serving = replica.wait_for_event("serving HTTP");
    serving["address"].as_str().and_then(|address| address.parse().ok()).expect("an address")
}

/// Waits until this is so.
#[expect(clippy::disallowed_methods, reason = "the server has to be asked again")]
fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = SystemClock.boot().plus(DEADLINE);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(SystemClock.boot() < deadline, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Writes a file that no other user may read.
fn write_private(path: &Path, text: &str) {
    let mut options = std::fs::OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).open(path).expect("a writable folder");
    file.write_all(text.as_bytes()).expect("room");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is there");
}
