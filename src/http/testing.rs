//! The HTTP side of a replica whose store is that of a bench, without sockets.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use futures_util::StreamExt;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::TokenRight;
use crate::events::Events;
use crate::job::{Outcome, RunId, TokenName, Verdict};
use crate::metrics::Metrics;
use crate::relay::LocalOutput;
use crate::replica::ReplicaFacts;
use crate::time::{Clock, SystemClock, UtcMillis};
use crate::view::testing::{Bench, FILE, NOON, node};

use super::access::token::{TokenBook, TokenText};
use super::board::read_when_due;
use super::health::Progress;
use super::route::serve::router;
use super::state::{HttpOptions, HttpSources, Shared};

/// The time of the store.
pub(super) const NOW: UtcMillis = UtcMillis(NOON + 400_000);

/// A token.
const TOKEN: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG=";

/// An answer that goes on is read for this long.
const STREAMS_FOR: Duration = Duration::from_millis(300);

/// The HTTP side of a replica. In its store, `backup` has failed once.
pub(super) struct Served {
    pub(super) shared: Arc<Shared>,
    facts: watch::Sender<ReplicaFacts>,
    options: watch::Sender<HttpOptions>,
    _tasks: JoinSet<()>,
    folder: tempfile::TempDir,
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
            output: LocalOutput::new(folder.path()),
            store_kind: "local",
            dropped_log_lines: || 0,
            clock,
        };
        let shared = Arc::new(Shared::new(([127, 0, 0, 1], 0).into(), sources));
        let mut tasks = JoinSet::new();
        tasks.spawn(read_when_due(Arc::clone(&shared), Arc::new(store)));
        Self { shared, facts, options, _tasks: tasks, folder }
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

    /// Writes the log of a run to this machine.
    pub(super) fn write_log(&self, job: &str, run: RunId, text: &str) {
        let folder = self.folder.path().join("runs").join(job);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("{run}.log")), text).expect("written");
    }

    /// Returns the answer to a GET of this path: its status, its kind, and its body.
    pub(super) async fn get(&self, path: &str) -> (StatusCode, String, String) {
        let response = self.answer(path, "*/*", false).await;
        whole(response).await
    }

    /// The same for somebody who may read, and sends a token.
    pub(super) async fn get_as_reader(&self, path: &str) -> (StatusCode, String, String) {
        let response = self.answer(path, "*/*", true).await;
        whole(response).await
    }

    /// Returns the body of an answer of this kind, or its beginning if it goes on.
    pub(super) async fn beginning(&self, path: &str, kind: &str, has_token: bool) -> String {
        let response = self.answer(path, kind, has_token).await;
        let mut pieces = response.into_body().into_data_stream();
        let mut text = Vec::new();
        let reading = async {
            while let Some(Ok(piece)) = pieces.next().await {
                text.extend_from_slice(&piece);
            }
        };
        let _ = timeout(STREAMS_FOR, reading).await;
        String::from_utf8_lossy(&text).into_owned()
    }

    async fn answer(&self, path: &str, kind: &str, has_token: bool) -> Response<Body> {
        let request = Request::get(path).header("host", "localhost").header("accept", kind);
        let request = match has_token {
            true => request.header("authorization", format!("Bearer {TOKEN}")),
            false => request,
        };
        let tokens = if has_token { Some(reader()) } else { None };
        self.options.send_modify(|options| options.tokens = tokens.unwrap_or_default());
        let router = TowerToHyperService::new(router(Arc::clone(&self.shared)));
        router.call(request.body(Body::empty()).expect("a request")).await.expect("it always answers")
    }
}

/// Returns the token of somebody who may read.
fn reader() -> TokenBook {
    let name = TokenName::parse("maria").expect("a name");
    let token = TokenText::parse(TOKEN).expect("a token").named(name, TokenRight::Read);
    TokenBook::new(vec![token]).expect("it is alone")
}

async fn whole(response: Response<Body>) -> (StatusCode, String, String) {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
    let (status, kind) = (response.status(), kind.unwrap_or_default().to_owned());
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    (status, kind, String::from_utf8_lossy(&body).into_owned())
}
