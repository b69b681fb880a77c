//! What a holder takes in, and what it has done.

use std::time::Duration;

use crate::events::StartStages;
use crate::events::event::Event;
use crate::hold::handle::RunExit;
use crate::lease::{Answer, Era, Finish, Renew, Request};
use crate::run::{Ended, StopOrder};
use crate::store::StoreError;
use crate::time::BootInstant;

use super::ReleasedLock;

/// Something that has happened.
#[derive(Debug)]
pub(crate) enum HolderInput {
    /// The lock was granted; the first input.
    Granted,
    /// The instant of [`wakes_at`](super::LockHolder::wakes_at) may have come.
    Woke,
    /// The order to renew at once.
    Hurry,
    /// The answer to the renewal that was sent at `sent`, when the store was in `era`.
    RenewalAnswered { sent: BootInstant, era: Era, answer: Result<Answer, StoreError> },
    /// Nothing is left of the run.
    RunOver(Box<RunEnd>),
    /// The end of the run is noted, as far as the disk allows, and starts have had their priority.
    EndNoted,
    /// The answer to the request that records the end or gives the lock back. `is_last`: whether the order to give up had
    /// come when the request was sent.
    RecordAnswered { answer: Result<Answer, StoreError>, is_last: bool },
    /// The order to send the end once more, and then to leave it unrecorded.
    GiveUp,
}

/// A run of which nothing is left.
#[derive(Debug)]
pub(crate) struct RunEnd {
    /// The number of the last attempt.
    pub(crate) attempt: u32,
    /// How the last attempt ended.
    pub(crate) ended: Ended,
    /// How long the stages of the start took, if they were measured.
    pub(crate) stages: Option<StartStages>,
}

/// Something to do. Effects are performed in their order; nothing waits for the end of one. Where a result is wanted,
/// it comes back as the [`HolderInput`] that the effect names.
#[derive(Debug)]
pub(crate) enum HolderEffect {
    /// Log an event.
    Report(Event),
    /// Note on disk that a run is going under the lock, granted in `era`.
    NoteRun { era: Era, loss_grace: Duration },
    /// Start the run, at its instant; `RunOver`.
    StartRun,
    /// Send this renewal; `RenewalAnswered`, with `sent` and `era`.
    Renew { renew: Box<Renew>, sent: BootInstant, era: Era },
    /// The lock was renewed. The run may continue until the deadline; `None` if it has to stop all the same.
    Renewed { deadline: Option<BootInstant> },
    /// Order the run to stop.
    Stop(StopOrder),
    /// Note the end of the run on disk; `EndNoted`.
    NoteEnd(Box<Finish>),
    /// Delete the note of the run.
    ForgetNote,
    /// Report to the rest of the process that nothing is left of the run.
    ReportEnd(RunExit),
    /// Send the request that records the end or gives the lock back; `RecordAnswered`. `is_first`: whether it was not sent
    /// before.
    Record { request: Box<Request>, is_first: bool },
    /// Close the log of the run.
    CloseLog(Box<RunEnd>),
    /// Delete the log of the run, which was not started.
    ForgetLog(Box<RunEnd>),
    /// The end is recorded, as far as possible: nothing is left to do about the lock.
    Release(ReleasedLock),
}
