//! Drives the processes of one attempt: decides by its `AttemptState`, sends orders to its guard, and kills the
//! processes itself if the guard does not.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::job::{Outcome, Reason, Verdict};
use crate::run::attempt::Birth;
use crate::run::error::RunError;
use crate::run::guard::{GuardOrder, Guards, STEP_OVERDUE, STEP_SHIFT};
use crate::run::history::run_log::RunLog;
use crate::time::{BootInstant, Clock, UtcMillis};

use super::launch::Launch;
use super::process::{Process, RunReport};
use super::start_error::start_error;
use super::state::{AttemptAction, AttemptEvent, AttemptState, ChildExit, Limits, Step, Tree};
use super::stop::{RunControl, StopOrder, StopReason, StopSignals};

/// First interval between two searches of a tree that should be dead.
const FIRST_INTERVAL: Duration = Duration::from_millis(1);

/// Longest interval between two searches, and so the longest time by which a lock is held too long.
const LONGEST_INTERVAL: Duration = Duration::from_millis(100);

/// A guard counts as frozen if it has not killed its run within this time after it should: then the replica kills the
/// run itself.
const GUARDS_TURN: Duration = Duration::from_millis(200);

/// A guard that has reported nothing by then never will: the guard or the zygote is frozen.
const BIRTH_LIMIT: Duration = Duration::from_secs(10);

/// How an attempt's processes ended.
pub(super) struct AttemptEnd {
    pub(super) verdict: Verdict,
    pub(super) was_tried: bool,
    pub(super) exit: ChildExit,
    pub(super) error: Option<RunError>,
    pub(super) was_stuck: bool,
    pub(super) stop_signals: StopSignals,
    /// How long ago the end was when the replica read the report of it.
    pub(super) ago: Duration,
    pub(super) finished: UtcMillis,
}

/// A process, and the state of its attempt.
pub(super) struct AttemptDriver<'a> {
    process: Process,
    clock: Arc<dyn Clock>,
    launch: &'a Launch,
    guards: &'a Guards,
    limits: Limits,
    state: AttemptState,
    stop_signals: StopSignals,
    start: BootInstant,
    search_interval: Duration,
    /// When the guard or the zygote is killed if the guard has reported nothing; `None` once that is done.
    birth_limit: Option<Instant>,
    log: &'a RunLog,
}

/// What an attempt has to handle next.
enum AttemptNews {
    /// A report of its guard.
    Report(RunReport),
    /// A stop order, an instant that has come, or the result of a search.
    Event(AttemptEvent),
    /// A new deadline.
    Deadline,
    /// Its guard has reported nothing for too long.
    Unborn,
}

impl AttemptEnd {
    /// Returns the end of an attempt that was stopped before its start. One that an operator or a newer tick has
    /// killed counts as tried, so that no other replica starts it.
    pub(super) fn untried(reason: StopReason, log: &RunLog) -> Self {
        let (verdict, finished) = (reason.verdict(), log.now());
        let was_tried = verdict.outcome == Outcome::Killed;
        Self { was_tried, ..Self::without_process(verdict, finished) }
    }

    pub(super) fn not_started(error: RunError, log: &RunLog) -> Self {
        let verdict = Verdict::because(Outcome::Failed, Reason::SpawnFailed);
        Self { error: Some(error), ..Self::without_process(verdict, log.now()) }
    }

    fn without_process(verdict: Verdict, finished: UtcMillis) -> Self {
        Self {
            verdict,
            was_tried: true,
            exit: ChildExit::default(),
            error: None,
            was_stuck: false,
            stop_signals: StopSignals::default(),
            ago: Duration::ZERO,
            finished,
        }
    }
}

impl<'a> AttemptDriver<'a> {
    pub(super) fn new(
        process: Process,
        guards: &'a Guards,
        launch: &'a Launch,
        log: &'a RunLog,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            process,
            start: clock.boot(),
            clock,
            launch,
            guards,
            limits: launch.limits(),
            state: AttemptState::Running,
            stop_signals: StopSignals::default(),
            search_interval: Duration::ZERO,
            birth_limit: Some(Instant::now() + BIRTH_LIMIT),
            log,
        }
    }

    /// Drives the attempt until it is over, and records when its main process started.
    pub(super) async fn until_over(mut self, control: &mut RunControl, birth: &mut Birth) -> AttemptEnd {
        // The grace of an order that came while the command was being started is used up.
        let ordered = *control.stops.borrow_and_update();
        let late = ordered.map(|order| AttemptEvent::Stop(StopOrder { grace: Duration::ZERO, ..order }));
        if let Some(end) = late.and_then(|event| self.feed(event)) {
            return end;
        }
        loop {
            let news = self.next_news(control).await;
            let end = match news {
                AttemptNews::Report(report) => self.hear(report),
                // A run that had ended by itself when a stop came keeps its own verdict, in whatever order the
                // replica learns of the two.
                _ => self.catch_up().or_else(|| self.take_in(news, control)),
            };
            if birth.born.is_none() && self.process.main().is_some() {
                birth.born = Some(control.clock.boot());
                control.born.cancel();
            }
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Handles the reports that the guard has sent by now.
    fn catch_up(&mut self) -> Option<AttemptEnd> {
        while let Some(report) = self.process.try_next_report() {
            if let Some(end) = self.hear(report) {
                return Some(end);
            }
        }
        None
    }

    async fn next_news(&mut self, control: &mut RunControl) -> AttemptNews {
        let wake = self.state.wake_at(&self.limits).map(|after| self.start.plus(after));
        let searches = self.state.killing_since().is_some();
        let birth = self.birth_limit.filter(|_| self.process.is_unborn());
        tokio::select! {
            biased;
            report = self.process.next_report() => AttemptNews::Report(report),
            order = next_order(&mut control.stops) => AttemptNews::Event(AttemptEvent::Stop(order)),
            () = self.clock.wait_until_boot(wake.unwrap_or(self.start)), if wake.is_some() => {
                AttemptNews::Event(AttemptEvent::Clock)
            }
            () = sleep(self.search_interval), if searches => self.search(),
            Ok(()) = control.deadlines.changed() => AttemptNews::Deadline,
            () = sleep_until(birth.unwrap_or_else(Instant::now)), if birth.is_some() => AttemptNews::Unborn,
        }
    }

    /// Returns the time since the start.
    fn elapsed(&self) -> Duration {
        self.clock.boot().since(self.start)
    }

    fn search(&mut self) -> AttemptNews {
        self.search_interval = (self.search_interval * 2).clamp(FIRST_INTERVAL, LONGEST_INTERVAL);
        let due = self.state.killing_since().unwrap_or_default() + GUARDS_TURN;
        let guard_failed = self.process.is_lost() || self.elapsed() >= due;
        let tree = if guard_failed { self.process.strike(self.guards) } else { Tree::Alive };
        if self.process.presses() {
            self.search_interval = FIRST_INTERVAL;
        }
        AttemptNews::Event(AttemptEvent::Tree(tree))
    }

    fn take_in(&mut self, news: AttemptNews, control: &mut RunControl) -> Option<AttemptEnd> {
        match news {
            AttemptNews::Report(report) => self.hear(report),
            AttemptNews::Event(event) => self.feed(event),
            AttemptNews::Deadline => {
                self.process.tell(GuardOrder::Deadline(control.machine_deadline()));
                self.process.wake_guard();
                None
            }
            AttemptNews::Unborn => self.give_up_birth(),
        }
    }

    /// Kills the guard if it was made and has reported nothing; otherwise kills the zygote, which closes the guard's
    /// socket. A guard that was made after all receives a stop order, and the run is not over until that guard has
    /// reported or is gone.
    fn give_up_birth(&mut self) -> Option<AttemptEnd> {
        if !self.process.is_unborn() {
            return None;
        }
        let (job, run) = (self.log.job(), self.log.run());
        if self.process.kill_unborn() {
            tracing::error!(%job, %run, "guard does not start: it is killed");
        } else if self.guards.kill_hanging_zygote() {
            tracing::error!(%job, %run, "guard does not start: `lease-guards` is killed and started again");
        } else {
            self.birth_limit = Some(Instant::now() + LONGEST_INTERVAL);
            return None;
        }
        self.birth_limit = None;
        self.feed(AttemptEvent::Stop(StopOrder { reason: StopReason::GuardLost, grace: Duration::ZERO }))
    }

    fn hear(&mut self, report: RunReport) -> Option<AttemptEnd> {
        match report {
            RunReport::Started => None,
            RunReport::NotStarted(code) if code >> STEP_SHIFT == STEP_OVERDUE => {
                self.process.release();
                Some(AttemptEnd::untried(StopReason::LockLost, self.log))
            }
            RunReport::NotStarted(code) => {
                self.process.release();
                let error = std::io::Error::from_raw_os_error(code);
                let error = start_error(self.launch, self.process.is_switched, error);
                Some(AttemptEnd::not_started(error, self.log))
            }
            RunReport::Exited(exit) => self.feed(AttemptEvent::Exited(exit)),
            RunReport::Stopped(exit) => self.feed(AttemptEvent::Stopped(exit)),
            RunReport::Empty => self.feed(AttemptEvent::Tree(Tree::Empty)),
            RunReport::Lost => {
                let (job, run) = (self.log.job(), self.log.run());
                tracing::error!(%job, %run, "guard of the run was killed: the run is killed, too");
                self.feed(AttemptEvent::GuardLost)
            }
        }
    }

    /// Applies an event to the state. Returns the end once the attempt is over.
    fn feed(&mut self, event: AttemptEvent) -> Option<AttemptEnd> {
        match self.state.step(event, self.elapsed(), &self.limits) {
            Step::Over(verdict, exit) => {
                self.process.release();
                let ago = self.process.ago(self.clock.to_machine(self.clock.boot()));
                let finished = self.log.now().minus(ago);
                Some(AttemptEnd {
                    exit,
                    was_stuck: self.state.is_stuck(),
                    stop_signals: self.stop_signals,
                    ago,
                    ..AttemptEnd::without_process(verdict, finished)
                })
            }
            Step::On(state, action) => {
                if state.killing_since() != self.state.killing_since() {
                    self.search_interval = Duration::ZERO;
                }
                self.state = state;
                self.state.note_signal(&mut self.stop_signals);
                self.perform(action);
                None
            }
        }
    }

    fn perform(&self, action: AttemptAction) {
        match action {
            AttemptAction::Wait => {}
            AttemptAction::Stop(grace) => self.process.tell(GuardOrder::Stop(grace)),
            AttemptAction::Complain(reason) => {
                let (job, run) = (self.log.job(), self.log.run());
                let main = self.process.main().map(tracing::field::display);
                if reason == StopReason::LockLost {
                    tracing::error!(%job, %run, main, "processes survived SIGKILL and the lock is lost: \
                        another replica may start the job while they still run");
                    return;
                }
                tracing::warn!(%job, %run, main, "processes survived SIGKILL: the job stays locked until they end");
            }
        }
    }
}

/// Waits for the next order; waits without end if no sender is left.
async fn next_order(stops: &mut watch::Receiver<Option<StopOrder>>) -> StopOrder {
    loop {
        if stops.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let order = *stops.borrow_and_update();
        if let Some(order) = order {
            return order;
        }
    }
}
