//! Answers about all jobs, each of which may take megabytes: a few of them are in memory at once, from when they are made
//! until the client has read them. Other requests for such an answer wait.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most large answers at once.
const MOST: usize = 4;

/// With more jobs than this, answers about all of them are large: each job takes some 600 bytes.
const MANY_JOBS: usize = 1_000;

/// The paths of answers about all jobs.
const ABOUT_ALL: [&str; 3] = ["/metrics", "/api/v1/status", "/api/v1/history"];

/// The slots for large answers.
#[derive(Debug)]
pub(crate) struct LargeAnswers(Arc<Semaphore>);

/// The slot of one large answer, free again when this is dropped.
#[derive(Debug, Clone)]
pub(crate) struct LargeAnswer {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// The body of a large answer.
#[derive(Debug)]
struct LargeBody {
    body: Body,
    slot: LargeAnswer,
}

/// A piece of a large answer, which the connection keeps until the client has taken it.
#[derive(Debug)]
struct LargePiece {
    bytes: Bytes,
    _slot: LargeAnswer,
}

impl Default for LargeAnswers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl LargeAnswers {
    /// Waits for a slot, if the answer of this route about so many jobs is a large one.
    pub(crate) async fn take(&self, path: &str, jobs: usize) -> Option<LargeAnswer> {
        if jobs <= MANY_JOBS || !ABOUT_ALL.contains(&path) {
            return None;
        }
        // The slots are there for as long as the server: there is no error.
        let permit = Arc::clone(&self.0).acquire_owned().await.ok()?;
        Some(LargeAnswer { _permit: Arc::new(permit) })
    }
}

impl LargeAnswer {
    /// Returns the answer, which keeps the slot until its last byte was sent.
    pub(crate) fn kept_by(self, response: Response<Body>) -> Response<Body> {
        response.map(|body| Body::new(LargeBody { body, slot: self }))
    }
}

impl AsRef<[u8]> for LargePiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for LargeBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let keep = |bytes| Bytes::from_owner(LargePiece { bytes, _slot: self.slot.clone() });
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(keep))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn taken(answers: &LargeAnswers) -> Option<LargeAnswer> {
        answers.take("/metrics", 10_000).now_or_never().flatten()
    }

    #[test]
    fn an_answer_keeps_its_slot_until_its_bytes_are_gone() {
        let answers = LargeAnswers::default();
        let mut slots: Vec<LargeAnswer> = (0..MOST).filter_map(|_| taken(&answers)).collect();
        assert_eq!(slots.len(), MOST);
        assert!(taken(&answers).is_none());
        let slot = slots.pop().expect("one of four");
        let mut body = slot.kept_by(Response::new(Body::from("text"))).into_body();
        assert_eq!(body.size_hint().exact(), Some(4));
        let next = Pin::new(&mut body).poll_frame(&mut Context::from_waker(std::task::Waker::noop()));
        let Poll::Ready(Some(Ok(frame))) = next else { panic!("no piece: {next:?}") };
        // As a connection does: the body is done, and its bytes wait for the client.
        drop(body);
        assert!(taken(&answers).is_none());
        assert_eq!(frame.data_ref().map(|bytes| &bytes[..]), Some(&b"text"[..]));
        drop(frame);
        assert!(taken(&answers).is_some());
    }

    #[test]
    fn answers_that_are_small_need_no_slot() {
        let answers = LargeAnswers::default();
        for (path, jobs) in [("/metrics", 1_000), ("/", 10_000), ("/api/v1/jobs", 10_000)] {
            assert!(answers.take(path, jobs).now_or_never().is_some_and(|slot| slot.is_none()), "{path}");
        }
    }
}
