//! `pause` and `resume`: for the whole cluster, in the job's record.

use crate::lease::{Act, Answer, Pausing};

use super::args::GlobalArgs;
use super::exit::{Exit, Failure};
use super::operating::{PauseArgs, ResumeArgs};
use super::operator::Operator;
use super::screen::Screen;
use super::times::{from_now, utc};
use super::wait_line::FOR_STORE;

/// Pauses a job.
pub(crate) async fn pause(
    args: &PauseArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let operator = screen.during(FOR_STORE, Operator::at_work(&args.job, global)).await?;
    let act = Act::Pause { lasts: args.lasts, why: args.reason.clone() };
    screen.during(FOR_STORE, operator.act(&act)).await?;
    let (record, now) = (operator.record().await?, operator.pulse().await?.now);
    let until = record.paused.filter(|until| *until < Pausing::UNTIL_RESUMED);
    let until = until.map_or(format!("until `solocron resume {}`", args.job), |until| {
        format!("until {} UTC ({})", utc(until), from_now(until, now))
    });
    screen.print(&format!("`{}` is paused {until}\n", args.job))?;
    if record.is_running() {
        screen.say("note: its run that goes on is not stopped\n");
    }
    Ok(Exit::Done)
}

/// Ends a pause.
pub(crate) async fn resume(
    args: &ResumeArgs,
    global: &GlobalArgs,
    screen: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let operator = screen.during(FOR_STORE, Operator::at_work(&args.job, global)).await?;
    let said = match screen.during(FOR_STORE, operator.act(&Act::Resume)).await? {
        Answer::AlreadyDecided => "was not paused",
        _ => "is not paused any more",
    };
    screen.print(&format!("`{}` {said}\n", args.job))?;
    Ok(Exit::Done)
}
