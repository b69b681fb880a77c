//! The parts of a job's page.

use askama::Template;

use crate::http::page::home::{PageState, PauseLine, SparkDrawing};
use crate::http::page::shell::{
    DueTime, ElapsedTime, HtmlSentence, PageFrame, PagePart, RelativeTime, StoreSight, run_link, top_part,
};
use crate::http::page::timeline::{TimelineLinks, timeline_part};
use crate::job::{JobSpec, Tick};
use crate::store::KEPT_ENTRIES;
use crate::view::history::{TickView, usual_duration};
use crate::view::job::{Definition, JobState, NOT_IN_FILE};
use crate::view::problems::ClusterProblem;
use crate::view::snapshot::Snapshot;
use crate::view::text::time_format::{local, span};
use crate::view::timeline::Picture;

use super::acts::{JobActs, act_part, acts_part};
use super::definition::{DefinitionRow, definition_rows};
use super::outcome::TickLine;

/// How many coming ticks are shown.
const COMING: usize = 5;

/// What the page says before anything was read of the store.
const NOT_KNOWN: &str =
    "What ran, and whether it runs now or is paused, is not known until the store answers.";

/// What the timeline may take, in bytes.
const TIMELINE: usize = 40_000;

/// A question why, and its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedWhy<'a> {
    /// The time, as the visitor wrote it.
    pub(crate) at: &'a str,
    /// What happened then, or what is wrong with the question.
    pub(crate) answer: Result<&'a str, &'a str>,
}

/// What the page of a job shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobFacts<'a> {
    /// The job, with its newest entries.
    pub(crate) job: &'a JobState,
    /// The replicas; its jobs do not matter.
    pub(crate) snapshot: &'a Snapshot,
    /// What is wrong with the cluster and with any of its jobs.
    pub(crate) problems: &'a [ClusterProblem],
    /// What the visitor asks, if anything.
    pub(crate) why: Option<AskedWhy<'a>>,
    /// The job's own ticks of the last days; `None` if it is not known what ran.
    pub(crate) picture: Option<&'a Picture>,
    /// What was done to it, and what the forms need.
    pub(crate) acts: JobActs<'a>,
    /// Whether the store answers.
    pub(crate) store: StoreSight,
}

#[derive(Template)]
#[template(path = "about.html")]
struct About<'a> {
    name: &'a str,
    state: PageState,
    mark: &'static str,
    description: &'a str,
    messages: Vec<&'a str>,
    rows: Vec<DefinitionRow>,
}

#[derive(Template)]
#[template(path = "standing.html")]
struct Standing<'a> {
    base: &'a str,
    unread: Option<&'a str>,
    is_read: bool,
    is_store_away: bool,
    lock: Option<Lock>,
    pause: Option<PauseLine>,
    usual: Option<String>,
    coming: Vec<(DueTime, String)>,
    success: Option<RelativeTime>,
    has_never_succeeded: bool,
    failing: Option<(u64, ElapsedTime)>,
    spark: SparkDrawing,
}

/// Who holds the lock of a job.
#[derive(Debug)]
struct Lock {
    node: String,
    run: Option<String>,
    since: Option<ElapsedTime>,
    is_live: bool,
    left: String,
    fence: String,
}

#[derive(Template)]
#[template(path = "why.html")]
struct Why<'a> {
    base: &'a str,
    name: &'a str,
    zone: &'a str,
    asked: Option<AskedWhy<'a>>,
}

#[derive(Template)]
#[template(path = "ticks.html")]
struct Ticks<'a> {
    base: &'a str,
    zone: &'a str,
    lines: Vec<TickLine>,
    /// The command that lists older ones, if there may be some.
    older: Option<String>,
}

/// Returns the parts of the page.
pub(crate) fn job_parts(frame: &PageFrame<'_>, facts: &JobFacts<'_>) -> Vec<PagePart> {
    let zone = facts.job.spec().map_or("UTC", |spec| spec.schedule.zone_name());
    let links = TimelineLinks { title: "Last 7 days", spans: Vec::new(), orders: Vec::new() };
    vec![
        top_part(frame, facts.snapshot, facts.problems, facts.store),
        about(frame, facts),
        standing(frame, facts),
        act_part(frame, facts, zone),
        acts_part(frame, facts),
        PagePart::of("why", &Why { base: frame.base, name: facts.job.name.as_str(), zone, asked: facts.why }),
        facts.picture.map_or_else(
            || PagePart::hidden("timeline"),
            |picture| timeline_part(picture, &links, frame.base, TIMELINE),
        ),
        ticks(frame, facts, zone),
    ]
}

fn about(frame: &PageFrame<'_>, facts: &JobFacts<'_>) -> PagePart {
    let (job, spec) = (facts.job, facts.job.spec());
    let mark = match (&job.definition, spec) {
        (Definition::Absent, _) => NOT_IN_FILE,
        (Definition::Invalid, _) => "its table in jobs.toml is invalid",
        (_, Some(spec)) if !spec.enabled => "not enabled",
        _ => "",
    };
    let own = facts.problems.iter().filter(|problem| problem.job.as_ref() == Some(&job.name));
    let about = About {
        name: job.name.as_str(),
        state: PageState::of(job, facts.snapshot, facts.store.is_read()),
        mark,
        description: spec.and_then(|spec| spec.description.as_deref()).unwrap_or_default(),
        messages: own.map(|problem| problem.message.as_str()).collect(),
        rows: spec.map(|spec| definition_rows(spec, frame.visitor.sees_output)).unwrap_or_default(),
    };
    PagePart::of("about", &about)
}

fn standing(frame: &PageFrame<'_>, facts: &JobFacts<'_>) -> PagePart {
    let (job, now) = (facts.job, facts.snapshot.ages_to);
    let record = job.record.as_ref();
    let lock = job.running().zip(record).map(|(tick, record)| Lock {
        node: tick.node.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
        run: tick.run.map(|run| run_link(&job.name, run)),
        since: record.started.map(|since| ElapsedTime { since, now }),
        is_live: facts.snapshot.is_holder_alive(record),
        left: span(record.lock_left(facts.snapshot.now)),
        fence: record.fence.to_string(),
    });
    let standing = Standing {
        base: frame.base,
        unread: job.unread.as_deref().or((!facts.store.is_read()).then_some(NOT_KNOWN)),
        is_read: facts.store.is_read(),
        is_store_away: facts.store != StoreSight::Answers,
        lock,
        pause: PauseLine::of(job, facts.snapshot),
        usual: usual_duration(&job.entries).map(span),
        coming: job.spec().map(|spec| coming(spec, facts.snapshot)).unwrap_or_default(),
        success: record.and_then(|record| record.last_success_end).map(|at| RelativeTime { at, now }),
        has_never_succeeded: job.has_never_succeeded(),
        failing: record.and_then(|record| {
            Some((record.failures_in_row, ElapsedTime { since: record.failing_since?, now }))
        }),
        spark: SparkDrawing::of(job),
    };
    PagePart::of("standing", &standing)
}

/// Returns the coming ticks of a job that is enabled.
fn coming(spec: &JobSpec, snapshot: &Snapshot) -> Vec<(DueTime, String)> {
    let now = snapshot.ages_to;
    let ticks = spec.schedule.ticks_after(snapshot.now).take(if spec.enabled { COMING } else { 0 });
    let line = |tick: Tick| (DueTime { at: tick.instant(), now }, local(&spec.schedule, tick));
    ticks.map(line).collect()
}

fn ticks(frame: &PageFrame<'_>, facts: &JobFacts<'_>, zone: &str) -> PagePart {
    if !facts.store.is_read() {
        return PagePart::hidden("ticks");
    }
    let schedule = facts.job.spec().map(|spec| &spec.schedule);
    let mut past: Vec<TickView> = facts.job.past().collect();
    past.reverse();
    let lines = past.iter().map(|tick| TickLine::of(tick, schedule, facts.snapshot.ages_to)).collect();
    let command = || format!("solocron history {} -n {KEPT_ENTRIES}", facts.job.name);
    let older = facts.job.has_older.then(command);
    PagePart::of("ticks", &Ticks { base: frame.base, zone, lines, older })
}
