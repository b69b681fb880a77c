//! Answers that last: streams and files. Each ends once its request would no longer be admitted, so that a token that was taken
//! out, or a login that is over, shows nothing more.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response};
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

use crate::http::access::gate::admit;
use crate::http::access::visitor::{Visitor, VisitorProof};
use crate::http::state::HttpState;

use super::table::Route;

/// A request whose answer may last.
#[derive(Debug)]
pub(super) struct LastingRequest {
    route: Arc<Route>,
    parts: Parts,
    /// For how long its login is valid; `None` if it has none.
    lasts: Option<Duration>,
}

impl LastingRequest {
    /// Returns the request of this visitor.
    pub(super) fn of(route: &Arc<Route>, parts: &Parts, visitor: &Visitor, shared: &HttpState) -> Self {
        let lasts = match &visitor.proof {
            VisitorProof::Cookie(cookie) => Some(cookie.streams_until().since(shared.store_now())),
            VisitorProof::Token(_) | VisitorProof::Nothing => None,
        };
        Self { route: Arc::clone(route), parts: parts.clone(), lasts }
    }

    /// Returns its headers.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Lets an answer that lasts break off once the request would no longer be admitted. All others stay as they are.
    pub(super) fn limit(self, response: Response<Body>, shared: Arc<HttpState>) -> Response<Body> {
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        response.map(|body| {
            let reading = Some((body.into_data_stream(), Box::pin(self.refused(shared))));
            // Broken off, and not ended: a part of a file is not taken for the whole.
            let broken = || axum::Error::new(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
            Body::from_stream(stream::unfold(reading, move |reading| async move {
                let (mut pieces, mut over) = reading?;
                tokio::select! {
                    biased;
                    () = &mut over => Some((Err(broken()), None)),
                    piece = pieces.next() => piece.map(|piece| (piece, Some((pieces, over)))),
                }
            }))
        })
    }

    /// Waits until the request would no longer be admitted.
    async fn refused(self, shared: Arc<HttpState>) {
        let Self { route, parts, lasts } = self;
        let taken_out = async {
            let mut options = shared.options.clone();
            loop {
                let is_admitted = {
                    let options = options.borrow_and_update();
                    admit(&route, &parts, &options, shared.address, shared.store_now()).is_ok()
                };
                if !is_admitted {
                    return;
                }
                if options.changed().await.is_err() {
                    // Without a replica nothing is loaded any more.
                    std::future::pending::<()>().await;
                }
            }
        };
        let login_over = async {
            match lasts {
                Some(lasts) => sleep(lasts).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = taken_out => {}
            () = login_over => {}
        }
    }
}

#[cfg(test)]
#[path = "lasting_tests.rs"]
mod tests;
