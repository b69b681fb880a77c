//! The HTTP side of a replica whose store is that of a bench, without sockets.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::TokenRight;
use crate::events::Events;
use crate::job::{JobName, JobSpec, Outcome, RunId, TokenName, Verdict};
use crate::metrics::Metrics;
use crate::relay::LocalOutput;
use crate::replica::ReplicaFacts;
use crate::store::{Beat, BeatRun, Feed, Peer, Store};
use crate::time::{BootInstant, Clock, SystemClock, UtcMillis, Waiting};
use crate::view::testing::{Bench, FILE, NOON, node};

use super::access::token::{TokenBook, TokenText};
use super::board::read_when_due;
use super::route::serve::router;
use super::scrape::health::Progress;
use super::state::{HttpOptions, HttpSources, HttpState};

/// The time of the store.
pub(super) const NOW: UtcMillis = UtcMillis(NOON + 400_000);

/// The first piece of an answer is waited for this long, and an answer that continues is read for so long after it.
const FIRST_PIECE_WITHIN: Duration = Duration::from_secs(20);
const STREAMS_FOR: Duration = Duration::from_millis(300);

/// The HTTP side of a replica. In its store, `backup` has failed once.
pub(super) struct Served {
    pub(super) shared: Arc<HttpState>,
    /// The cluster.
    pub(super) bench: Bench,
    facts: watch::Sender<ReplicaFacts>,
    options: watch::Sender<HttpOptions>,
    _tasks: JoinSet<()>,
}

/// An answer to a request.
#[derive(Debug)]
pub(super) struct ServedAnswer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl ServedAnswer {
    /// The value of a header; empty if there is none.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The clock of a machine that started a day before this one did: whatever a test reports as long ago is not before its start.
#[derive(Debug)]
struct UpForADay;

impl UpForADay {
    const LONGER: Duration = Duration::from_secs(24 * 60 * 60);
}

impl Clock for UpForADay {
    fn utc(&self) -> UtcMillis {
        SystemClock.utc()
    }

    fn boot(&self) -> BootInstant {
        SystemClock.boot().plus(Self::LONGER)
    }

    fn wait_until(&self, at: UtcMillis) -> Waiting<'_> {
        SystemClock.wait_until(at)
    }

    fn wait_until_boot(&self, at: BootInstant) -> BoxFuture<'_, ()> {
        SystemClock.wait_until_boot(BootInstant(at.0.saturating_sub(Self::LONGER)))
    }
}

/// The tokens of `grafana`, which may read, and of `maria`, which may act.
pub(super) const TOKENS: [&str; 2] =
    ["rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];

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
        let jobs = Arc::new(bench.config.jobs.clone());
        let options = HttpOptions { jobs, ..HttpOptions::default() };
        let (options, facts) = (watch::Sender::new(options), watch::Sender::default());
        let clock: Arc<dyn Clock> = Arc::new(UpForADay);
        let sources = HttpSources {
            options: options.subscribe(),
            facts: facts.subscribe(),
            progress: Arc::new(Progress::from(clock.boot())),
            metrics: Metrics::new(std::iter::empty(), Arc::clone(&clock)),
            events: Events::of(node("n1")),
            output: LocalOutput::new(bench.folder.path()),
            store_kind: "local",
            dropped_log_lines: || 0,
            clock,
        };
        let shared = Arc::new(HttpState::new(([127, 0, 0, 1], 0).into(), sources, Arc::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(read_when_due(Arc::clone(&shared), Arc::new(bench.store_again())));
        Self { shared, bench, facts, options, _tasks: tasks }
    }

    /// Sets up the tokens of `grafana` and `maria`.
    pub(super) fn with_tokens(self) -> Self {
        self.set_tokens(tokens());
        self
    }

    /// Sets up these tokens.
    pub(super) fn set_tokens(&self, tokens: TokenBook) {
        self.options.send_modify(|options| options.tokens = tokens);
    }

    /// Adds so many jobs to the file, named `more0`, `more1`, ….
    pub(super) fn define_more(&self, count: usize) {
        self.options.send_modify(|options| {
            let backup = Arc::clone(&options.jobs[&JobName::parse("backup").expect("a name")]);
            let more = (0..count).map(|number| {
                let name = JobName::parse(&format!("more{number}")).expect("a name");
                (name.clone(), Arc::new(JobSpec { name, ..(*backup).clone() }))
            });
            Arc::make_mut(&mut options.jobs).extend(more);
        });
    }

    /// Reports that the store answers, or does not any more.
    pub(super) fn report(&self, is_store_away: bool) {
        self.report_after(Duration::ZERO, is_store_away);
    }

    /// Reports the same, this long after the last answer.
    pub(super) fn report_after(&self, silence: Duration, is_store_away: bool) {
        let BootInstant(now) = self.shared.clock.boot();
        let answered = Some(BootInstant(now.saturating_sub(silence)));
        self.facts.send_replace(ReplicaFacts {
            answered,
            store_now: Some(NOW),
            is_store_away,
            ..ReplicaFacts::default()
        });
    }

    /// Reports that another replica runs this run.
    pub(super) fn list_run(&self, job: &str, run: RunId) {
        let beat = Beat::of(node("n2"), RunId::new(), "one".to_owned(), NOW);
        let run = BeatRun { job: JobName::parse(job).expect("a name"), run, lease_ms: 30_000, end: None };
        let peer = Peer { at: NOW, beat: Beat { running: vec![run], ..beat } };
        self.facts.send_modify(|facts| facts.peers = Arc::new([peer]));
    }

    /// Reports that the replica drains.
    pub(super) fn drain(&self) {
        self.facts.send_modify(|facts| facts.is_draining = true);
    }

    /// Appends a line to the feed of news.
    pub(super) async fn append(&self, line: &str) {
        self.bench.store_again().append(Feed::Recent, line).await.expect("the file is its own");
    }

    /// Writes the log of a run to this machine.
    pub(super) fn write_log(&self, job: &str, run: RunId, text: &str) {
        let folder = self.bench.folder.path().join("runs").join(job);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("{run}.log")), text).expect("written");
    }

    /// Returns the answer to a GET of this path: its status, its kind, and its body.
    pub(super) async fn get(&self, path: &str) -> (StatusCode, String, String) {
        self.got(Request::get(path)).await
    }

    /// Returns the same answer for somebody who may read, and sends a token.
    pub(super) async fn get_as_reader(&self, path: &str) -> (StatusCode, String, String) {
        self.set_tokens(tokens());
        self.got(as_reader(Request::get(path))).await
    }

    async fn got(&self, request: Builder) -> (StatusCode, String, String) {
        let answer = self.send(request, "").await;
        let kind = answer.header("content-type").to_owned();
        (StatusCode::from_u16(answer.status).expect("a status"), kind, answer.body)
    }

    /// Returns the answer to a request with this body.
    pub(super) async fn send(&self, request: Builder, body: &str) -> ServedAnswer {
        let (parts, body) = self.answer(request, body).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        let body = String::from_utf8_lossy(&body).into_owned();
        ServedAnswer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// Returns the body of an answer of this kind, or its beginning if it goes on. Without a token, none are set up.
    pub(super) async fn beginning(&self, path: &str, kind: &str, has_token: bool) -> String {
        self.set_tokens(if has_token { tokens() } else { TokenBook::default() });
        let request = Request::get(path).header("accept", kind);
        let request = if has_token { as_reader(request) } else { request };
        let mut pieces = self.answer(request, "").await.into_body().into_data_stream();
        let mut text = Vec::new();
        if let Ok(Some(Ok(piece))) = timeout(FIRST_PIECE_WITHIN, pieces.next()).await {
            text.extend_from_slice(&piece);
        }
        let reading = async {
            while let Some(Ok(piece)) = pieces.next().await {
                text.extend_from_slice(&piece);
            }
        };
        let _ = timeout(STREAMS_FOR, reading).await;
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Returns the answer to a request with this body, which may go on.
    pub(super) async fn answer(&self, request: Builder, body: &str) -> Response<Body> {
        let request = request.header("host", "localhost").body(Body::from(body.to_owned()));
        let router = TowerToHyperService::new(router(Arc::clone(&self.shared)));
        router.call(request.expect("a request")).await.expect("it always answers")
    }
}

/// The tokens of `grafana` and `maria`.
pub(super) fn tokens() -> TokenBook {
    let named = |name: &str, may, text| {
        let name = TokenName::parse(name).expect("a name");
        TokenText::parse(text).unwrap_or_else(|error| panic!("{}", error.what)).named(name, may)
    };
    let [read, act] = TOKENS;
    let tokens = vec![named("grafana", TokenRight::Read, read), named("maria", TokenRight::Act, act)];
    TokenBook::new(tokens).expect("they differ")
}

fn as_reader(request: Builder) -> Builder {
    request.header("authorization", format!("Bearer {}", TOKENS[0]))
}
