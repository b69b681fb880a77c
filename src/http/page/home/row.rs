//! A job in the list: how it stands, what it did last, and what comes.

use askama::Template;

use crate::http::page::shell::{DueTime, ElapsedTime, IN_A_ROW, PagePart, RelativeTime, excerpt, run_link};
use crate::job::Outcome;
use crate::lease::Pausing;
use crate::view::history::usual_duration;
use crate::view::job::{Definition, JobState, NEW, NOT_IN_FILE, WELL};
use crate::view::snapshot::Snapshot;
use crate::view::text::sparkline::{SparkForm, SparkPath, Sparkline};
use crate::view::text::time_format::{local, span};

/// How a job stands, by what matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageState {
    /// Its newest ticks did not succeed.
    Failing,
    /// It has a run.
    Running,
    /// Its ticks are skipped.
    Paused,
    /// The file does not enable it, or does not name it.
    Off,
    /// Its last tick succeeded.
    Well,
    /// It has decided no tick yet, or none that counts.
    New,
    /// Nothing was read of it.
    Unknown,
}

impl PageState {
    /// Returns the state of a job of this snapshot. `is_read`: whether anything was read of it.
    pub(crate) fn of(job: &JobState, snapshot: &Snapshot, is_read: bool) -> Self {
        let record = job.record.as_ref();
        let is_off = matches!(job.definition, Definition::Absent) || !job.definition.may_run();
        match record {
            _ if is_off && job.running().is_none() => Self::Off,
            _ if !is_read => Self::Unknown,
            _ if job.unread.is_some() || job.is_failing() => Self::Failing,
            Some(_) if job.running().is_some() => Self::Running,
            Some(record) if record.paused > Some(snapshot.now) => Self::Paused,
            Some(record) if record.last_success_tick.is_some() => Self::Well,
            _ => Self::New,
        }
    }

    /// Returns its word, which is also its class in the style sheet.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Off => "off",
            Self::Well => WELL,
            Self::New => NEW,
            Self::Unknown => "unknown",
        }
    }

    /// Returns its sign.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Failing => "✗",
            Self::Running => "●",
            Self::Paused => "‖",
            Self::Off => "○",
            Self::Well => "✓",
            Self::New => "·",
            Self::Unknown => "?",
        }
    }
}

/// A path of a sparkline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SparkStroke {
    pub(crate) form: &'static str,
    /// Whether its marks stand at its points; otherwise it is drawn itself.
    pub(crate) has_marks: bool,
    pub(crate) data: String,
}

/// The newest ticks of a job as a drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SparkDrawing {
    pub(crate) title: String,
    pub(crate) strokes: Vec<SparkStroke>,
}

impl SparkDrawing {
    /// Returns the drawing of a job.
    pub(crate) fn of(job: &JobState) -> Self {
        let line = Sparkline::of(&job.entries);
        let stroke = |path: SparkPath| SparkStroke {
            form: path.form.as_str(),
            has_marks: path.form != SparkForm::Ran,
            data: path.data,
        };
        Self { title: line.title().to_owned(), strokes: line.paths().into_iter().map(stroke).collect() }
    }
}

/// What a job did last.
#[derive(Debug)]
struct LastTick {
    /// `failed, exit code 3`
    text: String,
    link: Option<String>,
    at: RelativeTime,
    node: Option<String>,
}

/// The run of a job.
#[derive(Debug)]
struct CurrentLine {
    node: String,
    link: Option<String>,
    since: Option<ElapsedTime>,
    is_live: bool,
    fence: String,
}

#[derive(Template)]
#[template(path = "row.html")]
struct Row<'a> {
    base: &'a str,
    name: &'a str,
    state: PageState,
    is_read: bool,
    description: &'a str,
    schedule: Option<(String, String)>,
    last: Option<LastTick>,
    running: Option<CurrentLine>,
    spark: SparkDrawing,
    took: Option<String>,
    usual: Option<String>,
    next: Option<(DueTime, String)>,
    next_word: &'static str,
    pause: Option<PauseLine>,
}

/// The pause of a job, in words.
#[derive(Debug, Clone)]
pub(crate) struct PauseLine {
    pub(crate) by: String,
    pub(crate) since: RelativeTime,
    pub(crate) until: Option<RelativeTime>,
    pub(crate) why: String,
}

impl PauseLine {
    /// Returns the pause of a job that is paused now.
    pub(crate) fn of(job: &JobState, snapshot: &Snapshot) -> Option<Self> {
        let now = snapshot.ages_to;
        let pausing = job.record.as_ref()?.pausing()?;
        let until = pausing.until.filter(|until| *until > snapshot.now)?;
        let ends = until < Pausing::UNTIL_RESUMED;
        Some(Self {
            by: pausing.by,
            since: RelativeTime { at: pausing.at, now },
            until: ends.then_some(RelativeTime { at: until, now }),
            why: pausing.why.unwrap_or_default(),
        })
    }
}

/// Returns the row of a job. `is_read`: whether anything was read of it.
pub(crate) fn row_part(job: &JobState, snapshot: &Snapshot, base: &str, is_read: bool) -> PagePart {
    let (now, spec) = (snapshot.ages_to, job.spec());
    let decided = job.decided().next_back();
    let last = decided.as_ref().map(|tick| LastTick {
        text: ended(&tick.verdict_in_words(), tick.exit(), tick.outcome),
        link: tick.run.map(|run| run_link(&job.name, run)),
        at: RelativeTime { at: tick.ended(), now },
        node: tick.node.as_ref().map(ToString::to_string),
    });
    let next = spec.filter(|spec| spec.enabled).and_then(|spec| {
        let tick = spec.schedule.next_after(snapshot.now)?;
        Some((DueTime { at: tick.instant(), now }, local(&spec.schedule, tick)))
    });
    let next_word = match spec {
        _ if matches!(job.definition, Definition::Absent) => NOT_IN_FILE,
        Some(spec) if !spec.enabled => "not enabled",
        Some(_) => "never again",
        None => "?",
    };
    let description = spec.and_then(|spec| spec.description.as_deref()).unwrap_or_default();
    let row = Row {
        base,
        name: job.name.as_str(),
        state: PageState::of(job, snapshot, is_read),
        is_read,
        description: &excerpt(description, IN_A_ROW),
        schedule: spec.map(|spec| {
            let written: Vec<&str> = spec.schedule.expressions().collect();
            let written = format!("{} ({})", written.join("  "), spec.schedule.zone_name());
            (excerpt(&spec.schedule.words(), IN_A_ROW).into_owned(), excerpt(&written, IN_A_ROW).into_owned())
        }),
        last,
        running: current(job, snapshot),
        spark: SparkDrawing::of(job),
        took: decided.as_ref().and_then(|tick| tick.took(now)).map(span),
        usual: usual_duration(&job.entries).map(span),
        next,
        next_word,
        pause: PauseLine::of(job, snapshot),
    };
    PagePart::of(format!("job-{}", job.name), &row)
}

/// Returns how a tick ended, in these words, with how its command ended: `failed, exit code 3`.
pub(crate) fn ended(words: &str, exit: Option<String>, outcome: Outcome) -> String {
    match exit.filter(|exit| outcome != Outcome::Succeeded && exit != "0") {
        Some(exit) if exit.starts_with("SIG") => format!("{words}, {exit}"),
        Some(exit) => format!("{words}, exit code {exit}"),
        None => words.to_owned(),
    }
}

fn current(job: &JobState, snapshot: &Snapshot) -> Option<CurrentLine> {
    let (tick, record) = (job.running()?, job.record.as_ref()?);
    Some(CurrentLine {
        node: tick.node.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
        link: tick.run.map(|run| run_link(&job.name, run)),
        since: record.started.map(|since| ElapsedTime { since, now: snapshot.ages_to }),
        is_live: snapshot.is_holder_alive(record),
        fence: record.fence.to_string(),
    })
}
