//! `exec`: runs one command under a lock, or a job of the file under its own lock, and exits with its exit code. It prints
//! nothing as long as all is well, because cron mails everything that is printed. By default it does not wait for a held lock.

mod end;
mod job;
mod progress;
mod reentrancy;
mod relay;
pub(super) mod terminal;

use std::ffi::OsString;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use end::{cannot_start, conflict, how_it_ended, newer};
use nix::sys::signal::Signal;
use progress::ExecProgress;
use reentrancy::{become_command, holder_around};
use relay::Relay;
use terminal::{Terminal, pass_interrupt_on};
use tokio::time::sleep;

use crate::events::Events;
use crate::exec::{ExecCommand, ExecResult, Work};
use crate::hold::Stop;
use crate::job::{JobName, NodeName};
use crate::run::Guards;
use crate::store::Store;
use crate::time::SystemClock;

use super::args::exec::{ExecArgs, Target};
use super::args::global::GlobalArgs;
use super::dispatch::runtime;
use super::exit::{Exit, Failure};
use super::print::output::Screen;
use super::print::wait_line::LOOK_EVERY;
use super::serve::run::node_name;
use super::serve::signals::{Signals, is_ignored, obey};
use super::session::target::ClusterTarget;

/// Time between SIGTERM and SIGKILL of a command; the same as a job's default `kill_grace`.
const KILL_GRACE: Duration = Duration::from_secs(10);

/// The lease of a command's lock; the same as a job's default.
const LEASE: Duration = Duration::from_secs(30);

/// How long the shutdown of the runtime waits for threads that hang in system calls.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The signal that Ctrl-C sends.
const INTERRUPT: i32 = Signal::SIGINT as i32;

/// What is run, and under which lock.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) place: ClusterTarget,
    pub(super) node: NodeName,
    pub(super) lock: JobName,
    /// The first word of the command.
    pub(super) program: OsString,
    pub(super) lease: Duration,
    pub(super) kill_grace: Duration,
    /// `None` for a command, and for a job without a timeout.
    pub(super) timeout: Option<Duration>,
}

/// The exit code, and whether Ctrl-C at the terminal ended the command.
pub(super) type ExecEnd = Result<(Exit, bool), Failure>;

/// Runs the command, or the job.
pub(crate) fn run(args: &ExecArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    match args.target() {
        Target::Command(lock, words) => run_command(args, lock, words, global),
        Target::Job(name) => job::run(args, name, global),
    }
}

fn run_command(
    args: &ExecArgs,
    lock: &JobName,
    words: &[OsString],
    global: &GlobalArgs,
) -> Result<Exit, Failure> {
    let task = Task {
        place: ClusterTarget::of_lock(&args.place, global, &mut Screen::of_process())?,
        node: node_name(args.node.as_ref())?,
        lock: lock.clone(),
        program: words[0].clone(),
        lease: args.lease.unwrap_or(LEASE),
        kill_grace: KILL_GRACE,
        timeout: None,
    };
    block_on(async {
        let store = task.place.open(global)?;
        let around = holder_around(&*store, lock).await;
        match around.map_err(Failure::of(&*store))? {
            Some(within) => Err(cannot_start(&words[0], &become_command(&within, words))),
            None => under_lock(args, &task, Work::Command(words.to_vec()), None, store).await,
        }
    })
}

/// Runs `running` on a new runtime, and then what the runtime still has to do. Ends by SIGINT if Ctrl-C ended the command.
pub(super) fn block_on(running: impl Future<Output = ExecEnd>) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let result = runtime.block_on(running);
    runtime.shutdown_timeout(LAST_WAIT);
    let (exit, is_interrupted) = result?;
    if is_interrupted {
        pass_interrupt_on();
    }
    Ok(exit)
}

/// Takes the lock, and runs the command or the job under it. `relay` passes on what a job prints.
pub(super) async fn under_lock(
    args: &ExecArgs,
    task: &Task,
    work: Work,
    relay: Option<Relay>,
    store: Arc<dyn Store>,
) -> ExecEnd {
    let mut signals = Signals::listen()?;
    // A job has its own session, so the terminal stays with this process.
    let terminal = relay.is_none().then(Terminal::of_process);
    let (label, events) = (store.label(), Events::of(task.node.clone()));
    let (mut heard, mut progress, mut screen) =
        (events.listen(), ExecProgress::of(args, task), Screen::of_process());
    progress.show_wait(&mut screen);
    let exec_command = ExecCommand {
        node: task.node.clone(),
        lock: task.lock.clone(),
        job: task.place.job(&task.lock).definition.spec().cloned(),
        work,
        lease: task.lease,
        kill_grace: task.kill_grace,
        max_wait: args.wait.unwrap_or_default(),
        store,
        clock: Arc::new(SystemClock),
        guards: Guards::of_this_program().taking_in_orphans(),
        events,
    };
    let (stop, mut signalled) = (Stop::default(), None);
    let result = {
        let mut running = pin!(exec_command.run(stop.clone()));
        loop {
            tokio::select! {
                biased;
                Ok(event) = heard.recv() => progress.hear(&event, &mut screen),
                number = signals.next() => {
                    signalled.get_or_insert(number);
                    obey(&stop);
                }
                result = &mut running => break result,
                () = sleep(LOOK_EVERY), if progress.waits() => progress.show_wait(&mut screen),
            }
        }
    };
    let had_terminal = terminal.is_some_and(Terminal::take_back);
    if let Some(relay) = relay {
        // A reader of the output may be slow: wait for it, until a signal arrives.
        tokio::select! {
            () = relay.finish() => {}
            _ = signals.next() => {}
        }
    }
    while let Ok(event) = heard.try_recv() {
        progress.hear(&event, &mut screen);
    }
    screen.end_wait();
    progress.warn_if_unrecorded(&mut screen);
    let by_signal = signalled.map(Exit::by_signal);
    let is_interrupted = had_terminal && by_signal.is_none() && ended_by_interrupt(&result);
    let exit = match result {
        ExecResult::Ran(ended) => how_it_ended(task, &ended, by_signal),
        ExecResult::Held(holder) => Err(conflict(args, &task.lock, holder.as_ref())),
        ExecResult::Unreachable(error) => Err(Failure::store(&label, &error)),
        ExecResult::NewerSchema(schema) => Err(newer(&task.lock, schema)),
        ExecResult::Stopped => Ok(by_signal.unwrap_or(Exit::Failed)),
    };
    Ok((exit?, is_interrupted))
}

/// Whether Ctrl-C ended the command. Then this process ends by SIGINT as well.
fn ended_by_interrupt(result: &ExecResult) -> bool {
    let ExecResult::Ran(ended) = result else { return false };
    ended.verdict.reason.is_none() && ended.signal == Some(INTERRUPT) && !is_ignored(INTERRUPT)
}
