//! Why an operator's act was refused, or failed: what is wrong and, where it is known, what to do about it.

use std::time::Duration;

use crate::job::{JobName, NodeName, RunId, Tick};
use crate::store::StoreError;
use crate::time::UtcMillis;
use crate::view::text::time_format::span;

use super::LastSign;

/// What separates message and help where they are one text.
const HELP: &str = "\n  help: ";

/// Why an act was refused, or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperateError {
    /// The store cannot be reached, or refused the request.
    #[error("{}", .error.named(.label))]
    Store {
        /// The address of the store, without secrets.
        label: String,
        /// Its error.
        error: StoreError,
    },
    /// Every request reached the store too late.
    #[error("store {label}: every request took more than a second to reach the store: nothing was changed")]
    TooLate {
        /// The address of the store, without secrets.
        label: String,
    },
    /// The job has no record.
    #[error("no replica has registered job `{0}` yet")]
    NotOpened(JobName),
    /// The job has no record, because it is disabled.
    #[error("job `{0}` is disabled (enabled = false)")]
    Disabled(JobName),
    /// A newer release wrote the job's record.
    #[error("the record of job `{job}` was written by a newer release (schema {schema})")]
    NewerRecord {
        /// The job.
        job: JobName,
        /// The schema of the record.
        schema: u32,
    },
    /// Each live replica has loaded the file at hand, which does not name the job.
    #[error(
        "no live replica knows job `{0}`: all of them have loaded this jobs.toml, which does not name it"
    )]
    UnknownToReplicas(JobName),
    /// No live replica can run the job.
    #[error("{why}")]
    NoReplica {
        /// Why.
        why: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// The tick that an order names has not come yet.
    #[error("tick `{tick}` lies ahead: it is `{now}` now")]
    TickAhead {
        /// The tick.
        tick: Tick,
        /// The store's time.
        now: UtcMillis,
    },
    /// The instant that an order names is no tick of the job.
    #[error("{what}")]
    NoTick {
        /// What is wrong, with the ticks around it.
        what: String,
        /// Those of these ticks that have come, as an order can name them.
        come: Vec<String>,
    },
    /// The order to run the job is not in the record any more, and was not taken.
    #[error("the request to run `{0}` is gone: another `trigger` replaced it, or the store was reset")]
    OrderGone(JobName),
    /// No replica took the order in time, and it was withdrawn.
    #[error("no replica picked this up within {}; cancelled, nothing ran", span(*.within))]
    NotTaken {
        /// How long it waited.
        within: Duration,
    },
    /// No replica took the order in time for a known reason, and it was withdrawn.
    #[error("not started within {}; cancelled, nothing ran: {why}", span(*.within))]
    NotStarted {
        /// How long it waited.
        within: Duration,
        /// What it waited for.
        why: String,
    },
    /// The job has no run to stop.
    #[error("job `{0}` is not running")]
    NotRunning(JobName),
    /// The run did not end in time.
    #[error(
        "run {run} on {node} has not ended within {}: {node} {sign}{}",
        span(*.within),
        .sign.not_stopped_yet()
    )]
    StillRunning {
        /// The run.
        run: RunId,
        /// Its replica.
        node: NodeName,
        /// How long it was waited for.
        within: Duration,
        /// What the store knows of the replica.
        sign: LastSign,
        /// The lease of its lock.
        lease: Duration,
    },
    /// The lock is not released, as its holder shows that it lives.
    #[error("the lock of job `{job}` is not released: {why}")]
    HolderAlive {
        /// The job.
        job: JobName,
        /// How the holder shows it.
        why: String,
    },
    /// The run whose lock was to be released has ended by itself.
    #[error("run {0} has ended meanwhile: nothing was changed")]
    EndedMeanwhile(RunId),
    /// The job's lock is free.
    #[error("nobody holds the lock of job `{0}`")]
    NotLocked(JobName),
}

impl OperateError {
    /// Returns the error for a run that no live replica can take. `text` may end with a line of help.
    pub(super) fn no_replica(text: &str) -> Self {
        let (why, help) = text.split_once(HELP).map_or((text, None), |(why, help)| (why, Some(help)));
        Self::NoReplica { why: why.to_owned(), help: help.map(str::to_owned) }
    }

    /// Whether the store did not do what was requested, or may not have: the same request may succeed later.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::TooLate { .. })
    }

    /// Returns what to do about it; `None` if that is not known.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Store { error, .. } => error.help().map(str::to_owned),
            Self::NoReplica { help, .. } => help.clone(),
            Self::NoTick { come, .. } if !come.is_empty() => {
                Some(format!("write {}, or no tick: then it is for now", come.join(" or ")))
            }
            Self::TickAhead { .. } | Self::NoTick { .. } => {
                Some("name a tick that has come, or none: then it is for now".to_owned())
            }
            Self::NotOpened(_) => Some(
                "start one with `solocron run`, or try again in a few seconds if the store was just reset"
                    .to_owned(),
            ),
            Self::Disabled(_) => Some("enable it in the file".to_owned()),
            Self::NewerRecord { .. } => Some("use that release's solocron".to_owned()),
            Self::UnknownToReplicas(_) => Some("write it into the file".to_owned()),
            Self::OrderGone(job) => Some(format!("`solocron history {job}` shows what ran")),
            Self::NotTaken { .. } => {
                Some("`solocron status` shows which replicas are live, and who holds the lock".to_owned())
            }
            Self::StillRunning { lease, .. } => Some(format!(
                "the request stays in the store; if the replica is dead, its lock expires {} after the last \
                 renewal",
                span(*lease)
            )),
            Self::HolderAlive { job, .. } => Some(format!(
                "`solocron kill {job}` stops its run; if the holder has just died, try again in a few seconds"
            )),
            Self::TooLate { .. }
            | Self::NotStarted { .. }
            | Self::NotRunning(_)
            | Self::EndedMeanwhile(_)
            | Self::NotLocked(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobName {
        JobName::parse("backup").expect("a name")
    }

    #[test]
    fn each_error_names_the_thing_and_the_way_out() {
        let still = OperateError::StillRunning {
            run: "01939d2c-0000-7000-8000-000000000001".parse().expect("an id"),
            node: NodeName::parse("n1").expect("a name"),
            within: Duration::from_secs(25),
            sign: LastSign::Live,
            lease: Duration::from_secs(30),
        };
        for (error, message, help) in [
            (
                OperateError::Store {
                    label: "redis://a".into(),
                    error: StoreError::NotSent("no answer".into()),
                },
                "store redis://a: no answer",
                "",
            ),
            (
                OperateError::no_replica("every live replica is draining: nothing ran\n  help: start one"),
                "every live replica is draining: nothing ran",
                "start one",
            ),
            (OperateError::no_replica("nobody"), "nobody", ""),
            (
                OperateError::TickAhead { tick: Tick::at_millis(60_000), now: UtcMillis(0) },
                "tick `1970-01-01T00:01:00.000Z` lies ahead: it is `1970-01-01T00:00:00.000Z` now",
                "name a tick that has come, or none: then it is for now",
            ),
            (
                OperateError::NoTick { what: "no tick".into(), come: vec!["`a`".into(), "`b`".into()] },
                "no tick",
                "write `a` or `b`, or no tick: then it is for now",
            ),
            (
                OperateError::NotTaken { within: Duration::from_secs(15) },
                "no replica picked this up within 15s; cancelled, nothing ran",
                "`solocron status` shows which replicas are live, and who holds the lock",
            ),
            (
                OperateError::NotStarted { within: Duration::from_secs(6), why: "run x".into() },
                "not started within 6s; cancelled, nothing ran: run x",
                "",
            ),
            (
                still,
                "run 01939d2c-0000-7000-8000-000000000001 on n1 has not ended within 25s: n1 is alive, but \
                 has not stopped it yet",
                "the request stays in the store; if the replica is dead, its lock expires 30s after the last \
                 renewal",
            ),
            (
                OperateError::HolderAlive { job: job(), why: "n1, which holds it, is alive".into() },
                "the lock of job `backup` is not released: n1, which holds it, is alive",
                "`solocron kill backup` stops its run; if the holder has just died, try again in a few \
                 seconds",
            ),
        ] {
            assert_eq!((error.to_string().as_str(), error.help().as_deref().unwrap_or("")), (message, help));
        }
    }

    #[test]
    fn only_errors_of_the_store_may_pass_by_themselves() {
        assert!(OperateError::TooLate { label: "redis://a".into() }.is_unreachable());
        assert!(!OperateError::NotOpened(job()).is_unreachable());
    }
}
