//! Who looks at a page, and what that allows.

use sha2::{Digest, Sha256};

use crate::config::TokenRight;
use crate::http::access::origin::RequestOrigin;
use crate::http::access::visitor::{Visitor, VisitorProof};
use crate::http::board::BoardView;
use crate::http::page::answer::base_of;
use crate::http::page::shell::{PageFrame, StoreSight, VisitorSight};
use crate::http::route::serve::accepts;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::{HttpOptions, HttpState};
use crate::job::{JobName, RunId, TokenName};
use crate::lease::Record;
use crate::time::UtcMillis;

/// Why a page is read-only: there is nobody whom it could let act.
const NO_TOKENS: &str = "This page is read-only, and shows nothing that jobs print: no tokens are set up under \
    [http.tokens] in jobs.toml.";

/// Why a page is read-only: the token may not act.
const MAY_READ: &str = "This page is read-only: your token may only read.";

/// Why a page is read-only: the browser does not say from where its requests come.
const PLAIN_HTTP: &str = "This page is read-only: over plain HTTP from another machine, browsers do not say from which \
    page a request comes. Use https, or the machine itself.";

/// Who looks at a page.
#[derive(Debug, Clone)]
pub(super) struct PageContext {
    options: HttpOptions,
    visitor: Visitor,
    base: String,
    read_only: Option<&'static str>,
    /// Whether its browser has the page, and is sent changes.
    is_streamed: bool,
}

impl PageContext {
    /// Returns who sends a request for a page.
    pub(super) fn of(shared: &HttpState, call: &AdmittedRequest) -> Self {
        let options = shared.options.borrow().clone();
        let base = base_of(&options, &call.parts.headers).to_owned();
        let read_only = read_only(&call.visitor, &options, RequestOrigin::of(&call.parts));
        let is_streamed = accepts(&call.parts, "text/event-stream");
        Self { options, visitor: call.visitor.clone(), base, read_only, is_streamed }
    }

    /// Whether the visitor may see what jobs print.
    pub(super) fn sees_output(&self) -> bool {
        self.visitor.sees_output()
    }

    /// Returns why the visitor may not act, in a sentence; `None` if it may.
    pub(super) fn read_only(&self) -> Option<&'static str> {
        self.read_only
    }

    /// Whether the visitor's browser has the page, and is sent changes.
    pub(super) fn is_streamed(&self) -> bool {
        self.is_streamed
    }

    /// Returns the path before every link.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Returns what jobs.toml says.
    pub(super) fn options(&self) -> &HttpOptions {
        &self.options
    }

    /// Returns the id of the visitor's next order to run a job. It stays the same until a run has been granted, or an order
    /// taken: a form that is sent twice runs the job once.
    pub(super) fn next_order(&self, job: &JobName, record: Option<&Record>) -> RunId {
        let by = self.visitor.name().map(TokenName::as_str).unwrap_or_default();
        let taken = record.and_then(|record| record.order_taken).map(|order| order.to_string());
        let fence = record.map(|record| record.fence.to_string());
        let before = [taken, fence].map(Option::unwrap_or_default).join(" ");
        let cluster = &self.options.cluster;
        let digest = Sha256::digest(format!("solocron order 1\n{cluster}\n{job}\n{by}\n{before}").as_bytes());
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        hex.parse().unwrap_or_else(|_| RunId::new())
    }

    /// Returns the frame of a page at this time of the store.
    pub(super) fn frame(&self, now: UtcMillis, refresh: Option<u32>) -> PageFrame<'_> {
        let name = match &self.visitor.proof {
            // Who sends a token with each request has not logged in, and cannot log out.
            VisitorProof::Cookie(cookie) => Some(cookie.name.as_str()),
            VisitorProof::Token(_) | VisitorProof::Nothing => None,
        };
        let visitor = VisitorSight {
            name,
            can_log_in: !self.options.tokens.is_empty(),
            sees_output: self.sees_output(),
            read_only: self.read_only,
        };
        PageFrame { cluster: &self.options.cluster, base: &self.base, now, visitor, refresh }
    }
}

/// Returns what a view tells of the store.
pub(super) fn store_sight(view: &BoardView) -> StoreSight {
    if view.is_store_away { StoreSight::AwaySince(view.snapshot.now) } else { StoreSight::Answers }
}

/// Returns why a page is read-only; `None` if the visitor may act.
fn read_only(visitor: &Visitor, options: &HttpOptions, origin: RequestOrigin) -> Option<&'static str> {
    let is_by_cookie = matches!(visitor.proof, VisitorProof::Cookie(_));
    match visitor.may {
        _ if options.tokens.is_empty() => Some(NO_TOKENS),
        Some(TokenRight::Act) if is_by_cookie && origin == RequestOrigin::Untold => Some(PLAIN_HTTP),
        Some(TokenRight::Act) => None,
        Some(TokenRight::Read) | None => Some(MAY_READ),
    }
}
