//! `pause` and `resume`: for the whole cluster, by the records of the jobs.

use crate::cli::args::global::GlobalArgs;
use crate::cli::args::operate::{PauseArgs, ResumeArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::print::output::Screen;
use crate::cli::print::wait_line::FOR_STORE;
use crate::cli::session::target::ClusterTarget;
use crate::operate::OperateError;
use crate::operate::acts::pause::{self as acts, Resumed};
use crate::operate::audit::ActKind;
use crate::operate::operator::Operator;

use super::audit::CommandAct;
use super::connect::connect_all;

/// Pauses jobs.
pub(crate) async fn pause(
    args: &PauseArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let operators = connect_all(&args.jobs, &place, global, screen).await?;
    let (mut failed, mut has_any_ticks) = (Vec::new(), false);
    let are_absent_unknown = args.all && absent_are_unknown(&operators, &place).await?;
    for operator in &operators {
        if args.all && has_no_ticks(operator, are_absent_unknown).await? {
            continue;
        }
        has_any_ticks = true;
        failed.extend(refusal(pause_one(args, operator, screen).await)?);
    }
    if !has_any_ticks {
        screen.print("no job has ticks: none was paused\n")?;
    }
    summed_up(&failed)
}

async fn pause_one(args: &PauseArgs, operator: &Operator, screen: &mut Screen<'_>) -> Result<(), Failure> {
    let job = &operator.job.name;
    let paused = acts::pause(operator, args.lasts, args.reason.clone());
    let paused = screen.during(FOR_STORE, paused).await;
    let act = CommandAct { operator, act: ActKind::Pause, why: args.reason.as_deref() };
    act.note_result(&paused, screen).await;
    let paused = paused?;
    screen.print(&format!("`{job}` {paused}\n"))?;
    if paused.is_running {
        screen.say(&format!("note: the run of `{job}` is not stopped\n"));
    }
    Ok(())
}

/// Ends pauses.
pub(crate) async fn resume(
    args: &ResumeArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let place = ClusterTarget::find(&args.place, global, screen)?;
    let operators = connect_all(&args.jobs, &place, global, screen).await?;
    let (mut failed, mut is_resumed) = (Vec::new(), false);
    for operator in &operators {
        if args.all && operator.known_record().await?.is_none() {
            continue;
        }
        let resumed = screen.during(FOR_STORE, acts::resume(operator)).await;
        if args.all && resumed == Ok(Resumed::WasNotPaused) {
            continue;
        }
        CommandAct::of(operator, ActKind::Resume).note_result(&resumed, screen).await;
        match resumed {
            Ok(resumed) => {
                is_resumed = true;
                screen.print(&format!("`{}` {resumed}\n", operator.job.name))?;
            }
            Err(error) => failed.extend(refusal(Err(error.into()))?),
        }
    }
    if args.all && !is_resumed {
        screen.print("no job was paused\n")?;
    }
    summed_up(&failed)
}

/// Whether no live replica can know the jobs that the file does not name. The answer is the same for all of them.
async fn absent_are_unknown(operators: &[Operator], place: &ClusterTarget) -> Result<bool, OperateError> {
    match operators.iter().find(|operator| operator.is_absent()) {
        Some(operator) => operator.is_unknown_to_replicas(place.expected().valid_file()).await,
        None => Ok(false),
    }
}

/// Whether the job has no ticks to skip: no replica can know it, or it is disabled or not in the file, and has no record.
async fn has_no_ticks(operator: &Operator, are_absent_unknown: bool) -> Result<bool, OperateError> {
    if operator.job.definition.may_run() {
        return Ok(false);
    }
    Ok(operator.is_absent() && are_absent_unknown || operator.known_record().await?.is_none())
}

/// Returns why the request for one job was refused, if it was: the other jobs are still processed. Any other failure ends the
/// command.
fn refusal(done: Result<(), Failure>) -> Result<Option<String>, Failure> {
    match done {
        Ok(()) => Ok(None),
        Err(failure) if failure.exit == Exit::Failed => Ok(Some(failure.message)),
        Err(failure) => Err(failure),
    }
}

fn summed_up(failed: &[String]) -> Result<Exit, Failure> {
    if failed.is_empty() { Ok(Exit::Done) } else { Err(Failure::failed(failed.join("\nerror: "))) }
}
