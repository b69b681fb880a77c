//! The stream of what happens on all replicas, for programs: on this one as soon as it is told, on the others as soon as the
//! board has read it.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use futures_util::stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::events::{Event, NewsItem};
use crate::http::board::HeardNews;
use crate::http::route::problem::ProblemDetails;
use crate::http::route::table::AdmittedRequest;
use crate::http::state::HttpState;
use crate::replica::ReplicaFacts;

use super::slots::{StreamClient, StreamSlot};
use super::sse::{BYE, KEEP_ALIVE, KEEP_ALIVE_EVERY, event_text, streamed};

/// A client that reads the stream.
struct EventReader {
    shared: Arc<HttpState>,
    /// What happens on this replica. A client that falls behind misses the oldest events, and is told how many.
    events: Receiver<Arc<Event>>,
    /// The same of the others.
    others: Receiver<HeardNews>,
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
    Other(Result<HeardNews, RecvError>),
    Drain,
}

/// Answers with what happens from now on, one event for each item of news.
pub(crate) fn events(shared: Arc<HttpState>, call: &AdmittedRequest) -> Response<Body> {
    let slot = match shared.streams.take(StreamClient::of(call), &shared.tally) {
        Ok(slot) => slot,
        Err(why) => return ProblemDetails::from(why).into_response(),
    };
    let (events, others, facts) = (shared.events.listen(), shared.board.listen(), shared.facts.clone());
    let began_draining = facts.borrow().is_draining;
    let shows_output = call.shows_output;
    let has_ended = false;
    let reader =
        EventReader { shared, events, others, facts, began_draining, shows_output, has_ended, _slot: slot };
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
                    if let Some(item) = self.item_of(&event) {
                        break text_of(&item);
                    }
                }
                Ok(StreamStep::Other(Ok(HeardNews::Item(item)))) => break text_of(&item),
                Ok(StreamStep::Other(Ok(HeardNews::Missed(count)))) => break missed(count),
                Ok(
                    StreamStep::Event(Err(RecvError::Lagged(count)))
                    | StreamStep::Other(Err(RecvError::Lagged(count))),
                ) => break missed(count),
                Ok(
                    StreamStep::Event(Err(RecvError::Closed))
                    | StreamStep::Other(Err(RecvError::Closed))
                    | StreamStep::Drain,
                ) => {
                    self.has_ended = true;
                    break BYE.to_owned();
                }
            }
        };
        Some((piece, self))
    }

    async fn wait(&mut self) -> StreamStep {
        let Self { events, others, facts, began_draining, .. } = self;
        let drain = async {
            // Without a replica, there are no reports: its events end, too.
            let is_gone = facts.wait_for(|facts| facts.is_draining && !*began_draining).await.is_err();
            if is_gone {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            event = events.recv() => StreamStep::Event(event),
            other = others.recv() => StreamStep::Other(other),
            () = drain => StreamStep::Drain,
        }
    }

    fn item_of(&self, event: &Event) -> Option<NewsItem> {
        let item = NewsItem::of(event, self.shared.events.node(), self.shared.store_now())?;
        Some(if self.shows_output { item } else { item.without_output() })
    }
}

fn text_of(item: &NewsItem) -> String {
    event_text(item.what().as_str(), &item.to_json())
}

fn missed(count: u64) -> String {
    event_text("missed", &format!("{{\"count\":{count}}}"))
}
