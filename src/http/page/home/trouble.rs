//! What is wrong, the worst first: each with what somebody needs who is woken up by it.

use askama::Template;

use crate::http::page::shell::{
    DueTime, HtmlLine, HtmlSentence, IN_A_ROW, PageFrame, PagePart, RelativeTime, StoreSight, excerpt,
    html_lines, run_link,
};
use crate::operate::audit::{ActKind, ActNote};
use crate::time::UtcMillis;
use crate::view::job::JobState;
use crate::view::problems::{ClusterProblem, Kind};
use crate::view::text::output_line::OutputLine;

use super::list::HomeFacts;
use super::row::PauseLine;

/// At most so many are shown one by one: nobody reads more, and all of them are in the list of jobs.
pub(crate) const TROUBLES_SHOWN: usize = 20;

/// The act that may be done to a job whether it is paused or not, with the text of its link.
const RUN_ONCE: (ActKind, &str) = (ActKind::Trigger, "run once…");

/// What the page says while the store is read for the first time.
const NOT_KNOWN_YET: &str = "What ran, what runs now and what is paused is shown in a moment.";

/// What the page says if nothing was read of a store that does not answer.
const NOT_KNOWN: &str = "What ran, what runs now and what is paused is not known until it answers.";

/// So many lines of a job's output are shown, the last ones.
const LAST_LINES: usize = 2;

/// One thing that is wrong.
#[derive(Debug)]
struct Trouble {
    message: String,
    job: Option<String>,
    run: Option<String>,
    lines: Vec<HtmlLine>,
    next: Option<DueTime>,
    is_running: bool,
    pause: Option<PauseLine>,
    last_act: Option<LastAct>,
    /// The acts that the visitor may do here, with the texts of their links.
    acts: Vec<(&'static str, &'static str)>,
}

/// The last act on a job.
#[derive(Debug)]
struct LastAct {
    /// `paused by ann`
    what: String,
    ago: RelativeTime,
    why: String,
}

#[derive(Template)]
#[template(path = "troubles.html")]
struct Troubles<'a> {
    base: &'a str,
    headline: String,
    /// What is not known.
    unknown: &'static str,
    is_well: bool,
    troubles: Vec<Trouble>,
    others: usize,
}

/// Returns the part that says what is wrong.
pub(crate) fn troubles_part(frame: &PageFrame<'_>, facts: &HomeFacts<'_>) -> PagePart {
    let (problems, of_jobs, store) = (facts.problems, facts.counts.0, facts.store);
    let troubles: Vec<Trouble> =
        problems.iter().take(TROUBLES_SHOWN).map(|problem| trouble(problem, facts, frame)).collect();
    PagePart::of(
        "troubles",
        &Troubles {
            base: frame.base,
            headline: match store {
                StoreSight::Answers => headline(problems, of_jobs),
                StoreSight::AwaySince(_) => {
                    format!("The store does not answer. Before: {}", headline(problems, of_jobs))
                }
                StoreSight::Reading => "The store is being read".to_owned(),
                StoreSight::Unread(_) => "The store does not answer".to_owned(),
            },
            unknown: match store {
                StoreSight::Answers | StoreSight::AwaySince(_) => "",
                StoreSight::Reading => NOT_KNOWN_YET,
                StoreSight::Unread(_) => NOT_KNOWN,
            },
            is_well: problems.is_empty() && matches!(store, StoreSight::Answers | StoreSight::Reading),
            others: problems.len().saturating_sub(TROUBLES_SHOWN),
            troubles,
        },
    )
}

/// Returns `1 of 42 jobs needs you`, or what is wrong with the cluster.
fn headline(problems: &[ClusterProblem], of_jobs: usize) -> String {
    let mut jobs: Vec<&str> =
        problems.iter().filter_map(|problem| Some(problem.job.as_ref()?.as_str())).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let of_cluster = problems.iter().filter(|problem| problem.job.is_none()).count();
    let cluster = match of_cluster {
        0 => None,
        1 => Some("1 problem of the cluster".to_owned()),
        many => Some(format!("{many} problems of the cluster")),
    };
    let needing = match jobs.len() {
        0 => None,
        1 => Some(format!("1 of {of_jobs} jobs needs you")),
        many => Some(format!("{many} of {of_jobs} jobs need you")),
    };
    let all: Vec<String> = cluster.into_iter().chain(needing).collect();
    if all.is_empty() { "Nothing is wrong".to_owned() } else { all.join(", ") }
}

fn trouble(problem: &ClusterProblem, facts: &HomeFacts<'_>, frame: &PageFrame<'_>) -> Trouble {
    let snapshot = facts.troubled;
    let job = problem.job.as_ref().and_then(|name| snapshot.jobs.iter().find(|job| job.name == *name));
    let now = snapshot.ages_to;
    let about_run = problem.kind == Kind::LastOutcome;
    let last = job.and_then(|job| job.decided().rev().find(|tick| tick.run.is_some())).filter(|_| about_run);
    let run = last.as_ref().and_then(|tick| Some(run_link(&tick.job, tick.run?)));
    let tail = last.as_ref().and_then(|tick| tick.tail.as_deref()).filter(|_| frame.visitor.sees_output);
    let is_enabled = |job: &&JobState| job.definition.may_run();
    let next = job.filter(is_enabled).and_then(|job| job.spec()?.schedule.next_after(snapshot.now));
    let pause = job.and_then(|job| PauseLine::of(job, snapshot));
    let last_act = facts.last_acts.iter().find(|note| problem.job.as_ref() == Some(&note.job));
    let may_act = frame.visitor.read_only.is_none() && facts.store == StoreSight::Answers;
    let acts = match (job.filter(|job| may_act && job.record.is_some()), &pause) {
        (None, _) => Vec::new(),
        (Some(_), None) => vec![RUN_ONCE, (ActKind::Pause, "pause…")],
        (Some(_), Some(_)) => vec![RUN_ONCE, (ActKind::Resume, "resume…")],
    };
    Trouble {
        // A pause says by itself who paused it.
        last_act: last_act
            .filter(|note| pause.is_none() || note.act != ActKind::Pause)
            .map(|note| LastAct::of(note, now)),
        acts: acts.into_iter().map(|(act, text)| (act.as_str(), text)).collect(),
        message: problem.message.clone(),
        job: problem.job.as_ref().map(ToString::to_string),
        run,
        lines: tail.map(last_lines).unwrap_or_default(),
        next: next.map(|tick| DueTime { at: tick.instant(), now }),
        is_running: job.is_some_and(|job| job.running().is_some()),
        pause,
    }
}

impl LastAct {
    fn of(note: &ActNote, now: UtcMillis) -> Self {
        Self {
            what: format!("{} by {}", note.act.done(), note.by),
            ago: RelativeTime { at: note.at, now },
            why: note.why.clone().unwrap_or_default(),
        }
    }
}

/// Returns the last lines of an output's kept end.
fn last_lines(tail: &str) -> Vec<HtmlLine> {
    let lines: Vec<OutputLine> = tail
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| OutputLine::unstamped(excerpt(line, IN_A_ROW).as_bytes()))
        .collect();
    html_lines(lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default())
}
