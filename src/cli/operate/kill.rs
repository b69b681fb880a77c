//! `kill`: stops a job's run wherever it is, and waits until it has ended.

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::KillArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::target::ClusterTarget;
use crate::operate::acts::kill::KillOrder;
use crate::operate::audit::ActKind;

use super::audit::CommandAct;
use super::connect::connect;
use super::show_wait::wait_for;

/// Stops the current run of the job.
pub(crate) async fn run(
    args: &KillArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let operator = connect(&args.job, &place, global, screen).await?;
    let given = screen.during(FOR_STORE, KillOrder::give(operator.clone(), None)).await;
    if let Ok(order) = &given {
        screen.say(&format!("{order}\n"));
    }
    CommandAct::of(&operator, ActKind::Kill).note_result(&given, screen).await;
    let mut order = given?;
    let stays = format!("the request to stop run {} stays in the store", order.holder.run);
    let ended = wait_for(&mut order, screen).await;
    let ended = ended.map_err(|error| Failure::from(error).with_note_if_unreachable(&stays))?;
    screen.print(&format!("`{}`: {ended}\n", args.job))?;
    Ok(Exit::Done)
}
