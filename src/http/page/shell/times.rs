//! Times on a page: elements that say the instant to programs. The texts are right when the page is made; the page's
//! script keeps them so.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::time::UtcMillis;
use crate::view::text::time_format::{from_now, span, utc};

/// An instant as its distance from now: `3m 10s ago`, `in 4m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelativeTime {
    pub(crate) at: UtcMillis,
    pub(crate) now: UtcMillis,
}

/// The instant of a tick that is to come: `in 4m`; once it has come and nothing is known of it, `due 3s ago`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueTime {
    pub(crate) at: UtcMillis,
    pub(crate) now: UtcMillis,
}

/// How long something has been going on: `3m 10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElapsedTime {
    pub(crate) since: UtcMillis,
    pub(crate) now: UtcMillis,
}

/// An instant in UTC: `2026-11-20 12:00:00 UTC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UtcTime(pub(crate) UtcMillis);

impl fmt::Display for RelativeTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        element(f, "rel", self.at, &from_now(self.at, self.now))
    }
}

impl fmt::Display for DueTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let due = if self.at > self.now { "" } else { "due " };
        element(f, "due", self.at, &format!("{due}{}", from_now(self.at, self.now)))
    }
}

impl fmt::Display for ElapsedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        element(f, "dur", self.since, &span(self.now.since(self.since)))
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        element(f, "abs", self.0, &format!("{} UTC", utc(self.0)))
    }
}

// They write digits, letters and their own element.
impl HtmlSafe for RelativeTime {}
impl HtmlSafe for DueTime {}
impl HtmlSafe for ElapsedTime {}
impl HtmlSafe for UtcTime {}

fn element(f: &mut fmt::Formatter<'_>, class: &str, at: UtcMillis, text: &str) -> fmt::Result {
    write!(f, "<time class={class} datetime={at}>{text}</time>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_says_its_instant_and_a_text_for_people() {
        let (at, now) = (UtcMillis(1_795_176_000_000), UtcMillis(1_795_176_190_000));
        assert_eq!(
            RelativeTime { at, now }.to_string(),
            "<time class=rel datetime=2026-11-20T12:00:00.000Z>3m 10s ago</time>"
        );
        assert_eq!(
            DueTime { at, now }.to_string(),
            "<time class=due datetime=2026-11-20T12:00:00.000Z>due 3m 10s ago</time>"
        );
        assert_eq!(
            DueTime { at: now, now: at }.to_string(),
            "<time class=due datetime=2026-11-20T12:03:10.000Z>in 3m 10s</time>"
        );
        assert_eq!(
            ElapsedTime { since: at, now }.to_string(),
            "<time class=dur datetime=2026-11-20T12:00:00.000Z>3m 10s</time>"
        );
        assert_eq!(
            UtcTime(at).to_string(),
            "<time class=abs datetime=2026-11-20T12:00:00.000Z>2026-11-20 12:00:00 UTC</time>"
        );
    }
}
