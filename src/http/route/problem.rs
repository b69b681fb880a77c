//! Errors as `application/problem+json` (RFC 9457), with the way out. They never repeat what the request contained.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::json;

/// An error for the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProblemDetails {
    /// The status of the answer.
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    pub(crate) detail: Option<String>,
    pub(crate) help: Option<String>,
    /// Seconds after which the client may try again.
    pub(crate) retry_after: Option<u64>,
}

impl ProblemDetails {
    /// Returns an error with this title.
    pub(crate) fn new(status: StatusCode, title: &'static str) -> Self {
        Self { status, title, detail: None, help: None, retry_after: None }
    }

    /// Sets what is wrong, in the words of the commands.
    pub(crate) fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Sets the way out.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Sets after how many seconds the client may try again.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// Returns the answer.
    pub(crate) fn into_response(self) -> Response<Body> {
        let Self { status, title, detail, help, retry_after } = self;
        let mut body = json!({ "title": title, "status": status.as_u16() });
        for (name, text) in [("detail", detail), ("help", help)] {
            if let Some(text) = text {
                body[name] = text.into();
            }
        }
        let mut response = Response::new(Body::from(format!("{body}\n")));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
