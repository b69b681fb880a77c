//! Everything that can happen to a tick and to a replica, in one type.

use std::time::Duration;

use crate::job::{JobName, Label, NodeName, Reason, RunId, Tick, Verdict};
use crate::lease::Pausing;
use crate::run::StopSignals;
use crate::store::{Concern, StoreError};
use crate::time::{BootInstant, UtcMillis};

use super::config_diff::Changes;
use super::lease_awaited::LeaseAwaited;
use super::marks_ahead::MarksAhead;
use super::peer_event::PeerEvent;
use super::run_ref::Run;
use super::start_stages::StartStages;
use super::store_change::StoreChange;

/// Something that happened on a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The replica schedules its jobs from now on.
    Started {
        /// How many jobs it schedules.
        jobs: usize,
        /// The store's address for people.
        store: String,
    },
    /// The store answers, for the first time or again.
    StoreReached {
        /// The store's address for people.
        store: String,
    },
    /// The store no longer answers, because of this error.
    StoreLost(StoreError),
    /// A tick was decided by another replica, or earlier.
    TickDecided {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The replica that has or had its run, if known.
        holder: Option<NodeName>,
        /// How it ended, if known.
        how: Option<Verdict>,
    },
    /// A tick whose run was interrupted is not rerun.
    TickNotRerun {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why, if known.
        why: Option<&'static str>,
    },
    /// This replica decided that a tick does not run.
    TickConsumed {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The outcome, and its reason.
        verdict: Verdict,
        /// When it was decided, by the store's clock as this replica knows it.
        at: UtcMillis,
    },
    /// A tick waits for the lock, which another run holds or may hold.
    TickHeld {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The replica that holds the lock, if known.
        holder: Option<NodeName>,
    },
    /// A tick waits because the store did not answer its claim.
    TickUndecided {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The error.
        error: String,
    },
    /// A tick waits because the store refused its claim.
    ClaimRefused {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The error.
        error: String,
    },
    /// Many claims arrived later than expected (rule 1), and are sent again.
    ClaimsUnsynced {
        /// How many, since the last such event.
        count: u64,
    },
    /// A job's record was written by a newer release.
    NewerSchema {
        /// The job.
        job: JobName,
        /// The record's schema.
        schema: u32,
    },
    /// A job's record cannot be opened; the replica keeps trying.
    OpenFailed {
        /// The job.
        job: JobName,
        /// The error.
        error: String,
    },
    /// An operator acted on a job by way of this replica; what was refused is told too.
    OperatorActed {
        /// What was requested, in one word.
        act: &'static str,
        /// The job.
        job: JobName,
        /// The operator.
        by: String,
        /// Where the request came from.
        from: String,
        /// What came of it, in words.
        result: String,
    },
    /// The note of an act could not be appended to the feed of the store. The act itself did not fail.
    ActNotNoted {
        /// What was requested, in one word.
        act: &'static str,
        /// The job.
        job: JobName,
        /// The error.
        error: String,
    },
    /// This replica learnt that an operator has paused a job, or resumed it.
    PausingHeard {
        /// The job.
        job: JobName,
        /// The pause or its end, and the operator.
        said: Pausing,
    },
    /// An operator has ordered to stop a run of this replica.
    KillHeard {
        /// The job.
        job: JobName,
        /// The run.
        run: RunId,
        /// The operator.
        by: String,
    },
    /// A run begins.
    RunStarted {
        /// The run.
        run: Run,
        /// How long after the tick's instant, by this replica's clock.
        late: Duration,
        /// Whether the tick waited for the end of another run of the job.
        waited: bool,
        /// When the claim was sent: the lease counts from there.
        sent: BootInstant,
    },
    /// A lock that was granted, or may have been, is abandoned: nothing was started.
    ClaimAbandoned {
        /// The job.
        job: JobName,
        /// The run that was not started.
        run: RunId,
        /// Why: the run is too late, its job was edited, or the replica shuts down.
        reason: Reason,
    },
    /// An attempt has failed, and another will be made under the same lock.
    AttemptFailed {
        /// The run.
        run: Run,
        /// The attempt, from 1.
        attempt: u32,
        /// How it ended.
        verdict: Verdict,
        /// The exit code, if the command exited.
        exit_code: Option<i32>,
        /// The signal, if one ended the command.
        signal: Option<i32>,
        /// Why the command could not be started, if so.
        error: Option<String>,
        /// The signals by which the attempt was stopped.
        stop_signals: StopSignals,
        /// How long until the next attempt.
        again_in: Duration,
    },
    /// A run has ended, and nothing of it is left.
    RunEnded {
        /// The run.
        run: Run,
        /// The last attempt, from 1.
        attempt: u32,
        /// How it ended.
        verdict: Verdict,
        /// The exit code, if the command exited.
        exit_code: Option<i32>,
        /// The signal, if one ended the command.
        signal: Option<i32>,
        /// From the start of its first attempt to the end of its last, as recorded.
        took: Duration,
        /// When it ended, by the store's clock as this replica knows it.
        at: UtcMillis,
        /// The signals by which its last attempt was stopped.
        stop_signals: StopSignals,
        /// How long the stages of its start took, if its tick was scheduled, did not wait for another run, and its command
        /// was started.
        stages: Option<StartStages>,
        /// Why the command could not be started, if so.
        error: Option<String>,
    },
    /// The end of a run is recorded in the store.
    RunRecorded {
        /// The run.
        run: Run,
    },
    /// The end of a run is recorded, which the store did not know or had forgotten.
    RunRecalled {
        /// The run.
        run: Run,
    },
    /// A run of an earlier process of this replica may still be running: its lock stays until its lease ends.
    FormerRunLeft {
        /// The job.
        job: JobName,
        /// The run.
        run: RunId,
        /// Why it may still be running.
        why: String,
    },
    /// A lock was renewed.
    Renewed {
        /// The run.
        run: Run,
        /// When the renewal was sent: the lease counts from there.
        sent: BootInstant,
        /// How much of the lease was left when the answer came.
        left: Duration,
        /// The whole lease.
        lease: Duration,
    },
    /// A lock could not be renewed; it will be tried again.
    RenewalFailed {
        /// The run.
        run: Run,
        /// The error.
        error: String,
    },
    /// The run may no longer hold its lock, and is stopped.
    LockLost {
        /// The run.
        run: Run,
        /// How the replica noticed.
        why: &'static str,
    },
    /// The end of a run could not be recorded yet; it will be tried again.
    FinishDelayed {
        /// The run.
        run: Run,
        /// The error.
        error: String,
    },
    /// The replica stops, and the end of a run could not be recorded.
    FinishGivenUp {
        /// The run.
        run: Run,
        /// The error.
        error: String,
    },
    /// The wall clock was stepped: everything is planned again.
    ClockStepped,
    /// The store's clock was stepped or is slewed, or the store is in a new era, or it lost data.
    StoreChanged {
        /// What changed.
        what: StoreChange,
    },
    /// A job waits for a longer lease than its own in jobs.toml, which no replica is known to hold.
    LeaseAwaited(LeaseAwaited),
    /// Marks lie in the future: a clock was ahead, and has decided ticks that have not come yet.
    MarksAhead(MarksAhead),
    /// This machine's wall clock and the store's differ.
    ClockDiffers {
        /// How far the wall clock is ahead of the store's, in milliseconds; negative where it is behind.
        ahead_ms: i64,
    },
    /// This machine's wall clock and the store's agree again.
    ClockAgrees,
    /// The store is set up unsafely, or something about it could not be checked.
    StoreConcern(Concern),
    /// An event about other replicas.
    Peer(PeerEvent),
    /// Other replicas have had another jobs.toml for a while.
    FilesDiffer {
        /// Hash of this replica's file.
        file: String,
        /// The other replicas, each with the hash of its file.
        others: String,
    },
    /// All replicas have the same jobs.toml again.
    FilesAgree {
        /// Its hash.
        file: String,
    },
    /// A changed jobs.toml is in effect.
    Reloaded {
        /// Its hash.
        file: String,
        /// What changed.
        changes: Changes,
    },
    /// A tick that waited does not run: its job was edited, removed or disabled.
    TickDropped {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
    },
    /// No live replica has the labels of these jobs: they do not run.
    NoReplicaFits {
        /// The labels that a replica must have to run them.
        labels: Vec<Label>,
        /// The jobs.
        jobs: Vec<JobName>,
    },
    /// The replica is draining: it takes no new ticks, and its runs may finish.
    Draining {
        /// How many runs are left.
        running: usize,
        /// They are stopped after this long.
        limit: Duration,
    },
    /// The runs that are left are stopped.
    Stopping {
        /// How many runs are left.
        running: usize,
    },
    /// This many runs are left that cannot be killed.
    LeftBehind(usize),
    /// The replica has stopped.
    Stopped,
}
