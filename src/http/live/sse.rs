//! The text of server-sent events, and the answer that carries them.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Response, header};
use futures_util::Stream;

/// A stream on which nothing happens sends a comment this often, so that no proxy takes it for dead.
pub(crate) const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// The comment.
pub(crate) const KEEP_ALIVE: &str = ": still here\n\n";

/// The last event of a stream that ends because the replica drains: connect again, to another replica if there is one.
pub(crate) const BYE: &str = "event: bye\ndata:\n\n";

/// Returns one event with this name and this text.
pub(crate) fn event_text(name: &str, data: &str) -> String {
    let mut text = format!("event: {name}\n");
    for line in data.split(['\n', '\r']) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Returns an answer that consists of these pieces, as they come.
pub(crate) fn streamed(pieces: impl Stream<Item = String> + Send + 'static) -> Response<Body> {
    use futures_util::StreamExt;
    let pieces = pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    // Some proxies collect answers otherwise.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_text_is_a_line_of_data() {
        assert_eq!(event_text("part", "<p>\n</p>"), "event: part\ndata: <p>\ndata: </p>\n\n");
        assert_eq!(event_text("run_ended", "{}"), "event: run_ended\ndata: {}\n\n");
        assert_eq!(event_text("x", "a\r\nevent: bye"), "event: x\ndata: a\ndata: \ndata: event: bye\n\n");
    }
}
