//! Drives one attempt from its start to its end. When it returns after a stop, no process of the job's group is left; when
//! its future is dropped, the group is killed.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::course::{Action, Course, Event, Exit, Limits, Step};
use super::error::RunError;
use super::launch::Launch;
use super::output::Output;
use super::process::{Process, Spawned};
use super::run_log::RunLog;
use super::sink::{JobOutput, Sink};
use super::stop::StopOrder;
use crate::job::{Outcome, Reason, UtcMillis, Verdict};

/// First pause between two looks at a group that is ending; most end within a millisecond of their signal.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// Longest pause between two looks, and so the longest that a lock is held too long.
const SLOWEST_LOOK: Duration = Duration::from_millis(100);

/// From this pause on a look also tells the dead that nobody reaps from the living. Where there is an init that reaps,
/// a group is long empty by then; elsewhere a stop takes these some 30 ms longer.
const DEEP_LOOK: Duration = Duration::from_millis(16);

/// How an attempt ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub verdict: Verdict,
    /// Exit code of the main process, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that the main process died of, if it did.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub error: Option<RunError>,
    /// The end of its output, both streams as they were read: at most 4 KiB, lossy UTF-8.
    pub tail: String,
    /// When it was started, by the wall clock.
    pub started: UtcMillis,
    /// When nothing of it was left, by the wall clock.
    pub finished: UtcMillis,
    /// Bytes that it added to the run's log.
    pub log_bytes: u64,
}

/// What became of the processes.
struct Fate {
    verdict: Verdict,
    exit: Exit,
    error: Option<RunError>,
    finished: UtcMillis,
}

/// A process, and where its attempt stands.
struct Drive<'a> {
    process: Process,
    limits: Limits,
    course: Course,
    start: Instant,
    pause: Duration,
    log: &'a RunLog,
}

/// Runs the command once, until it ends or an order out of `stops` has ended it.
///
/// A background process that the command leaves behind when it ends by itself is left alone.
pub async fn attempt(
    launch: &Launch,
    log: &RunLog,
    output: JobOutput,
    stops: watch::Receiver<Option<StopOrder>>,
) -> Ended {
    let started = log.now();
    let mut output = Output::new(Sink::new(log, output));
    let fate = live(launch, &mut output, stops).await;
    Ended {
        verdict: fate.verdict,
        exit_code: fate.exit.code,
        signal: fate.exit.signal,
        error: fate.error,
        tail: output.sink().tail(),
        started,
        finished: fate.finished,
        log_bytes: output.sink().written(),
    }
}

async fn live(
    launch: &Launch,
    output: &mut Output<'_>,
    mut stops: watch::Receiver<Option<StopOrder>>,
) -> Fate {
    let log = output.sink().log();
    let over = CancellationToken::new();
    match Process::spawn(launch, stops.clone()).await {
        Ok(Spawned::Ordered(order)) => Fate::never_started(order.reason.verdict(), None, log),
        Ok(Spawned::Running(started)) => {
            let (process, pipes) = *started;
            output.connect(pipes);
            let drive = Drive::new(process, launch, log);
            let driving = async {
                let fate = drive.until_over(&mut stops).await;
                over.cancel();
                fate
            };
            tokio::join!(driving, output.pass_on(&over)).0
        }
        Err(error) => {
            output.say(&error.to_string());
            over.cancel();
            output.pass_on(&over).await;
            Fate::never_started(Verdict::because(Outcome::Failed, Reason::SpawnFailed), Some(error), log)
        }
    }
}

impl Fate {
    fn never_started(verdict: Verdict, error: Option<RunError>, log: &RunLog) -> Self {
        Self { verdict, exit: Exit::default(), error, finished: log.now() }
    }
}

impl<'a> Drive<'a> {
    fn new(process: Process, launch: &Launch, log: &'a RunLog) -> Self {
        Self {
            process,
            limits: launch.limits(),
            course: Course::Running,
            start: Instant::now(),
            pause: Duration::ZERO,
            log,
        }
    }

    async fn until_over(mut self, stops: &mut watch::Receiver<Option<StopOrder>>) -> Fate {
        // An order that came while the command was being started has had its grace.
        let ordered = *stops.borrow_and_update();
        let late = ordered.map(|order| Event::Stop(StopOrder { grace: Duration::ZERO, ..order }));
        if let Some(fate) = late.and_then(|event| self.feed(event)) {
            return fate;
        }
        loop {
            let event = self.next_event(stops).await;
            // Who had ended by itself when a stop came keeps its own verdict, in whatever order we hear of the two.
            let exit = if self.process.unreaped() { self.process.try_exited() } else { None };
            let events = [exit.map(Event::Exited), Some(event)];
            if let Some(fate) = events.into_iter().flatten().find_map(|event| self.feed(event)) {
                return fate;
            }
        }
    }

    async fn next_event(&mut self, stops: &mut watch::Receiver<Option<StopOrder>>) -> Event {
        let wake = self.course.wake_at(&self.limits).and_then(|after| self.start.checked_add(after));
        let (unreaped, looks) = (self.process.unreaped(), self.course.looks());
        tokio::select! {
            biased;
            exit = self.process.exited(), if unreaped => Event::Exited(exit),
            order = next_order(stops) => Event::Stop(order),
            () = sleep_until(wake.unwrap_or(self.start)), if wake.is_some() => Event::Clock,
            () = sleep(self.pause), if looks => self.look(),
        }
    }

    fn look(&mut self) -> Event {
        let group = self.process.look(self.pause >= DEEP_LOOK);
        self.pause = (self.pause * 2).clamp(FIRST_LOOK, SLOWEST_LOOK);
        Event::Group(group)
    }

    /// Takes the step that the event leads to.
    fn feed(&mut self, event: Event) -> Option<Fate> {
        match self.course.step(event, self.start.elapsed(), &self.limits) {
            Step::Over(verdict, exit) => {
                self.process.release();
                Some(Fate { verdict, exit, error: None, finished: self.log.now() })
            }
            Step::On(course, action) => {
                if matches!(course, Course::Killing { .. }) && !matches!(self.course, Course::Killing { .. })
                {
                    self.pause = Duration::ZERO;
                }
                self.course = course;
                self.perform(action);
                None
            }
        }
    }

    fn perform(&self, action: Action) {
        match action {
            Action::Wait => {}
            Action::Terminate => self.process.signal(Signal::SIGTERM),
            Action::Kill => self.process.signal(Signal::SIGKILL),
            Action::Complain => {
                let (job, run, group) = (self.log.job(), self.log.run(), self.process.group());
                tracing::warn!(%job, %run, %group, "process group outlives SIGKILL, the run is not over until it ends");
            }
        }
    }
}

/// The next order. Nobody left to give one: waits for ever.
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
