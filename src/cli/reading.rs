//! From a command that changes nothing to its function. The wall clock comes in as an argument.

use crate::job::UtcMillis;

use super::args::{GlobalArgs, Reading};
use super::exit::{Exit, Failure};
use super::import::Import;
use super::screen::Screen;
use super::{check, completions, history, import, logs, man, next, status, why};

/// Runs the command. What it has to show goes to the screen; why it could not is the caller's to print.
pub async fn read(
    command: &Reading,
    global: &GlobalArgs,
    now: UtcMillis,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match command {
        Reading::Check(args) => check::run(args, global, screen).await,
        Reading::Next(args) => next::run(args, global, now, screen),
        Reading::Status(args) => status::run(args, global, screen).await,
        Reading::History(args) => history::run(args, global, screen).await,
        Reading::Why(args) => why::run(args, global, screen).await,
        Reading::Logs(args) => logs::run(args, global, now, screen).await,
        Reading::Import(Import::Crontab(args)) => import::run(args, screen),
        Reading::Completions { shell } => completions::run(*shell, screen),
        Reading::Man => man::run(screen),
    }
}
