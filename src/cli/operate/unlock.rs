//! `unlock`: removes the lock of a holder that no longer sends heartbeats, for an operator who cannot wait until the lock
//! expires.

use std::io::BufRead;

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::UnlockArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::target::ClusterTarget;
use crate::operate::acts::unlock::SilentLock;
use crate::operate::audit::ActKind;
use crate::operate::operator::Operator;

use super::audit::CommandAct;
use super::connect::connect_all;
use super::unlock_mark;

/// Removes the locks, once the operator has confirmed it; with `--mark`, sets marks back instead.
pub(crate) async fn run(
    args: &UnlockArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    if args.mark {
        return unlock_mark::set_back(args, global, screen).await;
    }
    let place = ClusterTarget::find(&args.place, global, screen)?;
    for operator in connect_all(&args.jobs, &place, global, screen).await? {
        remove(&operator, args.force, screen).await?;
    }
    Ok(Exit::Done)
}

async fn remove(operator: &Operator, force: bool, screen: &mut Screen<'_>) -> Result<(), Failure> {
    let act = CommandAct::of(operator, ActKind::Unlock);
    let looked = screen.during(FOR_STORE, SilentLock::look(operator.clone())).await;
    if let Err(error) = &looked {
        act.note_error(error, screen).await;
    }
    let lock = looked?;
    if !force {
        ask(&format!("{}\n{} [y/N] ", lock.risk(), lock.question()), screen)?;
    }
    screen.during(&lock.awaits(), lock.two_heartbeats()).await;
    let unlocked = lock.release().await;
    act.note_result(&unlocked, screen).await;
    screen.print(&format!("`{}`: {}\n", operator.job.name, unlocked?))?;
    Ok(())
}

/// Prints the question, and fails unless the operator answers `y`.
pub(crate) fn ask(question: &str, screen: &mut Screen<'_>) -> Result<(), Failure> {
    screen.say(question);
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    Err(Failure::failed("nothing was changed: answer `y`, or add --force"))
}
