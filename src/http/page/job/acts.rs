//! The parts of a job's page about acts: the forms, for those who may act, and what was done lately.

use std::time::Duration;

use askama::Template;

use crate::http::acts::LastActs;
use crate::http::page::shell::{HtmlSentence, PageFrame, PagePart, RelativeTime, StoreSight, run_link};
use crate::job::RunId;
use crate::lease::LeaseInstant;
use crate::operate::audit::{ActKind, ActNote, not_shown};
use crate::time::UtcMillis;
use crate::view::text::reason::code_in_words;

use super::forms::{ActForm, FormGrounds};
use super::screen::JobFacts;

/// So many acts are shown.
pub(crate) const SHOWN_ACTS: usize = 10;

/// An act that was noted within this time is told as what has just been done.
const JUST_DONE: Duration = Duration::from_secs(15);

/// Why there are no forms for a job without a record.
const NOT_REGISTERED: &str = "No replica has registered this job yet.";

/// Why nothing can be done for now.
const NO_STORE: &str = "The store does not answer: nothing can be done to the job until it does.";

/// What the page of a job shows of acts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobActs<'a> {
    /// What was done lately.
    pub(crate) last: &'a LastActs,
    /// The id of the next order to run the job.
    pub(crate) order: RunId,
}

#[derive(Template)]
#[template(path = "act.html")]
struct ActSection<'a> {
    base: &'a str,
    name: &'a str,
    why_not: Option<&'a str>,
    /// Why they cannot be used for now.
    why_not_now: Option<&'a str>,
    forms: Vec<ActForm>,
    /// Acts that have a page of their own, with the texts of their links.
    links: Vec<(&'static str, &'static str)>,
}

#[derive(Template)]
#[template(path = "acts.html")]
struct ActList<'a> {
    base: &'a str,
    is_read: bool,
    /// What has just been done.
    said: Option<String>,
    lines: Vec<ActLine<'a>>,
    /// That some of the list of acts cannot be read.
    not_shown: Option<String>,
}

/// An act as a line.
#[derive(Debug)]
struct ActLine<'a> {
    act: String,
    result: &'a str,
    is_bad: bool,
    /// The page of the run that the result names.
    run: Option<String>,
    why: &'a str,
    by: &'a str,
    /// Where the request came from; empty for those who may not see it.
    from: &'a str,
    ago: RelativeTime,
}

/// Returns the forms of acts on a job, or why there are none.
pub(super) fn act_part(frame: &PageFrame<'_>, facts: &JobFacts<'_>, zone: &str) -> PagePart {
    let (job, now) = (facts.job, facts.snapshot.now);
    let record = job.record.as_ref();
    let grounds = FormGrounds { zone, order: facts.acts.order, run: None };
    let is_paused = record.is_some_and(|record| record.paused.is_some_and(|until| until > now));
    let mut forms = vec![ActForm::of(ActKind::Trigger, &grounds)];
    let mut links = vec![(ActKind::Trigger.as_str(), "Run it for another tick…")];
    if is_paused {
        forms.push(ActForm::of(ActKind::Resume, &grounds));
        links.push((ActKind::Pause.as_str(), "Change its pause…"));
    } else {
        forms.push(ActForm::of(ActKind::Pause, &grounds));
    }
    if job.running().is_some() {
        links.push((ActKind::Kill.as_str(), "Stop its run…"));
        if record.is_some_and(|record| !facts.snapshot.is_holder_alive(record)) {
            links.push((ActKind::Unlock.as_str(), "Release its lock…"));
        }
    } else if record.is_some_and(|record| record.waits_without_holder(LeaseInstant(now.0))) {
        links.push((ActKind::Unlock.as_str(), "End the wait for its lock…"));
    }
    let is_store_away = facts.store != StoreSight::Answers;
    let is_unregistered = record.is_none() && facts.store.is_read();
    let why_not = frame.visitor.read_only.or(is_unregistered.then_some(NOT_REGISTERED));
    let why_not_now = is_store_away.then_some(NO_STORE);
    forms.iter_mut().for_each(|form| form.is_disabled = is_store_away);
    let name = job.name.as_str();
    PagePart::of("act", &ActSection { base: frame.base, name, why_not, why_not_now, forms, links })
}

/// Returns what was done to a job lately.
pub(super) fn acts_part(frame: &PageFrame<'_>, facts: &JobFacts<'_>) -> PagePart {
    let now = facts.snapshot.ages_to;
    let last = facts.acts.last;
    let notes = last.notes.iter().take(SHOWN_ACTS);
    let lines = notes.map(|note| ActLine {
        act: code_in_words(note.act.as_str()),
        result: &note.result,
        is_bad: !note.is_done(),
        run: run_in(&note.result).map(|run| run_link(&note.job, run)),
        why: note.why.as_deref().unwrap_or_default(),
        by: &note.by,
        from: if frame.visitor.sees_output { &note.from } else { "" },
        ago: RelativeTime { at: note.at, now },
    });
    let said = last.notes.first().filter(|note| is_just_done(note, now));
    let said = said.map(|note| format!("{}: {}", code_in_words(note.act.as_str()), note.result));
    let not_shown = not_shown(last.unreadable);
    PagePart::of(
        "acts",
        &ActList { base: frame.base, is_read: last.is_read, said, lines: lines.collect(), not_shown },
    )
}

fn is_just_done(note: &ActNote, now: UtcMillis) -> bool {
    note.at.since(now) <= JUST_DONE && now.since(note.at) <= JUST_DONE
}

/// Returns the run that a text names, if it names one.
fn run_in(text: &str) -> Option<RunId> {
    let mut words = text.split(|c: char| !c.is_ascii_hexdigit() && c != '-');
    words.find_map(|word| word.parse().ok().filter(|_| word.len() == 36))
}
