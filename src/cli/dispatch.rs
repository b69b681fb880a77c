//! Runs the command that a command line names, and turns its result into an exit code.

use std::io::Write;
use std::process::ExitCode;

use nix::sys::prctl::set_dumpable;
use tokio::runtime::Runtime;

use crate::time::{Clock, SystemClock, UtcMillis};

use super::args::exec::Locking;
use super::args::global::{Cli, CliCommand, GlobalArgs, ReadCommand};
use super::args::operate::Operating;
use super::args::{completions, man};
use super::exit::{Exit, Failure};
use super::import::Import;
use super::operate::store_init::{self, StoreCommand};
use super::operate::{kill, pause, trigger, unlock};
use super::print::escapes::escape_text;
use super::print::output::Screen;
use super::read::{acts, check, history, logs, next, status, why};
use super::serve::control::{drain, reload};
use super::serve::{pid1, run};
use super::{exec, import};

/// Runs the command. Errors are printed here, and nowhere else.
pub fn main(cli: &Cli) -> ExitCode {
    let result = hide_memory(&cli.command).and_then(|()| run_command(cli));
    result.unwrap_or_else(|failure| {
        print(&failure);
        failure.exit.into()
    })
}

/// Protects memory and environment, which hold the store's password, from jobs of the same user and from core files; also for
/// PID 1 of a container. Exempt is `exec --lock`: what it runs is a command of its caller, and reads the environment of its
/// parents to find the lock.
fn hide_memory(command: &CliCommand) -> Result<(), Failure> {
    if matches!(command, CliCommand::Lock(Locking::Exec(args)) if args.job.is_none()) {
        return Ok(());
    }
    set_dumpable(false)
        .map_err(|errno| Failure::failed(format!("cannot protect its memory from other processes: {errno}")))
}

fn run_command(cli: &Cli) -> Result<ExitCode, Failure> {
    match &cli.command {
        CliCommand::Run(_) if pid1::is_first() => pid1::run().map(ExitCode::from),
        CliCommand::Run(args) => run::run(args, &cli.global).map(ExitCode::from),
        CliCommand::Reload => reload(&cli.global).map(ExitCode::from),
        CliCommand::Drain(args) => {
            runtime()?.block_on(drain::run(args, &cli.global, &mut Screen::of_process())).map(ExitCode::from)
        }
        CliCommand::Read(command) => {
            let screen = &mut Screen::of_process();
            runtime()?.block_on(read(command, &cli.global, SystemClock.utc(), screen)).map(ExitCode::from)
        }
        CliCommand::Operate(command) => operate(command, &cli.global).map(ExitCode::from),
        CliCommand::Lock(Locking::Exec(args)) => exec::run(args, &cli.global).map(ExitCode::from),
        CliCommand::Store(StoreCommand::Init(args)) => {
            let screen = &mut Screen::of_process();
            runtime()?.block_on(store_init::run(args, &cli.global, screen)).map(ExitCode::from)
        }
    }
}

fn reload(global: &GlobalArgs) -> Result<Exit, Failure> {
    runtime()?.block_on(reload::run(global, &mut Screen::of_process()))
}

fn operate(command: &Operating, global: &GlobalArgs) -> Result<Exit, Failure> {
    let screen = &mut Screen::of_process();
    runtime()?.block_on(async {
        match command {
            Operating::Pause(args) => pause::pause(args, global, screen).await,
            Operating::Kill(args) => kill::run(args, global, screen).await,
            Operating::Trigger(args) => trigger::run(args, global, screen).await,
            Operating::Unlock(args) => unlock::run(args, global, screen).await,
            Operating::Resume(args) => pause::resume(args, global, screen).await,
        }
    })
}

pub(super) fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("no runtime: {error}")))
}

fn print(failure: &Failure) {
    if failure.exit == Exit::Conflict(0) {
        // With `--conflict-exit-code 0` the caller wants no mail from cron.
        return;
    }
    if failure.drawn {
        let _ = write!(anstream::stderr(), "{}", escape_text(&failure.message));
    } else {
        let _ = writeln!(anstream::stderr(), "error: {}", escape_text(&failure.message));
    }
}

/// Runs a command that changes nothing, with `now` as the time of the wall clock. Prints its result to `screen`.
///
/// # Errors
///
/// Returns why the command could not be run; the caller prints it.
pub async fn read(
    command: &ReadCommand,
    global: &GlobalArgs,
    now: UtcMillis,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match command {
        ReadCommand::Check(args) => check::run(args, global, screen).await,
        ReadCommand::Next(args) => next::run(args, global, now, screen),
        ReadCommand::Status(args) => status::run(args, global, screen).await,
        ReadCommand::History(args) => history::run(args, global, screen).await,
        ReadCommand::Why(args) => why::run(args, global, screen).await,
        ReadCommand::Acts(args) => acts::run(args, global, screen).await,
        ReadCommand::Logs(args) => logs::run(args, global, now, screen).await,
        ReadCommand::Import(Import::Crontab(args)) => import::run(args, screen),
        ReadCommand::Completions { shell } => completions::run(*shell, screen),
        ReadCommand::Man => man::run(screen),
    }
}
