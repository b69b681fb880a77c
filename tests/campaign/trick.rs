//! What a proxy does to the requests that pass it, and to their answers.

use std::time::Duration;

use crate::resp::Request;

/// What is done to a request or its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trick {
    /// The request, and what comes behind it, is delivered only after this long, even if its sender has gone.
    Hold(Duration),
    /// The answer does not arrive, and nothing after it: a stream has no holes.
    DropReply,
    /// The same, if the answer grants the lock; other answers do not count, and nothing is left of it once mended.
    DropGrant,
    /// The answer arrives after this long, and what comes behind it too.
    DelayReply(Duration),
    /// Half of the answer arrives, and then the connection is reset.
    ResetInReply,
}

/// The next so many of these requests are tricked.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) trick: Trick,
    pub(crate) on: &'static [Request],
    pub(crate) times: u32,
    /// Not before this answer was given so often, to any request.
    pub(crate) after: Option<(&'static str, u64)>,
}

impl Rule {
    /// For the next so many of these requests from now on.
    pub(crate) fn new(trick: Trick, on: &'static [Request], times: u32) -> Self {
        Self { trick, on, times, after: None }
    }
}

/// What is still to be done, in order.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Rule>);

impl Rules {
    pub(crate) fn add(&mut self, rule: Rule) {
        self.0.push(rule);
    }

    /// What is done to this request or its answer; `given` tells how often an answer was given so far.
    pub(crate) fn for_request(&mut self, request: Request, given: impl Fn(&str) -> u64) -> Option<Trick> {
        let fits = |rule: &Rule| {
            rule.on.contains(&request) && rule.after.is_none_or(|(answer, times)| given(answer) >= times)
        };
        let at = self.0.iter().position(fits)?;
        let trick = self.0[at].trick;
        if trick != Trick::DropGrant {
            self.spend(at);
        }
        Some(trick)
    }

    /// Whether this grant is dropped.
    pub(crate) fn drops_grant(&mut self) -> bool {
        let at = self.0.iter().position(|rule| rule.trick == Trick::DropGrant);
        at.map(|at| self.spend(at)).is_some()
    }

    /// No more grants are dropped.
    pub(crate) fn mend(&mut self) {
        self.0.retain(|rule| rule.trick != Trick::DropGrant);
    }

    fn spend(&mut self, at: usize) {
        self.0[at].times -= 1;
        if self.0[at].times == 0 {
            self.0.remove(at);
        }
    }
}
