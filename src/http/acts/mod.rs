//! What operators do over HTTP: run a job by hand, pause and resume it, stop its run, release its lock. The API and the forms of
//! the page are two shells around this: they read what is wanted ([`ActFields`], [`WantedAct`]), and [`perform`] carries it
//! out by [`operate`](crate::operate). No field can define or change a command.
//!
//! An act is a task of its own, so that a client that goes away leaves none of it half done or without its note. Some go on
//! after their answer: an order that no replica has taken is withdrawn in the end, and the request to stop a run is repeated.

mod answer;
mod fields;
mod limits;
mod seen;
mod task;
#[cfg(test)]
mod tests;
mod wanted;

pub(super) use answer::ActAnswer;
pub(super) use fields::{ActFields, FieldProblem};
pub(super) use limits::ActLimits;
pub(super) use seen::{LastActs, SeenActs};
pub(super) use task::{AdmittedAct, RefusedAct, note_refused, perform, silent_lock};
pub(super) use wanted::WantedAct;

use crate::operate::audit::ActKind;

/// Every act that there is over HTTP.
const ACTS: [ActKind; 5] =
    [ActKind::Trigger, ActKind::Pause, ActKind::Resume, ActKind::Kill, ActKind::Unlock];

/// Returns the act that the last part of a route's path names.
pub(super) fn act_of(route: &str) -> Option<ActKind> {
    let (_, last) = route.rsplit_once('/')?;
    ACTS.into_iter().find(|act| act.as_str() == last)
}
