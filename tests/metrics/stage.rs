//! Replicas that are scraped, and what a scrape says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use solocron::time::{Clock, SystemClock};

use crate::http_client::{Answer, get, request};
use crate::process::{DEADLINE, Program, Scene};

/// From one look to the next.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Asks for OpenMetrics.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";

/// A replica that serves HTTP on a free port of this machine.
pub(crate) struct Scraped {
    pub(crate) program: Program,
    pub(crate) address: SocketAddr,
}

impl Scraped {
    /// Starts a replica of this name, and waits until it serves HTTP.
    pub(crate) fn start(scene: &Scene, node: &str) -> Self {
        let mut command =
            scene.command(&["run", "--log-format", "json", "--node", node, "--listen", "127.0.0.1:0"]);
        // Replicas on one machine have a state folder each.
        command
            .env_remove("SOLOCRON_NO_HTTP")
            .env("SOLOCRON_STATE_DIR", scene.path(&format!("state-{node}")));
        let mut program = Program::start(&mut command);
        let serving = program.wait_for_event("serving HTTP");
        let address = serving["address"].as_str().and_then(|address| address.parse().ok());
        Self { program, address: address.expect("an address") }
    }

    /// The answer to a scrape with this query and this `Accept` header.
    pub(crate) fn answer(&self, query: &str, accept: &str) -> Answer {
        request(self.address, &format!("GET /metrics{query}"), &[("Accept", accept)])
    }

    /// The samples of a scrape.
    pub(crate) fn samples(&self) -> Samples {
        Samples::of(&get(self.address, "/metrics").body)
    }

    /// Waits until a series has a number of this kind.
    pub(crate) fn wait_for(&self, series: &str, is_wanted: impl Fn(f64) -> bool) -> f64 {
        eventually(series, || self.samples().number(series).filter(|number| is_wanted(*number)))
    }
}

/// The samples of a scrape: each series with its number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Samples(pub(crate) BTreeMap<String, f64>);

impl Samples {
    /// Parses the text of a scrape, in either format.
    pub(crate) fn of(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (series, number) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
            (series.to_owned(), number.parse().unwrap_or_else(|_| panic!("no number: {line}")))
        });
        Self(samples.collect())
    }

    /// The number of a series.
    pub(crate) fn number(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// The names of the samples.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|series| series.split('{').next().unwrap_or(series))
    }
}

/// Waits until this is so.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    settled(|| look().ok_or_else(|| what.to_owned()))
}

/// Waits until this succeeds; its last error says what is still missing.
#[expect(clippy::disallowed_methods, reason = "the server has to be asked again")]
pub(crate) fn settled<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let deadline = SystemClock.boot().plus(DEADLINE);
    loop {
        match look() {
            Ok(found) => return found,
            Err(missing) => assert!(SystemClock.boot() < deadline, "not within {DEADLINE:?}: {missing}"),
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
