//! The inputs of the core.

use crate::events::run_ref::Run;
use crate::hold::handle::RunExit;
use crate::hold::holder::ReleasedLock;
use crate::job::{Fence, JobName, RunId};
use crate::lease::Record;
use crate::replica::cluster::heartbeat::Exchange;
use crate::replica::recovery::lost_runs::Settled;
use crate::replica::recovery::orphans::{Orphan, OrphanEnded};
use crate::replica::replica::LoadedFile;
use crate::replica::tick::next_ticks::Coming;
use crate::store::{Concern, Hint, Marked, Replied, StageTimes, StoreError};
use crate::time::BootInstant;

/// What the core takes in. Each step takes one input.
#[derive(Debug)]
pub(crate) enum CoreInput {
    /// The process begins.
    Begin,
    /// Time has passed: an alarm may be due.
    Woke,
    /// The wall clock was stepped.
    ClockStepped,
    /// These ticks come soon.
    TicksAnnounced(Vec<Coming>),
    /// A heartbeat was answered, or got no answer. `stages`: how long the stages of this replica's starts took.
    Heartbeat { exchange: Exchange, stages: Vec<StageTimes> },
    /// The store published that a tick was decided or abandoned.
    Hint(Hint),
    /// The answers to claims that were sent together.
    ClaimsAnswered { sent: BootInstant, answers: Vec<(JobName, Replied)> },
    /// The answer to the request for the lock of a manual run.
    ManualRunAnswered { job: JobName, run: RunId, sent: BootInstant, reply: Replied },
    /// The answers to requests to open records, and to finishes that were sent again: `None` where none had to be sent.
    RecordsOpened { opened: Vec<(JobName, Replied)>, resent: Vec<(JobName, Option<(Run, Replied)>)> },
    /// The record of a job, or why it could not be read.
    RecordRead { job: JobName, record: Result<Option<Box<Record>>, StoreError> },
    /// The marks of these jobs; empty if they could not be read.
    MarksRead { jobs: Vec<JobName>, marks: Vec<Option<Marked>> },
    /// How the store is set up; `None` if it did not answer.
    StoreInspected(Option<Vec<Concern>>),
    /// This replica's own run of a job has proven that it is alive, has ended, or has not renewed in time.
    RunProven(JobName),
    /// Nothing is left of a run. Its end may not be recorded yet.
    RunEnded(RunExit),
    /// The end of a run is recorded, as far as possible.
    LockReleased(Box<ReleasedLock>),
    /// What an earlier process left behind.
    PastRead(PastRead),
    /// The result of checking a run of an earlier process.
    OrphanChecked(OrphanEnded),
    /// Records with a run that is going, and the jobs whose records could not be read.
    RunsFound { running: Vec<(JobName, Record)>, unread: Vec<JobName> },
    /// The result of asking the store about a run without its replica.
    LostRunSettled { run: Run, settled: Settled },
    /// Another jobs.toml was loaded.
    Reload(Box<LoadedFile>),
    /// The order to drain.
    Drain,
    /// The order to stop every run at once.
    StopAtOnce,
}

/// What an earlier process of the replica left on disk.
#[derive(Debug)]
pub(crate) struct PastRead {
    /// Its runs that may still be going.
    pub(crate) orphans: Vec<Orphan>,
    /// The largest fencing token that it noted.
    pub(crate) largest_fence: Fence,
    /// The jobs with a note.
    pub(crate) noted: Vec<JobName>,
}
