//! Replicas `n1` and `n2`, of which only `n2` can run the job; and commands of machines that run neither.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use solocron::config::RedisUrl;
use solocron::job::ClusterName;
use solocron::store::{LocalStore, RedisStore, Store};
use solocron::time::{Clock, SystemClock};

use crate::http_client::get;
use crate::process::{DEADLINE, Ended, Program, Scene};
use crate::redis_server::RedisServer;

/// From one look to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A store and, once they are started, its replicas.
pub(crate) struct Stage {
    scene: Scene,
    store: String,
    /// `None` on an embedded store.
    pub(crate) server: Option<RedisServer>,
    replicas: Vec<Program>,
    /// Where n2 serves HTTP.
    address: Option<SocketAddr>,
}

impl Stage {
    pub(crate) fn local() -> Self {
        let scene = Scene::new("");
        let store = format!("local:{}", scene.path("store.sqlite3").display());
        Self { scene, store, server: None, replicas: Vec::new(), address: None }
    }

    pub(crate) fn redis() -> Self {
        let server = RedisServer::start();
        let store = server.url();
        Self { scene: Scene::new(""), store, server: Some(server), replicas: Vec::new(), address: None }
    }

    /// Starts the replicas with the job `talk`, which runs by hand and on n2 alone: these keys of it, and this script.
    pub(crate) fn start(&mut self, keys: &str, script: &str) {
        self.scene.edit(&format!(
            "[cluster]\nname = \"test\"\nstore = \"local\"\n[jobs.talk]\nschedule = \"0 0 29 2 *\"\nonly_on = [\"talks\"]\n\
             {keys}\nshell = \"{script}\"\n"
        ));
        let n1 = self.replica("n1", &[]);
        let mut n2 = self.replica("n2", &["--label", "talks", "--listen", "127.0.0.1:0"]);
        let serving = n2.wait_for_event("serving HTTP");
        self.address = serving["address"].as_str().and_then(|address| address.parse().ok());
        self.replicas = vec![n1, n2];
        self.eventually("known", || self.give(&["resume", "talk"]).status.success().then_some(()));
        // n1 may have made the job known, before n2 has its heartbeat.
        let is_live = |line: &str| line.starts_with("n2 ") && line.contains(" live ");
        self.eventually("live", || self.give(&["status"]).log.lines().any(is_live).then_some(()));
    }

    fn replica(&self, node: &str, more: &[&str]) -> Program {
        let state = self.scene.path(node).display().to_string();
        let log = ["run", "--log-format", "json", "--log-level", "debug"];
        let place = ["--node", node, "--state-dir", &state, "--store", &self.store];
        let mut command = self.scene.command(&[&log[..], &place, more].concat());
        if more.contains(&"--listen") {
            command.env_remove("SOLOCRON_NO_HTTP");
        }
        Program::start(&mut command)
    }

    /// The replica that runs the job.
    pub(crate) fn n2(&mut self) -> &mut Program {
        &mut self.replicas[1]
    }

    /// A path that the job can use, too.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scene.path(name)
    }

    /// Creates an empty file.
    pub(crate) fn touch(&self, name: &str) {
        std::fs::write(self.path(name), "").expect("a writable folder");
    }

    /// Gives a command, from a machine of its own.
    pub(crate) fn give(&self, args: &[&str]) -> Ended {
        self.begin(args).wait()
    }

    /// The same, and does not wait for its end.
    pub(crate) fn begin(&self, args: &[&str]) -> Program {
        let elsewhere = self.scene.path("elsewhere").display().to_string();
        let place = ["--store", &self.store, "--state-dir", &elsewhere];
        Program::start(&mut self.scene.command(&[args, &place].concat()))
    }

    /// Opens the store, as a program of the cluster does. Needs a running runtime.
    pub(crate) fn open(&self) -> Arc<dyn Store> {
        let cluster = ClusterName::parse("test").expect("a name");
        match &self.server {
            Some(server) => {
                let url = RedisUrl::parse(&server.url()).expect("a good url");
                Arc::new(RedisStore::start(&url, cluster).expect("a runtime"))
            }
            None => {
                let path = self.path("store.sqlite3");
                Arc::new(LocalStore::start(&path, cluster, Box::new(SystemClock)).expect("a boot id"))
            }
        }
    }

    /// Runs the job by hand, and waits until n2 has started it.
    pub(crate) fn trigger(&mut self) {
        self.give(&["trigger", "talk"]).expect_code(0);
        self.n2().wait_for_event("run started");
    }

    /// Runs the job by hand, and waits for its recorded end.
    pub(crate) fn run_to_its_end(&mut self) {
        self.trigger();
        self.n2().wait_for_event("run recorded");
    }

    /// What n2 has counted under this series.
    pub(crate) fn counted(&self, series: &str) -> f64 {
        let scrape = get(self.address.expect("it serves"), "/metrics").body;
        let number =
            scrape.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no {series}:\n{scrape}"))
    }

    /// Waits until this is so.
    #[expect(clippy::disallowed_methods, reason = "the server has to be asked again")]
    pub(crate) fn eventually<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        let deadline = SystemClock.boot().plus(DEADLINE);
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(SystemClock.boot() < deadline, "not within {DEADLINE:?}: {what}");
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Drains the replicas.
    pub(crate) fn stop(self) {
        self.replicas.iter().for_each(|replica| replica.signal(Signal::SIGTERM));
        for replica in self.replicas {
            replica.wait().expect_code(0);
        }
    }
}

/// What the job itself printed, of lines as they are stored: `TIME out text`.
pub(crate) fn texts(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.split_once("Z out ").map(|(_, text)| text)).collect()
}
