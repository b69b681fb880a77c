//! A real Prometheus reads both formats: its own checker knows only the older one.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::http_client::get;
use crate::process::Scene;
use crate::stage::{Scraped, eventually, settled};

const JOBS: &str = "[cluster]\nstore = \"local\"\n[jobs.a]\nschedule = \"* * * * * *\"\nshell = \"true\"\n";

/// A server that is gone when the value is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // An error says that it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The configuration of a server that scrapes this address twice: all jobs, and those in trouble.
fn configuration(address: &str) -> String {
    format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n\
        - job_name: solocron\n  static_configs: [{{targets: [\"{address}\"]}}]\n\
        - job_name: trouble\n  params: {{jobs: [trouble]}}\n  static_configs: [{{targets: [\"{address}\"]}}]\n"
    )
}

#[test]
fn a_prometheus_server_takes_every_scrape_and_knows_the_types() {
    let scene = Scene::new(JOBS);
    let replica = Scraped::start(&scene, "n");
    let file = scene.path("prometheus.yml");
    std::fs::write(&file, configuration(&replica.address.to_string())).expect("a writable folder");
    let address = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", file.display()));
    command.arg(format!("--storage.tsdb.path={}", scene.path("tsdb").display()));
    command.arg(format!("--web.listen-address={address}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Server(command.spawn().expect("prometheus is there after `make tools`"));
    eventually("it listens", || std::net::TcpStream::connect(address).ok().map(drop));
    let asked = |path: &str| -> Value { serde_json::from_str(&get(address, path).body).unwrap_or_default() };
    eventually("both targets are up", || {
        let targets = asked("/api/v1/targets");
        let targets = targets["data"]["activeTargets"].as_array()?;
        let is_up = |target: &Value| target["health"] == "up" && target["lastError"] == "";
        (targets.len() == 2 && targets.iter().all(is_up)).then_some(())
    });
    let metadata = asked("/api/v1/metadata");
    // OpenMetrics knows a counter without its suffix.
    for (name, kind) in [
        ("solocron_locks_lost", "counter"),
        ("solocron_store_up", "gauge"),
        ("solocron_tick_lateness_seconds", "histogram"),
        ("solocron", "info"),
    ] {
        assert_eq!(metadata["data"][name][0]["type"], kind, "{name}: {metadata}");
    }
    // A target counts as up a moment before its series can be queried.
    settled(|| {
        let found = asked("/api/v1/query?query=solocron_store_up");
        let are_both = found["data"]["result"].as_array().is_some_and(|series| series.len() == 2);
        are_both.then_some(()).ok_or_else(|| format!("the series of both targets: {found}"))
    });
}
