//! The HTTP side of a replica whose store is that of a bench, without sockets.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::events::Events;
use crate::job::{Outcome, Verdict};
use crate::metrics::Metrics;
use crate::replica::ReplicaFacts;
use crate::store::{Feed, Store};
use crate::time::{Clock, SystemClock, UtcMillis};
use crate::view::testing::{Bench, FILE, NOON, node};

use super::board::read_when_due;
use super::health::Progress;
use super::route::serve::router;
use super::state::{HttpOptions, HttpSources, Shared};

/// The time of the store.
pub(super) const NOW: UtcMillis = UtcMillis(NOON + 400_000);

/// The HTTP side of a replica. In its store, `backup` has failed once.
pub(super) struct Served {
    pub(super) shared: Arc<Shared>,
    store: Arc<dyn Store>,
    facts: watch::Sender<ReplicaFacts>,
    _options: watch::Sender<HttpOptions>,
    _tasks: JoinSet<()>,
    _folder: tempfile::TempDir,
}

impl Served {
    /// Returns the HTTP side of a replica that has not reported anything yet.
    pub(super) async fn new() -> Self {
        let bench = Bench::new(FILE).await;
        bench.open("backup").await;
        bench.open("payout").await;
        bench.at(300);
        let lease = bench.win("backup", "n1", 1, 300).await;
        bench.at(305);
        bench.finish("backup", lease, Verdict::plain(Outcome::Failed), Some(3)).await;
        let Bench { folder, config, store, .. } = bench;
        let options = HttpOptions { jobs: Arc::new(config.jobs), ..HttpOptions::default() };
        let (options, facts) = (watch::Sender::new(options), watch::Sender::default());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let sources = HttpSources {
            options: options.subscribe(),
            facts: facts.subscribe(),
            progress: Arc::new(Progress::from(clock.boot())),
            metrics: Metrics::new(std::iter::empty(), Arc::clone(&clock)),
            events: Events::of(node("n1")),
            store_kind: "local",
            dropped_log_lines: || 0,
            clock,
        };
        let shared = Arc::new(Shared::new(([127, 0, 0, 1], 0).into(), sources, Arc::default()));
        let mut tasks = JoinSet::new();
        let store: Arc<dyn Store> = Arc::new(store);
        tasks.spawn(read_when_due(Arc::clone(&shared), Arc::clone(&store)));
        Self { shared, store, facts, _options: options, _tasks: tasks, _folder: folder }
    }

    /// Reports that the store answers, or does not any more.
    pub(super) fn report(&self, is_store_away: bool) {
        let answered = Some(self.shared.clock.boot());
        self.facts.send_replace(ReplicaFacts {
            answered,
            store_now: Some(NOW),
            is_store_away,
            ..ReplicaFacts::default()
        });
    }

    /// Appends a line to the feed of news.
    pub(super) async fn append(&self, line: &str) {
        self.store.append(Feed::Recent, line).await.expect("the file is its own");
    }

    /// Returns the answer to a GET of this path: its status, its kind, and its body.
    pub(super) async fn get(&self, path: &str) -> (StatusCode, String, String) {
        let request = Request::get(path).header("host", "localhost").body(Body::empty()).expect("a request");
        let router = TowerToHyperService::new(router(Arc::clone(&self.shared)));
        let response = router.call(request).await.expect("it always answers");
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let (status, kind) = (response.status(), kind.unwrap_or_default().to_owned());
        let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        (status, kind, String::from_utf8_lossy(&body).into_owned())
    }
}
