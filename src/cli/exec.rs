//! `exec`: runs one command under a lock, and exits as it did. It prints nothing as long as all goes well, and waits for nothing:
//! what it prints, a crontab mails.

use std::ffi::OsStr;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::sleep;

use crate::clock::SystemClock;
use crate::job::{NodeName, Reason};
use crate::lease::Holder;
use crate::replica::{Events, Guest, Stop, Visit};
use crate::run::{Ended, Guards, RunError};
use crate::store::{Store, StoreError};

use super::args::GlobalArgs;
use super::dispatch::runtime;
use super::exit::{Exit, Failure};
use super::locking::ExecArgs;
use super::place::Place;
use super::reentry::{become_command, holder_around};
use super::run::node_name;
use super::screen::Screen;
use super::signals::{Signals, is_ignored, obey};
use super::terminal::{Terminal, pass_interrupt_on};
use super::times::{span, utc};
use super::wait_line::LOOK_EVERY;
use super::witness::Witness;

/// Between SIGTERM and SIGKILL of the command, as a job has it by default.
const KILL_GRACE: Duration = Duration::from_secs(10);

/// At the end, threads that hang in the system are waited for this long.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// What Ctrl-C sends.
const INTERRUPT: i32 = Signal::SIGINT as i32;

/// What a shell says of a command that it does not find, and of one that it cannot execute.
const NOT_FOUND: u8 = 127;
const CANNOT_EXECUTE: u8 = 126;

/// Runs the command.
pub(crate) fn run(args: &ExecArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let place = Place::of_lock(&args.lock, args.cluster.as_ref(), global)?;
    let node = node_name(args.node.as_ref())?;
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        let store = place.open(global)?;
        let around = holder_around(&*store, &args.lock).await;
        match around.map_err(|error| Failure::store(&store.label(), &error))? {
            Some(within) => Err(cannot_start(&args.command[0], &become_command(&within, &args.command))),
            None => under_lock(args, &place, node, store).await,
        }
    });
    runtime.shutdown_timeout(LAST_WAIT);
    let (exit, is_interrupted) = result?;
    if is_interrupted {
        pass_interrupt_on();
    }
    Ok(exit)
}

/// How to exit, and whether that is as one who was interrupted at the terminal.
async fn under_lock(
    args: &ExecArgs,
    place: &Place,
    node: NodeName,
    store: Arc<dyn Store>,
) -> Result<(Exit, bool), Failure> {
    let mut signals = Signals::listen()?;
    let terminal = Terminal::of_process();
    let (label, events) = (store.label(), Events::of(node.clone()));
    let (mut heard, mut witness, mut screen) = (events.listen(), Witness::of(args), Screen::of_process());
    witness.tell_wait(&mut screen);
    let guest = Guest {
        node,
        lock: args.lock.clone(),
        job: place.job.clone(),
        command: args.command.clone(),
        lease: args.lease,
        kill_grace: KILL_GRACE,
        patience: args.wait.unwrap_or_default(),
        store,
        clock: Arc::new(SystemClock),
        guards: Guards::of_this_program().taking_in_orphans(),
        events,
    };
    let (stop, mut signalled) = (Stop::default(), None);
    let visit = {
        let mut visiting = pin!(guest.visit(stop.clone()));
        loop {
            tokio::select! {
                biased;
                Ok(event) = heard.recv() => witness.hear(&event, &mut screen),
                number = signals.next() => {
                    signalled.get_or_insert(number);
                    obey(&stop);
                }
                visit = &mut visiting => break visit,
                () = sleep(LOOK_EVERY), if witness.waits() => witness.tell_wait(&mut screen),
            }
        }
    };
    let had_terminal = terminal.take_back();
    while let Ok(event) = heard.try_recv() {
        witness.hear(&event, &mut screen);
    }
    screen.end_wait();
    witness.sum_up(&mut screen);
    let by_signal = signalled.map(Exit::by_signal);
    let is_interrupted = had_terminal && by_signal.is_none() && ended_by_interrupt(&visit);
    let exit = match visit {
        Visit::Ran(ended) => how_it_ended(args, &ended, by_signal),
        Visit::Held(holder) => Err(conflict(args, holder.as_ref())),
        Visit::Unreachable(why) => Err(Failure::store(&label, &StoreError::NotSent(why))),
        Visit::NewerSchema(schema) => Err(newer(args, schema)),
        Visit::Stopped => Ok(by_signal.unwrap_or(Exit::Failed)),
    };
    Ok((exit?, is_interrupted))
}

/// Whether the command ended as by Ctrl-C, which ends this process as well.
fn ended_by_interrupt(visit: &Visit) -> bool {
    let Visit::Ran(ended) = visit else { return false };
    ended.verdict.reason.is_none() && ended.signal == Some(INTERRUPT) && !is_ignored(INTERRUPT)
}

/// As the command did, unless it was stopped for a reason of ours.
fn how_it_ended(args: &ExecArgs, ended: &Ended, signalled: Option<Exit>) -> Result<Exit, Failure> {
    match (ended.verdict.reason, &ended.error) {
        (Some(Reason::LockLost), _) => return Ok(Exit::LockLost),
        (Some(Reason::Shutdown), _) if signalled.is_some() => return Ok(signalled.unwrap_or(Exit::Failed)),
        (_, Some(RunError::Start { source, .. })) => return Err(cannot_start(&args.command[0], source)),
        (_, Some(error)) => return Err(Failure::new(Exit::Failed, error.to_string())),
        _ => {}
    }
    match (ended.exit_code.map(u8::try_from), ended.signal) {
        (Some(Ok(code)), _) => Ok(Exit::AsCommand(code)),
        (_, Some(signal)) => Ok(Exit::by_signal(signal)),
        _ => {
            let message = format!("the command was stopped: {}", ended.verdict);
            Err(Failure::new(Exit::Failed, message))
        }
    }
}

fn cannot_start(program: &OsStr, error: &io::Error) -> Failure {
    let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_EXECUTE };
    let program = program.to_string_lossy();
    let help = match (code, program.contains('/')) {
        (NOT_FOUND, false) => "it is not in PATH, which is short in a crontab: give its full path",
        (NOT_FOUND, true) => "check the path, and the interpreter in the file's first line",
        _ => "make it executable for this user",
    };
    Failure::new(Exit::AsCommand(code), format!("cannot start `{program}`: {error}\n  help: {help}"))
}

fn conflict(args: &ExecArgs, holder: Option<&Holder>) -> Failure {
    let lock = &args.lock;
    let waited = args.wait.filter(|wait| !wait.is_zero());
    let (still, after) = match waited {
        Some(wait) => (" still", format!(" after {}", span(wait))),
        None => ("", String::new()),
    };
    let message = match holder {
        Some(Holder { node, run, since }) => {
            format!("lock `{lock}` is{still} held by {node}{after}, since {} UTC (run {run})", utc(*since))
        }
        None => format!(
            "lock `{lock}` is{still} not sure to be free{after}: its last holder may have been cut off"
        ),
    };
    let help = match waited {
        None => "\n  help: `--wait 10m` waits for it",
        Some(_) => "",
    };
    Failure::new(Exit::Conflict(args.conflict_exit_code), message + help)
}

fn newer(args: &ExecArgs, schema: u32) -> Failure {
    let message = format!(
        "the record of lock `{}` was written by a newer release (schema {schema})\n  help: use that release's solocron",
        args.lock
    );
    Failure::new(Exit::Failed, message)
}
