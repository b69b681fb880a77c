//! What the holder of a granted lock decides, from the grant until the end of the run is recorded. A step takes one
//! input and the time, and returns what to do; it neither waits nor reads a clock, a file or the store. What it knows of
//! the store's clock is shared with the rest of the process.
//!
//! ```text
//! running ───────▶ noting ───────────▶ recording ────────▶ released
//! renews,          the end goes to     the end is sent to the
//! stops in time    the lease file      store until it answers
//!    └── nothing was started ──────────────▲
//! ```

mod input;
pub(crate) mod renewal;
mod runtime;
#[cfg(test)]
pub(crate) mod tests;

use std::time::Duration;

use crate::events::event::Event;
use crate::events::run_ref::Run;
use crate::job::{Cause, JobName, Outcome, Reason, RunId, Tick, Verdict};
use crate::lease::{Abandon, Answer, Era, Finish, Lease, Protection, Renew, Request};
use crate::run::{Ended, StopOrder, StopReason};
use crate::store::StoreError;
use crate::store::clock::shared::SharedStoreClock;
use crate::time::{BootInstant, Now, UtcMillis};

use super::granted::Grant;
use super::handle::RunExit;

pub(crate) use input::{HolderEffect, HolderInput, RunEnd};
pub(crate) use runtime::{KeptLock, keep};

use renewal::{Duty, Hold};

/// If the end of a run cannot be recorded, it is tried again after intervals that double from the first of these to
/// the second.
const FINISH_BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A lock whose run is over. The end of the run is recorded, unless the replica gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReleasedLock {
    pub(crate) job: JobName,
    pub(crate) run: RunId,
    /// The tick that is open again because nothing was started for it.
    pub(crate) given_back: Option<Tick>,
    /// The tick that may run once more because its run was interrupted or its rerun was not started.
    pub(crate) cut_short: Option<Tick>,
}

/// Everything that the holder of one lock knows and decides by.
pub(crate) struct LockHolder {
    run: Run,
    lease: Lease,
    /// The time between SIGTERM and SIGKILL when an operator stops the run or a newer tick replaces it.
    kill_grace: Duration,
    hold: Hold,
    /// The era in which the lock was last granted or renewed.
    era: Era,
    /// Whether the last renewal failed. Only the first failure in a row is logged.
    is_failing: bool,
    /// Whether the next request that records the end is the last one.
    gives_up: bool,
    phase: HolderPhase,
    /// When the next step is due; `None`: it waits for an input.
    wakes_at: Option<BootInstant>,
    /// The store's clock; other parts of the process update it as well.
    store_clock: SharedStoreClock,
    /// The effects of the present step.
    effects: Vec<HolderEffect>,
}

/// How far the run is.
#[derive(Debug)]
enum HolderPhase {
    /// The run waits for its instant or is going.
    Running,
    /// Nothing is left of the run. Its end is being noted.
    Noting { finish: Box<Finish>, end: Box<RunEnd>, lock: ReleasedLock },
    /// The end is being sent to the store.
    Recording(Recording),
    /// Nothing is left to do.
    Released,
}

/// The end of a run on its way to the store.
#[derive(Debug)]
struct Recording {
    request: Box<Request>,
    lock: ReleasedLock,
    /// The pause after the next failure.
    backoff: Duration,
    /// When to send it again; `None` while an answer is awaited.
    again_at: Option<BootInstant>,
}

impl LockHolder {
    /// Returns the holder of a lock that was just granted.
    pub(crate) fn new(grant: &Grant, store_clock: SharedStoreClock) -> Self {
        Self {
            run: grant.reference(),
            lease: grant.lease.clone(),
            kill_grace: grant.launch.kill_grace,
            hold: Hold::granted(grant.deadline, grant.sent),
            era: grant.era.clone(),
            is_failing: false,
            gives_up: false,
            phase: HolderPhase::Running,
            wakes_at: None,
            store_clock,
            effects: Vec::new(),
        }
    }

    /// Takes in what has happened, and returns what to do. `now`: the present time.
    pub(crate) fn step(&mut self, input: HolderInput, now: Now) -> Vec<HolderEffect> {
        match input {
            HolderInput::Granted => self.granted(),
            HolderInput::Woke => {}
            HolderInput::Hurry => self.hold.hurry(now.boot),
            HolderInput::RenewalAnswered { sent, era, answer } => {
                self.renewal_answered(sent, era, answer, now.boot);
            }
            HolderInput::RunOver(end) => self.run_over(end, now),
            HolderInput::EndNoted => self.end_noted(),
            HolderInput::RecordAnswered { answer, is_last } => {
                self.record_answered(answer, is_last, now.boot);
            }
            HolderInput::GiveUp => self.gives_up = true,
        }
        self.settle(now);
        std::mem::take(&mut self.effects)
    }

    /// Returns when the next step is due; `None`: it waits for an input.
    pub(crate) fn wakes_at(&self) -> Option<BootInstant> {
        self.wakes_at
    }

    /// Whether the next request that records the end is the last one.
    pub(crate) fn has_given_up(&self) -> bool {
        self.gives_up
    }

    /// Does what is due, and sets when the next step is due.
    fn settle(&mut self, now: Now) {
        self.wakes_at = match &self.phase {
            HolderPhase::Running => self.do_duty(now),
            HolderPhase::Recording(recording) if recording.again_at.is_some() => self.record_again(now.boot),
            HolderPhase::Noting { .. } | HolderPhase::Recording(_) | HolderPhase::Released => None,
        };
    }

    fn granted(&mut self) {
        self.effects
            .push(HolderEffect::NoteRun { era: self.era.clone(), loss_grace: self.hold.loss_grace() });
        self.effects.push(HolderEffect::StartRun);
    }

    /// Renews, or orders the run to stop, whatever is due. Returns when something is due again; `None`: it waits for an
    /// input.
    fn do_duty(&mut self, now: Now) -> Option<BootInstant> {
        loop {
            match self.hold.duty(now.boot) {
                Duty::Wait(until) => return Some(until),
                Duty::Rest => return None,
                Duty::Renew => self.renew(now),
                Duty::Stop => self.stop_for_loss(self.hold.loss_grace(), "could not renew it in time"),
            }
        }
    }

    fn renew(&mut self, now: Now) {
        let expect = self.store_clock.read(|store_clock| store_clock.store_time(now.boot));
        let expect = expect.unwrap_or_default();
        let renew = Renew { lease: self.lease.clone(), expect, leapt: self.store_clock.leapt() };
        let era = self.store_clock.era();
        self.effects.push(HolderEffect::Renew { renew: Box::new(renew), sent: now.boot, era });
    }

    fn renewal_answered(
        &mut self,
        sent: BootInstant,
        era: Era,
        answer: Result<Answer, StoreError>,
        now: BootInstant,
    ) {
        if !matches!(self.phase, HolderPhase::Running) {
            return;
        }
        match answer {
            Ok(Answer::Renewed { stop }) => {
                self.renewed(sent, era, now);
                if let Some(why) = stop {
                    let order = StopOrder { reason: StopReason::asked_for(why), grace: self.kill_grace };
                    self.effects.push(HolderEffect::Stop(order));
                }
            }
            Ok(Answer::Lost) => {
                if self.hold.lose() {
                    // Another holder may be running already: no time is left for a grace.
                    let why = "another replica has it, or it was released with `unlock`";
                    self.stop_for_loss(Duration::ZERO, why);
                }
            }
            Ok(other) => self.renewal_failed(now, format!("the store answered {}", other.name())),
            Err(error) => self.renewal_failed(now, error.to_string()),
        }
    }

    fn renewed(&mut self, sent: BootInstant, era: Era, now: BootInstant) {
        let (left, lease) = (self.hold.lease_left(now), self.lease.length);
        self.hold.renewed(if Protection::DeadlineFromSending.is_on() { sent } else { now });
        self.era = era;
        self.is_failing = false;
        let deadline = Some(self.hold.deadline()).filter(|_| !self.hold.is_lost());
        self.effects.push(HolderEffect::Renewed { deadline });
        self.report(Event::Renewed { run: self.run.clone(), sent, left, lease });
    }

    fn renewal_failed(&mut self, now: BootInstant, error: String) {
        self.hold.failed(now);
        if !std::mem::replace(&mut self.is_failing, true) {
            self.report(Event::RenewalFailed { run: self.run.clone(), error });
        }
    }

    fn stop_for_loss(&mut self, grace: Duration, why: &'static str) {
        self.effects.push(HolderEffect::Stop(StopOrder { reason: StopReason::LockLost, grace }));
        self.report(Event::LockLost { run: self.run.clone(), why });
    }

    /// Takes in that nothing of the run is left.
    fn run_over(&mut self, mut end: Box<RunEnd>, now: Now) {
        if end.ended.was_stuck && self.hold.is_lost() {
            // It is unknown whether the whole run had ended when the lock was over.
            end.ended.verdict = Verdict::because(Outcome::Unknown, Reason::LeftBehind);
        }
        // A manual run decides no tick, so it gives none back. A rerun gives back only itself.
        let decides = matches!(self.run.cause, Cause::Schedule | Cause::CatchUp);
        let lock = ReleasedLock {
            job: self.run.job.clone(),
            run: self.run.run,
            given_back: Some(self.run.tick).filter(|_| !end.ended.was_tried && decides),
            cut_short: Some(self.run.tick).filter(|_| self.has_rerun_left(&end.ended)),
        };
        if end.ended.was_tried {
            self.note_end(end, lock, now);
        } else {
            self.abandon(end, lock);
        }
    }

    /// Whether the tick may be run once more after its run ended like this.
    fn has_rerun_left(&self, ended: &Ended) -> bool {
        let is_cut_short = ended.was_tried && ended.verdict.outcome == Outcome::Interrupted;
        is_cut_short && self.lease.may_run_again() || !ended.was_tried && self.lease.cause == Cause::Rerun
    }

    fn note_end(&mut self, end: Box<RunEnd>, lock: ReleasedLock, now: Now) {
        let at = self.store_clock.store_time(now).minus(end.ended.ago);
        self.log_end(&end, at);
        let finish = Box::new(Finish {
            lease: self.lease.clone(),
            era: self.era.clone(),
            attempt: end.attempt,
            verdict: end.ended.verdict,
            ended: at,
            exit_code: end.ended.exit_code,
            signal: end.ended.signal,
            tail: end.ended.tail.clone(),
            leapt: self.store_clock.leapt(),
        });
        self.effects.push(HolderEffect::NoteEnd(finish.clone()));
        self.phase = HolderPhase::Noting { finish, end, lock };
    }

    /// Logs the end of the run. `at` is its time by the store's clock, so that the logged duration agrees with the
    /// record.
    fn log_end(&mut self, end: &RunEnd, at: UtcMillis) {
        let ended = &end.ended;
        self.report(Event::RunEnded {
            run: self.run.clone(),
            attempt: end.attempt,
            verdict: ended.verdict,
            exit_code: ended.exit_code,
            signal: ended.signal,
            took: at.since(self.lease.started),
            at,
            stop_signals: ended.stop_signals,
            stages: end.stages,
            error: ended.error.as_ref().map(ToString::to_string),
        });
    }

    /// Takes in that the lease file has the end of the run, as far as the disk allows.
    fn end_noted(&mut self) {
        match std::mem::replace(&mut self.phase, HolderPhase::Released) {
            HolderPhase::Noting { finish, end, lock } => {
                let was_cut_short = finish.verdict.outcome.was_cut_short();
                self.effects.push(HolderEffect::ReportEnd(RunExit { run: self.run.run, was_cut_short }));
                // The log is closed at the same time: until the store has the end, the lock is held, and other
                // replicas may wait for it.
                self.record(Box::new(Request::Finish(*finish)), lock);
                self.effects.push(HolderEffect::CloseLog(end));
            }
            other => self.phase = other,
        }
    }

    /// Gives back a lock under which nothing was started.
    fn abandon(&mut self, end: Box<RunEnd>, lock: ReleasedLock) {
        self.effects.push(HolderEffect::ReportEnd(RunExit { run: self.run.run, was_cut_short: true }));
        let reason = end.ended.verdict.reason.unwrap_or(Reason::Late);
        self.report(Event::ClaimAbandoned { job: self.run.job.clone(), run: self.run.run, reason });
        let abandon = Abandon::of(self.run.run, self.era.clone());
        self.effects.push(HolderEffect::ForgetNote);
        self.record(Box::new(Request::Abandon(abandon)), lock);
        self.effects.push(HolderEffect::ForgetLog(end));
    }

    fn record(&mut self, request: Box<Request>, lock: ReleasedLock) {
        self.effects.push(HolderEffect::Record { request: request.clone(), is_first: true });
        let recording = Recording { request, lock, backoff: FINISH_BACKOFF.0, again_at: None };
        self.phase = HolderPhase::Recording(recording);
    }

    fn record_answered(&mut self, answer: Result<Answer, StoreError>, is_last: bool, now: BootInstant) {
        let HolderPhase::Recording(recording) = &mut self.phase else { return };
        let error = match answer {
            Ok(Answer::Finished) => {
                self.report(Event::RunRecorded { run: self.run.clone() });
                return self.release();
            }
            Ok(Answer::AlreadyDecided | Answer::Abandoned) => return self.release(),
            Ok(other) => format!("the store answered {}", other.name()),
            Err(error) => error.to_string(),
        };
        if is_last {
            self.report(Event::FinishGivenUp { run: self.run.clone(), error });
            return self.release();
        }
        let is_first = recording.backoff == FINISH_BACKOFF.0;
        recording.again_at = Some(now.plus(recording.backoff));
        recording.backoff = (recording.backoff * 2).min(FINISH_BACKOFF.1);
        if is_first {
            self.report(Event::FinishDelayed { run: self.run.clone(), error });
        }
    }

    /// Sends the end again if its pause is over or the holder gives up. Otherwise returns when the pause is over.
    fn record_again(&mut self, now: BootInstant) -> Option<BootInstant> {
        let HolderPhase::Recording(recording) = &mut self.phase else { return None };
        if !self.gives_up && recording.again_at.is_some_and(|at| now < at) {
            return recording.again_at;
        }
        recording.again_at = None;
        self.effects.push(HolderEffect::Record { request: recording.request.clone(), is_first: false });
        None
    }

    fn release(&mut self) {
        if let HolderPhase::Recording(recording) = std::mem::replace(&mut self.phase, HolderPhase::Released) {
            self.effects.push(HolderEffect::Release(recording.lock));
        }
    }

    fn report(&mut self, event: Event) {
        self.effects.push(HolderEffect::Report(event));
    }
}
