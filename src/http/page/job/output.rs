//! The part of a run's page with what it printed.

use askama::Template;

use crate::http::page::shell::{HtmlLine, PagePart, html_lines, run_link};
use crate::view::history::TickView;
use crate::view::text::output_line::OutputLine;

/// So many bytes of a log are shown on a page.
pub(crate) const SEEN_BYTES: u64 = 64 << 10;

/// At most so many lines are shown on a page.
pub(crate) const SEEN_LINES: usize = 2_000;

/// What a run printed, as far as the visitor may see it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RunOutput<'a> {
    /// The visitor may not see it.
    Hidden,
    /// It is not asked for: the browser has it, and is sent what is new.
    Untouched,
    /// This is known of it.
    Seen(&'a OutputSight),
}

/// What is known of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OutputSight {
    /// Its lines, or some of them.
    pub(crate) lines: Vec<OutputLine>,
    /// What there is to say about them: from where they are, that they are only the kept end, who does not answer.
    pub(crate) note: String,
    /// The byte before which older lines are; `None` if there are none.
    pub(crate) older: Option<u64>,
    /// Whether newer lines are on another page.
    pub(crate) has_newer: bool,
    /// The byte from which on it is followed; `None` if it is not.
    pub(crate) next: Option<u64>,
    /// Whether it can be downloaded.
    pub(crate) is_whole: bool,
}

#[derive(Template)]
#[template(path = "output.html")]
struct OutputSection<'a> {
    lines: Vec<HtmlLine>,
    note: &'a str,
    /// The addresses of the run's page, and of the whole output.
    page: String,
    file: String,
    older: Option<u64>,
    has_newer: bool,
    next: Option<u64>,
    is_whole: bool,
}

/// Returns the part; `None` if the browser keeps what it has.
pub(super) fn output_part(base: &str, tick: &TickView, output: RunOutput<'_>) -> Option<PagePart> {
    let hidden = OutputSight {
        note: "What jobs print is shown only with a token: set up [http.tokens] in jobs.toml, and log in."
            .to_owned(),
        ..OutputSight::default()
    };
    let sight = match output {
        RunOutput::Untouched => return None,
        RunOutput::Hidden => &hidden,
        RunOutput::Seen(sight) => sight,
    };
    let run = tick.run?;
    let section = OutputSection {
        lines: html_lines(&sight.lines),
        note: &sight.note,
        page: format!("{base}{}", run_link(&tick.job, run)),
        file: format!("{base}/api/v1/runs/{run}/log?job={}&download", tick.job),
        older: sight.older,
        has_newer: sight.has_newer,
        next: sight.next,
        is_whole: sight.is_whole,
    };
    Some(PagePart::growing("output", &section))
}
