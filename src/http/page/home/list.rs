//! The parts of the first page.

use askama::Template;

use crate::http::page::shell::{PageFrame, PagePart, StoreSight, top_part};
use crate::http::page::timeline::{TimelineChoice, TimelineLinks, timeline_part};
use crate::operate::audit::ActNote;
use crate::view::problems::ClusterProblem;
use crate::view::snapshot::Snapshot;
use crate::view::timeline::{LaneOrder, Picture, TimelineSpan};

use super::address::HomeAddress;
use super::row::row_part;
use super::trouble::troubles_part;

/// What the parts of the page may take, in bytes: a page has less than 100 kB.
const BUDGET: usize = 96_000;

/// What a timeline may take.
const TIMELINE: usize = 40_000;

/// Spans that a timeline by replica can show: what replicas told is kept for an hour.
const BY_REPLICA: [TimelineSpan; 2] = [TimelineSpan::QuarterHour, TimelineSpan::Hour];

/// What the first page shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HomeFacts<'a> {
    /// Which view it is.
    pub(crate) address: &'a HomeAddress,
    /// The replicas, and the jobs of this page of the list, in their order, with the newest entries.
    pub(crate) listed: &'a Snapshot,
    /// The jobs that the problems are about.
    pub(crate) troubled: &'a Snapshot,
    /// What is wrong with the cluster and with any of its jobs.
    pub(crate) problems: &'a [ClusterProblem],
    /// How many jobs there are, and how many in each condition, by its word.
    pub(crate) counts: (usize, &'a [(&'a str, usize)]),
    /// How many jobs the view is about, on all pages of the list, and how many a page shows.
    pub(crate) matching: (usize, usize),
    /// The last act that was done to each of those jobs, as far as one is known.
    pub(crate) last_acts: &'a [ActNote],
    /// The timeline; `None` if it is not known what ran.
    pub(crate) picture: Option<&'a Picture>,
    /// Whether the store answers.
    pub(crate) store: StoreSight,
}

/// A link to another view.
#[derive(Debug)]
struct ViewLink {
    text: String,
    count: usize,
    link: String,
    is_current: bool,
}

#[derive(Template)]
#[template(path = "counts.html")]
struct Counts<'a> {
    base: &'a str,
    address: &'a HomeAddress,
    views: Vec<ViewLink>,
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct Jobs {
    rows: String,
    is_empty: bool,
}

#[derive(Template)]
#[template(path = "pager.html")]
struct Pager<'a> {
    base: &'a str,
    first: usize,
    last: usize,
    of: usize,
    before: Option<String>,
    after: Option<String>,
    refresh: String,
    refreshes: bool,
}

/// Returns the parts of the first page.
pub(crate) fn home_parts(frame: &PageFrame<'_>, facts: &HomeFacts<'_>) -> Vec<PagePart> {
    let row = |job| row_part(job, facts.listed, frame.base, facts.store.is_read());
    let rows: Vec<PagePart> = facts.listed.jobs.iter().map(row).collect();
    let is_empty = rows.is_empty();
    let jobs = PagePart::with_rows("jobs", rows, |rows| Jobs { rows, is_empty });
    let top = top_part(frame, facts.listed, facts.problems, facts.store);
    let troubles = troubles_part(frame, facts);
    let (counts, pager) = (counts(frame, facts), pager(frame, facts));
    let others = [&top, &troubles, &counts, &jobs, &pager].iter().map(|part| part.html.len()).sum::<usize>();
    let left = BUDGET.saturating_sub(others).min(TIMELINE);
    let drawn = |picture| timeline_part(picture, &timeline_links(facts.address), frame.base, left);
    let timeline = facts.picture.map_or_else(|| PagePart::hidden("timeline"), drawn);
    vec![top, troubles, timeline, counts, jobs, pager]
}

fn timeline_links(address: &HomeAddress) -> TimelineLinks {
    let by_job = address.order == LaneOrder::ByJob;
    let of_span = |span: TimelineSpan| TimelineChoice {
        text: span.as_str(),
        link: HomeAddress { span, ..address.clone() }.link(),
        is_current: span == address.span,
    };
    let of_order = |(text, order): (&'static str, LaneOrder)| {
        let span = if order == LaneOrder::ByReplica && !BY_REPLICA.contains(&address.span) {
            TimelineSpan::default()
        } else {
            address.span
        };
        TimelineChoice {
            text,
            link: HomeAddress { order, span, ..address.clone() }.link(),
            is_current: order == address.order,
        }
    };
    let spans = if by_job { &TimelineSpan::ALL[..] } else { &BY_REPLICA };
    TimelineLinks {
        title: span_title(address.span),
        spans: spans.iter().copied().map(of_span).collect(),
        orders: [("by replica", LaneOrder::ByReplica), ("by job", LaneOrder::ByJob)].map(of_order).into(),
    }
}

/// Returns the title of a timeline.
pub(crate) const fn span_title(span: TimelineSpan) -> &'static str {
    match span {
        TimelineSpan::QuarterHour => "Last 15 minutes",
        TimelineSpan::Hour => "Last hour",
        TimelineSpan::SixHours => "Last 6 hours",
        TimelineSpan::Day => "Last 24 hours",
        TimelineSpan::Week => "Last 7 days",
    }
}

fn counts(frame: &PageFrame<'_>, facts: &HomeFacts<'_>) -> PagePart {
    let address = facts.address;
    let (all, conditions) = facts.counts;
    let view = |condition: Option<&str>, count: usize| {
        let own = HomeAddress { condition: condition.map(str::to_owned), page: 1, ..address.clone() };
        ViewLink {
            text: condition_words(condition).to_owned(),
            count,
            link: own.link(),
            is_current: address.condition.as_deref() == condition,
        }
    };
    let mut views = vec![view(None, all)];
    views.extend(conditions.iter().map(|(word, count)| view(Some(word), *count)));
    PagePart::of("counts", &Counts { base: frame.base, address, views })
}

/// Returns the words of a condition on the page: what the commands say of a job that the file does not name.
fn condition_words(condition: Option<&str>) -> &str {
    match condition {
        None => "all",
        Some("absent") => "not in jobs.toml",
        Some(word) => word,
    }
}

fn pager(frame: &PageFrame<'_>, facts: &HomeFacts<'_>) -> PagePart {
    let (of, per_page) = (facts.matching.0, facts.matching.1.max(1));
    let pages = of.div_ceil(per_page).max(1);
    let page = facts.address.page.clamp(1, pages);
    let first = (page - 1) * per_page;
    let to = |page: usize| HomeAddress { page, ..facts.address.clone() }.link();
    let refreshes = !facts.address.refreshes;
    PagePart::of(
        "pager",
        &Pager {
            base: frame.base,
            first: if of == 0 { 0 } else { first + 1 },
            last: (first + per_page).min(of),
            of,
            before: (page > 1).then(|| to(page - 1)),
            after: (page < pages).then(|| to(page + 1)),
            refresh: HomeAddress { refreshes, ..facts.address.clone() }.link(),
            refreshes: facts.address.refreshes,
        },
    )
}
