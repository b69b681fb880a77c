//! Three replicas with thirty jobs, each replica with its own page.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use solocron::time::{Clock, SystemClock};

use crate::http_client::get;
use crate::process::{DEADLINE, Program, Scene};
use crate::redis_server::RedisServer;
use crate::webdriver::Browser;

/// A token that may act, and one that may only read.
pub(crate) const MARIA: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG=";
pub(crate) const GRAFANA: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefg=";

/// The tokens `maria` and `grafana`, in files of the scene.
const TOKENS: &str = "[http]\nhosts = [\"cron.example\"]\n[http.tokens]\n\
    maria = { token = \"${file:maria}\", may = \"act\" }\n\
    grafana = { token = \"${file:grafana}\", may = \"read\" }\n";

/// Besides these, the job that fails when it is told to.
const IDLE_JOBS: usize = 29;

/// From one look to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// What the pages of a failed log-in and of an absent page bring into the console of a browser.
pub(crate) const REFUSED: &str = "Failed to load resource: the server responded with a status of 40";

/// The replicas `n1`, `n2` and `n3`, and their store.
pub(crate) struct Stage {
    scene: Scene,
    pub(crate) server: RedisServer,
    replicas: Vec<Program>,
    addresses: Vec<SocketAddr>,
}

impl Stage {
    /// Starts three replicas whose page needs no token.
    pub(crate) fn start() -> Self {
        Self::start_with(3, "")
    }

    /// Starts one replica with the tokens `maria`, which may act, and `grafana`, which may only read. It also answers
    /// under the name `cron.example`.
    pub(crate) fn start_with_tokens() -> Self {
        Self::start_with(1, TOKENS)
    }

    fn start_with(replicas: usize, more: &str) -> Self {
        let server = RedisServer::start();
        let scene = Scene::new("");
        let file = |name: &str| scene.path(name).display().to_string();
        let mut jobs = format!("[cluster]\nname = \"billing\"\nstore = \"{}\"\n", server.url());
        jobs += &more
            .replace("file:maria", &format!("file:{}", file("maria")))
            .replace("file:grafana", &format!("file:{}", file("grafana")));
        write!(
            jobs,
            "[jobs.payout]\nschedule = \"* * * * * *\"\nonly_on = [\"pays\"]\ndescription = \"Pays out what is due\"\n\
             shell = \"echo '<b>paying</b>'; test ! -e {}\"\n",
            file("broken")
        )
        .expect("text can be written to");
        for job in 1..=IDLE_JOBS {
            // Some of them run now and then, the others never do.
            let schedule = if job <= 4 { format!("*/{} * * * * *", job + 3) } else { "0 4 1 1 *".to_owned() };
            write!(jobs, "[jobs.idle-{job:02}]\nschedule = \"{schedule}\"\nshell = \"true\"\n")
                .expect("text can be written to");
        }
        for (name, token) in [("maria", MARIA), ("grafana", GRAFANA)] {
            write_private(&scene.path(name), token);
        }
        scene.edit(&jobs);
        let mut stage = Self { scene, server, replicas: Vec::new(), addresses: Vec::new() };
        for number in 1..=replicas {
            // The last one has the job that fails, whoever else has a page.
            let labels = if number == replicas { &["--label", "pays"][..] } else { &[] };
            let (replica, address) = stage.replica(&format!("n{number}"), "127.0.0.1:0", labels);
            stage.replicas.push(replica);
            stage.addresses.push(address);
        }
        stage.wait_until_ready();
        stage
    }

    /// Waits until every replica has opened all jobs.
    #[expect(clippy::disallowed_methods, reason = "the server has to be asked again")]
    fn wait_until_ready(&self) {
        let deadline = SystemClock.boot().plus(DEADLINE);
        while !self.addresses.iter().all(|address| get(*address, "/readyz").status == 200) {
            assert!(SystemClock.boot() < deadline, "a replica is not ready after {DEADLINE:?}");
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    fn replica(&self, node: &str, listen: &str, more: &[&str]) -> (Program, SocketAddr) {
        let state = self.scene.path(node).display().to_string();
        let place = ["--node", node, "--state-dir", &state, "--listen", listen];
        let mut command = self.scene.command(&[&["run", "--log-format", "json"], &place[..], more].concat());
        let mut replica = Program::start(command.env_remove("SOLOCRON_NO_HTTP"));
        let serving = replica.wait_for_event("serving HTTP");
        let address = serving["address"].as_str().and_then(|address| address.parse().ok());
        (replica, address.expect("an address"))
    }

    /// Where the replicas serve their pages.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A page of the first replica.
    pub(crate) fn page(&self, path: &str) -> String {
        self.page_of(0, path)
    }

    /// A page of a replica, by its place.
    pub(crate) fn page_of(&self, replica: usize, path: &str) -> String {
        format!("http://{}{path}", self.addresses[replica])
    }

    /// From its next tick on, `payout` fails.
    pub(crate) fn break_payout(&self) {
        self.touch("broken");
    }

    /// Creates an empty file in the folder of the jobs.
    pub(crate) fn touch(&self, name: &str) {
        std::fs::write(self.scene.path(name), "").expect("a writable folder");
    }

    /// Waits until a run of `payout` has failed; returns the line of the log.
    pub(crate) fn wait_for_failure(&mut self) -> Value {
        let pays = self.replicas.last_mut().expect("there are some");
        pays.wait_for_event_of("run ended", |event| event["job"] == "payout" && event["outcome"] == "failed")
    }

    /// Kills a replica, by its place.
    pub(crate) fn kill(&self, replica: usize) {
        self.replicas[replica].signal(Signal::SIGKILL);
    }

    /// Starts a replica that was killed again, where it was.
    pub(crate) fn start_again(&mut self, replica: usize) {
        let address = self.addresses[replica].to_string();
        (self.replicas[replica], _) = self.replica(&format!("n{}", replica + 1), &address, &[]);
    }

    /// Opens a page in a new browser, and waits until it shows the jobs.
    pub(crate) fn browse(&self, path: &str) -> Browser {
        let browser = Browser::start();
        self.open_jobs(&browser, path);
        browser
    }

    /// Opens a page with jobs, and waits until it shows them: a replica that has just begun does not know them yet.
    pub(crate) fn open_jobs(&self, browser: &Browser, path: &str) {
        browser.wait_until("the jobs", || {
            browser.open(&self.page(path));
            (browser.count("[id^=job-]") > 0).then_some(())
        });
    }

    /// Opens the page of a job at the first replica, and waits until it shows what may be done with it.
    pub(crate) fn open_job(&self, browser: &Browser, job: &str) {
        let page = self.page(&format!("/jobs/{job}"));
        browser.wait_until("its page", || {
            browser.open(&page);
            (browser.count("#act") > 0).then_some(())
        });
    }

    /// Asserts what is so at the end of every test: no warning in the console but those that contain these texts, and no
    /// request to anybody else.
    pub(crate) fn expect_clean(&self, browser: Browser, expected: &[&str]) {
        browser.expect_clean(&self.addresses, expected);
    }
}

/// Writes a file that no other user may read.
pub(crate) fn write_private(path: &Path, text: &str) {
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a writable folder");
}
