//! The address of the first page: it says which view is shown, and nothing else does.

use crate::http::page::shell::encoded;
use crate::view::job::{JobCondition, JobQuery};
use crate::view::timeline::{LaneOrder, TimelineSpan};

/// The longest text that is searched for, in characters.
const LONGEST_SEARCH: usize = 100;

/// The seconds after which a browser without the script loads the page again, if it shall.
const REFRESH: u32 = 10;

/// Which view of the first page is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HomeAddress {
    /// What the name or the description of a job must contain; empty for all jobs.
    pub(crate) search: String,
    /// The condition in which a job must be, by its word.
    pub(crate) condition: Option<String>,
    /// A word that names no condition, in place of one.
    pub(crate) unknown: Option<String>,
    /// The page of the list, from 1; 0 stands for 1.
    pub(crate) page: usize,
    /// The lanes of the timeline.
    pub(crate) order: LaneOrder,
    /// How much of the past it shows.
    pub(crate) span: TimelineSpan,
    /// Whether a browser without the script loads it again and again.
    pub(crate) refreshes: bool,
}

impl HomeAddress {
    /// Parses the parameters of an address. `value` returns that of a name. What is unknown is as if it were absent, except
    /// that the page names an unknown condition.
    pub(crate) fn parse(value: impl Fn(&str) -> Option<String>) -> Self {
        let short = |text: String| text.trim().chars().take(LONGEST_SEARCH).collect::<String>();
        let asked = value("is").map(short).filter(|word| !word.is_empty());
        let is_known = asked.as_deref().is_some_and(|word| JobCondition::parse(word).is_some());
        let (condition, unknown) = if is_known { (asked, None) } else { (None, asked) };
        Self {
            search: value("q").map(short).unwrap_or_default(),
            condition,
            unknown,
            page: value("page").and_then(|page| page.parse().ok()).unwrap_or(1),
            order: if value("by").as_deref() == Some("job") {
                LaneOrder::ByJob
            } else {
                LaneOrder::ByReplica
            },
            span: value("span").and_then(|span| span.parse().ok()).unwrap_or_default(),
            refreshes: value("refresh").is_some(),
        }
    }

    /// Returns the condition in which a job must be; `None` if the address names none that there is.
    pub(crate) fn job_condition(&self) -> Option<JobCondition> {
        self.condition.as_deref().and_then(JobCondition::parse)
    }

    /// Returns the query for the page of the list, of jobs in this condition.
    pub(crate) fn query(&self, condition: Option<JobCondition>) -> JobQuery {
        JobQuery { text: self.search.clone(), conditions: condition.into_iter().collect(), page: self.page }
    }

    /// Returns the address of what that query shows: this page of the list.
    pub(crate) fn showing(&self, condition: Option<JobCondition>, page: usize) -> Self {
        let condition = condition.map(|condition| condition.as_str().to_owned());
        Self { condition, page, ..self.clone() }
    }

    /// Returns the seconds after which a browser without the script loads the page again.
    pub(crate) fn refresh(&self) -> Option<u32> {
        self.refreshes.then_some(REFRESH)
    }

    /// Returns the link to this view, below the base of links.
    pub(crate) fn link(&self) -> String {
        let mut pairs = Vec::new();
        let mut add = |name: &str, value: &str| pairs.push(format!("{name}={}", encoded(value)));
        if !self.search.is_empty() {
            add("q", &self.search);
        }
        if let Some(condition) = &self.condition {
            add("is", condition);
        }
        if self.page > 1 {
            add("page", &self.page.to_string());
        }
        if self.order == LaneOrder::ByJob {
            add("by", "job");
        }
        if self.span != TimelineSpan::default() {
            add("span", self.span.as_str());
        }
        if let Some(seconds) = self.refresh() {
            add("refresh", &seconds.to_string());
        }
        if pairs.is_empty() { "/".to_owned() } else { format!("/?{}", pairs.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pairs: &[(&str, &str)]) -> HomeAddress {
        HomeAddress::parse(|name| {
            pairs.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_address_says_the_view_and_a_view_its_address() {
        for (pairs, link) in [
            (vec![], "/"),
            (vec![("q", " back up ")], "/?q=back%20up"),
            (vec![("is", "failing"), ("page", "2")], "/?is=failing&page=2"),
            (vec![("by", "job"), ("span", "6h"), ("refresh", "10")], "/?by=job&span=6h&refresh=10"),
            (vec![("q", "\"><script>")], "/?q=%22%3E%3Cscript%3E"),
            (vec![("is", "\"x"), ("page", "-1"), ("by", "x"), ("span", "9y")], "/"),
            (vec![("is", ""), ("page", "1"), ("by", "replica"), ("span", "1h")], "/"),
        ] {
            assert_eq!(parsed(&pairs).link(), link, "{pairs:?}");
        }
        assert_eq!(parsed(&[("q", &"x".repeat(5_000))]).search.len(), LONGEST_SEARCH);
        assert_eq!(parsed(&[("is", "bogus")]).unknown.as_deref(), Some("bogus"));
        assert_eq!(parsed(&[("is", "failing")]).unknown, None);
    }
}
