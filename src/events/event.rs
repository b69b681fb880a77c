//! Everything that can happen to a tick and to a replica, in one type.

use std::time::Duration;

use crate::job::{JobName, Label, NodeName, Reason, RunId, Tick, Verdict};
use crate::lease::Pausing;
use crate::store::{Concern, StoreError};
use crate::time::BootInstant;

use super::config_diff::Changes;
use super::lease_awaited::LeaseAwaited;
use super::marks_ahead::MarksAhead;
use super::peer_event::PeerEvent;
use super::run_ref::Run;

/// Something that happened on a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The replica takes part.
    Started {
        /// How many jobs it schedules.
        jobs: usize,
        /// The store for people.
        store: String,
    },
    /// The store answers, for the first time or again.
    StoreReached {
        /// The store for people.
        store: String,
    },
    /// The store does not answer any more: why.
    StoreLost(StoreError),
    /// A tick was decided by another replica, or earlier.
    TickDecided {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The replica that has or had its run.
        holder: Option<NodeName>,
        /// How it ended.
        how: Option<Verdict>,
    },
    /// A tick whose run was cut short does not run once more.
    TickNotRerun {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why, where the store tells.
        why: Option<&'static str>,
    },
    /// This replica decided that a tick does not run.
    TickConsumed {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why.
        verdict: Verdict,
    },
    /// A tick waits for the lock's holder.
    TickHeld {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// The holder.
        holder: Option<NodeName>,
    },
    /// A tick waits because the store did not answer its claim.
    TickUndecided {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why.
        error: String,
    },
    /// A tick waits because the store refused its claim.
    ClaimRefused {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
        /// Why.
        error: String,
    },
    /// Many claims came later than they said, and are made again.
    ClaimsUnsynced {
        /// How many since this was told last.
        count: u64,
    },
    /// A job's record was written by a newer release.
    NewerSchema {
        /// The job.
        job: JobName,
        /// The record's schema.
        schema: u32,
    },
    /// A job's record cannot be opened; it is tried again and again.
    OpenFailed {
        /// The job.
        job: JobName,
        /// Why.
        error: String,
    },
    /// An operator has paused a job, or resumed it.
    PausingHeard {
        /// The job.
        job: JobName,
        /// What was said, and by whom.
        said: Pausing,
    },
    /// An operator wants a run of this replica stopped.
    KillHeard {
        /// The job.
        job: JobName,
        /// The run.
        run: RunId,
        /// Who.
        by: String,
    },
    /// A run begins.
    RunStarted {
        /// The run.
        run: Run,
        /// How long after the tick's instant, by this replica's clock.
        late: Duration,
        /// When the claim was sent: the lease counts from there.
        sent: BootInstant,
    },
    /// A claim was won, or may have been, and is given back: nothing was started.
    ClaimAbandoned {
        /// The job.
        job: JobName,
        /// The run that was not started.
        run: RunId,
        /// Why: it is too late for it, its job was edited, or its replica leaves.
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
        /// Why it could not be started.
        error: Option<String>,
        /// How long after that it is tried again.
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
        /// From the start of its first attempt to the end of its last, as its record tells.
        took: Duration,
        /// Why it could not be started.
        error: Option<String>,
    },
    /// The end of a run is recorded in the store.
    RunRecorded {
        /// The run.
        run: Run,
    },
    /// The end of a run is recorded, which the store did not know, or had forgotten.
    RunRecalled {
        /// The run.
        run: Run,
    },
    /// A run of this replica's former life may still go on: it is left to its lease.
    FormerRunLeft {
        /// The job.
        job: JobName,
        /// The run.
        run: RunId,
        /// How that showed.
        why: String,
    },
    /// A lock was renewed.
    Renewed {
        /// The run.
        run: Run,
        /// When the renewal was sent: the lease counts from there.
        sent: BootInstant,
    },
    /// A lock could not be renewed; it will be tried again.
    RenewalFailed {
        /// The run.
        run: Run,
        /// Why.
        error: String,
    },
    /// The lock is not provably this run's any more: the run is stopped.
    LockLost {
        /// The run.
        run: Run,
        /// How that showed.
        why: &'static str,
    },
    /// The end of a run could not be recorded yet; it will be tried again.
    FinishDelayed {
        /// The run.
        run: Run,
        /// Why.
        error: String,
    },
    /// The wall clock was stepped: everything is planned anew.
    ClockStepped,
    /// The store's clock was stepped, or it lives another life, or it forgot.
    StoreChanged {
        /// What showed.
        what: &'static str,
    },
    /// A job waits for a longer lease than its file's, which nobody is known to hold.
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
    /// Something is unsafe about how the store is set up, or could not be found out.
    StoreConcern(Concern),
    /// Something about other replicas.
    Peer(PeerEvent),
    /// Other replicas have had another jobs.toml for a while.
    FilesDiffer {
        /// Hash of this replica's.
        file: String,
        /// The others, each with the hash of its own.
        others: String,
    },
    /// All replicas have the same jobs.toml again.
    FilesAgree {
        /// Its hash.
        file: String,
    },
    /// Another jobs.toml is in effect.
    Reloaded {
        /// Its hash.
        file: String,
        /// What is different.
        changes: Changes,
    },
    /// A tick that waited is none any more: its job was edited, removed or disabled.
    TickDropped {
        /// The job.
        job: JobName,
        /// The tick.
        tick: Tick,
    },
    /// No live replica has the labels of these jobs: they do not run.
    NoReplicaFits {
        /// What their replicas must carry.
        labels: Vec<Label>,
        /// The jobs.
        jobs: Vec<JobName>,
    },
    /// No new ticks are taken; runs may finish.
    Draining {
        /// Runs that are going on.
        running: usize,
        /// They are stopped after this long.
        limit: Duration,
    },
    /// Runs are stopped.
    Stopping {
        /// Runs that are going on.
        running: usize,
    },
    /// So many runs are left that cannot be killed.
    LeftBehind(usize),
    /// Nothing is left to do.
    Stopped,
}
