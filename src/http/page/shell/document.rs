//! The document around the parts of a page.

use askama::Template;

use crate::http::page::assets::ASSETS;
use crate::time::UtcMillis;

use super::part::{PagePart, SentParts, rendered};

/// What a page shows around its own content, and what it depends on besides the cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFrame<'a> {
    /// The name of the cluster.
    pub(crate) cluster: &'a str,
    /// The path before every link; empty, or it begins with a slash and has none at its end.
    pub(crate) base: &'a str,
    /// The store's time.
    pub(crate) now: UtcMillis,
    /// Who looks at it.
    pub(crate) visitor: VisitorSight<'a>,
    /// Every how many seconds a browser without the script loads it again; `None`: it does not.
    pub(crate) refresh: Option<u32>,
}

/// Who looks at a page, and what that allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VisitorSight<'a> {
    /// The name of the token with which the browser has logged in.
    pub(crate) name: Option<&'a str>,
    /// Whether there are tokens to log in with.
    pub(crate) can_log_in: bool,
    /// Whether it may see what jobs print.
    pub(crate) sees_output: bool,
    /// Why it may not act, in a sentence; `None` if it may.
    pub(crate) read_only: Option<&'a str>,
}

/// The title of a page, and which link of the navigation stands for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageTitle<'a> {
    /// What stands before the cluster's name.
    pub(crate) text: &'a str,
    /// The path of the link, or nothing.
    pub(crate) nav: &'a str,
}

#[derive(Template)]
#[template(path = "document.html")]
struct Document<'a> {
    frame: &'a PageFrame<'a>,
    title: PageTitle<'a>,
    style: &'a str,
    script: &'a str,
    icon: &'a str,
    /// What the browser has, so that the stream of changes need not send it again.
    parts: String,
    top: &'a str,
    body: String,
}

/// Returns the page of these parts. The first is the line at the top.
pub(crate) fn page(frame: &PageFrame<'_>, title: PageTitle<'_>, parts: &[PagePart]) -> String {
    let (top, rest) = parts.split_first().map_or(("", parts), |(top, rest)| (top.html.as_str(), rest));
    let body = rest.iter().flat_map(|part| [part.html.as_str(), "\n"]).collect();
    let [style, script, icon] = &ASSETS.addresses;
    rendered(&Document { frame, title, style, script, icon, parts: SentParts::of(parts).digest(), top, body })
}
