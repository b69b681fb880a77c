//! What each page shows, read from the board.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};

use crate::http::board::EndedRun;
use crate::http::page::answer::{LOADED_AGAIN, error_page, html, unshown_page};
use crate::http::page::home::{HomeAddress, HomeFacts, TROUBLES_SHOWN, home_parts};
use crate::http::page::job::{
    AskedWhy, JobActs, JobFacts, RunFacts, RunOutput, SHOWN_ACTS, job_parts, run_parts,
};
use crate::http::page::replicas::replicas_parts;
use crate::http::page::shell::{PagePart, PageTitle, page};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::job::{JobName, Outcome, RunId};
use crate::store::KEPT_ENTRIES;
use crate::view::explanation::When;
use crate::view::history::TickView;
use crate::view::job::{Definition, JOBS_PER_PAGE, JobCondition, JobState, KnownJob};
use crate::view::problems::{ClusterProblem, Kind, problems_again};
use crate::view::snapshot::Snapshot;
use crate::view::timeline::{LaneOrder, TimelineSpan};

use super::context::{PageContext, store_sight};
use super::output::seen_output;
use super::past::picture;
use super::stream::stream_of;
use super::unread::{is_told_by_the_file, unread_home, unread_job};

/// The longest time that may be asked about, in characters.
const LONGEST_TIME: usize = 64;

/// The states of more jobs than this take longer to read than a page may take. Until they are read, the first page shows what
/// the file tells, and its stream brings the rest.
const MANY_JOBS: usize = 1_000;

/// Of so many jobs with problems, what they did last is read.
const MOST_TROUBLED: usize = 50;

/// A page, and what it keeps of what was read for it.
#[derive(Debug)]
pub(super) enum PageScreen {
    /// The first page.
    Home(HomeAddress),
    /// A job, what is asked about it, and the answer once it is known.
    Job { job: JobName, at: String, answer: Option<Result<String, String>> },
    /// A run.
    Run(RunScreen),
    /// The replicas.
    Replicas,
}

/// What the page of a run shows, and what was read for it.
#[derive(Debug)]
pub(super) struct RunScreen {
    job: JobName,
    run: RunId,
    /// The byte of its output before which the page shows it; `None`: its end.
    before: Option<u64>,
    /// How it ended, with the end of what it printed, once that was read.
    ended: Option<Box<TickView>>,
    /// What was last known of it.
    known: Option<Box<TickView>>,
}

/// Answers with the first page.
pub(super) async fn home(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let address = HomeAddress::parse(|name| call.query(name));
    answered(PageScreen::Home(address), shared, call).await
}

/// Answers with the page of a job.
pub(super) async fn job(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let at: String = call.query("at").unwrap_or_default().trim().chars().take(LONGEST_TIME).collect();
    match job_of(&call) {
        Some(job) => answered(PageScreen::Job { job, at, answer: None }, shared, call).await,
        None => error_page(no_such_page(), &shared.options.borrow(), &call.parts.headers),
    }
}

/// Answers with the page of a run.
pub(super) async fn run(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let run = call.path("run").and_then(|run| run.parse::<RunId>().ok());
    match job_of(&call).zip(run) {
        Some((job, run)) => {
            let before = call.query("before").and_then(|before| before.parse().ok());
            let screen = RunScreen { job, run, before, ended: None, known: None };
            answered(PageScreen::Run(screen), shared, call).await
        }
        None => error_page(no_run_id(), &shared.options.borrow(), &call.parts.headers),
    }
}

fn no_run_id() -> ProblemDetails {
    no_such_page().help("the address of a run has its whole id; the page of its job leads there")
}

/// Answers with the page of the replicas.
pub(super) async fn replicas(shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    answered(PageScreen::Replicas, shared, call).await
}

pub(super) fn job_of(call: &AdmittedRequest) -> Option<JobName> {
    call.path("job").and_then(|name| JobName::parse(name).ok())
}

pub(super) fn no_such_page() -> ProblemDetails {
    ProblemDetails::new(StatusCode::NOT_FOUND, "no such page")
}

/// Answers with a page, or with the stream of its changes.
async fn answered(mut screen: PageScreen, shared: Arc<HttpState>, call: AdmittedRequest) -> Response<Body> {
    let context = PageContext::of(&shared, &call);
    if context.is_streamed() {
        return stream_of(screen, context, shared, &call);
    }
    match screen.parts(&shared, &context).await {
        Ok(parts) => {
            let now = shared.store_now();
            let asked = if let PageScreen::Home(address) = &screen { address.refresh() } else { None };
            let refresh = asked.or_else(|| shared.board.unread_jobs().map(|_| LOADED_AGAIN));
            html(StatusCode::OK, page(&context.frame(now, refresh), screen.title(), &parts))
        }
        Err(problem) => unshown_page(problem, &shared.options.borrow(), &call.parts.headers),
    }
}

impl PageScreen {
    fn title(&self) -> PageTitle<'_> {
        match self {
            Self::Home(_) => PageTitle { text: "Jobs", nav: "/" },
            Self::Job { job, .. } | Self::Run(RunScreen { job, .. }) => {
                PageTitle { text: job.as_str(), nav: "" }
            }
            Self::Replicas => PageTitle { text: "Replicas", nav: "/replicas" },
        }
    }

    /// Returns the parts of the page as they are now.
    pub(super) async fn parts(
        &mut self,
        shared: &HttpState,
        context: &PageContext,
    ) -> Result<Vec<PagePart>, ProblemDetails> {
        match self {
            Self::Home(address) => home_screen(address, shared, context).await,
            Self::Job { job, at, answer } => job_screen(job, at, answer, shared, context).await,
            Self::Run(screen) => screen.parts(shared, context).await,
            Self::Replicas => {
                let listed = shared.board.list().await?;
                let view = shared.board.view(&[]).await?;
                let frame = context.frame(shared.store_now(), None);
                Ok(shared.board.expecting(|expected| {
                    let problems = &listed.list.problems;
                    replicas_parts(&frame, &view.snapshot, problems, expected.file, store_sight(&view))
                }))
            }
        }
    }
}

async fn home_screen(
    address: &HomeAddress,
    shared: &HttpState,
    context: &PageContext,
) -> Result<Vec<PagePart>, ProblemDetails> {
    let has_many = shared.options.borrow().jobs.len() > MANY_JOBS;
    let listed = if has_many && is_told_by_the_file(address) && !context.is_streamed() {
        shared.board.list_at_once()
    } else {
        shared.board.list().await
    };
    let listed = match listed {
        Ok(listed) => listed,
        Err(unread) => {
            let jobs = shared.board.unread_jobs().ok_or(unread)?;
            return Ok(unread_home(address, &jobs, &context.frame(shared.store_now(), address.refresh())));
        }
    };
    let condition = address.job_condition();
    let page = listed.list.page(&address.query(condition));
    let view = shared.board.view(&page.jobs).await?;
    let troubled_jobs = troubled(&listed.list.problems);
    let mut troubled = shared.board.view(&troubled_jobs).await?;
    // The list may have been made before their entries were read, which say what failed.
    let problems = &shared
        .board
        .expecting(|expected| problems_again(&listed.list.problems, &troubled.snapshot, expected));
    let last_acts = match troubled_jobs[..] {
        [] => Vec::new(),
        _ => shared.seen_acts.last_done(shared, &troubled_jobs).await,
    };
    if context.sees_output() {
        add_tails(&mut troubled.snapshot, problems, shared).await;
    }
    let news = shared.board.news().await;
    let picture = shared
        .board
        .expecting(|expected| picture(&view.snapshot, &news, address.order, address.span, expected.file));
    let counts: Vec<(&str, usize)> = JobCondition::ALL
        .into_iter()
        .map(|condition| (condition.as_str(), listed.list.count(Some(condition))))
        .collect();
    let facts = HomeFacts {
        address: &address.showing(condition, page.page),
        listed: &view.snapshot,
        troubled: &troubled.snapshot,
        problems,
        counts: (listed.list.count(None), &counts),
        matching: (page.wanted, JOBS_PER_PAGE),
        last_acts: &last_acts,
        picture: Some(&picture),
        store: store_sight(&view),
    };
    Ok(home_parts(&context.frame(shared.store_now(), address.refresh()), &facts))
}

/// Returns the jobs that the first problems are about.
fn troubled(problems: &[ClusterProblem]) -> Vec<JobName> {
    let mut jobs: Vec<JobName> = problems.iter().filter_map(|problem| problem.job.clone()).collect();
    jobs.dedup();
    jobs.truncate(MOST_TROUBLED);
    jobs
}

/// Adds the end of what failed runs printed to the jobs of the first problems.
async fn add_tails(snapshot: &mut Snapshot, problems: &[ClusterProblem], shared: &HttpState) {
    let about_runs = problems.iter().take(TROUBLES_SHOWN).filter(|problem| problem.kind == Kind::LastOutcome);
    let names: Vec<&JobName> = about_runs.filter_map(|problem| problem.job.as_ref()).collect();
    let last = |job: &JobState| job.decided().rev().find_map(|tick| tick.run);
    let jobs = snapshot.jobs.iter().filter(|job| names.contains(&&job.name));
    let runs: Vec<EndedRun> =
        jobs.filter_map(|job| Some(EndedRun { job: job.name.clone(), run: last(job)? })).collect();
    let tails = shared.board.tails(&runs).await;
    for entry in snapshot.jobs.iter_mut().flat_map(|job| &mut job.entries) {
        if let Some(tail) = entry.run.and_then(|run| tails.get(&run)) {
            entry.tail = Some(tail.clone());
        }
    }
}

async fn job_screen(
    job: &JobName,
    at: &str,
    answer: &mut Option<Result<String, String>>,
    shared: &HttpState,
    context: &PageContext,
) -> Result<Vec<PagePart>, ProblemDetails> {
    let view = match shared.board.view_one(job).await {
        Ok(view) => view,
        Err(unread) => {
            let jobs = shared.board.unread_jobs().filter(|jobs| jobs.is_store_away);
            let jobs = jobs.ok_or_else(|| unread.clone())?;
            let parts = unread_job(job, at, &jobs, shared, context).await;
            return parts.ok_or_else(|| unread.into());
        }
    };
    let listed = shared.board.list().await?;
    let problems =
        &shared.board.expecting(|expected| problems_again(&listed.list.problems, &view.snapshot, expected));
    if !at.is_empty() && answer.is_none() {
        *answer = Some(explained(job, at, shared).await);
    }
    let why = answer
        .as_ref()
        .map(|answer| AskedWhy { at, answer: answer.as_ref().map(String::as_str).map_err(String::as_str) });
    let Some(state) = view.snapshot.jobs.first() else { return Err(no_such_page()) };
    let news = shared.board.news().await;
    let picture = shared.board.expecting(|expected| {
        picture(&view.snapshot, &news, LaneOrder::ByReplica, TimelineSpan::Week, expected.file)
    });
    let last = shared.seen_acts.of_job(shared, job, SHOWN_ACTS).await;
    let acts = JobActs { last: &last, order: context.next_order(job, state.record.as_ref()) };
    let facts = JobFacts {
        job: state,
        snapshot: &view.snapshot,
        problems,
        why,
        picture: Some(&picture),
        acts,
        store: store_sight(&view),
    };
    Ok(job_parts(&context.frame(shared.store_now(), None), &facts))
}

/// Says what happened to a job at a time, or what is wrong with the question.
async fn explained(job: &JobName, at: &str, shared: &HttpState) -> Result<String, String> {
    let when = When::read(at).map_err(|error| format!("{}: {}", error.message, error.help))?;
    let mut snapshot = read(job, shared).await?;
    let Some(store) = shared.board.turn().await else { return Err(no_store()) };
    snapshot.ask_why(&*store).await;
    let state = snapshot.jobs.first().ok_or_else(|| format!("there is no job `{job}`"))?;
    when.explain(state, &snapshot).map_err(|error| error.to_string())
}

pub(super) fn no_store() -> String {
    "the store does not answer".to_owned()
}

/// Reads a job with all of its kept entries and their output.
async fn read(job: &JobName, shared: &HttpState) -> Result<Snapshot, String> {
    let spec = shared.options.borrow().jobs.get(job).cloned();
    let absent = || KnownJob { name: job.clone(), definition: Definition::Absent };
    let known = spec.map_or_else(absent, KnownJob::from);
    if shared.facts.borrow().is_store_away {
        return Err(no_store());
    }
    let Some(store) = shared.board.turn().await else { return Err(no_store()) };
    Snapshot::take(&*store, vec![known], KEPT_ENTRIES).await.map_err(|error| error.to_string())
}

impl RunScreen {
    /// Returns what was last known of the run.
    pub(super) fn tick(&self) -> Option<&TickView> {
        self.known.as_deref()
    }

    async fn parts(
        &mut self,
        shared: &HttpState,
        context: &PageContext,
    ) -> Result<Vec<PagePart>, ProblemDetails> {
        let view = shared.board.view_one(&self.job).await?;
        let listed = shared.board.list().await?;
        let Some(state) = view.snapshot.jobs.first() else { return Err(no_such_page()) };
        let known = state.past().find(|tick| tick.run == Some(self.run));
        let is_running = known.as_ref().is_some_and(|tick| tick.outcome == Outcome::Running);
        let is_enough = is_running || context.is_streamed() && known.is_some();
        if !is_enough && self.ended.is_none() {
            // Without it, the page shows what the board knows.
            let past = read(&self.job, shared).await.map(|snapshot| snapshot.jobs).unwrap_or_default();
            let past = past.first().into_iter().flat_map(|job| job.decided());
            self.ended = past.into_iter().find(|tick| tick.run == Some(self.run)).map(Box::new);
        }
        let Some(tick) = self.ended.clone().or(known.map(Box::new)) else {
            let problem = ProblemDetails::new(StatusCode::NOT_FOUND, "no such run");
            return Err(problem.help(format!("the store keeps the newest {KEPT_ENTRIES} ticks of each job")));
        };
        let sight;
        // A browser that is sent changes has what was printed before.
        let output = match context.is_streamed() {
            true => RunOutput::Untouched,
            false if !context.sees_output() => RunOutput::Hidden,
            false => {
                sight = seen_output(shared, &tick, self.before).await;
                RunOutput::Seen(&sight)
            }
        };
        let facts = RunFacts {
            job: state,
            tick: &tick,
            snapshot: &view.snapshot,
            problems: &listed.list.problems,
            output,
            store: store_sight(&view),
        };
        let parts = run_parts(&context.frame(shared.store_now(), None), &facts);
        self.known = Some(tick);
        Ok(parts)
    }
}
