//! The part of a page that is a timeline.

use askama::Template;

use crate::http::page::shell::{HtmlSentence, PagePart};
use crate::view::timeline::Picture;

use super::drawing::TimelineDrawing;

/// A link to the same page with another timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimelineChoice {
    pub(crate) text: &'static str,
    /// The link, below the base of links.
    pub(crate) link: String,
    pub(crate) is_current: bool,
}

/// What stands above a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimelineLinks {
    /// `Last hour`
    pub(crate) title: &'static str,
    /// How much of the past.
    pub(crate) spans: Vec<TimelineChoice>,
    /// Which lanes.
    pub(crate) orders: Vec<TimelineChoice>,
}

#[derive(Template)]
#[template(path = "timeline.html")]
struct Timeline<'a> {
    base: &'a str,
    links: &'a TimelineLinks,
    /// `None` if there is no room for it.
    drawing: Option<TimelineDrawing>,
    /// Whether the same is said in words below it.
    has_words: bool,
}

/// Returns the part of a timeline, in at most about `budget` bytes: what does not fit is drawn without links and titles,
/// then not said in words below, and then left out.
pub(crate) fn timeline_part(picture: &Picture, links: &TimelineLinks, base: &str, budget: usize) -> PagePart {
    let part = |marks: Option<usize>, has_words: bool| {
        let drawing = marks.map(|bytes| TimelineDrawing::of(picture, bytes));
        PagePart::of("timeline", &Timeline { base, links, drawing, has_words })
    };
    for has_words in [true, false] {
        let least = part(Some(0), has_words).html.len();
        if least <= budget {
            return part(Some(budget - least), has_words);
        }
    }
    part(None, false)
}
