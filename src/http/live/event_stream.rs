//! The stream of what happens on this replica, for programs.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use futures_util::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::events::{Event, NewsItem};
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::Shared;
use crate::replica::ReplicaFacts;

use super::slots::StreamSlot;
use super::sse::{BYE, KEEP_ALIVE, KEEP_ALIVE_EVERY, event_text, streamed};

/// A client that reads the stream.
struct EventReader {
    shared: Arc<Shared>,
    /// A client that falls behind misses the oldest events, and is told how many.
    events: Receiver<Arc<Event>>,
    facts: watch::Receiver<ReplicaFacts>,
    /// Whether the replica was draining when the stream began: such a stream ends with the server.
    began_draining: bool,
    shows_output: bool,
    has_ended: bool,
    _slot: StreamSlot,
}

/// What comes next on a stream.
enum StreamStep {
    Event(Result<Arc<Event>, RecvError>),
    Drain,
}

/// Answers with what happens from now on, one event for each item of news.
pub(crate) fn events(shared: Arc<Shared>, call: &AdmittedRequest) -> Response<Body> {
    let Some(slot) = shared.streams.take(&shared.tally) else {
        return ProblemDetails::new(StatusCode::SERVICE_UNAVAILABLE, "too many streams")
            .help("close one of the pages and programs that follow this replica")
            .retry_after(1)
            .into_response();
    };
    let (events, facts) = (shared.events.listen(), shared.facts.clone());
    let began_draining = facts.borrow().is_draining;
    let shows_output = call.shows_output;
    let reader =
        EventReader { shared, events, facts, began_draining, shows_output, has_ended: false, _slot: slot };
    // The first piece shows the client at once that it is connected.
    let first = stream::once(std::future::ready(KEEP_ALIVE.to_owned()));
    streamed(futures_util::StreamExt::chain(first, stream::unfold(reader, EventReader::next)))
}

impl EventReader {
    /// Waits for the next piece; `None` once the stream has ended.
    async fn next(mut self) -> Option<(String, Self)> {
        if self.has_ended {
            return None;
        }
        let until = Instant::now() + KEEP_ALIVE_EVERY;
        let piece = loop {
            match timeout_at(until, self.wait()).await {
                Err(_) => break KEEP_ALIVE.to_owned(),
                Ok(StreamStep::Event(Ok(event))) => {
                    if let Some(text) = self.text_of(&event) {
                        break text;
                    }
                }
                Ok(StreamStep::Event(Err(RecvError::Lagged(count)))) => {
                    break event_text("missed", &format!("{{\"count\":{count}}}"));
                }
                Ok(StreamStep::Event(Err(RecvError::Closed)) | StreamStep::Drain) => {
                    self.has_ended = true;
                    break BYE.to_owned();
                }
            }
        };
        Some((piece, self))
    }

    async fn wait(&mut self) -> StreamStep {
        let Self { events, facts, began_draining, .. } = self;
        let drain = async {
            // Without a replica, there are no reports: its events end, too.
            let is_gone = facts.wait_for(|facts| facts.is_draining && !*began_draining).await.is_err();
            if is_gone {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            event = events.recv() => StreamStep::Event(event),
            () = drain => StreamStep::Drain,
        }
    }

    fn text_of(&self, event: &Event) -> Option<String> {
        let item = NewsItem::of(event, self.shared.events.node(), self.shared.store_now())?;
        let item = if self.shows_output { item } else { item.without_output() };
        let data = serde_json::to_string(&item).ok()?;
        Some(event_text(item.what(), &data))
    }
}
