//! What came of an act, for the client that sent it.

use std::fmt;

use axum::http::StatusCode;
use serde::Serialize;

use crate::job::{JobName, NodeName, RunId};
use crate::operate::audit::ActKind;
use crate::view::text::time_format::Rfc3339;

/// What came of an act that was not refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ActAnswer {
    pub(crate) act: ActKind,
    pub(crate) job: JobName,
    /// The name of the operator's token.
    pub(crate) by: String,
    pub(crate) state: ActState,
    /// The same in words.
    pub(crate) message: String,
    /// The order to run the job.
    pub(crate) order: Option<RunId>,
    /// The run that was started, or is being stopped, or had the lock.
    pub(crate) run: Option<RunId>,
    /// The replica of a run that is being stopped.
    pub(crate) node: Option<NodeName>,
    /// When a pause ends, or an order is withdrawn, by the store's clock.
    pub(crate) until: Option<Rfc3339>,
}

/// What came of an act, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActState {
    /// A replica has taken the order.
    Started,
    /// No replica has taken the order yet.
    Waiting,
    /// A replica has taken the order, and skipped it because of another run.
    Skipped,
    /// The job is paused.
    Paused,
    /// The job is no longer paused.
    Resumed,
    /// The job was not paused.
    NotPaused,
    /// The run has been told to stop.
    Stopping,
    /// The lock is free.
    Unlocked,
}

impl ActAnswer {
    /// Returns the status of the answer: whether the act is complete, or goes on.
    pub(crate) fn status(&self) -> StatusCode {
        match self.state {
            ActState::Started | ActState::Waiting | ActState::Skipped | ActState::Stopping => {
                StatusCode::ACCEPTED
            }
            ActState::Paused | ActState::Resumed | ActState::NotPaused | ActState::Unlocked => StatusCode::OK,
        }
    }
}

impl fmt::Display for ActAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
