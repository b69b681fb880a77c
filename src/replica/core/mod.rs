//! What a replica decides. A step takes one input and the time, and returns what to do; it neither waits nor reads a
//! clock, a file or the store. The runtime performs the effects, and the simulator does in its place.
//!
//! ```text
//! CoreInput ──▶ Core::step ──▶ effects
//!             take_in      one method for each input, in the folder of its topic
//!             settle       what follows from any change: free slots, claims to send, the heartbeat
//! ```

mod effect;
mod input;
mod own_run;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::config::LogRetention;
use crate::events::config_diff::Changes;
use crate::events::event::Event;
use crate::job::{JobName, NodeName, RunId};
use crate::lease::{Caller, Claim};
use crate::run::Job;
use crate::store::Beat;
use crate::store::clock::Known;
use crate::store::clock::shared::SharedStoreClock;
use crate::time::{BootInstant, Now, UtcMillis};

use super::cluster::capacity::Capacity;
use super::cluster::store_audit::Inspection;
use super::cluster::store_health::StoreHealth;
use super::cluster::unschedulable::Unschedulable;
use super::control::drain_deadline::DrainDeadline;
use super::control::notices::Notices;
use super::recovery::lost_runs::LostRuns;
use super::recovery::resync::Past;
use super::replica::LoadedFile;
use super::tick::claim_window::{CLAIMS_UNDER_WAY, Window};
use super::tick::claiming::Contest;
use super::tick::late_claims::LateClaims;
use super::tick::next_ticks::{Coming, NextTicks};
use super::tick::ticker::{SharedNextTicks, take_coming};

pub(super) use effect::{Effect, RunStart};
pub(super) use input::{CoreInput, PastRead};
pub(super) use own_run::OwnRun;

/// Everything that a replica knows and decides by.
pub(super) struct Core {
    pub(super) node: NodeName,
    /// When the present step began.
    pub(super) at: Now,
    /// The store's clock; holders and errands update it as well.
    pub(super) store_clock: SharedStoreClock,
    /// The effects of the present step.
    pub(super) effects: Vec<Effect>,

    pub(super) jobs: BTreeMap<JobName, Job>,
    pub(super) contests: BTreeMap<JobName, Contest>,
    pub(super) next_ticks: SharedNextTicks,
    /// When to check which job again, earliest first. Checking too often is harmless.
    pub(super) alarms: BinaryHeap<Reverse<(UtcMillis, JobName)>>,
    pub(super) window: Window<JobName>,
    pub(super) late_claims: LateClaims,
    /// Claims to send at the end of the step.
    pub(super) claims: Vec<(JobName, Claim)>,
    /// Jobs whose marks are to be read at the end of the step.
    pub(super) looks: Vec<JobName>,
    /// The runs of this replica whose locks are not released.
    pub(super) runs: BTreeMap<RunId, OwnRun>,
    pub(super) capacity: Capacity,

    pub(super) health: StoreHealth,
    pub(super) inspection: Inspection,
    pub(super) unschedulable: Unschedulable,
    pub(super) beat: Beat,
    /// Whether the heartbeat has changed in the present step, and whether one is to be sent at once.
    pub(super) is_beat_changed: bool,
    pub(super) beats_now: bool,

    /// Requests under way to open records, with the start of the schedule that each contains. `None` for finishes,
    /// and for openings whose answer does not count any more.
    pub(super) opening: BTreeMap<JobName, Option<BootInstant>>,
    pub(super) past: Past,
    pub(super) lost: LostRuns,

    pub(super) notices: Notices,
    pub(super) retention: LogRetention,
    /// What the file that was loaded in the present step has changed.
    pub(super) reloaded: Option<Changes>,
    /// How long runs may continue after the order to drain.
    pub(super) drain: Duration,
    pub(super) draining: bool,
    /// Whether runs are being stopped: nothing is started any more.
    pub(super) stopping: bool,
    pub(super) drain_deadline: DrainDeadline,
    /// Whether the ends of runs are recorded at once, as was last ordered.
    finishes_hurry: bool,
}

impl Core {
    /// Returns the replica `node` before it begins, with the jobs of `file`. `store`: the label of its store.
    pub(super) fn new(
        node: NodeName,
        store: String,
        file: LoadedFile,
        store_clock: SharedStoreClock,
        now: Now,
    ) -> Self {
        let life = RunId::new();
        let LoadedFile { jobs, hash, expected_replicas, drain, labels, max_running, retention } = file;
        let beat = Beat::of(node.clone(), life, hash.clone(), now.wall);
        let mut next_ticks = NextTicks::default();
        next_ticks.plan(jobs.values().map(|job| Arc::clone(&job.spec)), now.wall);
        let contest = |job: &Job| Contest::new(Arc::clone(&job.spec), node.clone(), now.boot);
        let contests = jobs.iter().map(|(name, job)| (name.clone(), contest(job))).collect();
        let mut health = StoreHealth::new(store, node.clone(), life, expected_replicas, hash);
        health.roster.carry(labels.clone());
        Self {
            node,
            at: now,
            store_clock,
            effects: Vec::new(),
            contests,
            jobs,
            next_ticks: Arc::new(Mutex::new(next_ticks)),
            alarms: BinaryHeap::new(),
            window: Window::of(CLAIMS_UNDER_WAY),
            late_claims: LateClaims::default(),
            claims: Vec::new(),
            looks: Vec::new(),
            runs: BTreeMap::new(),
            capacity: Capacity::new(max_running),
            health,
            inspection: Inspection::default(),
            unschedulable: Unschedulable::default(),
            beat: Beat { labels, ..beat },
            is_beat_changed: false,
            beats_now: false,
            opening: BTreeMap::new(),
            past: Past::default(),
            lost: LostRuns::default(),
            notices: Notices::default(),
            retention,
            reloaded: None,
            drain,
            draining: false,
            stopping: false,
            drain_deadline: DrainDeadline::new(),
            finishes_hurry: false,
        }
    }

    /// Takes in what has happened, and returns what to do. `now`: the present time.
    pub(super) fn step(&mut self, input: CoreInput, now: Now) -> Vec<Effect> {
        self.at = now;
        self.take_in(input);
        self.settle();
        std::mem::take(&mut self.effects)
    }

    fn take_in(&mut self, input: CoreInput) {
        match input {
            CoreInput::Begin => self.begin(),
            CoreInput::Woke => self.woke(),
            CoreInput::ClockStepped => self.clock_stepped(),
            CoreInput::TicksAnnounced(coming) => self.expect(coming),
            CoreInput::Heartbeat { exchange, stages } => self.exchanged(exchange, stages),
            CoreInput::Hint(hint) => self.take_hint(&hint),
            CoreInput::ClaimsAnswered { sent, answers } => {
                answers.into_iter().for_each(|(job, reply)| self.claimed(&job, sent, reply));
            }
            CoreInput::ManualRunAnswered { job, run, sent, reply } => self.obeyed(&job, run, sent, reply),
            CoreInput::RecordsOpened { opened, resent } => self.opened(opened, resent),
            CoreInput::RecordRead { job, record } => self.looked(&job, record),
            CoreInput::MarksRead { jobs, marks } => self.marked(&jobs, &marks),
            CoreInput::StoreInspected(found) => self.inspected(found),
            CoreInput::RunProven(job) => self.proven(&job),
            CoreInput::RunEnded(run) => self.run_ended(run),
            CoreInput::LockReleased(lock) => self.released(&lock),
            CoreInput::PastRead(past) => self.past_read(past),
            CoreInput::OrphanChecked(checked) => self.orphan_ended(checked),
            CoreInput::RunsFound { running, unread } => self.searched(&running, unread),
            CoreInput::LostRunSettled { run, settled } => self.settled_lost(&run, settled),
            CoreInput::Reload(file) => self.reload(*file),
            CoreInput::Drain => self.begin_to_drain(),
            CoreInput::StopAtOnce => self.stop_at_once(),
        }
    }

    fn begin(&mut self) {
        let coming = take_coming(&self.next_ticks, self.now());
        self.expect(coming);
        self.effects.push(Effect::PruneLogs(self.retention));
        self.effects.push(Effect::ReadPast);
    }

    /// Does what follows from any change: passes free slots on, checks the jobs whose turn has come, and sends what
    /// was collected.
    fn settle(&mut self) {
        self.pass_slots_on();
        while let Some(job) = self.window.next() {
            let now = self.now();
            self.look(&job, now);
            self.pass_slots_on();
        }
        self.send_claims();
        if !self.looks.is_empty() {
            self.effects.push(Effect::ReadMarks(std::mem::take(&mut self.looks)));
        }
        // Finishes are batched unless something may wait for them: the drain, or a job that waits for a free slot.
        let hurry = self.draining || !self.capacity.is_unlimited();
        if std::mem::replace(&mut self.finishes_hurry, hurry) != hurry {
            self.effects.push(Effect::HurryFinishes(hurry));
        }
        if std::mem::take(&mut self.is_beat_changed) {
            self.effects.push(Effect::SetBeat(Box::new(self.beat.clone())));
        }
        if std::mem::take(&mut self.beats_now) {
            self.effects.push(Effect::BeatNow);
        }
        self.effects.extend(self.reloaded.take().map(Effect::Reloaded));
    }

    /// Whether it takes no new ticks because it is about to end.
    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    /// Returns when the next alarm is due, by [`Core::now`]; `None` if none is set.
    pub(super) fn next_alarm(&self) -> Option<UtcMillis> {
        self.alarms.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns the time by which ticks are due.
    pub(super) fn now(&self) -> UtcMillis {
        self.store_clock.due_time(self.at)
    }

    /// Returns what the store's clock should show.
    pub(super) fn store_time(&self) -> UtcMillis {
        self.store_clock.store_time(self.at)
    }

    /// Returns what this replica sends about itself in a request on a job; `None` until the store has answered for the
    /// first time.
    pub(super) fn caller(&self, known: Known) -> Option<Caller> {
        self.store_clock.caller(&self.node, self.at.boot, known)
    }

    /// Logs the event.
    pub(super) fn report(&mut self, event: Event) {
        self.effects.push(Effect::Report(event));
    }

    /// Sets alarms for ticks at their instants, and prepares claims ahead of them.
    pub(super) fn expect(&mut self, coming: Vec<Coming>) {
        self.prepare(&coming);
        self.alarms.extend(coming.into_iter().map(|coming| Reverse((coming.tick.instant(), coming.job))));
    }

    fn woke(&mut self) {
        let now = self.now();
        let mut due = Vec::new();
        while let Some(alarm) = self.alarms.peek_mut().filter(|alarm| alarm.0.0 <= now) {
            due.push(PeekMut::pop(alarm).0.1);
        }
        if !due.is_empty() {
            self.health.roster.expect(due.len());
        }
        due.iter().for_each(|job| self.look_at(job, now));
        self.drain_on();
    }
}
