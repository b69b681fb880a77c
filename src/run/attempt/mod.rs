//! Drives one attempt from its start to its end. When it returns after a stop, no process that descends from the job
//! is left; when its future is dropped, all of them are killed.

mod environment;
pub(super) mod launch;
pub(super) mod preview;
pub(super) mod process;
mod spawn;
mod start_error;
mod state;
pub(super) mod stop;
mod supervise;
pub(super) mod user;

use std::sync::Arc;
use std::time::Duration;

use launch::Launch;
use process::{Process, Spawned};
use stop::{RunControl, StopSignals};
use supervise::{AttemptDriver, AttemptEnd};
use tokio_util::sync::CancellationToken;

use crate::job::Verdict;
use crate::time::{BootInstant, UtcMillis};

use super::error::RunError;
use super::guard::Guards;
use super::history::run_log::RunLog;
use super::output::capture::Output;
use super::output::sink::{JobOutput, Sink};

/// How an attempt ended.
#[derive(Debug)]
pub struct Ended {
    /// The outcome, with its reason.
    pub verdict: Verdict,
    /// Whether a process of it ever existed, or an error or an order to kill it prevented its start. If false,
    /// nothing has happened that must be recorded, and its tick may run on another replica.
    pub was_tried: bool,
    /// Exit code of the main process, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that the main process died of, if it did.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub error: Option<RunError>,
    /// The end of its output, both streams in the order in which they were read: at most 4 KiB, lossy UTF-8. For the
    /// last attempt of a run, it covers all attempts of the run, each headed by its number.
    pub tail: String,
    /// Whether processes of it were found to outlive SIGKILL.
    pub was_stuck: bool,
    /// The signals by which it was stopped.
    pub stop_signals: StopSignals,
    /// When it was started, by the wall clock.
    pub started: UtcMillis,
    /// How long ago the attempt had ended when the replica read the guard's report of it: zero, unless the replica
    /// was frozen.
    pub ago: Duration,
    /// When it was over, by the wall clock.
    pub finished: UtcMillis,
    /// Bytes that it added to the run's log.
    pub log_bytes: u64,
    /// The instants of its start.
    pub birth: Birth,
}

/// The instants of an attempt's start, by the boot clock; `None` for those that were not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Birth {
    /// When its guard was requested.
    pub asked: Option<BootInstant>,
    /// When the replica read the report that its main process exists.
    pub born: Option<BootInstant>,
}

/// Runs the command once under a guard, until it ends or an order has ended it.
///
/// A background process that the command leaves behind when it ends by itself is not killed.
pub async fn attempt(
    guards: &Arc<Guards>,
    launch: &Launch,
    log: &RunLog,
    output: JobOutput,
    control: RunControl,
) -> Ended {
    let started = log.now();
    let mut output = Output::new(Sink::new(log, output, launch.max_output));
    let mut birth = Birth::default();
    let end = live(guards, launch, &mut output, control, &mut birth).await;
    Ended {
        verdict: end.verdict,
        was_tried: end.was_tried,
        exit_code: end.exit.code,
        signal: end.exit.signal,
        error: end.error,
        tail: output.sink().tail(),
        was_stuck: end.was_stuck,
        stop_signals: end.stop_signals,
        started,
        ago: end.ago,
        finished: end.finished,
        log_bytes: output.sink().written(),
        birth,
    }
}

async fn live(
    guards: &Arc<Guards>,
    launch: &Launch,
    output: &mut Output<'_>,
    mut control: RunControl,
    birth: &mut Birth,
) -> AttemptEnd {
    let log = output.sink().log();
    let over = CancellationToken::new();
    let end = match Process::spawn(guards, launch, log.sign(), &control).await {
        Ok(Spawned::Ordered(order)) => return AttemptEnd::untried(order.reason, log),
        Ok(Spawned::Asked(asked)) => {
            let (process, pipes) = *asked;
            birth.asked = Some(control.clock.boot());
            output.connect(pipes);
            let drive = AttemptDriver::new(process, guards, launch, log, Arc::clone(&control.clock));
            let driving = async {
                let end = drive.until_over(&mut control, birth).await;
                // Ends the passing on of output. The error of a failed start is added to the output below.
                over.cancel();
                end
            };
            tokio::join!(driving, output.pass_on(&over)).0
        }
        Err(error) => AttemptEnd::not_started(error, log),
    };
    if let Some(error) = &end.error {
        output.say(&error.to_string());
        over.cancel();
        output.pass_on(&over).await;
    }
    end
}
