//! What the handlers of requests share.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use tokio::sync::watch;

use crate::config::BaseUrl;
use crate::events::Events;
use crate::metrics::{HttpTally, JobPart, JobSeries, Metrics, SeriesMode};
use crate::news::OwnNews;
use crate::relay::LocalOutput;
use crate::replica::ReplicaFacts;
use crate::time::{BootInstant, Clock, UtcMillis};

use super::access::throttle::WrongTokens;
use super::access::token::TokenBook;
use super::acts::{ActLimits, SeenActs};
use super::board::Board;
use super::board::standings::{JobsByName, SweepCounts, SweepFindings};
use super::live::{Outputs, StreamSlots};
use super::route::large::LargeAnswers;
use super::route::serve::ConnectionPeer;
use super::route::table::routes;
use super::scrape::health::Progress;

/// What jobs.toml says that concerns HTTP. A reload replaces it; only the address stays.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The name of the cluster.
    pub cluster: String,
    /// Names by which browsers reach it, in lower case, besides `localhost` and that of `url`.
    pub hosts: BTreeSet<String>,
    /// The base of links.
    pub url: Option<BaseUrl>,
    /// Who may read, and who may act.
    pub tokens: TokenBook,
    /// Every job of the file, enabled or not.
    pub jobs: Arc<JobsByName>,
}

/// What the HTTP server needs of its replica.
#[derive(Debug)]
pub struct HttpSources {
    /// What jobs.toml says.
    pub options: watch::Receiver<HttpOptions>,
    /// What the replica reports about itself.
    pub facts: watch::Receiver<ReplicaFacts>,
    /// When the loop of the replica last moved.
    pub progress: Arc<Progress>,
    /// What the replica counts.
    pub metrics: Metrics,
    /// What happens on the replica.
    pub events: Events,
    /// The output of the runs that this machine has logs of.
    pub output: LocalOutput,
    /// The kind of its store: `redis` or `local`.
    pub store_kind: &'static str,
    /// Returns how many lines of its log were dropped since it started.
    pub dropped_log_lines: fn() -> u64,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
}

/// What the handlers of requests share.
#[derive(Debug)]
pub(super) struct HttpState {
    /// Where the server listens.
    pub(super) address: SocketAddr,
    pub(super) options: watch::Receiver<HttpOptions>,
    pub(super) facts: watch::Receiver<ReplicaFacts>,
    pub(super) progress: Arc<Progress>,
    pub(super) metrics: Metrics,
    pub(super) events: Events,
    pub(super) store_kind: &'static str,
    pub(super) dropped_log_lines: fn() -> u64,
    pub(super) clock: Arc<dyn Clock>,
    /// What the server counts.
    pub(super) tally: Arc<HttpTally>,
    /// The addresses that sent wrong tokens lately.
    pub(super) wrong_tokens: WrongTokens,
    /// What is known of all jobs while somebody looks.
    pub(super) board: Board,
    /// The slots for streams.
    pub(super) streams: StreamSlots,
    /// The slots for answers about all jobs.
    pub(super) large_answers: LargeAnswers,
    /// The limits of acts.
    pub(super) acts: ActLimits,
    /// What operators did lately.
    pub(super) seen_acts: SeenActs,
    /// The outputs that clients read.
    pub(super) outputs: Outputs,
    jobs: Mutex<KnownJobs>,
}

/// What is known of all jobs.
#[derive(Debug)]
struct KnownJobs {
    /// The jobs that `series` is of.
    file: Arc<JobsByName>,
    series: JobSeries,
    counts: SweepCounts,
    scraped: Option<BootInstant>,
}

impl HttpState {
    /// Returns what handlers share, for a server at this address.
    /// `own` is what this process told lately.
    pub(super) fn new(address: SocketAddr, sources: HttpSources, own: Arc<OwnNews>) -> Self {
        let HttpSources {
            options,
            facts,
            progress,
            metrics,
            events,
            output,
            store_kind,
            dropped_log_lines,
            clock,
        } = sources;
        let file = Arc::clone(&options.borrow().jobs);
        let series = JobSeries::of(file.values(), clock.utc());
        let jobs = KnownJobs { file, series, counts: SweepCounts::default(), scraped: None };
        let mut paths: Vec<&'static str> = routes().iter().map(|route| route.path).collect();
        // Rows of one path, with different methods, stand together.
        paths.dedup();
        Self {
            address,
            board: Board::new(options.clone(), facts.clone(), Arc::clone(&clock), own),
            streams: StreamSlots::default(),
            large_answers: LargeAnswers::default(),
            acts: ActLimits::default(),
            seen_acts: SeenActs::default(),
            outputs: Outputs::new(output),
            options,
            facts,
            progress,
            metrics,
            events,
            store_kind,
            dropped_log_lines,
            clock,
            tally: Arc::new(HttpTally::of(&paths)),
            wrong_tokens: WrongTokens::default(),
            jobs: Mutex::new(jobs),
        }
    }

    /// Returns what the store's clock shows now, as far as its last answer tells; before that, this machine's.
    pub(super) fn store_now(&self) -> UtcMillis {
        self.facts.borrow().store_time(&*self.clock)
    }

    /// Counts a wrong token, after the time that its answer takes at least. Returns how long its address should wait, if it
    /// has sent too many.
    pub(super) async fn count_wrong_token(&self, parts: &Parts) -> Option<Duration> {
        let told_to_wait = self.wrong_tokens.delay().await;
        self.tally.count_wrong_token();
        let peer = parts.extensions.get::<ConnectionPeer>()?.0.ip();
        self.wrong_tokens.count(peer, self.clock.boot()).or(told_to_wait)
    }

    /// Notes that somebody scrapes.
    pub(super) fn note_scrape(&self) {
        let now = self.clock.boot();
        self.jobs().scraped = Some(now);
    }

    /// Whether somebody has scraped within this time.
    pub(super) fn was_scraped_within(&self, time: Duration, now: BootInstant) -> bool {
        self.jobs().scraped.is_some_and(|scraped| now.since(scraped) <= time)
    }

    /// Takes in what a sweep found of these jobs.
    pub(super) fn take_in(&self, file: &Arc<JobsByName>, findings: SweepFindings) {
        let mut jobs = self.jobs();
        // Findings about a file that was replaced meanwhile say nothing about this one.
        if !Arc::ptr_eq(&jobs.file, file) {
            return;
        }
        jobs.counts = findings.counts;
        findings.figures.into_iter().for_each(|(job, figures)| jobs.series.learn(&job, figures));
    }

    /// Returns the numbers of the jobs for a scrape that asks for this mode.
    pub(super) fn job_part(&self, mode: Option<SeriesMode>) -> JobPart {
        let now = self.store_now();
        self.jobs().series.part(mode, self.metrics.tally(), now)
    }

    /// Returns the counts of the last sweep.
    pub(super) fn sweep_counts(&self) -> SweepCounts {
        self.jobs().counts
    }

    /// Locks what is known of all jobs, with the series of those of the file in effect.
    fn jobs(&self) -> MutexGuard<'_, KnownJobs> {
        let file = Arc::clone(&self.options.borrow().jobs);
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&jobs.file, &file) {
            jobs.series.reload(file.values(), self.clock.utc());
            jobs.file = file;
        }
        jobs
    }
}
