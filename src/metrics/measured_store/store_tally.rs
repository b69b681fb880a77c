//! How long requests to the store take, and how they are answered.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::lease::{Answer, Request};
use crate::metrics::catalogue;
use crate::metrics::samples::{Counters, Histograms, Samples, numbers, seconds};
use crate::store::{Replied, StoreError};
use crate::time::UtcMillis;

/// Counts requests to the store.
#[derive(Debug)]
pub(crate) struct StoreTally {
    durations: Histograms,
    results: Counters,
    claims: Counters,
    renewals: Counters,
    /// When the store last answered, in milliseconds since the Unix epoch; 0 before the first time.
    answered_at: AtomicI64,
}

/// A kind of request to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Claim,
    Renew,
    Finish,
    Pulse,
    Open,
    Read,
    Other,
}

impl RequestKind {
    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Claim(_) => Self::Claim,
            Request::Renew(_) => Self::Renew,
            Request::Finish(_) => Self::Finish,
            Request::Open(_) => Self::Open,
            Request::Manual(_) | Request::Abandon(_) | Request::Operate(_) => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Renew => "renew",
            Self::Finish => "finish",
            Self::Pulse => "pulse",
            Self::Open => "open",
            Self::Read => "read",
            Self::Other => "other",
        }
    }
}

impl Default for StoreTally {
    fn default() -> Self {
        Self {
            durations: Histograms::of(&catalogue::STORE_REQUEST),
            results: Counters::of(&catalogue::STORE_RESULTS),
            claims: Counters::of(&catalogue::CLAIMS),
            renewals: Counters::of(&catalogue::RENEWALS),
            answered_at: AtomicI64::new(0),
        }
    }
}

impl StoreTally {
    /// Counts how long an exchange took.
    pub(super) fn count_duration(&self, kind: RequestKind, took: Duration) {
        if let Some(histogram) = self.durations.with(&[kind.name()]) {
            histogram.observe_time(took);
        }
    }

    /// Counts the result of a request, known at this time of the wall clock.
    pub(super) fn count_result(&self, error: Option<&StoreError>, now: UtcMillis) {
        let (result, is_answered) = match error {
            None => ("applied", true),
            Some(StoreError::Refused(_)) => ("refused", true),
            Some(StoreError::NotSent(_)) => ("not_sent", false),
            Some(StoreError::Unknown(_)) => ("unknown", false),
        };
        self.results.count(&[result]);
        if is_answered {
            self.answered_at.fetch_max(now.0, Ordering::Relaxed);
        }
    }

    /// Counts the answer to a request on a record, if it is a claim or a renewal.
    pub(super) fn count_answer(&self, request: &Request, replied: &Replied) {
        match request {
            Request::Claim(_) => self.claims.count(&[claimed(replied)]),
            Request::Renew(_) => self.renewals.count(&[renewed(replied)]),
            _ => {}
        }
    }

    /// Returns what was counted so far.
    pub(crate) fn samples(&self) -> Vec<Samples> {
        let answered_at = UtcMillis(self.answered_at.load(Ordering::Relaxed));
        vec![
            self.durations.samples(),
            self.results.samples(),
            self.claims.samples(),
            self.renewals.samples(),
            numbers(&catalogue::STORE_ANSWER, &[seconds(answered_at)]),
        ]
    }
}

fn claimed(replied: &Replied) -> &'static str {
    match replied {
        Ok(reply) => match reply.answer {
            Answer::Won { .. } => "won",
            Answer::Decided { .. } => "decided",
            Answer::Consumed(_) => "consumed",
            Answer::Held { .. } => "held",
            Answer::Early { .. } => "early",
            // It is sent anew, or waits for a newer release.
            _ => "refused",
        },
        Err(StoreError::Refused(_)) => "refused",
        Err(StoreError::NotSent(_) | StoreError::Unknown(_)) => "unknown",
    }
}

fn renewed(replied: &Replied) -> &'static str {
    match replied.as_ref().map(|reply| &reply.answer) {
        Ok(Answer::Renewed { .. }) => "ok",
        Ok(Answer::Lost) => "lost",
        Ok(_) | Err(_) => "failed",
    }
}
