//! How ticks ended, and why, in words.

use crate::job::{Outcome, Reason, Verdict};

/// Returns how a tick ended and why: `missed (the store did not answer)`.
pub(crate) fn verdict_in_words(verdict: Verdict) -> String {
    let outcome = outcome_in_words(verdict.outcome);
    match verdict.reason {
        None => outcome,
        Some(reason) => format!("{outcome} ({})", reason_in_words(reason)),
    }
}

/// Returns how a tick ended: `timed out`.
pub(crate) fn outcome_in_words(outcome: Outcome) -> String {
    code_in_words(outcome.as_str())
}

/// Returns the words of a code that is made of words: `catch up` of `catch_up`.
pub(crate) fn code_in_words(code: &str) -> String {
    code.replace('_', " ")
}

/// Returns the reason as the end of a sentence: `the store did not answer`.
pub(crate) const fn reason_in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Overlap => "the previous run was still running",
        Reason::Paused => "the job was paused",
        Reason::Late => "it was not started within its start deadline",
        Reason::Edited => "the schedule was changed before it started",
        Reason::StoreUnreachable => "the store did not answer",
        Reason::StoreReset => "the store lost its data",
        Reason::Capacity => "every replica that could run it was full",
        Reason::NoReplica => "no live replica could run it",
        Reason::SpawnFailed => "the command could not be started",
        Reason::Operator => "an operator stopped it",
        Reason::Replaced => "a newer tick replaced it",
        Reason::Shutdown => "its replica was shut down",
        Reason::LockLost => "its replica lost the lock",
        Reason::NodeLost => "its replica died or hung",
        Reason::Abandoned => "it was granted, but did not start",
        Reason::LeftBehind => "one of its processes could not be killed",
    }
}
