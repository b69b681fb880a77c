//! What all pages have in common: the document around their parts, the line at the top, and times.

pub(crate) mod document;
pub(crate) mod excerpt;
pub(crate) mod links;
pub(crate) mod output;
pub(crate) mod part;
pub(crate) mod sentence;
pub(crate) mod times;
pub(crate) mod top;

pub(crate) use document::{PageFrame, PageTitle, VisitorSight, page};
pub(crate) use excerpt::{IN_A_ROW, excerpt};
pub(crate) use links::{encoded, run_link};
pub(crate) use output::{HtmlLine, html_lines, piece_html};
pub(crate) use part::{PagePart, SentParts, rendered};
pub(crate) use sentence::HtmlSentence;
pub(crate) use times::{DueTime, ElapsedTime, RelativeTime, UtcTime};
pub(crate) use top::{StoreSight, top_part};
