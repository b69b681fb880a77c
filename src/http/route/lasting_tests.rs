//! Streams end with the token that opened them.

use std::time::Duration;

use axum::http::Request;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::http::access::token::TokenBook;
use crate::http::testing::{Served, TOKENS};

/// What becomes of a stream, opened with this token or none, after all tokens were replaced by these.
async fn ends(path: &str, token: Option<&str>, replaced: impl FnOnce(&Served)) -> bool {
    let served = Served::new().await;
    served.report(false);
    let served = if token.is_some() { served.with_tokens() } else { served };
    let mut request = Request::get(path).header("accept", "text/event-stream");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let mut pieces = served.answer(request, "").await.into_body().into_data_stream();
    assert!(pieces.next().await.is_some_and(|first| first.is_ok()), "{path}: it begins");
    replaced(&served);
    let reading = async { while let Some(Ok(_)) = pieces.next().await {} };
    timeout(Duration::from_secs(2), reading).await.is_ok()
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_taken_out_and_goes_on_otherwise() {
    for path in ["/", "/api/v1/events"] {
        for token in TOKENS {
            assert!(
                ends(path, Some(token), |served| served.set_tokens(TokenBook::default())).await,
                "{path}"
            );
        }
        assert!(!ends(path, Some(TOKENS[0]), |served| served.report(false)).await, "{path}: nothing changed");
    }
}

#[tokio::test]
async fn a_stream_without_a_token_ends_when_reading_needs_one() {
    assert!(ends("/api/v1/events", None, |served| served.set_tokens(crate::http::testing::tokens())).await);
}
