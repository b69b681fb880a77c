//! The effects of a step: what the runtime does.

use std::sync::Arc;
use std::time::Duration;

use crate::config::LogRetention;
use crate::events::config_diff::Changes;
use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::hold::granted::Grant;
use crate::job::{JobName, JobSpec, RunId, Tick};
use crate::lease::{Abandon, Claim, Manual, Open};
use crate::replica::recovery::orphans::Orphan;
use crate::run::StopOrder;
use crate::store::Beat;
use crate::time::BootInstant;

/// Something to do. Effects are performed in their order; nothing waits for the end of one. Where a result is wanted,
/// it comes back as an [`CoreInput`](super::CoreInput).
#[derive(Debug)]
pub(crate) enum Effect {
    /// Log an event.
    Report(Event),

    /// Send these claims together; `ClaimsAnswered`.
    Claim(Vec<(JobName, Claim)>),
    /// Give back what an unanswered claim may have been granted, and then send a new claim; `ClaimsAnswered`.
    ClaimInstead { job: JobName, claim: Box<Claim>, doubt: Abandon },
    /// Give back a lock under which nothing was started.
    GiveBack { job: JobName, doubt: Abandon },
    /// Request the lock for a manual run; `ManualRunAnswered`.
    RequestManualRun { job: JobName, manual: Box<Manual> },
    /// Open records, and send the noted ends of the last runs of these jobs again; `RecordsOpened`.
    OpenRecords { opens: Vec<(JobName, Open)>, resend: Vec<JobName> },
    /// Make the other replicas read a job's record.
    Announce(JobName),
    /// Read a job's record after this long; `RecordRead`.
    ReadRecord { job: JobName, after: Duration },
    /// Read the marks of these jobs; `MarksRead`.
    ReadMarks(Vec<JobName>),
    /// Inspect how the store is set up; `StoreInspected`.
    InspectStore,
    /// Renew at once those of these locks that the store forgot.
    CheckLocks(Vec<(JobName, RunId)>),
    /// Look for runs that are going, in the records of these jobs; `RunsFound`.
    FindRuns(Vec<JobName>),
    /// Have the store end a run without its replica; `LostRunSettled`.
    SettleLostRun { run: Run, manual: Box<Manual> },
    /// Log that an interrupted tick does not run once more, and why.
    ExplainNotRerun { spec: Arc<JobSpec>, tick: Tick },

    /// Get ready for so many runs by this instant, and for the logs of these jobs.
    Prepare { runs: usize, until: BootInstant, jobs: Vec<JobName> },
    /// Start the run that was granted, at its instant; `RunEnded`, `LockReleased`.
    Start(Box<RunStart>),
    /// Order a run to stop.
    Stop { run: RunId, order: StopOrder },
    /// Make no further attempt of a run after the current one.
    EndAttempts(RunId),
    /// Renew the lock of a run at once.
    Renew(RunId),
    /// Renew the lock of a run at once, to prove that it is alive; `RunProven`.
    Prove { job: JobName, run: RunId },
    /// Try once more to record the ends of runs, and then leave them unrecorded.
    GiveUpRecording,
    /// Whether the ends of runs are recorded at once, and not in batches.
    HurryFinishes(bool),

    /// Send this heartbeat from now on.
    SetBeat(Box<Beat>),
    /// Send a heartbeat at once.
    BeatNow,

    /// Read what an earlier process left behind; `PastRead`.
    ReadPast,
    /// Make sure that a run of an earlier process is dead; `OrphanChecked`.
    CheckOrphan { orphan: Box<Orphan>, is_first: bool },
    /// Take all noted ends for uncertain: the store may have forgotten a later holder.
    DoubtNotedEnds,
    /// Delete the note of a job.
    ForgetNote(JobName),
    /// Delete the run logs that are past their retention.
    PruneLogs(LogRetention),

    /// The jobs.toml that was loaded is in effect, with these changes.
    Reloaded(Changes),
    /// End although processes of runs may be alive: their guards continue to kill them, and their locks expire.
    LeaveBehind,
}

/// A run to start.
#[derive(Debug)]
pub(crate) struct RunStart {
    /// The lock and the command.
    pub(crate) grant: Grant,
    /// How late the tick may start.
    pub(crate) start_deadline: Duration,
    /// When the core found that the run may start.
    pub(crate) decided: BootInstant,
    /// Whether no further attempt follows the first, because the replica drains.
    pub(crate) is_last_attempt: bool,
}
