//! The part of a page that is a timeline.

use askama::Template;

use crate::http::page::shell::PagePart;
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
    drawing: TimelineDrawing,
}

/// Returns the part of a timeline. Its marks take about `budget` bytes.
pub(crate) fn timeline_part(
    picture: &Picture,
    links: &TimelineLinks,
    (base, budget): (&str, usize),
) -> PagePart {
    PagePart::of("timeline", &Timeline { base, links, drawing: TimelineDrawing::of(picture, budget) })
}
